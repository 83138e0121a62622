"""``caveat audit`` and ``caveat measures``."""

from __future__ import annotations

import json

import polars as pl
import pytest
from tests.refusals import refused
from typer.testing import CliRunner

from caveat.cli import app
from caveat.risk import MEASURES, audit


@pytest.fixture
def files(tmp_path, sixteen):
    original, releases = sixteen
    paths = [tmp_path / name for name in ("original.csv", "one.csv", "two.csv")]
    for frame, path in zip([original, *releases[:2]], paths, strict=True):
        frame.write_csv(path)
    return [str(path) for path in paths]


def run(*arguments):
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "160"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


KEYS = ("--keys", "var1,var2,var3", "--target", "var4")


def test_audit_prints_values_baselines_and_blind_spots(files):
    shown = run("audit", *files, *KEYS).stdout
    assert "original of 1,000 records, synthetic: 2 copies of 1,000" in shown
    line = next(line for line in shown.splitlines() if line.strip().startswith("DiSCO %"))
    assert "3.30 (0.00 to 6.60)" in line
    assert "a copied outlier lowers it" in shown
    assert "no all-clear" in shown


def test_audit_as_json_equals_the_library(files, sixteen, tmp_path):
    original, releases = sixteen
    expected = audit(original, releases[:2], keys=["var1", "var2", "var3"], targets=["var4"])
    assert json.loads(run("audit", *files, *KEYS, "--json", "-").stdout) == expected.to_dict()
    out = tmp_path / "found.json"
    run("audit", *files, *KEYS, "--json", str(out))
    assert json.loads(out.read_text("utf-8")) == expected.to_dict()
    with refused("command.output.exists"):
        run("audit", *files, *KEYS, "--json", str(out))
    run("audit", *files, *KEYS, "--json", str(out), "--force")


def test_records_are_written_on_request_only(files, tmp_path):
    out = tmp_path / "records.csv"
    result = run("audit", *files, *KEYS, "--records", str(out))
    assert "CONFIDENTIAL" in result.stderr
    frame = pl.read_csv(out, infer_schema_length=None)
    assert frame.height == 1000
    assert frame["fullMatch"].to_list()[-1] == 0.5  # in the first of the two releases
    assert frame["fullMatch"].sum() == 0.5


def test_control_groups_and_exclusions(files):
    shown = run(
        "audit", files[0], files[1], *KEYS, "--control", files[2], "--exclude-level", "var4=0",
        "--limit", "100", "--subsets", "2", "--measure", "DiSCO", "--measure", "repU",
    ).stdout  # fmt: skip
    assert "control of 1,000 people not in the data" in shown
    assert "excluded from the original: 547 target level" in shown
    assert "3 sets of 2 keys" in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--groups", "var1"), "command.option.malformed"),
        (("--tolerance", "var1=x"), "command.option.malformed"),
        (("--exclude-level", "var4"), "command.option.malformed"),
        (("--measure", "nonsense"), "measure.name.unknown"),
    ],
)
def test_mistakes(files, options, message):
    with refused(message):
        run("audit", *files, *KEYS, *options)


def test_measures_lists_all():
    shown = run("measures").stdout
    for name in MEASURES:
        assert name in shown


def test_one_measure_in_full():
    shown = " ".join(run("measures", "DiSCO").stdout.split())
    assert "100/N_d" in shown
    assert "eq. 11" in shown
    assert "rises when the target is replaced by a constant" in shown
    assert "never reassures falsely" in shown
