"""The main job on built-in data: look, synthesise, measure, attack; leaves a report to open."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

from rich.console import Console
from rich.table import Table as Grid

import caveat
from caveat.attack import posterior
from caveat.cli.look import show
from caveat.datasets import buyer_beware, survey
from caveat.errors import CaveatWarning

FOLDER = Path(__file__).resolve().parents[1] / "demo"
KEYS = ["sex", "age", "region"]


def main() -> None:
    out = Console(record=True, width=100, highlight=False)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    unique_record(out)
    survey_release(out)
    out.save_html(str(FOLDER / "report.html"))
    print(f"\nThe report: {FOLDER.name}/report.html (beside it the synthetic files)")


def unique_record(out: Console) -> None:
    """The 1000 records of the Buyer Beware papers: what the usual measures do not see."""
    original = buyer_beware()
    out.rule("1. One unique record among 1,000")
    out.print(
        "Four binary variables, 1,000 records, and 1111 occurs once. Keys var1 to var3, target "
        "var4; the strong attacker knows the generator and all other records.\n"
    )
    grid = Grid("generator", "1111 in it", "repU %", "DiSCO %", "strong attacker: P(1111)")
    for name, seed, options in (
        ("trees, leaves of 5 or more: release 1", 1, {}),
        ("release 2", 2, {}),
        ("release 3", 3, {}),
        ("leaves of 75 or more", 1, {"minbucket": 75}),
        ("leaves of 5 or more, cp 0.05", 1, {"cp": 0.05}),
    ):
        synthesizer = caveat.Synthesizer(seed=seed, **options)
        release = synthesizer.fit(original).tables()[0]
        found = caveat.audit(original, release, keys=["var1", "var2", "var3"], targets=["var4"])
        ones = sum(all(row) for row in zip(*(release[n].codes for n in release), strict=True))
        attack = posterior(original, release, 999, generator=synthesizer)
        usual = (found.mean("repU", None), found.mean("DiSCO", "var4"))
        certainty = f"{attack.probability:.4f} (prior {1 / 16:.4f})"
        grid.add_row(name, str(ones), *(f"{value:.2f}" for value in usual), certainty)
    out.print(grid)
    out.print(
        "A zero of repU or DiSCO is no all-clear: the attacker can be certain all the same.\n"
    )


def survey_release(out: Console) -> None:
    """A simulated survey: from the look to a release."""
    original = survey()
    out.rule("2. A survey, from the look to a release")
    profile = caveat.look(original)
    show(profile, "the built-in survey", out)
    (FOLDER / "release.toml").write_text(profile.starter("survey.csv"), "utf-8")
    schema = caveat.Schema.from_mapping({"income": {"missing": [-8]}, "friends": {"missing": [-8]}})
    table = schema.apply(original)
    synthesizer = caveat.Synthesizer(
        seed=1,
        derived={"bmi": "weight / (height / 100) ** 2"},
        rules=["if age < 18 then marital = 'single'"],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaveatWarning)
        model = synthesizer.fit(table)
    out.print("\nThe plan", style="bold")
    out.print(str(model.plan))
    release = model.tables()[0]
    caveat.write(release.compact(), FOLDER / "synthetic.csv")
    caveat.write(release.compact(), FOLDER / "synthetic.parquet")
    out.print()
    out.print(str(caveat.audit(table, release, keys=KEYS, targets=["income", "satisfied"])))


if __name__ == "__main__":
    main()
