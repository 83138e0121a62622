"""The synthesiser against R's synthpop, in distribution, and on real files."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from caveat.errors import CaveatWarning
from caveat.risk import Disclosure, disclosure_of_codes
from caveat.synthesis import Synthesizer
from caveat.table import Table, read
from caveat.utility import WeightedPair, propensity

KEYS = ("sex", "age", "region", "placesize")
GOLDEN = Path(__file__).resolve().parents[1] / "golden"


@pytest.fixture(scope="module")
def sd2011(shared: Path) -> Table:
    return read(shared / "data" / "sd2011.csv")


@pytest.fixture(scope="module")
def five(sd2011: Table) -> Table:
    return sd2011.select([*KEYS, "depress"])


def measure(original: Table, synthetic: Table) -> Disclosure:
    return disclosure_of_codes(
        [original[key].codes for key in KEYS],
        original["depress"].codes,
        [synthetic[key].codes for key in KEYS],
        synthetic["depress"].codes,
        [original[name].n_levels for name in original],
    )


def test_200_releases_agree_with_200_of_synthpop(five: Table, shared: Path) -> None:
    path = shared / "reference" / "synthpop" / "sd2011_disclosure" / "disclosure.json"
    published = json.loads(path.read_text())["monte_carlo"]["plain"]
    model = Synthesizer(seed=2025, method="cart").fit(five)
    runs = [measure(five, table)._asdict() for table in model.tables(copies=200)]
    outside = {}
    for name, theirs in published.items():
        scale = 1 if name.endswith("_denom") else 100  # their shares are in per cent
        ours = scale * np.array([run[name] for run in runs], dtype=float)
        error = np.sqrt(ours.var(ddof=1) / 200 + theirs["sd"] ** 2 / 200)
        distance = abs(ours.mean() - theirs["mean"])
        if distance > max(4 * error, 1e-9):
            outside[name] = (ours.mean(), theirs["mean"], error)
    assert outside == {}


def test_the_effect_of_minbucket_follows_the_published_releases(five: Table) -> None:
    golden = json.loads((GOLDEN / "sd2011_minbucket.json").read_text())
    for position, minbucket in enumerate(golden["minbucket"]):
        model = Synthesizer(seed=6, method="cart", minbucket=minbucket).fit(five)
        runs = []
        for table in model.tables(copies=20):
            found = measure(five, table)
            runs.append([_new_keys(five, table), 100 * found.repU, 100 * found.DiSCO])
        values = np.array(runs, dtype=float)
        printed = [golden[k][position] for k in ("new_key_combinations", "repU", "DiSCO")]
        # one published release, rounded to 0.1, against the mean of twenty of ours
        bound = 4 * values.std(axis=0, ddof=1) * np.sqrt(1 + 1 / 20) + 0.05
        assert (np.abs(values.mean(axis=0) - printed) < bound).all(), minbucket


def _new_keys(original: Table, synthetic: Table) -> float:
    """Share of the synthetic key combinations that the original does not have."""
    ours, theirs = (
        {tuple(row) for row in zip(*(t[key].codes.tolist() for key in KEYS), strict=True)}
        for t in (original, synthetic)
    )
    return 100 * len(theirs - ours) / len(theirs)


def pmse(original: Table, synthetic: Table) -> float:
    return propensity(WeightedPair.of(original, synthetic)).pMSE


def test_pmse_is_no_worse_than_that_of_synthpop(five: Table, shared: Path) -> None:
    folder = shared / "reference" / "synthpop"
    theirs = np.array(
        [pmse(five, read(folder / "sd2011_disclosure" / f"syn{k}.csv")) for k in range(1, 6)]
    )
    plain = Synthesizer(seed=4, method="cart")
    ours = np.array([pmse(five, t) for t in plain.fit(five).tables(copies=5)])
    error = np.sqrt((theirs.var(ddof=1) + ours.var(ddof=1)) / 5)
    assert ours.mean() < theirs.mean() + 3 * error
    # ten columns, one release of synthpop against ten of ours
    ten = read(folder / "sd2011_utility" / "original.csv")
    single = pmse(ten, read(folder / "sd2011_utility" / "synthetic.csv"))
    ours = np.array([pmse(ten, t) for t in plain.fit(ten).tables(copies=10)])
    assert ours.mean() < single + 3 * ours.std(ddof=1) * np.sqrt(1 + 1 / 10)


def test_all_35_columns_work_in_any_order_without_a_word(sd2011: Table) -> None:
    rest = [name for name in sd2011 if name != "wkabdur"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", CaveatWarning)
        warnings.filterwarnings(
            "ignore", ".* rare levels? ", CaveatWarning
        )  # rare_below asks for it
        for options in ({}, {"order": ["wkabdur", *rest]}):
            synthetic = Synthesizer(seed=1, rare_below=1, **options).fit(sd2011).tables()[0]
            assert synthetic.names == sd2011.names
            assert synthetic.n_rows == 5000


FILES = [
    "adult.csv", "cmc.csv", "german_credit.csv", "laeken_eusilc.csv", "nist_ma2019.csv",
    "fertility.csv", "sdcmicro_testdata.csv",
]  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_real_files_come_out_with_their_own_values_and_margins(name: str, shared: Path) -> None:
    table = read(shared / "data" / name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaveatWarning)
        model = Synthesizer(seed=12, method="cart", rare_below=1).fit(table)
    synthetic = model.tables()[0]
    assert synthetic.n_rows == table.n_rows
    smallest = 1.0
    for column in synthetic.names:
        assert synthetic[column].has_same_levels(table[column])
        smallest = min(smallest, _margin_p_value(table[column].counts, synthetic[column].counts))
    # the smallest of some 30 p-values, of which the later ones are not quite independent draws
    assert smallest > 1e-6
    for way in range(max(len(table[c].missing) for c in table)):
        for column in (c for c in synthetic.names if len(table[c].missing) > way):
            code = len(table[column].levels) + way
            assert (synthetic[column].counts[code] > 0) or table[column].counts[code] < 20


def _margin_p_value(original: np.ndarray, synthetic: np.ndarray) -> float:
    """Homogeneity of two margins, levels with fewer than ten original records taken together."""
    rare = original < 10
    ours = np.append(original[~rare], original[rare].sum())
    theirs = np.append(synthetic[~rare], synthetic[rare].sum())
    kept = ours + theirs > 0
    if kept.sum() < 2:
        return 1.0
    return float(stats.chi2_contingency(np.stack([ours[kept], theirs[kept]]))[1])
