"""The look at real survey files: what their documentation says is found, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from caveat.findings import Profile, look
from caveat.table import Table, read


@pytest.fixture(scope="module")
def looked(shared: Path) -> Callable[[str], Profile]:
    """Look at a file by its name, once."""
    done: dict[str, Profile] = {}

    def at(name: str) -> Profile:
        if name not in done:
            done[name] = look(read(shared / "data" / f"{name}.csv"))
        return done[name]

    return at


def columns(profile: Profile, code: str) -> set[str]:
    return {f.columns[0] for f in profile.about(code)}


def test_sd2011_missing_codes_are_those_of_its_documentation(looked, shared):
    described = json.loads((shared / "data" / "sd2011.json").read_text())["column"]
    expected = {
        c["name"]: (c["special_codes"], c["n_special"]) for c in described if "n_special" in c
    }
    found = looked("sd2011").about("missing-code")
    assert {
        f.columns[0]: ([int(c) for c in f.suggestion["missing"]], f.rows) for f in found
    } == expected
    assert {str(f.strength) for f in found} == {"likely"}


def test_sd2011_read_with_numbers_unquoted(shared):
    frame = pl.read_csv(shared / "data" / "sd2011.csv", infer_schema_length=None)
    found = look(Table.from_frame(frame)).about("missing-code")
    assert {f.columns[0] for f in found} == {"unempdur", "income", "nofriend", "nociga", "wkabdur"}


def test_sd2011_wkabdur_is_nearly_all_minus_eight_and_text(looked):
    profile = looked("sd2011")
    (found,) = profile.about("nearly-constant", "wkabdur")
    assert found.share == 0.975
    assert profile.about("number-as-text", "wkabdur")


def test_sd2011_derived_columns(looked):
    profile = looked("sd2011")
    (groups,) = profile.about("groups-of")
    assert groups.columns == ("agegr", "age")
    assert "missing in 4 rows where age is not" in groups.message
    (bmi,) = profile.about("arithmetic")
    assert bmi.suggestion["formula"] == "weight / (height / 100) ** 2"
    assert "missing in 7 rows where no input is" in bmi.message
    assert "not missing in 1 row where an input is (row 3953)" in bmi.message
    assert columns(profile, "one-to-one") | columns(profile, "determined-by") == set()


def test_sd2011_values_that_stand_out(looked):
    profile = looked("sd2011")
    assert columns(profile, "outlier") == {"bmi"}
    assert profile.about("outlier")[0].message.startswith("449.97973 (1 row)")
    spikes = profile.about("heaping", "nofriend")[0].suggestion
    assert spikes["multiple_of"] == 5
    assert {5, 10, 15, 20, 30, 40, 50} <= set(spikes["spikes"])
    assert columns(profile, "long-factor") == {"eduspec"}  # wkabdur is read as a number
    assert {"height", "weight", "income"} <= columns(profile, "heaping")
    assert not {"age", "ymarr", "depress", "bmi"} & columns(profile, "heaping")


def test_sd2011_questions_that_are_skipped(looked):
    found = looked("sd2011").about("missing-when")
    assert {
        "if smoke == 'NO' then nociga = -8",
        "if workab == 'NO' then wkabdur = -8",
        "if wkabint == 'NO' then emcc = missing",
        "if marital == 'SINGLE' then ymarr = missing",
    } <= {rule for f in found for rule in f.suggestion["rules"]}


def test_adult(looked):
    profile = looked("adult")
    (pair,) = profile.about("one-to-one")
    assert set(pair.columns) == {"education", "education_num"}
    (code,) = profile.about("missing-code")
    assert (code.columns, code.suggestion, code.rows) == (
        ("capital_gain",),
        {"missing": [99999]},
        159,
    )
    assert columns(profile, "top-code") == {"age", "hours_per_week"}
    assert columns(profile, "long-factor") == {"native_country"}
    assert (
        not profile.about("arithmetic") + profile.about("determined-by") + profile.about("outlier")
    )


@pytest.mark.parametrize(
    ("name", "code", "expected"),
    [
        ("cmc", "missing-code", set()),
        ("fertility", "missing-code", set()),
        ("german_credit", "missing-code", set()),
        ("sdcmicro_francdat", "missing-code", set()),
        ("laeken_eusilc", "missing-code", {"age"}),  # -1: born after the reference date, a question
        ("laeken_eusilc", "id-like", {"rb030"}),
        ("laeken_eusilc", "group-id", {"db030"}),
        ("sdcmicro_testdata", "constant", {"sampling_weight"}),
        ("sdcmicro_testdata", "group-id", {"ori_hid"}),
        ("german_credit", "heaping", {"duration_months"}),
        ("nist_ma2019", "one-to-one", {"DENSITY"}),
        ("nist_ma2019", "groups-of", {"INDP_CAT", "PINCP_DECILE"}),
        ("simframe_eusilcP", "order", {"pid"}),
    ],
)
def test_other_files(looked, name, code, expected):
    assert columns(looked(name), code) == expected


def test_the_minus_one_of_eusilc_is_only_a_question(looked):
    assert str(looked("laeken_eusilc").about("missing-code")[0].strength) == "possible"


def test_nist_letter_for_not_applicable(looked, shared):
    frame = pl.read_csv(shared / "data" / "nist_ma2019.csv", infer_schema_length=None)
    letters = {n for n in frame.columns if frame[n].dtype == pl.String and "N" in frame[n]}
    found = looked("nist_ma2019").about("missing-code")
    assert {f.columns[0] for f in found if f.suggestion["missing"] == ["N"]} == letters
