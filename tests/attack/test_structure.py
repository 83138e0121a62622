"""Likelihood ratios under a structure that the attacker draws: exact, and without its own part."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.refusals import refused

from caveat.attack import posterior, simulated_membership, simulated_posterior
from caveat.attack.adjacent import without_each
from caveat.attack.paired import Runner
from caveat.attack.scores import STRUCTURE, OwnStructure, own_structures
from caveat.attack.strong import STRUCTURE_RECOVERED, findings_of, is_judged, lines_of
from caveat.attack.worlds import Worlds
from caveat.datasets import survey
from caveat.generators import Setting, generator_of
from caveat.table import Table

pytestmark = pytest.mark.filterwarnings("ignore:the table has:caveat.errors.CaveatWarning")
GUARDED = {"method": "guarded"}


def one_column() -> Table:
    return Table.from_frame({"x": ["a"] * 12 + ["b"] * 8})


def people(rows: int = 200) -> Table:
    return survey(rows=rows).select(["sex", "age", "region", "marital"])


def own(table: Table, seed: int = 1, **options: object) -> OwnStructure:
    found = OwnStructure.of(Setting({**GUARDED, **options}), table, seed)
    assert found is not None
    return found


def test_the_ratio_of_one_column_in_closed_form() -> None:
    """A root alone gives a class the share (n + ½) / (N + 1), whatever the seed."""
    table = one_column()
    release = Table.from_frame({"x": ["a"] * 15 + ["b"] * 5})
    with_it, without = 12.5 / 21, 11.5 / 20
    expected = 15 * math.log(with_it / without) + 5 * math.log((1 - with_it) / (1 - without))
    for seed in (1, 2):
        assert own(table, seed).ratios([release], np.array([0]))[0] == pytest.approx(expected)
    two = own(table).ratios([release, release], np.array([0, 3]))
    assert two == pytest.approx([2 * expected, 2 * expected])


def test_the_ratio_is_that_of_fits_without_the_record_less_the_structure() -> None:
    table = people()
    mine = own(table, seed=7)
    release = Setting(GUARDED).fit(table, 3).sample()[0]
    records = np.array([0, 17, 180])
    plan = mine.worlds.plan
    logs = []
    for releases in ([release], []):
        with_it, without = without_each(Worlds(table, plan, releases), records, 1, refit=True)
        logs.append(with_it - without)
    assert mine.ratios([release], records) == pytest.approx(logs[0] - logs[1], abs=1e-8)
    assert np.abs(logs[1]).max() > 0.01


def test_the_structure_is_the_attackers_own() -> None:
    table = people()
    release = Setting(GUARDED).fit(table, 3).sample()[0]
    ratios = [own(table, seed).ratios([release], np.arange(20)) for seed in (1, 2)]
    assert not np.allclose(*ratios)


def test_a_structure_without_a_record_does_not_depend_on_it() -> None:
    table = people()
    release = Setting(GUARDED).fit(table, 3).sample()[0]
    changed = table["marital"].codes.copy()
    changed[5] = (changed[5] + 1) % 3
    other = table.with_columns({"marital": table["marital"].with_codes(changed)})
    come = table.take([5, 6, 7])
    logs = []
    for known in (table, other):
        found = OwnStructure.of(Setting(GUARDED), known, 4, without=5)
        assert found is not None
        assert found.worlds.original.n_rows == 199
        logs.append(found.log_likelihoods([release], come))
    assert logs[0] == pytest.approx(logs[1], abs=1e-9)
    assert logs[0].shape == (3,)
    assert len(np.unique(logs[0].round(9))) == 3


@pytest.mark.parametrize(
    "generator",
    [
        generator_of("copy"),
        Setting({"method": "cart"}),
        Setting({**GUARDED, "columns": {"sex": {"method": "sample"}}}),
        Setting(GUARDED, protect=({"name": "remove_replicated_uniques", "keys": ["sex", "age"]},)),
    ],
    ids=["not ours", "plain", "one column otherwise", "protected"],
)
def test_generators_without_such_a_likelihood(generator: object) -> None:
    table = people()
    assert own_structures(generator, table, 1, 2) == ()
    release = table.take(np.arange(100))
    with refused("attack.summary.unsupported", where="summary") as caught:
        simulated_posterior(
            table, release, 5, generator, simulations=8, unknown=["sex"], summary="structure"
        )
    assert caught.value.where == "summary"


def test_ratios_are_means_over_the_structures() -> None:
    table = people()
    release = Setting(GUARDED).fit(table, 3).sample()[0]
    records = np.array([0, 9])
    one, two = (
        Runner(table, Setting(GUARDED), simulations=20, seed=6, structures=n) for n in (1, 2)
    )
    assert len(two.structures) == 2
    each = [own.ratios([release], records) for own in two.structures]
    assert two.ratios([release], records) == pytest.approx(np.mean(each, axis=0))
    assert one.ratios([release], records) == pytest.approx(each[0])


def test_a_record_that_stands_out_is_found_and_reported() -> None:
    rng = np.random.default_rng(1)
    x = rng.choice(["a", "b"], 60)
    table = Table.from_frame({"x": x, "y": np.where(np.arange(60) < 6, "r", x)})
    setting = Setting(GUARDED)
    found = simulated_membership(
        table, setting, synthetic=setting.fit(table, 5).sample(), records=[0], simulations=40
    )
    assert STRUCTURE in found.scores
    assert found.auc(STRUCTURE)[0] > 0.5
    judged = [one for one in findings_of(found) if is_judged(one)]
    assert [one.label for one in judged] == [
        "paired fits, false ≤ 10 %", "worst record, false ≤ 10 %",
        "own structure, false ≤ 10 %", "worst record by own structure, false ≤ 10 %",
    ]  # fmt: skip
    assert judged[2].result.value == found.power(0.1, STRUCTURE)[0]
    note = judged[2].result.notes[-1]
    assert note.code == "own-structure"
    assert note.public
    assert f"{100 * STRUCTURE_RECOVERED:.0f} ±" in note
    lines = lines_of(found)
    assert lines["auc_by_structure"] == pytest.approx(found.auc(STRUCTURE))
    ratio = found.log_ratio_by(STRUCTURE)
    assert ratio is not None
    assert lines["probability_by_structure"] == pytest.approx(1 / (1 + np.exp(-ratio[0])))


def test_no_structure_no_score() -> None:
    table = people()
    how = {"records": [3], "simulations": 20}
    plain = simulated_membership(table, Setting({"method": "cart"}), **how)
    none = simulated_membership(table, Setting(GUARDED), structures=0, **how)
    for found in (plain, none):
        assert STRUCTURE not in found.scores
        assert "auc_by_structure" not in lines_of(found)


def test_same_seed_same_ratios_whatever_the_threads() -> None:
    table = people()
    how = {"simulations": 20, "seed": 3}
    one = simulated_membership(table, Setting(GUARDED), records=[3, 8], **how)
    two = simulated_membership(table, Setting(GUARDED), records=[8, 3], threads=2, **how)
    for first, second in zip(one.runs, reversed(two.runs), strict=True):
        assert np.array_equal(first.inside.ratio, second.inside.ratio)
        assert np.array_equal(first.outside.ratio, second.outside.ratio)


def test_a_release_that_the_generator_cannot_have_made_is_refused() -> None:
    release = Table.from_frame({"x": ["a"] * 10 + ["z"] * 10})
    with refused("attack.release.mismatch", column="x"):
        own(one_column()).log_likelihoods([release], one_column().take([0]))


def test_the_posterior_by_structure_agrees_with_the_exact_one() -> None:
    """With one column there is one structure, and the likelihoods are those of the exact attack."""
    table = one_column()
    setting = Setting(GUARDED)
    release = setting.fit(table, 9).sample()[0]
    exact = posterior(table, release, 19, generator=setting.fit(table, 9).model.plan)
    found = simulated_posterior(
        table, release, 19, setting, simulations=400, seed=1, summary="structure"
    )
    assert not found.exact
    assert np.all(np.abs(found.probabilities - exact.probabilities) < 4 * found.error + 0.05)
