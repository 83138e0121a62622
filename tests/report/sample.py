"""Evidence to print: the hand-made sample of the project, and larger tables made from it."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import caveat.attack.ordinary  # noqa: F401 (registers its measures)
from caveat.risk import MEASURES as RISKS
from caveat.risk.measure import NO_RECORD
from caveat.utility import MEASURES as UTILITIES

SAMPLE = Path(__file__).parents[1] / "evidence-sample.json"
NAMES = (
    "sex", "age", "agegr", "placesize", "region", "edu", "eduspec", "socprof", "unempdur", "income",
    "marital", "mmarr", "ymarr", "msepdiv", "ysepdiv", "ls", "depress", "trust", "trustfam",
    "trustneigh", "sport", "nofriend", "smoke", "nociga", "alcabuse", "alcsol", "workab", "wkabdur",
    "wkabint", "wkabintdur", "emcc", "englang", "height", "weight", "bmi",
)  # fmt: skip
LONG = "household_equivalised_disposable_income_after_transfers_in_euro_per_year"


def small() -> dict[str, Any]:
    """The sample: five columns, three attackers, a map."""
    content: dict[str, Any] = json.loads(SAMPLE.read_text("utf-8"))
    return content


def describe(name: str) -> dict[str, Any]:
    """The entry of a measure as a run writes it."""
    kind = "risk" if name in RISKS else "utility"
    m = (RISKS if kind == "risk" else UTILITIES)[name]
    texts = ("says", "attacker", "formula", "source", "blind_spot", "blind", "baseline")
    return {
        **{field: getattr(m, field) for field in (*texts, "direction", "unit", "family")},
        "fails": sorted(str(p) for p in m.fails),
        "kind": kind,
    }


def measured(measure: str, value: float | None, **more: Any) -> dict[str, Any]:
    """A measurement with all fields of the schema."""
    n = more.pop("n", 5000)
    half = 0.012 if value is not None else 0.0
    interval = None if value is None else [max(0.0, value - half), min(1.0, value + half)]
    limit = more.get("limit")
    excess = None
    if limit is not None and value is not None and limit["most"] is not None:
        excess = max(0.0, (value - limit["most"]) / limit["most"])
    return {
        "measure": measure, "label": "", "target": None, "copy": 1, "limit": None, "excess": excess,
        "value": value, "interval": interval, "baseline": None, "reference": None, "control": None,
        "beyond_control": None, "beyond_control_interval": None, "n": n, "excluded": 0,
        "notes": [] if value is not None else [NO_RECORD.to_dict()], "details": {},
        **more,
    }  # fmt: skip


def wave(i: int, scale: float) -> float:
    """A number between 0 and ``scale`` that looks random and never changes."""
    return scale * abs(math.sin(12.9898 * (i + 1) * 1.7))


def variable(name: str, i: int) -> dict[str, Any]:
    """A variable: every third in ordered classes, the others in categories."""
    ordered = i % 3 == 1
    n = (20, 12, 10)[i % 3] if ordered else (2, 4, 3, 9, 5, 7)[i % 6]
    labels = (
        [f"{1000 * k}–{1000 * (k + 1)}" for k in range(n)]
        if ordered
        else [f"category number {k + 1} of {name[:12]}" for k in range(n)]
    )
    weights = [1 + wave(7 * i + k, 5) for k in range(n)] if not ordered else [
        math.exp(-(((k - n / 3) / (n / 4)) ** 2)) for k in range(n)]  # fmt: skip
    total = sum(weights)
    own = [w / total for w in weights]
    moved = [w * (0.9 + wave(i + 5 * k, 0.2)) for k, w in enumerate(own)]
    moved = [w / sum(moved) for w in moved]
    score = 0.5 + wave(i, 1) ** 3 * 14
    return {
        "name": name, "kind": "number" if ordered else "category", "S_pMSE": score,
        "in_pairs": 1 + score / 2, "total_variation": wave(i, 0.09), "vanished": i % 2,
        "missing_similarity": 1 - wave(i, 0.05), "ordered": ordered,
        "groups": [
            {"label": label, "original": a, "synthetic": b}
            for label, a, b in zip(labels, own, moved, strict=True)
        ],
    }  # fmt: skip


def model(formula: str, terms: list[str]) -> dict[str, Any]:
    """A model with coefficients of some size."""
    found = []
    for i, term in enumerate(terms):
        own, error, gap = wave(i, 3) - 1, 0.1 + wave(i, 0.2), wave(3 * i, 5) - 2.5
        other = own + gap * error
        found.append(
            {
                "term": term, "original": own, "original_low": own - 2 * error,
                "original_high": own + 2 * error, "synthetic": other,
                "synthetic_low": other - 2.4 * error, "synthetic_high": other + 2.4 * error,
                "standardised": gap, "overlap": 1 - abs(gap) / 4, "same_sign": own * other > 0,
                "same_significance": i % 4 != 0,
            }
        )  # fmt: skip
    return {
        "formula": formula, "family": "gaussian", "n_original": 4800, "n_synthetic": 4790.0,
        "mean_overlap": 0.71, "lack_of_fit": 2.4, "df": len(terms), "coefficients": found,
        "notes": [],
    }  # fmt: skip


def large(n: int = 35) -> dict[str, Any]:
    """Evidence about a survey with many columns, long names and measures that disagree."""
    content = copy.deepcopy(small())
    names = [*NAMES, LONG, *(f"item{i:03d}" for i in range(200))][:n] if n > 35 else list(NAMES[:n])
    if n >= 35:
        names[9] = LONG
    content["release"] |= {
        "title": "Social Diagnosis 2011: a synthetic table for courses on survey methods",
        "columns": names, "rows": [5000, 5000], "copies": 2, "original_rows": 5000,
        "fitted_rows": 5000, "control_rows": 0,
    }  # fmt: skip
    content["synthesis"]["order"] = names
    content["synthesis"]["columns"] = [
        {"name": name, "method": "cart", "predictors": names[:i], "leaves": 3 + i}
        for i, name in enumerate(names)
    ]
    keys = names[:3]
    content["scenarios"] = [_release_attacker(keys, names), _strong_attacker(names)]
    content["records_at_risk"] = [
        {
            "scenario": "who knows everyone else", "row": 17 + 97 * i, "target": names[-1],
            "measure": "strongWorst", "value": 0.9999 - 0.015 * i, "prior": 0.12 + i / 100,
            "gain": 8.3 - i / 8,
            "signs": ["unique on the keys", "only donor of its value in 3 columns"][: 1 + i % 2],
        }
        for i in range(50)
    ]  # fmt: skip
    utility = content["utility"]
    utility["variables"] = [variable(name, i) for i, name in enumerate(names)]
    scores = [
        {"names": [a, b], "S_pMSE": 0.7 + wave(31 * i + j, 1) ** 6 * 60}
        for i, a in enumerate(names)
        for j, b in enumerate(names[:i])
    ]
    utility["pairs"] = sorted(scores, key=lambda p: -p["S_pMSE"])
    response = names[-1]
    utility["models"] = [
        model(f"{response} ~ {' + '.join(names[:3])}", ["Intercept", *names[:3]]),
        model(
            f"{names[0]} ~ {' + '.join(names[5:8])}",
            ["Intercept", *(f"{name}[T.level {k}]" for name in names[5:8] for k in (1, 2, 3))],
        ),
    ]
    used = {m["measure"] for s in content["scenarios"] for m in s["measurements"]}
    content["measures"] |= {name: describe(name) for name in sorted(used)}
    return content


def _release_attacker(keys: list[str], names: list[str]) -> dict[str, Any]:
    limit = {"most": 0.05, "least": None}
    rows = [measured("repU", 0.0, baseline=0.001, limit=limit), measured("UiO", 0.235)]
    for i, target in enumerate(t for t in (names[3:9] + names[-2:]) if t not in keys):
        rows += [
            measured("DiSCO", 0.004 + i / 200, target=target, baseline=0.002, limit=limit),
            measured("DCAP", 0.3 + 0.03 * i, target=target, baseline=0.28 + 0.03 * i),
            measured("TCAP", 0.1 + 0.02 * i, target=target, baseline=0.08),
            measured("TCAPdisclosive", None if i == 2 else 0.6, target=target, baseline=0.4),
            measured("Dorig", 0.4 + i / 100, target=target),
        ]
    return {
        "name": "a neighbour", "attacker": "release", "keys": keys,
        "targets": [t for t in (names[3:9] + names[-2:]) if t not in keys],
        "circumstances": {"groups": {keys[-1]: 10}, "exclude_missing": [names[-1]]},
        "limits": [{"measure": "DiSCO", **limit}], "measurements": rows, "checks": [],
        "remarks": [],
    }  # fmt: skip


def _strong_attacker(names: list[str]) -> dict[str, Any]:
    target = names[-1]
    return {
        "name": "who knows everyone else", "attacker": "strong", "keys": [], "targets": [target],
        "circumstances": {"records": 220, "most vulnerable": 20, "prior": "conditional"},
        "limits": [],
        "measurements": [
            measured("strongShare", 0.41, target=target, baseline=0.07, n=220),
            measured("strongWorst", 0.9999, target=target, baseline=0.12, n=220, interval=None),
            measured("strongGain", 0.315, target=target, baseline=0.0, n=220),
            measured("membershipShare", 0.63, baseline=0.0, n=220),
        ],
        "checks": [], "remarks": [],
    }  # fmt: skip
