"""SD2011 by three generators: the cleaned file, synthpop's row, and what the others need."""

from __future__ import annotations

import numpy as np
import pytest
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.studies import STUDIES, attribute_baseline, buyer_beware
from caveat.studies.study import Output
from caveat.table import Table, read


def test_cleaned_by_hand():
    """Derived columns go, a negative code and an empty cell are one, the long factor comes last."""
    table = Table.from_frame(
        {
            "eduspec": ["law", "art", "law"],
            "income": [800, -8, 1200],
            "bmi": [20.0, 30.0, 25.0],
            "wkabdur": ["-8", "3", None],
        }
    )
    found = buyer_beware.cleaned(table)
    assert found.names == ("income", "wkabdur", "eduspec")
    assert found["income"].is_missing.tolist() == [False, True, False]
    assert found["wkabdur"].is_missing.tolist() == [True, False, True]
    assert found["wkabdur"].kind.is_number


def test_the_row_of_synthpop_is_met(shared, monkeypatch):
    """.02 printed; ours over five releases .0202 ± .0019. The others are named with their rows."""

    def only_ours(name, settings):
        if name != "cart":
            raise CaveatError("it is not installed", where=name, code="test.thing.failed")
        return real(name, settings)

    real = attribute_baseline.generator_of
    monkeypatch.setattr(attribute_baseline, "generator_of", only_ours)
    result = buyer_beware.run_three_generators(Output(), shared / "data", seeds=2)
    rows = {row[0]: row[1:] for row in result.grids[0].rows}
    assert float(rows["synthpop"][0]) == pytest.approx(0.02, abs=0.005)
    assert rows["CTGAN"] == ("", "", "0.16")
    assert rows["DataSynthesizer"] == ("", "", "0.07")
    assert result.remarks[1] == (
        "row DataSynthesizer needs datasynthesizer (it is not installed): "
        "caveat generator add datasynthesizer"
    )


def test_cleaned_survey_has_33_columns(shared):
    found = buyer_beware.cleaned(read(shared / "data" / "sd2011.csv"))
    assert (found.n_rows, len(found.names)) == (5000, 33)
    lacking = found["wkabdur"].is_missing
    assert int(np.sum(lacking)) >= 4875  # -8, "not asked", in 97.5 % of the rows
    assert found.names[-1] == "eduspec"


def test_without_the_data_it_says_so(tmp_path):
    assert STUDIES["three-generators"] is buyer_beware.THREE_GENERATORS_STUDY
    with refused("study.file.absent"):
        buyer_beware.run_three_generators(Output(), tmp_path)
