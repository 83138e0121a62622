"""What an output is, and what is said about files."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.outputs.checking import check_files, check_table, results, schema
from caveat.outputs.differencing import Counts, compare_counts
from caveat.outputs.output_table import Described
from caveat.outputs.statbarns import Rules, Verdict
from caveat.table import Table


def file(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_files_of_all_forms(tmp_path: Path) -> None:
    table = file(tmp_path, "table.csv", "sex,count\nf,120\nm,4\n")
    model = {"n": 500, "coefficients": [{"term": "Intercept"}, {"term": "age"}]}
    paths = [
        table,
        file(tmp_path, "model.json", json.dumps(model)),
        file(tmp_path, "list.json", "[1, 2]"),
        file(tmp_path, "other.json", "{}"),
        file(tmp_path, "picture.png", "x"),
        file(tmp_path, "words.csv", "a,b\nx,y\n"),
    ]
    found = check_files(paths)
    assert [(one.name, one.form, one.verdict.value) for one in found] == [
        ("table.csv", "table", "refuse"),
        ("model.json", "regression", "safe"),
        ("list.json", "custom", "needs review"),
        ("other.json", "custom", "needs review"),
        ("picture.png", "custom", "needs review"),
        ("words.csv", "custom", "needs review"),
    ]
    assert check_files([table], Rules(threshold=3))[0].verdict is Verdict.SAFE


def test_parquet_and_csv_are_the_same(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [1, 2], "count": [120, 4]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    one, other = check_files([tmp_path / "a.csv", tmp_path / "a.parquet"])
    assert one.findings == other.findings
    assert one.counts is not None
    assert other.counts is not None
    assert one.counts.cells == other.counts.cells


def test_outputs_are_compared_with_each_other_and_with_earlier_ones(tmp_path: Path) -> None:
    one = file(tmp_path, "one.csv", "sex,count\nf,120\nm,110\n")
    other = file(tmp_path, "two.csv", "sex,count\nf,117\nm,90\n")
    first, second = check_files([one, other])
    assert first.verdict is Verdict.SAFE
    assert [finding.rule for finding in second.findings] == ["differencing"]
    assert first.counts is not None
    (alone,) = check_files([other], earlier=[first.counts])
    assert alone.findings == second.findings
    (again,) = check_files([one], earlier=[first.counts])
    assert again.verdict is Verdict.SAFE


def test_survival_tables() -> None:
    frame = pd.DataFrame({"time": [0, 1, 2, 3], "at_risk": [100, 85, 70, 8],
                          "events": [15, 15, 12, 0], "survival": [0.9, 0.7, 0.6, 0.6]})  # fmt: skip
    found = check_table(frame)
    assert found.form == "survival table"
    assert [one.cells for one in found.findings] == [((3, "at_risk"),)]
    few = check_table(frame.assign(at_risk=[100, 98, 97, 60], events=[2, 1, 37, 0]))
    assert [one.cells for one in few.findings] == [
        ((1, "at_risk"), (2, "at_risk")), ((0, "events"), (1, "events")),
    ]  # fmt: skip
    censored = check_table(frame.assign(at_risk=[100, 97, 70, 50], events=[0, 15, 12, 0]))
    assert [one.cells for one in censored.findings] == [((1, "at_risk"),)]
    (unsaid,) = check_table(frame[["time", "at_risk"]].head(3)).findings
    assert unsaid.verdict is Verdict.REVIEW
    with refused("outputs.value.range", column="at_risk", row=2):
        check_table(frame.assign(at_risk=[100, -1, 97, 60]))


def test_a_description_goes_by_the_name_of_the_file(tmp_path: Path) -> None:
    path = file(tmp_path, "cross.csv", "sex,north,south\nf,20,30\nm,40,3\n")
    described = {"cross.csv": Described(form="cross", across="region")}
    (found,) = check_files([path], described=described)
    assert [finding.cells for finding in found.findings] == [((1, "south"),)]
    assert check_files([path])[0].form == "custom"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("empty.csv", "", "outputs.file.empty"),
        ("header.csv", "sex,count\n", "data.table.empty"),
        ("below.csv", "sex,count\nf,-3\n", "outputs.value.range"),
        ("broken.json", "{", "outputs.file.malformed"),
    ],
)
def test_bad_input(name: str, text: str, said: str, tmp_path: Path) -> None:
    with refused(said):
        check_files([file(tmp_path, name, text)])
    with refused("outputs.file.absent"):
        check_files([tmp_path / "nothing.csv"])


COLUMNS = ("sex", "age", "count", "n", "total", "mean", "max", "p90", "largest_1", "largest_2",
           "sd", "term", "estimate", "df_resid", "at_risk", "events", "share")  # fmt: skip
CELLS = ("", "0", "5", "12", "100", "-3", "2.5", "*", "<10", "f", "total", "0-19", "20+", "inf",
         "1e400", "Intercept", "a[T.b]")  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_whatever_is_in_a_table_there_is_a_verdict_or_a_sentence(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=5, unique=True))
    row = st.lists(st.sampled_from(CELLS), min_size=len(names), max_size=len(names))
    rows = data.draw(st.lists(row, min_size=1, max_size=6))
    table = Table.from_frame(pd.DataFrame(rows, columns=names))
    described = data.draw(st.sampled_from([None, Described(), Described(form="cross")]))
    try:
        found = check_table(table, described=described)
    except CaveatError:
        return
    Draft202012Validator(schema()).validate(results([found], datetime.now(UTC)))
    if found.counts is not None:
        again = Counts.from_entry(json.loads(json.dumps(found.counts.entry(), allow_nan=False)))
        assert compare_counts(found.counts, again, 10) == []


def test_what_is_called_confidential_is_refused(tmp_path: Path) -> None:
    path = file(tmp_path, "out-CONFIDENTIAL-why-hidden.csv", "sex,count\nf,20\nm,40\n")
    (found,) = check_files([path])
    assert found.verdict is Verdict.REFUSE


def test_what_stands_beside_a_model_is_looked_at(tmp_path: Path) -> None:
    model = '"coefficients": [{"term": "age", "estimate": 1.0}], "n": 1000'
    (plain,) = check_files([file(tmp_path, "a.json", "{" + model + "}")])
    (more,) = check_files([file(tmp_path, "b.json", "{" + model + ', "residuals": [1, 2]}')])
    assert plain.verdict is not Verdict.REFUSE
    assert "what residuals holds is not known" in [one.reason for one in more.findings]
    assert not any("residuals" in one.reason for one in plain.findings)


def test_lines_that_cross_tell_what_none_tells() -> None:
    """Two hidden cells in a column without totals of rows hold; with them they are computed."""
    frame = pd.DataFrame(
        {
            "a": ["x", "x", "y", "y", "Total", "Total"],
            "b": ["p", "q", "p", "q", "p", "q"],
            "count": ["*", "20", "*", "30", "40", "50"],
        }
    )
    assert check_table(frame).verdict is Verdict.SAFE
    more = pd.concat([frame, pd.DataFrame({"a": ["x"], "b": ["Total"], "count": ["35"]})])
    (found,) = check_table(more).findings
    assert (found.rule, found.verdict) == ("recomputed", Verdict.REFUSE)
    assert found.reason == "hidden cells can be computed from the totals: a x, b p; a y, b p"
    assert found.cells == ((0, "count"), (2, "count"))


def test_a_file_with_decimal_commas_is_read_by_them(tmp_path: Path) -> None:
    text = "region;count;mean\nn;1.500;1.767,26\ns;12.000;2.100,10\nw;9;3,5\n"
    (found,) = check_files([file(tmp_path, "de.csv", text)])
    assert found.counts is not None
    assert found.counts.cells == {("n",): 1500, ("s",): 12000, ("w",): 9}
    assert found.findings[0].reason == "row 3: fewer than 10 persons"
    (declared,) = check_files(
        [file(tmp_path, "n.csv", "region;count\nn;1.500\ns;12.000\n")],
        described={"n.csv": Described(decimal=",")},
    )
    assert declared.verdict is Verdict.SAFE
    assert declared.counts is not None
    assert declared.counts.cells == {("n",): 1500, ("s",): 12000}


def test_a_folder_is_all_its_files(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    with refused("outputs.folder.empty"):
        check_files([tmp_path])
    file(tmp_path / "below", "b.csv", "sex,count\nf,120\nm,110\n")
    file(tmp_path, "a.csv", "sex,count\nf,120\nm,4\n")
    found = check_files([tmp_path])
    assert [(one.name, one.verdict.value) for one in found] == [
        ("a.csv", "refuse"), ("b.csv", "safe"),
    ]  # fmt: skip


def verdict_on(text: str, **described: Any) -> tuple[str, list[str]]:
    """Check a table in a file, and return the verdict and the reasons."""
    with TemporaryDirectory() as folder:
        path = file(Path(folder), "t.csv", text)
        said = {"t.csv": Described(**described)} if described else {}
        found = check_files([path], described=said)
    return found[0].verdict.value, [one.reason for one in found[0].findings]


@pytest.mark.parametrize(
    ("cell", "total", "verdict"),
    [("<10", 18, "refuse"), ("<10", 17, "needs review"), ("<10", 13, "safe"), ("≤9", 18, "refuse")],
)
def test_bounds_in_hidden_cells_are_used(cell: str, total: int, verdict: str) -> None:
    text = f"region,sex,count\na,f,{cell}\na,m,{cell}\na,total,{total}\n"
    found, reasons = verdict_on(text + "b,f,60\nb,m,70\nb,total,130\n")
    assert found == verdict
    said = {
        "refuse": ["hidden cells can be computed from the totals and bounds: region a, sex f; "
                   "region a, sex m"],
        "needs review": ["few values are left for hidden cells by the totals and bounds: region a, "
                         "sex f; region a, sex m"],
        "safe": [],
    }  # fmt: skip
    assert reasons == said[verdict]


def test_bounds_alone_can_leave_few_values() -> None:
    for cell, verdict in {"<2": "needs review", "≤1": "needs review", "<3": "safe"}.items():
        assert verdict_on(f"region,count\na,{cell}\nb,60\nc,75\n")[0] == verdict
    # Who shows empty cells does not hide them: below 2 is then 1.
    assert verdict_on("region,count\na,<2\nb,60\nc,75\nd,0\n")[0] == "refuse"
    for cell in ("<10 (3)", ">2 and <4"):
        assert verdict_on(f"region,count\na,{cell}\nb,60\nc,75\n")[0] == "needs review"
        with refused("outputs.cell.type", column="count", row=1):
            verdict_on(f"region,count\na,{cell}\nb,60\nc,75\n", count="count")


def test_bounds_in_a_cross_table() -> None:
    text = "sex,north,south,total\nf,<10,<10,18\nm,40,50,90\n"
    assert verdict_on(text, form="cross")[1] == [
        "hidden cells can be computed from the totals and bounds: sex f, columns north; sex f, "
        "columns south"
    ]


@pytest.mark.parametrize(
    ("name", "verdict", "said"),
    [
        ("Total:", "refuse", "hidden cells can be computed from the totals: region a, sex m"),
        ("All persons", "refuse", "hidden cells can be computed from the totals: region a, sex m"),
        ("", "refuse", "hidden cells can be computed from the totals: region a, sex m"),
        ("both sexes", "needs review",
         "if 'both sexes' is a total, hidden cells can be computed: region a, sex m"),
        ("Insieme", "needs review",
         "if 'Insieme' is a total, hidden cells can be computed: region a, sex m"),
    ],
)  # fmt: skip
def test_totals_under_other_names_are_seen(name: str, verdict: str, said: str) -> None:
    text = f"region,sex,count\na,f,50\na,m,*\na,{name},55\nb,f,40\nb,m,60\nb,{name},100\n"
    assert verdict_on(text) == (verdict, [said])
    # A category of that name that is no sum is none, and two hidden cells are none the wiser.
    assert verdict_on(text.replace("100", "107"))[0] == "safe"
    assert verdict_on(text.replace("a,f,50", "a,f,*"))[0] == "safe"


def test_a_note_below_a_table_is_no_hidden_cell() -> None:
    text = 'region,count\nnorth,30\nsouth,*\ntotal,33\n"Source: office",\n'
    assert verdict_on(text) == (
        "refuse",
        ["hidden cells can be computed from the totals: region south"],
    )
    assert verdict_on("region,count\nnorth,30\nsouth,45\nSource: office,\n") == ("safe", [])


def test_semicolons_mean_decimal_commas() -> None:
    low = "rows 1 and 2: fewer than 10 persons"
    not_whole = "counts are not whole: the rules are about persons, not about weights or noise"
    assert verdict_on("Region;Anzahl\nNord;3,000\nOst;4,125\n") == ("refuse", [low, not_whole])
    assert verdict_on('"Region";"Anzahl"\n"Nord";"1.500"\n"Ost";"2.300"\n') == (
        "needs review",
        [f"numbers were read with a decimal comma; with a point they are not safe: {low}"],
    )
    text = "Region;Anzahl\nNord;1.500\nOst;2.300\n"
    assert verdict_on(text, decimal=",") == ("safe", [])
    assert verdict_on(text, decimal=".") == ("refuse", [low, not_whole])
    assert verdict_on("Region;Anzahl\nNord;3,000\nOst;4,125\n", decimal=".") == ("safe", [])
    # Another column tells the sign, and whole numbers have none.
    assert verdict_on("Region;n;sd\nNord;50;1.5\nOst;60;2.25\n") == ("safe", [])
    assert verdict_on("Region;n;sd\nNord;1.500;1,5\nOst;1.600;2,25\n") == ("safe", [])
    assert verdict_on("Region;n\nNord;50\nOst;60\n") == ("safe", [])
    # With other delimiters commas stand between thousands.
    assert verdict_on('region,count\na,"1,050"\nb,"2,057"\n') == ("safe", [])


def test_numbers_with_decimals_are_hardly_the_only_key() -> None:
    text = "avg income,count\n1234.5,20\n999.0,30\n"
    assert verdict_on(text) == ("needs review", ["what avg income holds is not known"])
    assert verdict_on(text, keys=("avg income",)) == ("safe", [])
    assert verdict_on("year,count\n2020,50\n2021,60\n") == ("safe", [])
    assert verdict_on("region,grade,count\na,1.5,50\na,2.5,60\nb,1.5,45\nb,2.5,63\n") == (
        "safe",
        [],
    )


GROUPS = {
    "Total": (375, 188, 187), "east": (75, 38, 37), "coast": (210, 105, 105),
    "islands": (60, 30, 30), "north": (80, 40, 40), "west": (70, 35, 35), "south": (90, 45, 45),
}  # fmt: skip


def with_groups(*hidden: tuple[str, str]) -> str:
    """Write a table with a subtotal of three regions, and hide some of its cells."""
    lines = [
        f"{region},{sex},{'*' if (region, sex) in hidden else count}"
        for region, counts in GROUPS.items()
        for sex, count in zip(("Total", "f", "m"), counts, strict=True)
    ]
    return "\n".join(["region,sex,count", *lines, ""])


def test_subtotals_of_codes_are_seen() -> None:
    assert verdict_on(with_groups()) == ("safe", [])
    assert verdict_on(with_groups().replace("375", "376"))[1] == [
        "rows 1, 2 and 3: the total is not the sum of its cells"
    ]
    # Through its group, or in two steps, a hidden cell can be computed.
    assert verdict_on(with_groups(("north", "f"))) == (
        "refuse",
        ["hidden cells can be computed from the totals: region north, sex f"],
    )
    both = ("north", "f"), ("north", "m")
    assert verdict_on(with_groups(*both))[0] == "refuse"
    # A hidden cell outside the group does not protect one inside.
    crossed = (*both, ("south", "f"), ("south", "m"))
    assert verdict_on(with_groups(*crossed))[0] == "refuse"
    assert verdict_on(with_groups(*both, ("west", "f"), ("west", "m"))) == ("safe", [])
