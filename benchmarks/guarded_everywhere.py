"""Guarded trees beside plain and unpruned ones on every data set at hand: utility and risk.

    python benchmarks/guarded_everywhere.py DATA RESULTS [name ...]    measure; all by default
    python benchmarks/guarded_everywhere.py DATA RESULTS power [n]     membership tests on SD2011
    python benchmarks/guarded_everywhere.py DATA RESULTS report        print the tables

DATA is the folder of the CSV files, RESULTS one outside of the project: a line of JSON for every
release, so that a run can be stopped and taken up again. All of it took an hour on two
busy cores, which is why `run.py` leaves it out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from bench_guarded import ADULT
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from caveat.attack import attributes, membership
from caveat.studies.promise import SD2011
from caveat.synthesis import Synthesizer
from caveat.table import Schema, Table, read
from caveat.utility import WeightedPair, all_tables, compare, compare_model, train_on_synthetic
from caveat.utility.stacked import Encoder

Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A file, its columns in the order of synthesis (the attacked one last), and its analyses.

    `codes` are categories that read as numbers, `blank` numbers with N for "not applicable".
    """

    file: str
    columns: Sequence[str]
    predicted: str
    model: str
    codes: Sequence[str] = ()
    blank: Sequence[str] = ()
    test: str = ""

    @property
    def target(self) -> str:
        return self.columns[-1]

    def read(self, data: Path, file: str = "") -> Table:
        schema = {name: {"kind": "category"} for name in self.codes}
        schema |= {name: {"kind": "integer", "missing": ["N"]} for name in self.blank}
        path = data / f"{file or self.file}.csv"
        return read(path, schema=Schema.from_mapping(schema), columns=list(self.columns)).select(
            self.columns
        )


def names(text: str) -> list[str]:
    return text.split()


NIST = {
    "columns": names(
        "PUMA AGEP SEX MSP HISP RAC1P HOUSING_TYPE OWN_RENT NOC NPF EDU DPHY INDP_CAT PINCP_DECILE"
    ),
    "predicted": "PINCP_DECILE",
    "model": "PINCP_DECILE ~ AGEP + SEX + OWN_RENT + DPHY",
    "codes": names("PUMA SEX MSP HISP RAC1P HOUSING_TYPE OWN_RENT EDU DPHY INDP_CAT"),
    "blank": ["NOC", "NPF", "PINCP_DECILE"],
}
CASES = {
    "SD2011": Case("sd2011", SD2011, "depress", "depress ~ sex + age + edu + smoke + weight"),
    "Adult": Case("adult", ADULT, "income",
                  "income ~ age + sex + race + hours_per_week + marital_status", test="adult_test"),
    "NIST MA": Case("nist_ma2019", **NIST),
    "NIST national": Case("nist_national2019", **NIST),
    "EU-SILC": Case(
        "laeken_eusilc",
        names("rb090 age pb220a pl030 hsize py010n py050n py090n py100n hy050n eqIncome db040"),
        "eqIncome", "eqIncome ~ age + rb090 + pb220a + pl030 + hsize", codes=["pl030"],
    ),
    "testdata": Case(
        "sdcmicro_testdata",
        names("urbrur roof walls electcon relat sex age hhcivil expend income savings water"),
        "hhcivil", "age ~ sex + hhcivil + urbrur + electcon",
        codes=names("urbrur roof walls water electcon relat sex hhcivil"),
    ),
    "cmc": Case(
        "cmc",
        names("wife_age wife_edu husband_edu wife_religion wife_working husband_occupation "
        "standard_of_living_index media_exposure contraceptive_method num_children"),
        "contraceptive_method", "num_children ~ wife_age + wife_edu + contraceptive_method",
        codes=names("wife_edu husband_edu wife_religion wife_working husband_occupation "
        "standard_of_living_index media_exposure contraceptive_method"),
    ),
    "German credit": Case(
        "german_credit",
        names("checking_status duration_months credit_history credit_amount savings "
        "employment_since installment_rate personal_status_sex other_debtors residence_since "
        "property age other_installment_plans housing existing_credits job num_dependents "
        "telephone foreign_worker credit_risk purpose"),
        "credit_risk", "credit_risk ~ duration_months + credit_amount + age + checking_status",
        codes=["credit_risk"],
    ),
    "fertility": Case(
        "fertility",
        names("season age child_diseases accident surgical_intervention high_fevers alcohol "
        "smoking diagnosis hrs_sitting"),
        "diagnosis", "hrs_sitting ~ age + smoking + diagnosis",
        codes=names("season child_diseases accident surgical_intervention high_fevers smoking"),
    ),
}  # fmt: skip
GENERATORS: dict[str, dict[str, Any]] = {
    **{f"guarded {g}": {"method": "guarded", "guard": g} for g in ("light", "standard", "strong")},
    **{f"plain {m}": {"method": "cart", "minbucket": m} for m in (5, 20)},
    **{
        f"unpruned {m}": {"method": "cart", "minbucket": m, "prune": False}
        for m in (5, 20, 50, 100, 200, 500)
    },
}
SEEDS = (1, 2, 3)
SOME, MANY = (100, 60), (3000, 1000)
"""Records of each release that are attacked, of files up to 10,000 rows and of larger ones: where
each record is a refit, and on guarded trees."""
TESTED = 20
"""Records of SD2011 whose membership is tested on many releases."""


def made(table: Table, options: Mapping[str, Any], seed: int) -> tuple[Any, Table]:
    model = Synthesizer(seed=seed, order=table.names, **options).fit(table)
    return model.plan, model.tables()[0]


def utility(case: Case, data: Path, original: Table, options: Row, seed: int) -> Row:
    """Return what the analyses say of the release, and of one made from two thirds (TSTR)."""
    plan, release = made(original, options, seed)
    pair = WeightedPair.of(original, release)
    pairs = all_tables(pair, 2)
    worst = [value for _, value in pairs.ranked()[:5]]
    general = compare(original, release, measures=["S_pMSE"], resamples=0)["S_pMSE"].value
    found: Row = {"S_pMSE": general, "two-way": pairs.mean(), "worst": worst}
    found["overlap"] = compare_model(pair, case.model).mean_overlap
    if case.test:
        tested = WeightedPair.of(original, release, control=case.read(data, case.test))
        found["AUC"] = area(tested, case.predicted)
    else:
        rows = np.random.default_rng(seed).permutation(original.n_rows)
        inside, outside = (original.take(np.sort(r)) for r in np.split(rows, [2 * len(rows) // 3]))
        tested = WeightedPair.of(inside, made(inside, options, seed)[1], control=outside)
    score = train_on_synthetic(tested, case.predicted)
    return found | {
        "score": score.score, "TSTR": score.trained_on_synthetic, "TRTR": score.trained_on_original,
        "naive": score.naive, "plan": plan, "release": release,
    }  # fmt: skip


def area(pair: WeightedPair, target: str) -> list[float]:
    """Return the area under the curve on the control, from the release and from the original."""
    encoder = Encoder(pair, [name for name in pair.names if name != target], dense=False)
    assert pair.control is not None
    truth, areas = pair.control[target].codes, []
    for table in (pair.synthetic, pair.original):
        boosted = HistGradientBoostingClassifier(
            categorical_features=encoder.categorical, random_state=0
        ).fit(encoder.matrix(table), table[target].codes)
        guess = boosted.predict_proba(encoder.matrix(pair.control))[:, 1]
        areas.append(float(roc_auc_score(truth, guess)))
    return areas


def risk(case: Case, original: Table, plan: Any, release: Table, seed: int, guarded: bool) -> Row:
    """Return what the strong attacker gets: membership, and the last column, marginal prior."""
    able = np.arange(len(original))
    if case.blank:  # to learn that it is not applicable is to learn that somebody is a child
        able = np.flatnonzero(~original[case.target].is_missing)
    most = (MANY if guarded else SOME)[len(original) > 10_000]
    chosen = np.random.default_rng(seed).permutation(able)[:most]
    known: dict[str, Any] = {"generator": plan, "records": sorted(chosen.tolist()), "threads": 1}
    ratio = membership(original, release, **known)
    value = attributes(original, release, case.target, prior="marginal", **known)
    return {
        "attacked": len(chosen),
        "proof": float(np.isposinf(ratio.log_ratio).mean()),
        "member": float((ratio.posterior() >= 0.9).mean()),
        "sure": float((value.probability >= 0.9).mean()),
        "likely": float((value.probability >= 0.5).mean()),
        "largest": float(value.probability.max()),
        "right": float(value.correct.mean()),
        "before": float(value.prior_correct.mean()),
    }


def measure(name: str, data: Path, results: Path, seed: int) -> None:
    """Add the releases of a data set that are not yet among the results."""
    case, file = CASES[name], results / f"{CASES[name].file}.jsonl"
    done = {(row["trees"], row["seed"]) for row in lines(file)}
    original = case.read(data)
    for trees, options in GENERATORS.items():
        # TSTR needs two leaves in two thirds of the data.
        if (trees, seed) not in done and 3 * options.get("minbucket", 0) <= original.n_rows:
            row = utility(case, data, original, options, seed)
            plan, release = row.pop("plan"), row.pop("release")
            row |= risk(case, original, plan, release, seed, options["method"] == "guarded")
            add(file, {"data": name, "rows": len(original), "trees": trees, "seed": seed} | row)


def add(file: Path, row: Row) -> None:
    with file.open("a") as stream:
        stream.write(json.dumps(row) + "\n")
    print(row["data"], row["trees"], row["seed"], flush=True)


def lines(file: Path) -> Iterator[Row]:
    if file.exists():
        yield from map(json.loads, file.read_text().splitlines())


def power(data: Path, results: Path, releases: int) -> None:
    """Draw releases of SD2011 and write the log ratios of some records for each."""
    file, original = results / "power.jsonl", CASES["SD2011"].read(data)
    done = {(row["trees"], row["seed"]) for row in lines(file)}
    records = np.random.default_rng(0).permutation(original.n_rows)[:TESTED].tolist()
    for seed in range(1000, 1000 + releases):
        for trees in ("guarded standard", "unpruned 50", "plain 5"):
            if (trees, seed) not in done and (trees[0] == "g" or seed < 1000 + releases // 5):
                plan, release = made(original, GENERATORS[trees], seed)
                found = membership(original, release, generator=plan, records=records, threads=1)
                row = {"data": "power", "trees": trees, "seed": seed}
                add(file, row | {"log_ratio": found.log_ratio.tolist()})


def hits(log_ratio: Any, level: float) -> float:
    """Return the share of releases with the record that a test of this level finds.

    All releases were made with the record. Without it, one with the log ratio r is exp(-r) times as
    probable: false alarms above a threshold are the mean of these numbers, with no null draws.
    """
    ordered = np.sort(log_ratio)[::-1]
    alarms = np.cumsum(np.exp(-ordered)) / len(ordered)
    return float((alarms <= level).mean())


def mean(rows: Sequence[Row], key: str) -> float:
    return float(np.average([r[key] for r in rows], weights=[r.get("attacked", 1) for r in rows]))


def line(*cells: Any) -> None:
    print("| " + " | ".join(str(c) for c in cells) + " |")


def head(*cells: str) -> None:
    line(*cells)
    line(*["---"] * len(cells))


def report(results: Path) -> None:
    found = {name: list(lines(results / f"{case.file}.jsonl")) for name, case in CASES.items()}
    measured = {name: grouped(rows) for name, rows in found.items() if rows}
    for part in (overview, equal_utility, equal_limits):
        part(measured)
    tests(list(lines(results / "power.jsonl")))


def grouped(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the releases of each generator, in the order of the generators."""
    by = {trees: [row for row in rows if row["trees"] == trees] for trees in GENERATORS}
    return {trees: rows for trees, rows in by.items() if rows}


def percent(*shares: float) -> str:
    return " · ".join(f"{100 * v:.{0 if v >= 0.1 or not v else 1 if v >= 0.002 else 2}f}"
                      for v in shares) + " %"  # fmt: skip


def overview(measured: Mapping[str, Mapping[str, Sequence[Row]]]) -> None:
    """Print what every generator is worth and gives away."""
    head("data", "trees", "S_pMSE", "two-way", "proof", "member", "≥ 0.9", "≥ 0.5", "right")
    shown = {"plain": "5 20", "unpruned": "20 50 200", "guarded": "light standard strong"}
    for data, by in measured.items():
        rows = by["guarded standard"]
        first = f"{data}: {rows[0]['rows']:,} × {len(CASES[data].columns)}, {CASES[data].target}"
        for family, settings in shown.items():
            chosen = [by[t] for s in names(settings) if (t := f"{family} {s}") in by]
            words = [s for s in names(settings) if f"{family} {s}" in by]
            line(first, f"{family} {' · '.join(words)}",
                 *(" · ".join(f"{mean(r, k):.2f}" for r in chosen) for k in ("S_pMSE", "two-way")),
                 *(percent(*(mean(r, k) for r in chosen))
                   for k in ("proof", "member", "sure", "likely")),
                 " · ".join(f"{mean(r, 'right'):.2f}" for r in chosen)
                 + f" ({mean(chosen[0], 'before'):.2f})")  # fmt: skip
            first = ""
        counts = {trees: len(rows) for trees, rows in by.items()}
        print(
            f"<!-- releases {counts}; largest {[max(r['largest'] for r in by[t]) for t in by]} -->"
        )


def equal_utility(measured: Mapping[str, Mapping[str, Sequence[Row]]]) -> None:
    """Print guarded trees beside unpruned ones of the same two-way figure, interpolated."""
    print()
    head("data", "guard", "two-way", "member: guarded, unpruned", "", "≥ 0.5", "")
    for data, by in measured.items():
        curve = sorted((mean(r, "two-way"), t) for t, r in by.items() if t[0] == "u")
        places = [place for place, _ in curve]
        for guard in ("light", "standard", "strong"):
            rows = by[f"guarded {guard}"]
            here, cells = mean(rows, "two-way"), []
            for key in ("member", "likely"):
                ours = mean(rows, key)
                theirs = float(np.interp(here, places, [mean(by[t], key) for _, t in curve]))
                least = max(ours, 1 / sum(r["attacked"] for r in rows))
                cells += [percent(ours, theirs), f"{'' if ours else '> '}{theirs / least:.1f}"]
            within = places[0] <= here <= places[-1]
            line(data, guard, f"{here:.2f}{'' if within else ' (beyond)'}", *cells)


def equal_limits(measured: Mapping[str, Mapping[str, Sequence[Row]]]) -> None:
    """Print analyses at the smallest leaves that leave as few above 0.5 as standard does."""
    print()
    head("data", "leaves", "score", "original", "guarded", "unpruned", "pruned 20", "overlap",
         "unpruned", "pruned 20", "worst", "unpruned", "pruned 20")  # fmt: skip
    for data, by in measured.items():
        leaves = [t for t in by if t[0] == "u"]
        limit = mean(by["guarded standard"], "likely")
        enough = [t for t in leaves if mean(by[t], "likely") <= limit]
        shown = [by[t] for t in ("guarded standard", (enough or leaves[-1:])[0], "plain 20")]
        rows = shown[0]
        scores = [f"{mean(r, 'TSTR'):.3f}" for r in shown]
        original = f"{np.mean([r['TRTR'] for some in by.values() for r in some]):.3f}"
        if "AUC" in rows[0]:
            scores = [f"{np.mean([r['AUC'][0] for r in some]):.4f}" for some in shown]
            original = f"{rows[0]['AUC'][1]:.4f}"
        line(data, shown[1][0]["trees"] + ("" if enough else " (none)"),
             "AUC" if "AUC" in rows[0] else rows[0]["score"], original, *scores,
             *(f"{mean(r, 'overlap'):.2f}" for r in shown),
             *(f"{np.mean([one['worst'] for one in r]):.1f}" for r in shown))  # fmt: skip


def tests(found: Sequence[Row]) -> None:
    """Print the power of the tests of membership."""
    print()
    head("trees", "releases", "at 10 %", "largest", "at 0.1 %", "largest", "mean of exp(-r)")
    for trees in dict.fromkeys(row["trees"] for row in found):
        ratios = np.array([row["log_ratio"] for row in found if row["trees"] == trees])
        ten, few = (np.array([hits(r, level) for r in ratios.T]) for level in (0.1, 0.001))
        line(trees, len(ratios), *(f"{v:.3f}" for v in (ten.mean(), ten.max(), few.mean(),
             few.max(), np.exp(-ratios).mean())))  # fmt: skip


def main() -> None:
    data, results, *words = sys.argv[1:]
    Path(results).mkdir(parents=True, exist_ok=True)
    if words[:1] == ["report"]:
        report(Path(results))
    elif words[:1] == ["power"]:
        power(Path(data), Path(results), int(words[1]) if words[1:] else 600)
    else:
        for seed in SEEDS:
            for name in words or CASES:
                measure(name, Path(data), Path(results), seed)


if __name__ == "__main__":
    main()
