"""The table of entries as a file beside this one: it can be had without loading any room.

The table itself (:mod:`caveat.spec.entries`) names every measure, method and attack, and loads
them for that. To refuse a wrong key only its form is needed: ``entries.json`` holds it, written by
``docs/make_release_spec.py``, and a test sees to it that both are the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from importlib.resources import files
from typing import Any

from caveat.spec import _kinds
from caveat.spec._kinds import Group

__all__ = ["form_of", "stored_table"]

# What a key means and what holds without it does not matter to whether an entry is right.
WORDS = ("says", "default", "otherwise", "only", "rules")


def form_of(kind: Any) -> Any:
    """Return a table of entries, or a part of one, as plain values for a file."""
    if isinstance(kind, Mapping):
        return {name: form_of(part) for name, part in kind.items()}
    if isinstance(kind, tuple):
        return [form_of(part) for part in kind]
    if type(kind).__module__ != _kinds.__name__:
        return kind
    held = {f.name: getattr(kind, f.name) for f in fields(kind) if f.name not in WORDS}
    usual = {f.name: f.default for f in fields(kind)}
    more = {name: form_of(value) for name, value in held.items() if value != usual[name]}
    return [type(kind).__name__, more]


def _made(form: Any) -> Any:
    """Return what `form_of` was given, without the words."""
    if isinstance(form, dict):
        return {name: _made(part) for name, part in form.items()}
    if not isinstance(form, list):
        return form
    if len(form) == 2 and isinstance(form[1], dict):
        words = {"says": ""} if form[0] == "Key" else {}
        return getattr(_kinds, form[0])(**_made(form[1]), **words)
    return tuple(_made(part) for part in form)


@cache
def stored_table() -> Group:
    """Return the table of entries, without its words.

    Examples
    --------
    >>> list(stored_table().keys)[:2]
    ['release', 'data']
    """
    text = files("caveat.spec").joinpath("entries.json").read_text("utf-8")
    return Group(_made(json.loads(text)))
