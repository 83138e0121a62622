"""Blocks about single columns: what was found, and what a code book says before it."""

from __future__ import annotations

import tomllib

from caveat.findings import look
from caveat.spec.codebook import Domain, column_blocks

DATA = {
    "income": [800, -8, 1500, -8, 950, *range(1000, 1045)],
    "answer": [1, 2, 3, 4, 2] * 10,
    "number": ["NK", *(str(i % 30) for i in range(49))],
}


def blocks(domains: dict[str, Domain]) -> str:
    return "\n".join(column_blocks(look(DATA), "columns", domains))


def test_without_a_code_book_what_was_found_is_in_force():
    assert tomllib.loads(blocks({}))["columns"]["income"] == {"missing": [-8]}


def test_a_whole_code_among_decimals_is_written_as_it_stands():
    data = {"wage": [*(10.25 + i for i in range(47)), -9.0, -9.0, -9.0]}
    text = "\n".join(column_blocks(look(data), "columns"))
    assert "missing = [-9]" in text
    assert "-9.0" not in text


def test_the_code_book_alone_says_what_is_missing():
    text = blocks({"income": Domain(range=(-10, 9000, 1)), "answer": Domain(missing={"4": "?"})})
    content = tomllib.loads(text).get("columns", {})
    assert "income" not in content
    assert "# -8 in 4.0 % of the rows: missing? The code book does not say so." in text
    assert content["answer"] == {"missing": {"4": "?"}}


def test_levels_make_a_class():
    text = blocks({"answer": Domain(("1", "2"), kind="category")})
    assert tomllib.loads(text)["columns"]["answer"] == {"kind": "category"}
    assert "Few different whole numbers" not in text


def test_text_becomes_a_number_only_without_other_words():
    found = tomllib.loads(blocks({}))["columns"]["number"]
    assert found == {"missing": ["NK"], "kind": "integer"}
    text = blocks({"number": Domain(range=(0, 9, 1))})
    assert "number" not in tomllib.loads(text).get("columns", {})
