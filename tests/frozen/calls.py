"""What the frozen cases do in Python: each function works in the current folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import caveat

__all__ = ["datasets", "formats", "measures", "models", "plans"]


def _write(name: str, content: Any) -> None:
    Path(name).write_text(json.dumps(content))


def models() -> None:
    """Fit, save, load and sample; plain trees, guarded trees and a plan of several methods."""
    table = caveat.read("people.csv")
    for name, settings in {
        "guarded": {},
        "light": {"guard": "light"},
        "cart": {"method": "cart", "minbucket": 10},
        "sampled": {"method": "sample"},
    }.items():
        fitted = caveat.Synthesizer(seed=6, **settings).fit(table)
        caveat.save(fitted, f"{name}.caveat")
        again = caveat.load(f"{name}.caveat")
        for copy, drawn in enumerate((fitted.sample(rows=50), again.sample(rows=50)), 1):
            caveat.write(caveat.Table.from_frame(drawn), f"{name}-{copy}.csv", confidential=True)
        score = again.log_prob(drawn)
        _write(f"{name}.json", [score.total, *score.rows.tolist()])


def measures() -> None:
    """Measure a release against its original, and attack it."""
    original, release, control = map(caveat.read, ("people.csv", "one.csv", "control.csv"))
    found = caveat.audit(
        original, [release], keys=["sex", "age"], targets=["content"], control=control,
        measures=["all"],
    )  # fmt: skip
    _write("audit.json", found.to_dict())
    _write("utility.json", caveat.compare(original, [release]).to_dict())
    plan = caveat.make_plan(original, {"method": "cart", "minbucket": 8})
    drawn = caveat.Synthesizer(seed=8, method="cart", minbucket=8).fit(original).sample()
    sure = caveat.posterior(original, drawn, 4, unknown=["content"], generator=plan)
    _write("posterior.json", [sure.probability, *sure.probabilities.tolist()])
    members = caveat.membership(original, drawn, generator=plan, records=range(12))
    _write("membership.json", members.posterior(0.5).tolist())
    exposed = caveat.vulnerable(original, generator=plan)
    _write("vulnerable.json", [exposed.first(8).tolist(), exposed.score.tolist()])
    loss = caveat.privacy_loss(
        original, range(5), synthetic=drawn, generator=plan, unknown=["content"]
    )
    _write("loss.json", loss.to_frame().to_dict("list"))
    secrets = caveat.attributes(original, drawn, "content", generator=plan, records=range(20))
    _write("attributes.json", secrets.to_frame().to_dict("list"))


def datasets() -> None:
    """Write the data sets that Caveat brings."""
    made = {
        "survey": caveat.datasets.survey(rows=300),
        "households": caveat.datasets.households(number=100),
        "beware": caveat.datasets.buyer_beware(),
    } | {f"patients-{name}": t for name, t in caveat.datasets.patients(number=60).items()}
    for name, table in made.items():
        caveat.write(table, f"{name}.csv")


def formats() -> None:
    """Read a table in every format in which a run has written it."""
    for path in sorted(Path("out/inside").glob("synthetic-1.*")):
        caveat.write(caveat.read(path), f"read-{path.name.removeprefix('synthetic-1.')}.csv")


def plans() -> None:
    """Measure a plan of tables, and rebuild records from published ones."""
    from caveat.outputs.plan_risk import plan_risk, planned_tables
    from caveat.outputs.reconstruction import attack_tables

    original, release = map(caveat.read, ("people.csv", "one.csv"))
    known, secret = ["sex"], ["marital", "content"]
    plan = planned_tables(untouched=known, synthesised=secret, largest=3)
    risk = plan_risk(original, release, plan, targets=secret, levels=[[], ["region"]])
    _write("plan.json", [[*map(str, key), *row] for key, row in risk.summary().items()])
    few = original.select(["region", *known, *secret])
    found = attack_tables(few, [["sex", "marital"], ["marital", "content"]], by="region", times=4)
    _write("rebuilt.json", [found.unique, *found.summary().values()])
