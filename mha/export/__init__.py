"""What can be taken away: data, settings, and code that runs without this project, made from what is on the screen."""

from mha.export.data import Data, count_numbers, data_of
from mha.export.data_csv import read_csv, write_csv
from mha.export.data_json import read_json, write_json
from mha.export.data_npz import read_npz, write_npz
from mha.export.program import program
from mha.export.scene import Scene
from mha.export.settings_file import SettingsFile, read_settings, write_settings
from mha.export.snippets import Snippet, snippets

__all__ = [
    "Data",
    "Scene",
    "SettingsFile",
    "Snippet",
    "count_numbers",
    "data_of",
    "program",
    "read_csv",
    "read_json",
    "read_npz",
    "read_settings",
    "snippets",
    "write_csv",
    "write_json",
    "write_npz",
    "write_settings",
]
