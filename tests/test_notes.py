"""Notes: a text with a code, and the list of those that may be published."""

from __future__ import annotations

import ast
import copy
import pickle
from pathlib import Path

import pytest

import caveat
from caveat.notes import Note

SRC = Path(caveat.__file__).parent

PUBLIC = {
    "all-groups": "of all groups",
    "all-records": "of all records",
    "averaged": "simulated: averaged over {n} draws of the parameters",
    "before-protection": "of the release before its protections, which do not look at the "
    "original: a bound",
    "exact-filter": "exact, for an attacker who knows the filter",
    "first-table": "the first table alone",
    "most-vulnerable": "of the {n} most vulnerable records",
    "no-record": "there is no record to count",
    "of-members": "beside it: each member alone",
    "random-groups": "of {n:,} groups drawn at random",
    "whole-groups": "groups are synthesised whole: this attack is on single records and is not "
    "carried out",
    "protection-reads-original": "no exact likelihood: {protection} looks at the original: the "
    "release is no plain draw",
    "paired-fits": "simulated: {n} releases with each of {records} records and {n} without it, "
    "half of them to judge",
    "random-sample": "of {n:,} records drawn at random",
    "sampled-rows": "on {ours:,} of {all_ours:,} original and {theirs:,} of {all_theirs:,} "
    "synthetic rows, drawn at random; standard error of the sampling {error:.2g}",
    "sampled-rows-only": "on {ours:,} of {all_ours:,} original and {theirs:,} of {all_theirs:,} "
    "synthetic rows, drawn at random",
    "below-threshold": "withheld: it rests on fewer than {fewest} records",
    "reason-withheld": "it could not be computed",
    "recovered": "a lower bound: on plain trees, where the truth is known, this attacker with {n} "
    "simulations finds {plain:.0f} % of what the exact one finds, on guarded trees {guarded:.0f} %",
    "releases-compared": "simulated: {n} releases in each world; she looks at how often each "
    "candidate's whole record occurs, and a stronger attack may exist",
    "synthesised-elsewhere": "the tables were synthesised elsewhere: how is not known, and this "
    "attacker knows it",
    "too-few-simulations": "so few false positives can only be seen with {n} simulations or more",
    "with-most-vulnerable": "of these and the {n:,} most vulnerable records",
    "simulated-once": "its releases are simulated once, with the first fit",
    "few-records": "there are fewer records than neighbours",
    "too-much-work": "left out: an attack on 10 records would exceed the bound of a run; set "
    'records = "all" to attack everyone',
    "in-cells": "the attacker wants one of {n:,} cells of the number",
    "some-candidates": "of {n:,} values and the own one",
    "some-tables": "{n:,} of {possible:,} tables are counted, drawn at random",
    "proven": "people count as certain members if a level or an end of a range leaves that would "
    "not be there without them",
    "own-structure": "a lower bound: on guarded trees the likelihood ratio under one structure "
    "drawn by the attacker finds {share:.0f} ± {error:.0f} % of what the exact attacker finds, who "
    "also has the structure of the release",
    "no-target": "every released column is a key: nothing is left to learn",
    "budget": "each further release would spend budget of the guarantee",
    "no-dial": "the release is not drawn from trees that have a dial",
    "nothing-to-compare": "it has neither a control nor a baseline here",
    "no-coefficient": "no coefficient of the original differs from 0",
    "no-regression": "no column of the original can be explained by others",
    "regressions": "{n:,} regressions",
    "pairs-kept": "on {columns:,} of {of:,} columns, drawn at random",
    "no-correlation": "no two columns of the original go together",
    "sampled-columns": "on {columns:,} of {of:,} columns, drawn at random",
    "can-only-be-run": "the generator is not ours: it can be run, but the probability of what it "
    "makes is not known",
}
"""What the external version may say: whoever adds a note to it has it read here by a second."""


def _texts(scope: ast.AST) -> dict[str, str]:
    """Return the constants that stand under a name in a module or in a function."""
    return {
        node.targets[0].id: node.value.value
        for node in ast.walk(scope)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }


def _published() -> dict[str, str]:
    """Return code and text of every note in the library that is called public."""
    found = {}
    for path in SRC.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        # A function comes after the module: of one name in several functions each has its own.
        for scope in ast.walk(tree):
            if not isinstance(scope, ast.Module | ast.FunctionDef):
                continue
            texts = _texts(tree) | _texts(scope)
            for node in ast.walk(scope):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Name)
                    and node.func.id == "Note"
                    and any(key.arg == "public" for key in node.keywords)
                ):
                    code, text = node.args
                    # Anything but a constant, or the name of one, is an error here.
                    words = text.value if isinstance(text, ast.Constant) else texts[text.id]  # type: ignore[attr-defined]
                    found[code.value] = words  # type: ignore[attr-defined]
    return found


def test_what_may_be_published_is_this_list():
    assert _published() == PUBLIC


def test_a_note_is_its_text():
    note = Note("random-sample", "of {n:,} records drawn at random", public=True, n=1234)
    assert note == "of 1,234 records drawn at random"
    assert note.to_dict() == {
        "code": "random-sample",
        "text": "of 1,234 records drawn at random",
        "public": True,
        "parameters": {"n": 1234},
    }
    assert type(note.to_dict()["text"]) is str


def test_braces_of_others_are_no_parameters():
    assert Note("refused", "column {x}: {") == "column {x}: {"
    assert Note("differs", "{what} differs", what="{n}") == "{n} differs"
    assert not Note("refused", "column x").public


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda note: pickle.loads(pickle.dumps(note))]
)
def test_a_copy_keeps_everything(again):
    note = Note("x", "{n} rows {{}}", public=True, n=3)
    assert type(again(note)) is Note
    assert again(note).to_dict() == note.to_dict()
