"""Model files: a zip archive of one JSON document and plain arrays.

Loading one never executes code. A model holds values of original records, so its file says in its
first line that it is confidential.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.expressions import Expression
from caveat.synthesis.coding import Coding
from caveat.synthesis.column_model import ColumnModel
from caveat.synthesis.fitting import kind_method
from caveat.synthesis.methods import METHODS, Fitted, Settings, State
from caveat.synthesis.methods.stratified import Stratified
from caveat.synthesis.model import Model
from caveat.synthesis.plan import ColumnPlan, Plan
from caveat.synthesis.rules import parse_rule
from caveat.table import Column, Kind, Missing, Table
from caveat.table.atomic import atomic_output, write_text
from caveat.table.drafts import clear_up

__all__ = ["NOTICE", "fingerprint", "forget_columns", "load", "load_columns", "save", "save_column"]

FORMAT = "caveat model"
VERSION = 1
NOTICE = (
    "CONFIDENTIAL: this file holds values of original records. Handle it as the data themselves."
)
DOCUMENT = "model.json"
README = "CONFIDENTIAL.txt"  # says what a folder of single columns is
# What a damaged archive, array or document can make the readers raise.
UNREADABLE = (OSError, ValueError, KeyError, EOFError, RuntimeError, zlib.error, struct.error)
EPOCH = (1980, 1, 1, 0, 0, 0)  # no time of day in the file: the same model gives the same bytes


def save(model: Model, path: str | Path, *, force: bool = False) -> None:
    """Write a model to a file.

    Parameters
    ----------
    model
        The fitted synthesiser.
    path
        The target; by custom it ends in ``.caveat``.
    force
        Whether a file that exists may be replaced.
    """
    arrays: list[NDArray[Any]] = []
    document = {
        "plan": _plan_state(model.plan),
        "columns": {n: _pack(_column_state(m), arrays) for n, m in model.columns.items()},
        "names": list(model.names),
        "n_rows": model.n_rows,
        "seed": model.seed,
        "backend": model.backend,
        "source": None if model.source is None else _pack(_table_state(model.source), arrays),
    }
    _write(Path(path), document, arrays, force)


def load(path: str | Path) -> Model:
    """Read a model from a file, or say why it cannot be read."""
    document, arrays = _read(Path(path))
    try:
        plan = _plan(document["plan"])
        columns = {
            name: _column_model(_unpack(state, arrays), plan, name)
            for name, state in document["columns"].items()
        }
        return Model(
            plan,
            columns,
            tuple(document["names"]),
            int(document["n_rows"]),
            int(document["seed"]),
            str(document["backend"]),
            None if document["source"] is None else _table(_unpack(document["source"], arrays)),
        )
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise _damaged(path) from None


def save_column(folder: Path, key: str, name: str, model: ColumnModel) -> None:
    """Keep the model of one column, so that an interrupted fit can go on."""
    arrays: list[NDArray[Any]] = []
    document = {"key": key, "name": name, "state": _pack(_column_state(model), arrays)}
    if not (folder / README).exists():
        write_text(folder / README, f"{NOTICE}\n", force=True)
    target = folder / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.column"
    _write(target, document, arrays, True)


def load_columns(folder: Path, key: str, plan: Plan) -> dict[str, ColumnModel]:
    """Return the columns that an interrupted fit of the same data by the same plan has left."""
    found = {}
    clear_up(folder)
    for path in sorted(folder.glob("[!.]*.column")):
        document, arrays = _read(path)
        if document.get("key") == key:
            name = document["name"]
            found[name] = _column_model(_unpack(document["state"], arrays), plan, name)
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
        digest.update(json.dumps([name, _pack(_dictionary(column), arrays)]).encode())
        for array in (*arrays, column.codes):
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _write(path: Path, document: State, arrays: list[NDArray[Any]], force: bool) -> None:
    header = {"notice": NOTICE, "format": FORMAT, "version": VERSION}
    with (
        atomic_output(path, force=force) as draft,
        zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        archive.comment = NOTICE.encode()
        text = json.dumps({**header, **document}, ensure_ascii=False)
        archive.writestr(zipfile.ZipInfo(DOCUMENT, EPOCH), text, zipfile.ZIP_DEFLATED)
        for number, array in enumerate(arrays):
            buffer = io.BytesIO()
            np.save(buffer, array, allow_pickle=False)
            entry = zipfile.ZipInfo(f"{number}.npy", EPOCH)
            archive.writestr(entry, buffer.getvalue(), zipfile.ZIP_DEFLATED)


def _read(path: Path) -> tuple[State, list[NDArray[Any]]]:
    try:
        with zipfile.ZipFile(path) as archive:
            if DOCUMENT not in archive.namelist():
                raise _foreign(path)
            document = json.loads(archive.read(DOCUMENT))
            if not isinstance(document, dict) or document.get("format") != FORMAT:
                raise _foreign(path)
            if document["version"] != VERSION:
                raise CaveatError(
                    f"a model file of version {document['version']}; this program reads {VERSION}",
                    where=str(path),
                    do="use the version of Caveat that wrote it, or fit again",
                )
            count = len(archive.namelist()) - 1
            arrays = [
                np.load(io.BytesIO(archive.read(f"{i}.npy")), allow_pickle=False)
                for i in range(count)
            ]
    except FileNotFoundError:
        raise CaveatError("there is no such file", where=str(path), do="check the name") from None
    except zipfile.BadZipFile:
        whole = path.read_bytes()
        raise (_damaged(path) if whole[:2] == b"PK" else _foreign(path)) from None
    except UNREADABLE:
        raise _damaged(path) from None
    return document, arrays


def _foreign(path: str | Path) -> CaveatError:
    return CaveatError(
        "not a model file", where=str(path), do="name a file that caveat synth --model wrote"
    )


def _damaged(path: str | Path) -> CaveatError:
    return CaveatError("the model file is damaged", where=str(path), do="fit the model again")


def _pack(state: Any, arrays: list[NDArray[Any]]) -> Any:
    """Replace arrays in a nested state by their place in a list."""
    if isinstance(state, np.ndarray):
        arrays.append(state)
        return {"$array": len(arrays) - 1}
    if isinstance(state, np.generic):
        return state.item()
    if isinstance(state, Mapping):
        return {str(key): _pack(value, arrays) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return [_pack(value, arrays) for value in state]
    return state


def _unpack(state: Any, arrays: list[NDArray[Any]]) -> Any:
    if isinstance(state, dict):
        if set(state) == {"$array"}:
            return arrays[state["$array"]]
        return {key: _unpack(value, arrays) for key, value in state.items()}
    if isinstance(state, list):
        return [_unpack(value, arrays) for value in state]
    return state


def _plan_state(plan: Plan) -> State:
    return {
        "columns": {
            name: {
                "settings": asdict(entry.settings),
                "predictors": list(entry.predictors),
                "special": [_plain(value) for value in entry.special],
            }
            for name, entry in plan.columns.items()
        },
        "rules": [str(rule) for rule in plan.rules],
        "strata": plan.strata,
        "weights": plan.weights,
        "remarks": list(plan.remarks),
    }


def _plan(state: State) -> Plan:
    names = {item.name for item in fields(Settings)}
    columns = {}
    for name, entry in state["columns"].items():
        given = {key: value for key, value in entry["settings"].items() if key in names}
        given["margins"] = tuple(tuple(margin) for margin in given["margins"])
        settings = Settings(**given)
        columns[name] = ColumnPlan(settings, tuple(entry["predictors"]), tuple(entry["special"]))
    rules = tuple(parse_rule(text) for text in state["rules"])
    return Plan(columns, rules, state["strata"], state["weights"], tuple(state["remarks"]))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _dictionary(column: Column) -> State:
    """Return everything about a column but its cells."""
    levels = column.levels
    kept: Any = levels.tolist() if levels.dtype == object else levels
    if levels.dtype.kind == "M":
        kept = levels.view(np.int64)
    return {
        "levels": kept,
        "type": levels.dtype.str,
        "kind": str(column.kind),
        "missing": [[_plain(m.code), m.label] for m in column.missing],
        "label": column.label,
        "value_labels": [[_plain(v), label] for v, label in column.value_labels.items()],
        "storage": column.storage,
    }


def _column(state: State) -> Column:
    levels = state["levels"]
    dtype = np.dtype(state["type"])
    if dtype.kind == "O":
        values = np.empty(len(levels), dtype=object)
        values[:] = levels
    else:
        values = np.asarray(levels).view(dtype) if dtype.kind == "M" else np.asarray(levels, dtype)
    return Column(
        np.zeros(0, np.uint8),
        values,
        Kind(state["kind"]),
        tuple(Missing(code, label) for code, label in state["missing"]),
        state["label"],
        dict(state["value_labels"]),
        state["storage"],
    )


def _table_state(table: Table) -> State:
    columns = {
        name: {**_dictionary(column), "codes": column.codes}
        for name, column in table.columns.items()
    }
    return {"columns": columns, "backend": table.backend}


def _table(state: State) -> Table:
    columns = {
        name: _column(entry).with_codes(entry["codes"]) for name, entry in state["columns"].items()
    }
    return Table(columns, state["backend"])


def _column_state(model: ColumnModel) -> State:
    return {
        "dictionary": _dictionary(model.coding.column),
        "kinds": None if model.kinds is None else model.kinds.state(),
        "values": None if model.values is None else model.values.state(),
        "stratified": isinstance(model.values or model.kinds, Stratified),
        "fixed": [[condition.text, code] for condition, code in model.fixed],
        "lower": list(model.lower),
        "original": model.original,
        "decimals": model.decimals,
        "counts": model.counts,
    }


def _column_model(state: State, plan: Plan, name: str) -> ColumnModel:
    entry = plan.columns[name]
    method = entry.settings.method
    kinds, values = (
        None if part is None else _fitted(word, part, state["stratified"])
        for word, part in ((kind_method(method), state["kinds"]), (method, state["values"]))
    )
    return ColumnModel(
        entry,
        Coding(_column(state["dictionary"]), entry.special),
        kinds,
        values,
        tuple((Expression(text), int(code)) for text, code in state["fixed"]),
        tuple(state["lower"]),
        state["original"],
        int(state["decimals"]),
        np.asarray(state["counts"]),
    )


def _fitted(method: str, state: State, stratified: bool) -> Fitted:
    if stratified:
        return Stratified.from_state(METHODS[method], state)
    return METHODS[method].from_state(state)
