"""Cells in a few codes, and the records in which columns are compared."""

from __future__ import annotations

import numpy as np

from caveat.datasets import survey
from caveat.synthesis import make_plan
from caveat.synthesis.pairs import SAMPLED, Bins, sampled, with_sample


def test_numbers_dates_and_missing_values_have_few_codes() -> None:
    table = survey(rows=2000)
    for options in ({"method": "cart"}, {}):
        plan = make_plan(table, options, seed=1)
        bins = Bins(table.columns, plan.columns)
        for name in plan.columns:
            codes = bins.of(name, table[name])
            assert codes.max() < 16
            assert len(np.unique(codes)) >= min(2, len(np.unique(table[name].codes)))
            apart = table[name].is_missing
            if table[name].kind.is_number and apart.any():
                assert not set(codes[apart]) & set(codes[~apart])


def test_the_sample_hangs_on_the_number_of_records_alone() -> None:
    table, other = survey(rows=300, seed=1), survey(rows=300, seed=2)
    assert sampled(table, 40).sum() == 40
    assert (sampled(table, 40) == sampled(other, 40)).all()
    assert sampled(table, 300).all()


def test_a_table_that_says_its_sample_keeps_it() -> None:
    table = with_sample(survey(rows=300), 40)
    assert with_sample(table, 10) is table
    part = table.take(np.arange(100))
    assert (sampled(part, 40) == (table[SAMPLED].codes[:100] == 1)).all()
