"""The page of a benchmark says what its numbers say."""

from __future__ import annotations

from typing import Any

from tests.report.test_comparing import content, value

from caveat.report.benchmark import benchmark_page


def made() -> dict[str, Any]:
    def trial(low: float, strong: float, utility: float) -> list[dict[str, Any]]:
        return [value("repU", low), value("membershipShare", strong), value("S_pMSE", utility)]

    plain = [trial(0.01, 0.98, 1.2), trial(0.02, 0.99, 1.4)]
    noisy = [trial(0.05, 0.10, 90.0), trial(0.06, 0.05, 110.0)]
    found = content(plain=plain, noisy=noisy, lost=[[]])
    cost = {"cpu": 2.0, "wall": 1.0, "megabytes": 30.0}
    for generator in found["generators"]:
        failed = "it took longer than 1 minute" if generator["label"] == "lost" else None
        generator |= {"name": generator["label"], "settings": {"leaf": 5}, "seeded": True}
        for i, one in enumerate(generator["trials"], 1):
            one |= {"folder": f"{generator['label']}-{i}", "failed": failed, "rules": []}
            one["cost"] = None if failed else cost
    return {
        **found,
        "title": "Which one?",
        "software": {"caveat": "1", "python": "3", "packages": {}},
        "inputs": {"data": {"name": "survey.csv", "rows": 100, "columns": 3}},
        "fitted_rows": 80,
        "control_rows": 20,
        "columns": ["sex", "age"],
        "seeds": 2,
        "copies": 1,
    }


def test_best_safest_unbeaten_failed_and_contradicting() -> None:
    page = benchmark_page(made())
    for words in (
        "plain (1.30) and noisy (100)",  # most useful first
        "noisy (7.5\N{NO-BREAK SPACE}%) and plain (98.5\N{NO-BREAK SPACE}%)",  # least risk first
        "plain and noisy: no other generator is better in both",
        "lost: it took longer than 1 minute",
        "repU calls plain safer than noisy; membershipShare says the reverse",
        "98.0\N{NO-BREAK SPACE}% to 99.0\N{NO-BREAK SPACE}%",
        "80 of them were given to every generator, 20 were held out",
        "leaf = 5",
        "Both axes are drawn together",  # 100 is far from 1.3
    ):
        assert words in page, words


def test_the_same_results_give_the_same_bytes() -> None:
    assert benchmark_page(made(), date="2024-05-01") == benchmark_page(made(), date="2024-05-01")


def test_a_generator_without_a_value_has_no_dot_but_a_row() -> None:
    content = made()
    for trial in content["generators"][0]["trials"]:
        trial["values"] = [v | {"value": None} for v in trial["values"]]
    assert "plain" in benchmark_page(content)
