"""The budget of a guarantee in a specification."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.privacy import Budget, Limit
from caveat.spec.document import Document
from caveat.spec.draft_spec import BenchmarkSpec
from caveat.spec.spec import ReleaseSpec, read_tune

SPEC = """
[data]
path = "survey.csv"

[columns.income]
missing = { "-8" = "refused" }

[synthesis]
epsilon = 1.0
columns = { income = { range = [0, 100, 1] } }

[[scenario]]
name = "x"
keys = ["income"]
"""
SECTION = (
    '[privacy]\nledger = "all.jsonl"\ndataset = "waves"\nlimit = { epsilon = 2, delta = 1e-6 }'
)


def read(folder: Path, text: str) -> ReleaseSpec:
    path = folder / "release.toml"
    path.write_text(text, encoding="utf-8")
    return ReleaseSpec.from_toml(path)


def test_without_a_section_one_release_is_written_down_beside_the_file(tmp_path: Path) -> None:
    spec = read(tmp_path, SPEC)
    assert spec.options["budget"] == Budget(tmp_path / "ledger.jsonl", "survey.csv")
    assert "budget" not in spec.synthesis


def test_the_section_names_ledger_data_and_limit(tmp_path: Path) -> None:
    spec = read(tmp_path, SPEC + SECTION)
    assert spec.options["budget"] == Budget(tmp_path / "all.jsonl", "waves", Limit(2, 1e-6))


def test_codes_that_mean_missing_are_declared_already(tmp_path: Path) -> None:
    assert read(tmp_path, SPEC).options["columns"]["income"]["missing"] == ["-8"]


def test_without_a_guarantee_there_is_no_budget(tmp_path: Path) -> None:
    text = SPEC.replace("epsilon = 1.0\n", "")
    assert "budget" not in read(tmp_path, text).options
    with refused("spec.entry.unused", where="release.toml, line 17"):
        read(tmp_path, text + SECTION)


def test_without_a_guarantee_the_ledger_is_one_of_releases(tmp_path: Path) -> None:
    text = SPEC.replace("epsilon = 1.0\n", "")
    assert read(tmp_path, text).ledger is None
    spec = read(tmp_path, text + '[privacy]\nledger = "all.jsonl"\n')
    assert spec.ledger == Budget(tmp_path / "all.jsonl", "survey.csv")
    assert tmp_path / "all.jsonl" in spec.inputs


@pytest.mark.parametrize(
    "asks", ["epsilon = 1.0", 'method = "margins"\nclearing = { multiple = 5 }']
)
def test_a_protection_that_looks_at_records_is_refused(tmp_path: Path, asks: str) -> None:
    text = SPEC.replace("epsilon = 1.0", asks)
    step = '[[protect]]\nname = "remove_replicated_uniques"\nkeys = ["income"]\n'
    with refused("privacy.protection.conflict"):
        read(tmp_path, text + step)
    read(tmp_path, text + '[[protect]]\nname = "round_numbers"\nbase = { income = 5 }\n')


ASKED = """\
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


@pytest.mark.parametrize(
    ("more", "line", "says"),
    [
        ("[map]\nsettings = { minbucket = [5] }\n", 5, "map: every release .* and this makes many"),
        (TUNE, 5, "tune: every release .* and this makes many"),
        ('[[scenario]]\nname = "x"\nattacker = "simulated"\n', 13, "this attacker makes many"),
        ('[[protect]]\nname = "add_noise"\npopulation = { age = 9 }\n', 12,
         "add_noise looks at original records"),
        ('[groups]\nkey = "sex"\n', 11, "groups: a guarantee is about single records"),
    ],
)  # fmt: skip
def test_what_makes_many_releases_or_looks_again_is_refused(
    tmp_path: Path, more: str, line: int, says: str
) -> None:
    with pytest.raises(CaveatError, match=f"line {line}: .*{says}"):
        ReleaseSpec.from_toml(written(tmp_path, ASKED + more))


def test_protections_that_see_the_release_alone_are_fine(tmp_path: Path) -> None:
    more = '[[protect]]\nname = "label"\n'
    assert len(ReleaseSpec.from_toml(written(tmp_path, ASKED + more)).protect) == 1


@pytest.mark.parametrize("section", ["map", "tune"])
def test_an_epsilon_is_not_tried_out(tmp_path: Path, section: str) -> None:
    settings = "settings = { epsilon = [0.5, 1.0] }"
    public = ASKED.replace("epsilon = 1.0\n", "")
    tried = TUNE.replace("settings = { minbucket = [5] }", settings)
    more = tried if section == "tune" else f"[map]\n{settings}\n"
    with refused("spec.entry.unknown"):
        ReleaseSpec.from_toml(written(tmp_path, public + more))


def test_a_search_is_refused_by_itself_too(tmp_path: Path) -> None:
    with refused("spec.entry.conflict", where="release.toml, line 5"):
        read_tune(Document.read(written(tmp_path, ASKED + TUNE)))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ASKED + GENERATOR, "spec.entry.conflict"),
        (ASKED.replace("epsilon = 1.0\n", "") + GENERATOR + "settings = { poisson = 1.0 }\n",
         "spec.entry.conflict"),
    ],
)  # fmt: skip
def test_a_benchmark_does_not_spend(tmp_path: Path, text: str, says: str) -> None:
    with refused(says):
        BenchmarkSpec.from_toml(written(tmp_path, text))


def test_a_private_control_is_a_share(tmp_path: Path) -> None:
    with refused("spec.entry.conflict", where="release.toml, line 2"):
        ReleaseSpec.from_toml(written(tmp_path, "[release]\ncontrol = 100\n" + ASKED))
