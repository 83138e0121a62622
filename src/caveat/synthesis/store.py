"""Model files: what a model is made of as plain states, and a model from such states.

Loading one never executes code, and nothing in a file is used before it was checked: a model that
loads can be drawn from. A model holds values of original records, so its file says in its first
line that it is confidential.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError, CaveatWarning
from caveat.synthesis.archive import NOTICE, VERSION, damaged, pack, read, unpack, write
from caveat.synthesis.choosing import Choice
from caveat.synthesis.coding import Coding, Grid
from caveat.synthesis.column_model import ColumnModel, empty_inputs
from caveat.synthesis.fitting import kind_method, predictors_of, rules_of
from caveat.synthesis.linked.model import GroupModel, LinkedModel
from caveat.synthesis.linked.state import linked_model, linked_state
from caveat.synthesis.margins.plan import MarginsPlan, Published
from caveat.synthesis.methods import METHODS, Fitted, Settings, State
from caveat.synthesis.methods.base import check_number, need
from caveat.synthesis.methods.guarded import Stratified
from caveat.synthesis.model import Model
from caveat.synthesis.options import GIVEN, parse_rule
from caveat.synthesis.plan import ColumnPlan, Plan, check_plan
from caveat.synthesis.replacing import (
    Replaced,
    check_decodes,
    column_from_state,
    table_from_state,
    table_state,
)
from caveat.synthesis.seen import RareLevels, rare_below
from caveat.table import Table
from caveat.table.code_files import dictionary_state, plain
from caveat.table.drafts import clear_up, write_text
from caveat.table.frames import BACKENDS
from caveat.table.table import survey_weights

__all__ = [
    "NOTICE",
    "fingerprint",
    "forget_columns",
    "load",
    "load_columns",
    "load_plan",
    "save",
    "save_column",
    "save_plan",
]

# What states that describe no model can make the code below raise.
REFUSED = (
    *(CaveatError, ValueError, KeyError, TypeError, IndexError, AttributeError),
    *(ArithmeticError, RecursionError, MemoryError),
)
README = "CONFIDENTIAL.txt"  # says what a folder of single columns is
MOST_ROWS = 2**31


def save(
    model: Model | GroupModel | LinkedModel,
    path: str | Path,
    *,
    force: bool = False,
    packed: bool = True,
) -> None:
    """Write a model to a file.

    Parameters
    ----------
    model
        The fitted synthesiser.
    path
        The target; by custom it ends in ``.caveat``.
    force
        Whether a file that exists may be replaced.
    packed
        Whether it is made small, which takes time.
    """
    arrays: list[NDArray[Any]] = []
    if isinstance(model, Model):
        state = _model_state(model)
    else:
        state = {"linked": linked_state(model, _model_state), "seed": model.seed}
    write(Path(path), pack(state, arrays), arrays, force=force, packed=packed)


def _model_state(model: Model) -> State:
    return {
        "plan": _plan_state(model.plan),
        "columns": {n: _column_state(m) for n, m in model.columns.items()},
        "names": list(model.names),
        "n_rows": model.n_rows,
        "seed": model.seed,
        "backend": model.backend,
        "source": None if model.source is None else table_state(model.source),
        "cleared": [table.state() for table in model.cleared],
        "replaced": model.replaced.state(),
    }


def load(path: str | Path) -> Any:
    """Read a model from a file, or say why it cannot be read."""
    document, arrays = read(Path(path))
    try:
        seed = document.pop("seed")  # the one number that may have more than 64 bits
        need(type(seed) is int and seed >= 0, "no seed")
        content = _unpacked(document, arrays)
        if "linked" in content:
            return linked_model(content["linked"], seed, _model)
        return _model(content, seed)
    except REFUSED:
        raise damaged(Path(path)) from None


def save_column(
    folder: Path, key: str, name: str, model: ColumnModel, *, packed: bool = True
) -> None:
    """Keep the model of one column, so that an interrupted fit can go on."""
    arrays: list[NDArray[Any]] = []
    document = {"key": key, "name": name, "state": pack(_column_state(model), arrays)}
    if not (folder / README).exists():
        write_text(folder / README, f"{NOTICE}\n", confidential=True, force=True)
    target = folder / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.column"
    write(target, document, arrays, force=True, packed=packed)


def save_plan(path: Path, plan: Plan, seed: int) -> None:
    """Write a plan and the seed of a fit by it, for another process."""
    arrays: list[NDArray[Any]] = []
    state = pack({"plan": _plan_state(plan)}, arrays)
    # Seeds may have more than 64 bits.
    seeds = {"seed": str(seed), "structure_seed": str(plan.structure_seed)}
    write(path, {**state, **seeds}, arrays)


def load_plan(path: Path) -> tuple[Plan, int]:
    """Read the plan and the seed that another process has written."""
    document, arrays = read(path)
    content = _unpacked(document, arrays)
    drawn = content["structure_seed"]
    plan = replace(_plan(content["plan"]), structure_seed=None if drawn == "None" else int(drawn))
    return plan, int(content["seed"])


def load_columns(folder: Path, key: str, plan: Plan) -> dict[str, ColumnModel]:
    """Return the columns that an interrupted fit of the same data by the same plan has left.

    One that is damaged is left out with a warning: its column is fitted again.
    """
    found = {}
    clear_up(folder)
    for path in sorted(folder.glob("[!.]*.column")):
        try:
            document, arrays = read(path)
            if document.get("key") == key:
                content = _unpacked(document, arrays)
                name, state = content["name"], content["state"]
                entry = plan.columns[name]
                coding = Coding.of(
                    column_from_state(state["dictionary"]), entry.special, name, entry.grid
                )
                found[name] = _column_model(state, plan, name, coding)
        except REFUSED:
            warnings.warn(
                f"{path.name} of the interrupted run is damaged: its column is fitted again",
                CaveatWarning,
                stacklevel=2,
            )
    return found


def forget_columns(folder: Path) -> None:
    """Remove the columns that were kept, and the folder unless somebody else uses it too."""
    with suppress(OSError):
        clear_up(folder)
        for path in folder.glob("*.column"):
            path.unlink()
        (folder / README).unlink(missing_ok=True)
        folder.rmdir()


def fingerprint(table: Table, plan: Plan, seed: int) -> str:
    """Return a text that is the same only for the same data, plan and seed."""
    digest = hashlib.sha256(f"{VERSION} {seed} {json.dumps(_plan_state(plan))}".encode())
    for name, column in table.columns.items():
        arrays: list[NDArray[Any]] = []
        digest.update(json.dumps([name, pack(dictionary_state(column), arrays)]).encode())
        for array in (*arrays, column.codes):
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _unpacked(document: State, arrays: list[NDArray[Any]]) -> State:
    numbered = enumerate(arrays)
    content: State = unpack(document, numbered)
    need(next(numbered, None) is None, "an array that nothing asks for")
    return content


def _model(content: State, seed: int) -> Model:
    """Return the model of a file, each part checked with the help of those before it."""
    plan, states, n_rows = _plan(content["plan"]), content["columns"], content["n_rows"]
    plan = replace(plan, structure_seed=seed)
    need(list(states) == list(plan.columns), "models of other columns than the plan's")
    need(type(n_rows) is int and 0 < n_rows < MOST_ROWS, "no number of rows")
    table = Table({n: column_from_state(state["dictionary"]) for n, state in states.items()})
    check_plan(plan, table)
    codings = {
        n: Coding.of(table[n], entry.special, n, entry.grid) for n, entry in plan.columns.items()
    }
    columns = {}
    for name, state in states.items():
        columns[name] = _column_model(state, plan, name, codings[name])
        columns[name].check(empty_inputs(codings, predictors_of(plan, name)), n_rows)
    names, backend = tuple(content["names"]), content["backend"]
    unwritten = ("drop", GIVEN)
    kept = [n for n, entry in plan.columns.items() if entry.settings.method not in unwritten]
    need(sorted(names) == sorted(kept) and backend in BACKENDS, "no frame")
    for name in names:
        check_decodes(table[name], backend)
    source = None if content["source"] is None else table_from_state(content["source"])
    _check_source(source, plan, table, n_rows)
    cleared = tuple(Published.from_state(table) for table in content["cleared"])
    rules = None if plan.margins is None else plan.margins.clearing
    need(bool(cleared) == (rules is not None), "tables against the plan")
    replaced = Replaced.from_state(content.get("replaced"))
    need(not {*names} & {*replaced.columns}, "replaced columns that are drawn too")
    return Model(plan, columns, names, n_rows, seed, backend, source, cleared, replaced=replaced)


def _check_source(source: Table | None, plan: Plan, table: Table, n_rows: int) -> None:
    """Need the original where copies are fitted anew, with the columns of the plan."""
    proper = any(entry.settings.proper for entry in plan.columns.values())
    need((source is not None) == proper, "a table, or none, against the plan")
    if source is None:
        return
    need(set(source) == {*plan.columns, plan.weights} - {""}, "a table with other columns")
    need(source.n_rows == n_rows, "a table with other rows")
    need(all(source[n].has_same_levels(table[n]) for n in table), "other levels")
    if plan.weights:
        survey_weights(source[plan.weights], plan.weights)


def _plan_state(plan: Plan) -> State:
    return {
        "columns": {
            name: {
                "settings": asdict(entry.settings),
                "predictors": list(entry.predictors),
                "special": [plain(value) for value in entry.special],
                "grid": None if entry.grid is None else entry.grid.state(),
            }
            for name, entry in plan.columns.items()
        },
        "rules": [str(rule) for rule in plan.rules],
        "strata": plan.strata,
        "weights": plan.weights,
        "remarks": list(plan.remarks),
        "weight_unit": plan.weight_unit,
        "margins": None if plan.margins is None else plan.margins.state(),
        "choice": None if plan.choice is None else plan.choice.state(),
        "rare": {name: of.state() for name, of in plan.rare.items()},
        "rare_below": plan.rare_below,
    }


def _plan(state: State) -> Plan:
    columns = {}
    for name, entry in state["columns"].items():
        settings = dict(entry["settings"])
        settings["margins"] = tuple(tuple(margin) for margin in settings["margins"])
        columns[name] = ColumnPlan(
            Settings(**settings),
            tuple(entry["predictors"]),
            tuple(entry["special"]),
            None if entry["grid"] is None else Grid.from_state(entry["grid"]),
        )
    rules = tuple(parse_rule(text) for text in state["rules"])
    check_number(state["weight_unit"], low=np.nextafter(0.0, 1.0))
    margins = None if state["margins"] is None else MarginsPlan.from_state(state["margins"])
    choice = None if state["choice"] is None else Choice.from_state(state["choice"])
    rare = {name: RareLevels.from_state(of) for name, of in state.get("rare", {}).items()}
    need(set(rare) <= set(columns), "rare levels of other columns")
    return Plan(
        columns, rules, state["strata"], state["weights"], tuple(state["remarks"]),
        state["weight_unit"], margins=margins, choice=choice, rare=rare,
        rare_below=rare_below(state.get("rare_below", 1)),
    )  # fmt: skip


def _column_state(model: ColumnModel) -> State:
    return {
        "dictionary": dictionary_state(model.coding.column),
        "kinds": None if model.kinds is None else model.kinds.state(),
        "values": None if model.values is None else model.values.state(),
        "original": model.original,
        "decimals": model.decimals,
        "counts": model.counts,
    }


def _column_model(state: State, plan: Plan, name: str, coding: Coding) -> ColumnModel:
    """Return the model of a column; what its rules and strata are the plan says."""
    entry = plan.columns[name]
    method = entry.settings.method
    stratified = bool(plan.strata and predictors_of(plan, name))
    kinds, values = (
        None if part is None else _fitted(word, part, stratified)
        for word, part in ((kind_method(method), state["kinds"]), (method, state["values"]))
    )
    fixed, lower = rules_of(plan, name, coding.column)
    return ColumnModel(
        entry, coding, kinds, values, fixed, lower,
        state["original"], state["decimals"], state["counts"],
    )  # fmt: skip


def _fitted(method: str, state: State, stratified: bool) -> Fitted:
    if stratified:
        return Stratified.from_state(METHODS[method], state)
    return METHODS[method].from_state(state)
