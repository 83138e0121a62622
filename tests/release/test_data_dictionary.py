"""The data dictionary for recipients: what is released, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
from tests.refusals import refused

from caveat.release.data_dictionary import (
    Released,
    Variable,
    described,
    protections_of,
    write_dictionaries,
    write_dictionary,
)
from caveat.table import Column, Kind, Missing, Table, read

DDI = "{ddi:codebook:2_5}"


def releases() -> list[Table]:
    """Return two copies; each lacks a level that the dictionary of the column has."""
    sex = Column(
        np.array([0, 1, 0]),
        np.array([1, 2, 3]),
        Kind.CATEGORY,
        label="Sex & <gender>",
        value_labels={1: "male", 2: "female", 3: "SECRET"},
    )
    income = Column(
        np.array([0, 1, 3]),
        np.array([800.5, 1500.0]),
        Kind.NUMERIC,
        (Missing(-7, "SECRET"), Missing(-8, "not asked")),
    )
    name = Column(np.array([0, 1, 2]), np.array(["=A\x01", "B", "C"], object), Kind.TEXT)
    first = Table({"sex": sex, "income": income, "name": name})
    second = first.with_columns({"income": replace(income, codes=np.array([0, 0, 0]))})
    return [first, second]


def variables() -> list[Variable]:
    return described(releases(), {"income": "derived", "name": "guarded"}, {"sex": ["pram"]})


def test_blocks_are_described_as_the_whole() -> None:
    first = releases()[0]
    late = Column(np.array([2]), np.array(["low", "mid", "high"], object), Kind.ORDERED)
    early = replace(late, codes=np.array([0, 0]))
    released = Released(Path("x.csv"))
    released.add(Table({"income": first["income"].take(slice(1)), "o": late.take(slice(1))}))
    released.add(Table({"income": first["income"].take(slice(1, 3)), "o": early}))
    income, order = described([released.columns], {})
    assert (income.low, income.high) == ("800.5", "1500")
    assert income.missing == (("-8", "not asked"),)
    assert order.levels == (("low", ""), ("high", ""))  # in their order, and no other


def test_words_that_a_format_cannot_hold_are_empty_cells() -> None:
    codes = (Missing(), Missing("NA"), Missing(-9, "refused"), Missing("n/a"))
    column = Column(np.array([0, 1, 2, 3, 4]), np.array([7]), Kind.INTEGER, codes)
    for target, missing in (
        ("x.csv", ["(empty)", "NA", "-9", "n/a"]),
        ("x.xlsx", ["(empty)", "-9"]),
        ("parts/", ["(empty)", "-9"]),
    ):
        released = Released(Path(target), in_parts=target.endswith("/"))
        released.add(Table({"x": column}))
        (found,) = described([released.columns], {})
        assert [code for code, _ in found.missing] == missing


def test_only_what_is_released_is_described() -> None:
    sex, income, name = variables()
    assert sex.levels == (("1", "male"), ("2", "female"))
    assert sex.done == "synthesised, then protected (pram)"
    assert (income.low, income.high) == ("800.5", "1500")
    assert income.missing == (("-8", "not asked"),)
    assert income.done == "computed from other columns"
    assert (name.levels, name.low, name.done) == ((), "", "synthesised")
    assert "SECRET" not in repr(variables())


def test_every_format_says_the_same(tmp_path: Path) -> None:
    files = [{"name": "synthetic-1.csv"}, {"name": "synthetic-2.csv"}]
    written = write_dictionaries(variables(), tmp_path, "Survey <1>", files)
    assert written == ["dictionary.csv", "dictionary.html", "dictionary.xml"]
    for name in written:
        assert "SECRET" not in (tmp_path / name).read_text("utf-8")
    table = read(tmp_path / "dictionary.csv")
    assert table["column"].values.tolist() == ["sex"] * 3 + ["income"] * 2 + ["name"]
    assert table["value_label"].values.tolist() == [None, "male", "female", None, "not asked", None]
    page = (tmp_path / "dictionary.html").read_text("utf-8")
    assert "<td>Sex &amp; &lt;gender&gt;</td>" in page
    assert "1 = male<br>2 = female" in page
    assert "Survey &lt;1&gt;: data dictionary" in page


def test_ddi_is_well_formed_and_in_its_namespace(tmp_path: Path) -> None:
    path = tmp_path / "d.xml"
    odd = replace(variables()[2], label="a\x00b")
    write_dictionary([*variables()[:2], odd], path, title="Survey", files={"": ["a.csv", "b.csv"]})
    root = ET.parse(path).getroot()
    assert root.tag == f"{DDI}codeBook"
    assert [child.tag.removeprefix(DDI) for child in root] == [
        "docDscr", "stdyDscr", "fileDscr", "dataDscr",
    ]  # fmt: skip
    assert root.findtext(f"{DDI}stdyDscr/{DDI}citation/{DDI}titlStmt/{DDI}titl") == "Survey"
    assert root.findtext(f"{DDI}fileDscr/{DDI}fileTxt/{DDI}fileName") == "a.csv, b.csv"
    sex, income, name = root.findall(f"{DDI}dataDscr/{DDI}var")
    assert (sex.get("name"), sex.get("intrvl"), sex.get("files")) == ("sex", "discrete", "F1")
    assert [c.findtext(f"{DDI}catValu") for c in sex.findall(f"{DDI}catgry")] == ["1", "2"]
    (code,) = income.findall(f"{DDI}catgry")
    assert (code.get("missing"), code.findtext(f"{DDI}labl")) == ("Y", "not asked")
    limits = income.find(f"{DDI}valrng/{DDI}range")
    assert limits is not None
    assert limits.attrib == {"min": "800.5", "max": "1500"}
    assert name.findtext(f"{DDI}labl") == "ab"


def test_several_tables_have_several_files(tmp_path: Path) -> None:
    both = [replace(v, table=t) for t in ("one", "two") for v in variables()[:1]]
    write_dictionary(both, tmp_path / "d.csv", title="x")
    assert read(tmp_path / "d.csv").names[0] == "table"
    write_dictionary(both, tmp_path / "d.xml", title="x")
    root = ET.parse(tmp_path / "d.xml").getroot()
    assert [v.get("files") for v in root.iter(f"{DDI}var")] == ["F1", "F2"]


def test_other_extensions_are_refused(tmp_path: Path) -> None:
    with refused("release.format.unknown"):
        write_dictionary(variables(), tmp_path / "d.pdf", title="x")


def test_protections_are_those_of_the_column() -> None:
    steps = [("round", {"column": "income", "base": 10}), ("uniques", {})]
    assert protections_of(steps, ["income", "sex"]) == {"income": ["round"], "": ["uniques"]}


def test_the_page_keeps_off_the_sides_of_a_narrow_window(tmp_path: Path) -> None:
    write_dictionary(variables(), tmp_path / "d.html", title="Survey")
    style = (tmp_path / "d.html").read_text("utf-8").partition("<style>")[2]
    body = " ".join(style.partition("}")[0].split())
    assert body.endswith("max-width: 70rem; padding: 0 1rem")
