"""What is printed without being asked for holds no value of the data."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

import caveat
from caveat.attack import posterior, vulnerable
from caveat.attack.worlds import Worlds
from caveat.findings import look
from caveat.protect import round_numbers
from caveat.release.material import Material
from caveat.risk.pair import pair
from caveat.risk.scenario import Scenario
from caveat.synthesis import Synthesizer
from caveat.synthesis.column_model import Cells
from caveat.table import Table, align
from caveat.tree import Predictors
from caveat.utility.pair import WeightedPair
from caveat.utility.tables import cross_table, histogram

TEXT, NUMBER, DATE = "MARKER-7", 7_654_321, "1907-03-04"
MARKERS = re.compile(rf"{TEXT}|7.?654.?321|7\.65|{DATE}")
LONGEST = 2000


def frame(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    job = rng.choice([TEXT, "b", "c"], n, p=[0.2, 0.4, 0.4])
    income = np.where(rng.random(n) < 0.2, NUMBER, rng.integers(1, 99, n))
    born = np.where(rng.random(n) < 0.2, np.datetime64(DATE), np.datetime64("1980-01-01"))
    return pd.DataFrame({"sex": rng.choice(["f", "m"], n), "job": job, "income": income}).assign(
        born=born.astype("M8[us]"), tall=rng.integers(0, 2, n) == 1
    )


def objects() -> Iterator[Any]:
    """Return an object of every sort that holds data."""
    original = Table.from_frame(frame())
    for options in (
        {},
        {"method": "forest", "trees": 2},
        {"method": "cart", "strata": "sex", "smoothing": "density"},
        {"columns": {"income": {"method": "normal"}, "job": {"method": "multinomial"}}},
        {"columns": {"income": {"method": "normrank"}, "job": {"method": "ordinal"}}},
        {"columns": {"job": {"method": "saturated"}, "sex": {"method": "saturated"}}},
        {"columns": {"job": {"method": "lookup", "predictors": ["sex"]}}},
        {"method": "cart", "proper": True},
    ):  # fmt: skip
        synthesizer = Synthesizer(seed=1, **options)
        model = synthesizer.fit(original)
        yield from (synthesizer, model)
    model = Synthesizer(seed=1).fit(original)
    release = model.tables()[0]
    yield from (original, release, align(original, release), model.log_prob(original))
    yield Cells(model.columns["job"].coding, codes=original["job"].codes)
    yield Predictors([original["job"].codes], [3], [False])
    yield Worlds(original, model.plan, [release])
    yield posterior(original, release, 3, unknown=["job"], generator=model)
    yield vulnerable(original, generator=model)
    yield pair(original, release, Scenario(keys=["sex", "born"], target="job"))
    comparison = WeightedPair.of(original, release)
    yield from (comparison, cross_table(comparison, ["sex", "job"]), histogram(comparison, "born"))
    yield round_numbers(release, {"income": 10})
    yield Material(original, np.arange(5), original, None, (release,), 1)
    yield from look(original).columns


def inside(value: Any, seen: set[int]) -> Iterator[Any]:
    """Return an object of ours and all objects of ours that it holds."""
    if id(value) in seen or isinstance(value, str | np.ndarray | type):
        return
    seen.add(id(value))
    if type(value).__module__.startswith("caveat"):
        yield value
        names = getattr(type(value), "__slots__", ()) or ()
        for inner in [*vars(value).values()] if hasattr(value, "__dict__") else [
            getattr(value, name) for name in names
        ]:  # fmt: skip
            yield from inside(inner, seen)
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from inside(inner, seen)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from inside(inner, seen)


def test_no_object_prints_a_value_or_more_than_a_summary():
    seen: set[int] = set()
    kept = []  # alive, so that no id is given twice
    tried = set()
    for each in objects():
        kept.append(each)
        for value in inside(each, seen):
            for text in (repr(value), str(value)):
                assert not MARKERS.search(text), (type(value), text)
                assert len(text) < LONGEST, type(value)
            tried.add(type(value).__name__)
    assert {"Model", "ColumnModel", "Tree", "Forest", "Coding", "Column", "Table"} <= tried
    assert {"Normal", "Stratified", "Worlds", "Posterior", "WeightedPair", "ScenarioPair"} <= tried


def test_a_wide_table_prints_a_summary():
    wide = Table.from_frame({f"{'a' * 300}{i}": [1, 2] for i in range(500)})
    assert len(repr(wide)) < LONGEST
    assert "476 more" in repr(wide)


DATA = re.compile(
    r"NDArray|\b(Floats|Ints|Flags|Codes|Levels|Table|Column|Cells|Coding|WeightedPair|Inputs|Part"
    r"|Predictors|Trees?|Fitted|ColumnModel|Material)\b"
)


def generated() -> Iterator[str]:
    """Return the public dataclasses with arrays or tables that would print them."""
    for module in pkgutil.walk_packages(caveat.__path__, "caveat."):
        if module.name.startswith(("caveat.report", "caveat.spec._kinds")):
            continue  # evidence and specifications, no data
        for name, cls in vars(importlib.import_module(module.name)).items():
            ours = isinstance(cls, type) and cls.__module__ == module.name
            if not ours or name.startswith("_") or not dataclasses.is_dataclass(cls):
                continue
            held = [str(f.type) for f in dataclasses.fields(cls) if f.repr]
            by_dataclass = hasattr(cls.__dict__.get("__repr__"), "__wrapped__")
            if by_dataclass and any(
                DATA.search(kind) for kind in held if not kind.startswith("Callable")
            ):
                yield f"{module.name}.{name}"


def test_dataclasses_that_hold_data_have_a_representation_of_their_own():
    assert list(generated()) == []
