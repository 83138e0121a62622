"""A budget, and what would spend it more than once."""

from __future__ import annotations

from pathlib import Path

import pytest

from caveat.errors import CaveatError
from caveat.privacy import Limit
from caveat.spec.benchmark import BenchmarkSpec
from caveat.spec.spec import Document, ReleaseSpec, read_tune

SPEC = """\
[data]
path = "survey.csv"
[synthesis]
method = "margins"
epsilon = 1.0
[synthesis.columns]
sex = { levels = ["f", "m"] }
[[scenario]]
name = "a neighbour"
keys = ["sex"]
"""
TUNE = """
[tune]
keys = ["sex"]
limits = { DiSCO = 5 }
objective = "S_pMSE"
settings = { minbucket = [5] }
"""
GENERATOR = '[[generator]]\nname = "margins"\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "release.toml"
    path.write_text(text)
    return path


def test_the_ledger_lies_beside_the_specification(tmp_path: Path) -> None:
    more = '[privacy]\ndataset = "2026"\nlimit = { epsilon = 3, delta = 1e-6 }\n'
    budget = ReleaseSpec.from_toml(written(tmp_path, SPEC + more)).options["budget"]
    assert budget.ledger == tmp_path / "ledger.jsonl"
    assert (budget.dataset, budget.limit) == ("2026", Limit(3, 1e-6))
    plain = ReleaseSpec.from_toml(written(tmp_path, SPEC)).options["budget"]
    assert (plain.dataset, plain.limit) == ("survey.csv", None)


@pytest.mark.parametrize(
    ("more", "line", "says"),
    [
        ("[map]\nsettings = { minbucket = [5] }\n", 5, "map: every release .* and this makes many"),
        (TUNE, 5, "tune: every release .* and this makes many"),
        ('[[scenario]]\nname = "x"\nattacker = "simulated"\n', 13, "this attacker makes many"),
        ('[[protect]]\nname = "add_noise"\npopulation = { age = 9 }\n', 11,
         "add_noise looks at original records"),
        ('[groups]\nkey = "sex"\n', 11, "groups: a guarantee is about single records"),
    ],
)  # fmt: skip
def test_what_makes_many_releases_or_looks_again_is_refused(
    tmp_path: Path, more: str, line: int, says: str
) -> None:
    with pytest.raises(CaveatError, match=f"line {line}: .*{says}"):
        ReleaseSpec.from_toml(written(tmp_path, SPEC + more))


def test_protections_that_see_the_release_alone_are_fine(tmp_path: Path) -> None:
    more = '[[protect]]\nname = "label"\n'
    assert len(ReleaseSpec.from_toml(written(tmp_path, SPEC + more)).protect) == 1


@pytest.mark.parametrize("section", ["map", "tune"])
def test_an_epsilon_is_not_tried_out(tmp_path: Path, section: str) -> None:
    settings = "settings = { epsilon = [0.5, 1.0] }"
    public = SPEC.replace("epsilon = 1.0\n", "")
    tried = TUNE.replace("settings = { minbucket = [5] }", settings)
    more = tried if section == "tune" else f"[map]\n{settings}\n"
    with pytest.raises(CaveatError, match=f"{section}: every release"):
        ReleaseSpec.from_toml(written(tmp_path, public + more))


def test_a_search_is_refused_by_itself_too(tmp_path: Path) -> None:
    with pytest.raises(CaveatError, match="tune: every release"):
        read_tune(Document.read(written(tmp_path, SPEC + TUNE)))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (SPEC + GENERATOR, "line 5: benchmark: every release"),
        (SPEC.replace("epsilon = 1.0\n", "") + GENERATOR + "settings = { poisson = 1.0 }\n",
         "line 12: benchmark: every release"),
    ],
)  # fmt: skip
def test_a_benchmark_does_not_spend(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(CaveatError, match=says):
        BenchmarkSpec.from_toml(written(tmp_path, text))
