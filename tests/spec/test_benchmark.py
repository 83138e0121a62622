"""What a benchmark takes from its specification."""

from __future__ import annotations

from pathlib import Path

from tests.refusals import refused

from caveat.spec.draft_spec import BenchmarkSpec, GeneratorSpec

SPEC = """
[data]
path = "survey.csv"
[[scenario]]
name = "a neighbour"
keys = ["sex"]
"""


def written(folder: Path, more: str) -> Path:
    path = folder / "bench.toml"
    path.write_text(SPEC + more)
    return path


def test_generators_are_called_by_name_and_settings_unless_they_have_a_label(
    tmp_path: Path,
) -> None:
    spec = BenchmarkSpec.from_toml(
        written(
            tmp_path,
            """
[[generator]]
name = "cart"
settings = { minbucket = 20 }
[[generator]]
name = "datasynthesizer"
label = "DataSynthesizer, ε 0.1"
settings = { epsilon = 0.1 }
""",
        )
    )
    assert spec.generators == (
        GeneratorSpec("cart", "cart, minbucket 20", {"minbucket": 20}),
        GeneratorSpec("datasynthesizer", "DataSynthesizer, ε 0.1", {"epsilon": 0.1}),
    )
    assert [g.slug for g in spec.generators] == ["cart-minbucket-20", "datasynthesizer-0.1"]
    assert (spec.seeds, spec.minutes, spec.gigabytes, spec.utility) == (2, 60, 8, "S_pMSE two-way")
    # Reports of every fit are written only where they are asked for.
    assert spec.release.output.reports == ()
    assert spec.release.output.folder == tmp_path / "benchmark"


def test_without_generators_there_is_nothing_to_compare(tmp_path: Path) -> None:
    with refused("spec.entry.absent", where="bench.toml, line 1"):
        BenchmarkSpec.from_toml(written(tmp_path, ""))
