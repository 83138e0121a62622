"""What analysts can rely on, on page one: read right for a tiny file and for a large one."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.report.sample import small

from caveat.evidence.external import external
from caveat.release.collect_utility import _associations, _regressions, measurements_of
from caveat.report import markdown
from caveat.report.verdict import correlations_reading, reliance
from caveat.report.wording import NBSP
from caveat.utility import compare

MEASURES = ["S_pMSE", "correlations kept", "automatic coefficient ratio",
            "automatic interval overlap"]  # fmt: skip


def evidence_of(original: Any, release: Any, groups: str | None = None) -> dict[str, Any]:
    """The sample of the project, with what these tables give for utility."""
    found = compare(original, release, measures=MEASURES, groups=groups, resamples=1)
    content = small()
    content["release"]["columns"] = list(found.first.names)
    content["utility"] |= {
        "measurements": measurements_of(found, ()),
        "associations": _associations(found),
        "regressions": _regressions(found),
    }
    return content


def value_of(content: dict[str, Any], measure: str) -> Any:
    return next(m for m in content["utility"]["measurements"] if m["measure"] == measure)["value"]


def tiny(r: float, seed: int) -> dict[str, Any]:
    """A class of 40: two marks that go together, and what else there is."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(np.column_stack([np.ones(40), *rng.normal(size=(2, 40))]))[0][:, 1:]
    second = r * basis[:, 0] + np.sqrt(1 - r**2) * basis[:, 1]
    return {"first": basis[:, 0] * 60 + 50, "second": second * 60 + 50,
            "sex": rng.choice(["f", "m"], 40)}  # fmt: skip


def people(n: int, seed: int, shift: float = 0.0) -> dict[str, Any]:
    """Six years of each woman; where and when she was born, her race and schooling stay."""
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(n), 6)
    born, area = rng.integers(40, 60, n), rng.integers(0, 10, n)
    school = np.clip(born // 10 + area // 4 + rng.integers(0, 5, n), 3, 12)
    year = np.tile(np.arange(6), n)
    black = rng.random(n) < 0.28 + shift
    wage = 1 + school[of] / 6 + year / 5 - black[of] / 2 + rng.normal(size=n)[of]
    grade = np.round(school / 3 + rng.normal(size=n), 3)
    return {"woman": of, "grade": grade[of], "born": born[of], "area": area[of].astype(str),
            "school": school[of],
            "race": np.where(black, "black", "white")[of], "year": year,
            "wage": np.round(wage + rng.normal(size=6 * n) / 2, 2)}  # fmt: skip


def page_one(content: dict[str, Any], version: str = "internal") -> str:
    text = markdown(content, version=version)
    return text.split("## 2.")[0].replace(NBSP, " ").replace("\\", "")


def test_a_lost_correlation_of_a_tiny_file_is_plainly_visible() -> None:
    content = evidence_of(tiny(0.95, 1), tiny(0.39, 2))
    assert correlations_reading(content) == "few"
    assert value_of(content, "correlations kept") == 0
    assert value_of(content, "automatic coefficient ratio") < 0.6
    worst = content["utility"]["associations"][0]
    assert worst["names"] == ["first", "second"]
    assert "automatic" in markdown(content).split("Regressions whose")[1]
    shown = f"| {worst['original']:.2f} | {worst['synthetic']:.2f} |"
    assert shown in page_one(content)
    assert worst["original"] > 0.9
    assert worst["synthetic"] < 0.45


def test_a_large_panel_whose_shares_hardly_differ_reads_as_fine() -> None:
    """S_pMSE as single rows have it is far above 10; shares differ by .006."""
    ours, theirs = people(1500, 1), people(1500, 2, 0.006)
    content = evidence_of(ours, theirs, "woman")
    rows = [{k: v for k, v in side.items() if k != "woman"} for side in (ours, theirs)]
    as_rows = compare(*rows, measures=["S_pMSE"], resamples=0)["S_pMSE"].value
    assert as_rows > 10 * value_of(content, "S_pMSE")
    assert value_of(content, "S_pMSE") < 4
    assert correlations_reading(content) == "all"
    assert value_of(content, "automatic coefficient ratio") > 0.8
    assert content["utility"]["associations"] == []
    assert len(reliance(content)) == 1  # no pair is named
    for m in content["utility"]["measurements"]:
        if m["measure"] == "S_pMSE":
            m["value"] = 461.0
    assert correlations_reading(content) == "all"
    assert "461" not in markdown(content).split("## 3.")[0]


def test_outside_the_pairs_are_named_without_the_value_of_the_original() -> None:
    content = evidence_of(tiny(0.95, 1), tiny(0.39, 2))
    public = external(content)
    (pair,) = public["utility"]["associations"]
    assert (pair["original"], pair["names"]) == (None, ["first", "second"])
    assert {r["n_original"] for r in public["utility"]["regressions"]} == {None}
    first = page_one(content, "external")
    assert f"| – | {pair['synthetic']:.2f} |" in first
    content["release"]["columns"].remove("second")
    hidden = external(content)["utility"]
    assert hidden["associations"] == []
    assert not any("second" in r["formula"] for r in hidden["regressions"])


def test_older_evidence_and_a_promise_have_none() -> None:
    assert reliance(small()) == []
    assert correlations_reading(small()) == "unknown"
