"""A scene as a JSON value, and back: the settings inside every file of data.

The masks of rules travel packed, as in links; the mask that they make is among the data as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from mha.config import MAX_CHARACTERS, MAX_TEXTS, MAX_TOKENS, Model, whole_number
from mha.export import strict_json
from mha.export.scene import Scene, Texts
from mha.mask_files import pack_mask, unpack_mask
from mha.masks import Rule, Shape

FORMAT = "headlight data"
VERSION = 1
MAX_RULES = 16

_PARTS = ("model", "texts", "looked_at", "rules", "restriction", "link")


def described(scene: Scene, link: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The scene, and what the link to it says (name by name; {} if there is none), as a JSON value.

    Raises ValueError for more texts, tokens or rules than `scene_of` reads.
    """
    value = {
        "format": FORMAT,
        "version": VERSION,
        "link": read_link(dict(link or {})),
        "model": asdict(scene.model),
        "texts": scene.texts,
        "looked_at": scene.looked_at,
        "rules": [_rule(rule) for rule in scene.rules],
        "restriction": None if scene.restriction is None else _rule(scene.restriction),
    }
    _refuse_too_many_rules(scene.rules)
    for name, texts in (("texts", scene.texts), ("looked_at", scene.keys)):
        _refuse_too_long(texts, name)
    strict_json.refuse_surrogates(value, "settings")
    return value


def scene_of(value: object) -> tuple[Scene, dict[str, str]]:
    """The scene and the link that `described` made `value` from; ValueError for anything else."""
    document = strict_json.document(value, FORMAT, VERSION)
    model, texts, looked_at, rules, restriction, link = strict_json.fields(document, *_PARTS)
    strict_json.refuse_surrogates(document, "settings")
    read_model = _read_model(model)
    read_texts = _read_texts(texts, "texts")
    read_keys = None if looked_at is None else _read_texts(looked_at, "looked_at")
    shape = Scene(read_texts, read_model, looked_at=read_keys).shape
    if not isinstance(rules, list):
        raise ValueError(f"expected rules to be a list, got {strict_json.quoted(rules)}")
    _refuse_too_many_rules(rules)
    scene = Scene(
        read_texts,
        read_model,
        tuple(_read_rule(rule, shape) for rule in rules),
        read_keys,
        None if restriction is None else _read_rule(restriction, shape),
    )
    return scene, read_link(link)


def _rule(rule: Rule) -> dict[str, Any]:
    return {"name": rule.name, "shape": list(rule.allowed.shape), "allowed": pack_mask(rule.allowed)}


def _read_rule(value: object, shape: Shape) -> Rule:
    if not isinstance(value, dict):
        raise ValueError(f"expected a rule with name, shape and allowed, got {strict_json.quoted(value)}")
    name, lengths, allowed = strict_json.fields(value, "name", "shape", "allowed")
    # Checked before a small text is unpacked into a large array.
    fits = isinstance(lengths, list) and len(lengths) == len(shape)
    if not fits or any(length not in (1, full) for length, full in zip(lengths, shape, strict=True)):
        raise ValueError(f"expected a rule whose shape broadcasts to {shape}, got {strict_json.quoted(lengths)}")
    if not isinstance(allowed, str):
        raise ValueError(f"expected a packed mask, got {strict_json.quoted(allowed)}")
    return Rule(name, unpack_mask(allowed, [whole_number(length, "a length of shape", 1) for length in lengths]))


def _read_model(value: object) -> Model:
    names = tuple(field.name for field in fields(Model))
    if not isinstance(value, dict) or set(value) != set(names):
        raise ValueError(f"expected a model with {', '.join(names)}, got {strict_json.quoted(value)}")
    return Model(**value)


def _read_texts(value: object, name: str) -> Texts:
    if not isinstance(value, list) or not all(isinstance(text, list) for text in value):
        raise ValueError(f"expected {name} to be lists of tokens, got {strict_json.quoted(value)}")
    for text in value:
        if not all(isinstance(token, str) for token in text):
            raise ValueError(f"expected {name} to hold tokens, got {strict_json.quoted(text)}")
    texts = tuple(map(tuple, value))
    _refuse_too_long(texts, name)
    return texts


def _refuse_too_long(texts: Texts, name: str) -> None:
    if len(texts) > MAX_TEXTS:
        raise ValueError(f"expected {name} to be at most {MAX_TEXTS}, got {len(texts)}")
    for text in texts:
        if len(text) > MAX_TOKENS:
            raise ValueError(f"expected {name} of at most {MAX_TOKENS} tokens, got {len(text)}")
        if sum(map(len, text)) > MAX_CHARACTERS:
            raise ValueError(f"expected {name} of at most {MAX_CHARACTERS:,} characters, got {sum(map(len, text)):,}")


def _refuse_too_many_rules(rules: Any) -> None:
    if len(rules) > MAX_RULES:
        raise ValueError(f"expected at most {MAX_RULES} rules, got {len(rules)}")


def read_link(value: object) -> dict[str, str]:
    """What a link says, name by name; ValueError for anything else."""
    if not isinstance(value, dict) or not all(isinstance(part, str) for pair in value.items() for part in pair):
        raise ValueError(f"expected link to be names and texts, got {strict_json.quoted(value)}")
    return value
