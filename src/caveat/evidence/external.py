"""What of the evidence may leave: a list of what may be published, and nothing else."""

from __future__ import annotations

import re
from typing import Any

from caveat.evidence.verdict import with_verdict
from caveat.notes import Note

__all__ = ["FEWEST", "external", "withheld"]

FEWEST = 10
"""The fewest records behind a number that leaves: the threshold of output checking."""

# What the external version takes over as it stands, by part. Everything else is left out: a field
# that is added to the evidence later stays inside until somebody decides that it may leave.
_MEASURE = (
    "says", "attacker", "formula", "source", "blind_spot", "blind", "baseline", "direction", "unit",
    "family", "fails", "kind",
)  # fmt: skip
_RELEASE = (
    "title", "unit", "purpose", "recipients", "access", "copies", "rows", "columns",
    "original_rows", "fitted_rows", "control_rows", "groups", "tables", "synthesised_by",
)  # fmt: skip
_MEASUREMENT = (
    "measure", "label_is_public", "copy", "limit", "excess", "value", "interval", "baseline",
    "reference", "control", "control_interval", "rise", "beyond_control",
    "beyond_control_interval", "n", "excluded", "per",
)  # fmt: skip
_UTILITY = (
    "table", "measure", "value", "interval", "copies", "resample", "second_copy", "control", "best",
    "unit", "limit", "excess",
)  # fmt: skip
_VARIABLE = (
    "table",
    "name",
    "kind",
    "S_pMSE",
    "in_pairs",
    "total_variation",
    "missing_similarity",
    "ordered",
)
_MODEL = ("table", "family", "n_synthetic", "mean_overlap", "lack_of_fit", "df")
_POINT = (
    "setting_is_public", "seeds", "risk_mean", "risk_worst", "utility_mean", "utility_worst",
    "pareto", "chosen", "method", "line",
)  # fmt: skip
_SETTINGS = (
    "method", "minbucket", "minsplit", "cp", "prune", "max_depth", "proper", "smoothing", "trees",
    "temperature", "smallest", "backoff", "floor", "depth",
)  # fmt: skip
_GUARD = ("name", "guard", "temperature", "smallest", "backoff", "floor", "depth")
_MAP = ("scenario", "risk", "utility", "risk_unit", "utility_unit", "limit", "records")
_CIRCUMSTANCES = ("limit", "denominator", "population", "records", "prior", "membership", "most",
                  "simulations")  # fmt: skip
_PROMISE = ("epsilon", "delta", "rho", "mechanism", "unit", "neighbours", "domain", "records",
            "pairs", "tables", "poisson", "held_out")  # fmt: skip
# Of a release that promises something: what does not depend on the original but by noisy tables.
_PROMISED_RELEASE = ("title", "unit", "purpose", "recipients", "access", "copies", "rows",
                     "columns", "synthesised_by")  # fmt: skip
_FAMILIES = ("linear", "logistic", "multinomial", "poisson")
_CHOICES = ("original", "synthetic", "conditional", "marginal", "uniform", "all")
# What a measurement of fewer records says nothing of.
_NUMBERS = (
    "value", "interval", "baseline", "reference", "control", "beyond_control",
    "beyond_control_interval", "excess", "n", "excluded",
)  # fmt: skip
_FEW = Note(
    "below-threshold",
    "withheld: it rests on fewer than {fewest} records",
    public=True,
    fewest=FEWEST,
)
_UNSAID = Note("reason-withheld", "it could not be computed", public=True)
# Digits that stay: fewer than would tell a count of records from its neighbours in large data.
_DIGITS = 4
_WITHHELD = "withheld"
_ASSUMED = "its range is assumed to be public"


def external(content: dict[str, Any]) -> dict[str, Any]:
    """Return what of the evidence may be published, chosen by a list of what may be.

    Nothing about single records, no number that rests on fewer than :data:`FEWEST` of them, no
    seed or key, nothing of the input files, no level, rule, expression, distribution or coefficient
    of the original, no free remark, and no name of a column that is not released. Numbers are
    rounded to four digits. Title, purpose, recipients and the scenario names stay as they were
    written. Of a release that promises something no measurement stays at all: each is computed from
    the original and lies outside the promise.

    Parameters
    ----------
    content
        Evidence, or the result of this function, which is returned as it is.
    """
    # How many rows belong to another is seen in the files too.
    counted = [f"number of {table['name']}" for table in content["release"].get("tables", ())]
    public = _Public([*content["release"]["columns"], *counted])
    result = {
        "format": content["format"],
        "release": public.release(content["release"]),
        "software": _pick(content["software"], ("caveat", "python", "packages")),
        "inputs": None,
        "seed": None,
        "key": None,
        "trial": content.get("trial", False),
        "synthesis": public.synthesis(content["synthesis"]),
        "protection": [public.step(step) for step in content["protection"]],
        **public.cleared(content.get("cleared")),
        "measures": {name: _pick(m, _MEASURE) for name, m in content["measures"].items()},
        "scenarios": [public.scenario(scenario) for scenario in content["scenarios"]],
        "records_at_risk": [],
        "utility": public.utility(content["utility"]),
        "map": public.map(content["map"]),
        **public.other_settings(content),
        "remarks": [],
    }
    rounded: dict[str, Any] = _rounded(result)
    # Of what leaves: a number that is withheld is no part of the verdict either.
    return with_verdict(_promised(rounded, content) if "promise" in content else rounded)


def _promised(result: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    """Return the same without anything that the promise does not cover.

    What is promised was chosen before the data were looked at, and is not rounded.
    """
    release = {"not_released": [], "original_rows": None, "fitted_rows": None, "control_rows": None,
               "files": result["release"]["files"]}  # fmt: skip
    utility = ("limits", "measurements", "variables", "pairs", "models", "rules", "remarks")
    kept = {name: part for name, part in result.items() if name != "other_settings"}
    return {
        **kept,
        "release": {**_pick(result["release"], _PROMISED_RELEASE), **release},
        "promise": {**_pick(content["promise"], _PROMISE), "ledger": None},
        "measures": {},
        "scenarios": [],
        "utility": {name: [] for name in utility},
        "map": None,
    }


def withheld(content: dict[str, Any], fewest: int = FEWEST) -> list[str]:
    """Return which measurements rest on too few records to leave: the attacker and the measure.

    Parameters
    ----------
    content
        Evidence.
    fewest
        The fewest records behind a number.
    """
    return [
        f"{scenario['name']}: {m['measure']}" + (f" of {m['target']}" if m.get("target") else "")
        for scenario in content["scenarios"]
        for m in scenario["measurements"]
        if _is_few(m, fewest)
    ]


def _is_few(measurement: dict[str, Any], fewest: int = FEWEST) -> bool:
    n = measurement.get("n")
    return measurement["value"] is not None and n is not None and n < fewest


def _measurement(m: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of a measurement and its public notes; none if they rest on too few."""
    picked = _pick(m, _MEASUREMENT)
    if not _is_few(m):
        return {**picked, "notes": _public_notes(m)}
    for name in ("rise", "control_interval"):
        picked.pop(name, None)
    return {**picked, **{name: None for name in _NUMBERS if name in m}, "notes": [_FEW.to_dict()]}


def _pick(entry: dict[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    return {name: entry[name] for name in fields if name in entry}


def _public_notes(measurement: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the notes that were written to be published; a missing value always has a reason."""
    public = [note for note in measurement["notes"] if note["public"]]
    return public or ([_UNSAID.to_dict()] if measurement["value"] is None else [])


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    return [_rounded(entry) for entry in value] if isinstance(value, list) else value


class _Public:
    """What may be said, given the columns that everybody sees in the release."""

    def __init__(self, columns: list[str]) -> None:
        self.names = frozenset(columns)
        self.models: dict[str, str] = {}

    def release(self, release: dict[str, Any]) -> dict[str, Any]:
        return {
            **_pick(release, _RELEASE),
            "not_released": [],
            "identifying": [
                {**_pick(found, ("column", "code", "is")), "reason": ""}
                for found in release.get("identifying", ())
                if found["column"] in self.names
            ],
            "private_numbers": [
                found
                for found in release.get("private_numbers", ())
                if found["column"] in self.names
            ],
            **self.rare(release),
            "files": [
                _pick(file, ("name", "table", "copy", "format", "rows", "sha256"))
                for file in release["files"]
            ],
        }

    def rare(self, release: dict[str, Any]) -> dict[str, Any]:
        """Return what was done to rare levels, and whose ranges were not declared.

        No number leaves: who knows all other records would see from it what one person has.
        """
        found: dict[str, Any] = {}
        if "rare_levels" in release:
            rare = release["rare_levels"]
            columns = [_pick(c, ("column", "how")) for c in rare["columns"]
                       if c["column"] in self.names]  # fmt: skip
            found["rare_levels"] = {"below": rare["below"], "columns": columns}
        if "undeclared_groups" in release:
            keys = self.known(release["undeclared_groups"]["columns"])
            found["undeclared_groups"] = {"columns": keys}
        if "range_ends" in release:
            found["range_ends"] = {"columns": self.known(release["range_ends"]["columns"])}
        return found

    def utility(self, utility: dict[str, Any]) -> dict[str, Any]:
        return {
            "limits": utility["limits"],
            "measurements": [
                {
                    **_pick(m, _UTILITY),
                    "label": "",
                    "model": self.formula(m["model"]),
                    "notes": _public_notes(m),
                }
                for m in utility["measurements"]
            ],
            "variables": [
                {**_pick(v, _VARIABLE), "vanished": None, "groups": []}
                for v in utility["variables"]
                if v["name"] in self.names
            ],
            "pairs": [p for p in utility["pairs"] if self.names.issuperset(p["names"])],
            "models": [
                {
                    **_pick(m, _MODEL),
                    "formula": self.formula(m["formula"]),
                    "n_original": None,
                    "coefficients": [],
                    "notes": [],
                }
                for m in utility["models"]
            ],
            "rules": [],
            "remarks": [],
        }

    def known(self, names: list[str]) -> list[str]:
        return [name for name in names if name in self.names]

    def label(self, m: dict[str, Any]) -> str:
        """Return what tells results of one attack apart, if the attack lets it be published."""
        public = m.get("label_is_public") is True or m["label"] in self.names
        return m["label"] if public else ""

    def formula(self, formula: str | None) -> str | None:
        """Return a formula that is made of released columns and signs only."""
        if formula is None:
            return None
        words = [word.strip("`") for word in re.findall(r"`[^`]*`|[^\s~+*:()`]+", formula)]
        if self.names.issuperset(set(words) - set(_FAMILIES)):
            return formula
        return self.models.setdefault(formula, f"model {len(self.models) + 1} ({_WITHHELD})")

    def synthesis(self, synthesis: dict[str, Any] | None) -> dict[str, Any] | None:
        if synthesis is None:
            return None
        settings = _pick(synthesis["settings"], _SETTINGS)
        return {
            "order": self.known(synthesis["order"]),
            "settings": {k: v for k, v in settings.items() if isinstance(v, int | float | bool)},
            "columns": [
                {
                    "name": column["name"],
                    "method": column["method"],
                    "predictors": self.known(column["predictors"]),
                }
                for column in synthesis["columns"]
                if column["name"] in self.names
            ],
            "derived": {},
            "rules": [],
            "remarks": [],
            **_pick(synthesis, ("choice",)),
            **self.guard(synthesis),
        }

    def guard(self, synthesis: dict[str, Any]) -> dict[str, Any]:
        """Return the numbers of the guard, and of which columns a range is assumed public."""
        if "guard" not in synthesis:
            return {}
        # A text begins with the column it is about; what follows may hold numbers of the original.
        texts = synthesis["assumed_public"]
        named = sorted(
            name for name in self.names if any(text.startswith(f"{name}: ") for text in texts)
        )
        return {
            "assumed_public": [f"{name}: {_ASSUMED}" for name in named],
            "guard": {
                **_pick(synthesis["guard"], ("worst_case", "worst_case_says")),
                "columns": [
                    _pick(column, _GUARD)
                    for column in synthesis["guard"]["columns"]
                    if column["name"] in self.names
                ],
            },
        }

    def cleared(self, cleared: dict[str, Any] | None) -> dict[str, Any]:
        """Return which tables were cleared; what the rules say and did stays inside."""
        if cleared is None:
            return {}
        tables = [
            {"columns": self.known(t["columns"]), **_pick(t, ("cells", "multiple"))}
            for t in cleared["tables"]
        ]
        return {"cleared": {"tables": tables}}

    def step(self, step: dict[str, Any]) -> dict[str, Any]:
        """Return a protection: its name, and the released columns it was about."""
        lists = {
            key: self.known(value)
            for key, value in step["arguments"].items()
            if key in ("keys", "columns") and isinstance(value, list)
        }
        return {"name": step["name"], "arguments": lists, "counts": {}, "notes": []}

    def scenario(self, scenario: dict[str, Any]) -> dict[str, Any]:
        given = scenario["circumstances"]
        return {
            **_pick(scenario, ("name", "attacker", "table", "unit", "limits")),
            "keys": self.known(scenario["keys"]),
            "targets": self.known(scenario["targets"]),
            "circumstances": {
                **{
                    name: value
                    for name, value in _pick(given, _CIRCUMSTANCES).items()
                    if isinstance(value, int | float) or value in _CHOICES
                },
                "groups": {k: n for k, n in given.get("groups", {}).items() if k in self.names},
            },
            "measurements": [
                {
                    **_measurement(m),
                    "label": self.label(m),
                    "target": m["target"] if m["target"] in self.names else None,
                    "details": {},
                }
                for m in scenario["measurements"]
            ],
            "checks": [],
            "remarks": [],
        }

    def other_settings(self, content: dict[str, Any]) -> dict[str, Any]:
        """Return the settings that every run tries, or why none was; nothing of old evidence."""
        tried = content.get("other_settings")
        if tried is None:
            return {}
        reason = tried.get("reason")
        found = self.map(tried) or {}
        if reason is not None:
            found["reason"] = reason if reason["public"] else _UNSAID.to_dict()
        return {"other_settings": found}

    def map(self, chart: dict[str, Any] | None) -> dict[str, Any] | None:
        """Return a map; a setting that holds more than numbers is called by its place."""
        if chart is None:
            return None
        points = []
        for i, point in enumerate(chart["points"], start=1):
            public = point.get("setting_is_public") is True
            setting = point["setting"] if public else f"setting {i} ({_WITHHELD})"
            points.append({**_pick(point, _POINT), "setting": setting})
        return {**_pick(chart, _MAP), "points": points}
