"""The simulated attacker from a specification to the reports."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from caveat.cli import app
from caveat.datasets import buyer_beware
from caveat.table import write

SPEC = """
[release]
seed = 1
[data]
path = "data.csv"
[synthesis]
method = "cart"
[[scenario]]
name = "runs it again"
attacker = "simulated"
most = 1
simulations = 40
limits = { simulatedFound = 20 }
[utility]
measures = ["S_pMSE one-way"]
"""


def test_a_simulated_attacker_is_evidence_and_is_reported(tmp_path: Path) -> None:
    write(buyer_beware(), tmp_path / "data.csv")
    (tmp_path / "release.toml").write_text(SPEC, encoding="utf-8")
    result = CliRunner().invoke(app, ["run", str(tmp_path / "release.toml")])
    assert result.exit_code == 3, result.output  # 1111 shows in more than a fifth of the releases
    evidence = json.loads((tmp_path / "release" / "inside/evidence.json").read_text("utf-8"))
    (scenario,) = evidence["scenarios"]
    assert scenario["circumstances"] == {"most": 1, "simulations": 40}
    first = scenario["measurements"][0]
    assert (first["measure"], first["label"]) == ("simulatedFound", "paired fits, false ≤ 10 %")
    assert 0.2 < first["value"] <= 1
    assert [m["limit"] is not None for m in scenario["measurements"]] == [True] + 6 * [False]
    for name in ("report.md", "report-external.md"):
        text = (tmp_path / "release" / "inside" / name).read_text("utf-8")
        assert "The strong attacker by simulation: runs it again" in text
        assert "finds 32 % of what the exact one finds" in text
