"""In one run each table is brought on common levels once, however many attackers look at it."""

from __future__ import annotations

import importlib
from collections import Counter

from caveat import Release
from caveat.table import Table, align, align_copies, read

ALIGN = importlib.import_module("caveat.table.align")  # the package hides it behind the function

ALL_ATTACKS = (
    'attacks = ["singling-out", "inference"]',
    'attacks = ["singling-out", "inference", "prediction", "outliers", "membership", "distances"]',
)


def test_each_table_of_a_run_is_aligned_once(specification, tmp_path, monkeypatch):
    """A file made elsewhere has its own levels: every column has to be aligned, but only once."""
    path = specification(ALL_ATTACKS)
    release = Release.from_toml(path)
    original = read(tmp_path / "survey.csv")
    theirs = tmp_path / "theirs.csv"
    original.take(slice(0, 200)).to_frame("pandas").to_csv(theirs, index=False)
    counted = Counter()
    align_column = ALIGN._align_column

    def count(columns, name):
        counted[name] += 1
        return align_column(columns, name)

    monkeypatch.setattr(ALIGN, "_align_column", count)
    release.run(tmp_path / "out", only="audit", synthetic=[theirs], threads=1)
    assert {"height", "age"} <= set(counted)
    assert set(counted.values()) == {1}


def test_copies_are_on_the_levels_of_all_and_differ_from_the_original_alone():
    people = Table.from_frame({"job": ["baker", "smith"], "age": [31, 47]})
    first = Table.from_frame({"job": ["smith", "weaver"], "age": ["31", "52"]})
    second = Table.from_frame({"job": ["weaver", "baker"], "age": [47, 60]})
    control = Table.from_frame({"job": ["miller", "baker"], "age": [31, 47]})
    pairs = align_copies(people, [first, second], control)
    every = [pairs[0].original, *(pair.synthetic for pair in pairs), pairs[0].control]
    assert [t["job"].levels.tolist() for t in every] == [["baker", "miller", "smith", "weaver"]] * 4
    assert [t["age"].levels.tolist() for t in every] == [[31, 47, 52, 60]] * 4
    assert [t["age"].values.tolist() for t in every[1:3]] == [[31, 52], [47, 60]]
    # The weaver of the second copy is new, although the first copy has one too.
    assert [str(d) for d in pairs[1].differences] == [
        "job: 1 value of 1 row does not occur in the original",
        "age: 1 value of 1 row does not occur in the original",
    ]
    assert pairs[0].people == [every[0], every[3]]


def test_what_is_aligned_is_left_as_it_is():
    people = Table.from_frame({"job": ["baker", "smith"]})
    pair = align(people, Table.from_frame({"job": ["weaver", "baker"]}))
    again = align(pair.original, pair.synthetic)
    assert again.original["job"] is pair.original["job"]
    assert again.synthetic["job"] is pair.synthetic["job"]
    assert again.differences == ()
