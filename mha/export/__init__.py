"""What can be taken away: data, settings, and code that runs without this project, made from what is on the screen."""

from mha.export.program import program
from mha.export.scene import Scene
from mha.export.snippets import Snippet, snippets

__all__ = ["Scene", "Snippet", "program", "snippets"]
