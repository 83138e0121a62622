"""Reference generators: what each keeps of the original, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from tests.generators.conformance import people
from tests.refusals import refused

from caveat.datasets import buyer_beware
from caveat.generators.contract import reference
from caveat.table import Table


def cells(table: Table) -> list[tuple[object, ...]]:
    return sorted(zip(*(table[name].codes.tolist() for name in table), strict=True))


def test_a_copy_has_every_record_once() -> None:
    table = people()
    first, second = reference("copy").fit(table, 1).sample(copies=2)
    assert cells(first) == cells(second) == cells(table)
    assert cells(reference("copy").fit(table, 1).sample(rows=600)[0]) == sorted(cells(table) * 2)


def test_a_sample_has_no_record_twice_and_nobody_else() -> None:
    numbered = Table.from_frame({"number": np.arange(200)})
    (made,) = reference("sample").fit(numbered, 3).sample()
    chosen = made["number"].codes.tolist()
    assert len(chosen) == len(set(chosen)) == 80
    (more,) = reference("sample").fit(numbered, 3).sample(rows=500)
    assert more["number"].codes[:80].tolist() == chosen
    assert set(more["number"].codes.tolist()) == set(chosen)
    assert reference("sample", {"share": 0.001}).fit(numbered, 3).sample()[0].n_rows == 1


def test_margins_keep_the_shares_of_a_column_and_no_association() -> None:
    x = np.repeat([0, 1], [3000, 7000])
    table = Table.from_frame({"x": x, "y": x})
    (made,) = reference("margins").fit(table, 5).sample()
    assert made["x"].codes.mean() == pytest.approx(0.7, abs=0.02)
    assert np.corrcoef(made["x"].codes, made["y"].codes)[0, 1] == pytest.approx(0, abs=0.03)


def test_uniform_draws_know_the_dictionary_only() -> None:
    (made,) = reference("uniform").fit(buyer_beware(), 1).sample(rows=16000)
    counts = np.unique(cells(made), axis=0, return_counts=True)[1]
    assert counts.min() > 880
    assert counts.max() < 1120
    table = people()
    (made,) = reference("uniform").fit(table, 1).sample(rows=5000)
    for name in ("interviewed", "age", "income", "bmi"):
        ours, theirs = table[name].levels, made[name].levels
        assert ours.min() <= theirs.min() <= theirs.max() <= ours.max()
    assert len(made["age"].levels) == table["age"].levels.max() - table["age"].levels.min() + 1
    assert np.array_equal(made["bmi"].levels, made["bmi"].levels.round(1))
    share = len(table["income"].missing) / table["income"].n_levels
    assert made["income"].is_missing.mean() == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize(
    ("name", "settings", "says"),
    [
        ("copy", {"share": 0.4}, "generator.setting.unknown"),
        ("sample", {"shares": 0.4}, "generator.setting.unknown"),
        ("sample", {"share": 40}, "generator.setting.range"),
    ],
)
def test_wrong_settings(name: str, settings: dict[str, float], says: str) -> None:
    with refused(says):
        reference(name, settings)


def test_an_empty_table_is_refused() -> None:
    with refused("data.table.empty"):
        reference("uniform").fit(people().take(slice(0, 0)), 1)
