"""Guarded trees beside plain ones: what the strong attacker gets, and what is left of the data.

The same table for the simulated survey and, with the data at hand, for twelve columns of SD2011;
and what an attacker learns about the one record of "Buyer Beware" whose copy would be proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from caveat.attack import attributes, membership, posterior
from caveat.charts import risk_utility
from caveat.datasets import buyer_beware, survey
from caveat.studies.study import Grid, Output, Study, StudyResult
from caveat.synthesis import Synthesizer
from caveat.table import Table, read
from caveat.utility import compare

__all__ = ["GENERATORS", "SD2011", "STUDY", "Outcome", "last_record", "outcome"]

SD2011 = ("sex", "age", "region", "placesize", "edu", "marital", "ls", "smoke", "height", "weight",
          "income", "depress")  # fmt: skip
SURVEY = ("sex", "age", "region", "education", "height", "weight", "marital")
GENERATORS: Mapping[str, Mapping[str, Any]] = {
    "plain 5": {"method": "cart"},
    "plain 20": {"method": "cart", "minbucket": 20},
    "unpruned 20": {"method": "cart", "minbucket": 20, "prune": False},
    "unpruned 50": {"method": "cart", "minbucket": 50, "prune": False},
    "unpruned 200": {"method": "cart", "minbucket": 200, "prune": False},
    "guarded light": {"method": "guarded", "guard": "light"},
    "guarded standard": {"method": "guarded"},
    "guarded strong": {"method": "guarded", "guard": "strong"},
}
SOME = 100
"""Records that are attacked where every one of them costs a refit; on guarded trees all are."""
RELEASES = 200
"""Releases of the four columns of Buyer Beware."""
RECORD = 999
MEASURES = ("S_pMSE", "S_pMSE two-way")
HEADER = ("trees", "S_pMSE", "two-way", "proof", "member", "≥ 0.9", "≥ 0.5", "right")


@dataclass(frozen=True)
class Outcome:
    """What one release is worth and what it gives away; shares are from 0 to 1.

    Parameters
    ----------
    utility
        S_pMSE, and the mean over all pairs of columns.
    impossible
        Share of records without which the release could not have been made.
    member
        Share whose membership an even prior raises to 0.9 and more.
    sure, likely
        Share whose true value of the target gets 0.9 (0.5) and more.
    right, prior_right
        Share whose most probable value is the true one, after the release and before it.
    """

    utility: tuple[float, float]
    impossible: float
    member: float
    sure: float
    likely: float
    right: float
    prior_right: float


def outcome(original: Table, options: Mapping[str, Any], target: str, seed: int) -> Outcome:
    """Make one release and attack it."""
    model = Synthesizer(seed=seed, order=original.names, **options).fit(original)
    release = model.tables()[0]
    measured = compare(original, release, measures=list(MEASURES), resamples=0)
    everyone = options["method"] == "guarded"
    order = np.random.default_rng(seed).permutation(original.n_rows)
    records = None if everyone else sorted(order[:SOME].tolist())
    known: dict[str, Any] = {"generator": model.plan, "records": records}
    members = membership(original, release, **known)
    found = attributes(original, release, target, prior="marginal", **known)
    first, second = (float(measured[name].value or np.nan) for name in MEASURES)
    return Outcome(
        (first, second),
        float(np.isposinf(members.log_ratio).mean()),
        float((members.posterior() >= 0.9).mean()),
        float((found.probability >= 0.9).mean()),
        float((found.probability >= 0.5).mean()),
        float(found.correct.mean()),
        float(found.prior_correct.mean()),
    )


def last_record(releases: int = RELEASES, guard: str = "standard") -> tuple[Any, Any]:
    """Return what the attacker gives to the true last record, and its copies, release by release.

    She knows the other 999 records and gives all sixteen combinations the same chance before.
    """
    original = buyer_beware()
    beliefs, copies = np.empty(releases), np.empty(releases, np.int64)
    for seed in range(releases):
        model = Synthesizer(seed=seed, method="guarded", guard=guard).fit(original)
        release = model.tables()[0]
        found = posterior(original, release, RECORD, generator=model.plan, prior="uniform")
        beliefs[seed] = found.probability
        same = [release[n].codes == original[n].codes[RECORD] for n in original]
        copies[seed] = int(np.all(same, axis=0).sum())
    return beliefs, copies


def run(output: Output, data: Path | None = None) -> StudyResult:
    """Measure plain and guarded trees on the survey, and on SD2011 where it is."""
    output.check(("guarded",))
    found = {name: outcome(survey().select(SURVEY), o, "marital", 1) for name, o in
             GENERATORS.items()}  # fmt: skip
    grids = [_grid("The simulated survey, 3,000 records; target marital", found)]
    file = None if data is None else data / "sd2011.csv"
    if file is not None and file.exists():
        original = read(file).select(SD2011)
        found = {name: outcome(original, o, "depress", 1) for name, o in GENERATORS.items()}
        grids.append(_grid("SD2011, 5,000 records, 12 columns; target depress", found))
    output.save(_picture(found), "guarded")
    beliefs, copies = last_record()
    high = float(np.quantile(beliefs, 0.95))
    row = (f"{beliefs.mean():.3f}", f"{high:.3f}", f"{beliefs.max():.3f}", f"{copies.mean():.1f}")
    header = ("mean", "95 % below", "largest", "copies of 1111")
    note = "plain trees with leaves of 5 give it away: 1.0 wherever 1111 is released"
    title = f"Buyer Beware, guarded, {RELEASES} releases: what she gives to 1111 (before: 0.0625)"
    grids.append(Grid(title, header, (row,), note))
    remarks = (
        f"attacked are all records of guarded releases, and {SOME} of plain ones",
        *(() if len(grids) > 2 else ("give --data FOLDER with sd2011.csv for SD2011",)),
    )
    return StudyResult(tuple(grids), tuple(output.saved), remarks)


def _grid(title: str, found: Mapping[str, Outcome]) -> Grid:
    rows = [
        (
            name,
            *(f"{value:.2f}" for value in one.utility),
            *(f"{100 * v:.1f} %" for v in (one.impossible, one.member, one.sure, one.likely)),
            f"{one.right:.3f} ({one.prior_right:.3f})",
        )
        for name, one in found.items()
    ]
    note = (
        "proof: the release is impossible without the record; member: membership 0.9 and more; "
        "≥: what the true value gets; right: true best guesses (before the release)"
    )
    return Grid(title, HEADER, tuple(rows), note)


def _picture(found: Mapping[str, Outcome]) -> Any:
    """Draw members given away against utility: plain, unpruned and guarded trees as curves."""
    lines = list(dict.fromkeys(name.split()[0] for name in found))
    points = [
        {
            "setting": name,
            "risk_mean": 100 * one.member,
            "risk_worst": 100 * one.member,
            "utility_mean": one.utility[1],
            "pareto": True,
            "chosen": False,
            "method": {"plain": "cart"}.get(name.split()[0], name.split()[0]),
            "line": lines.index(name.split()[0]),
        }
        for name, one in found.items()
    ]
    return risk_utility(points, "members given away, %", "S_pMSE two-way (1 is best)")


STUDY = Study(
    "guarded",
    "guarded trees beside plain ones: what the strong attacker gets, and utility",
    run,
    paper="our own",
    takes="about 15 minutes",
    needs="sd2011.csv for SD2011",
)
