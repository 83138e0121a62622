"""Mutated specifications and expressions from fixed seeds.

Three sorts of specifications: bytes and tokens of a good one changed at random; good ones with one
entry of another type or size; and ones drawn from the table of entries itself, mostly sound, so
that strange values reach the depths. Expressions are spliced from pieces of the language.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import tomllib
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.expressions.hostile import CODE
from tests.spec.broken import GOOD

from caveat.datasets import survey
from caveat.spec._kinds import (
    Choice,
    Either,
    Flag,
    Group,
    Many,
    Named,
    Number,
    Text,
    Whole,
)  # fmt: skip
from caveat.spec.entries import SPECIFICATION

__all__ = ["cases", "expressions", "toml"]

NAMES = survey(rows=2).names
EXPRESSIONS = [
    "age < 18", "if age < 18 then marital = 'single'", "weight / (height / 100) ** 2",
    "income ~ age * sex", "poisson: friends ~ C(region) + log(age)", "missing(income)",
    "marital == 'single'", "weight <= height", "if missing(income) then friends = missing",
    "sex in ['f', 'm'] and not age > 60", "interview < '2024-05-01'",
]  # fmt: skip
STRANGE = [
    "", " ", "\x00", "a\x00b", "\ud800", "’", "a" * 20_000, "([{" * 300, "age", "no such column",
    0, -1, 1, 2**31, 2**63 - 1, -(2**63), 10**400, 0.0, -0.0, 1e-320, 1e308, 0.5, math.inf,
    -math.inf, math.nan, True, False, [], {}, [[]], [{}], [None], [1, "a", 0.5], {"": ""},
    {"a": {"b": {"c": 1}}}, dt.date(2024, 2, 29), dt.datetime(1, 1, 1), dt.time(23, 59),
    dt.datetime(2024, 1, 1, tzinfo=dt.UTC), ["age"] * 200, ["age", "age"], ["sex", 5], "all",
    list(range(1000)), "../../etc/passwd", "/dev/null", "-", "{}", "%s%n", "=1+1",
]  # fmt: skip
TOKENS = [
    b"[", b"]", b"{", b"}", b"=", b",", b".", b'"', b"'", b'"""', b"'''", b"#", b"\n", b"\r", b"\t",
    b"[[", b"]]", b"\\", b"\\u0000", b"\\uD800", b"\x00", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"nan",
    b"inf", b"-inf", b"1e999", b"9" * 5000, b"0x", b"1979-05-27", b"07:32:00", b"true", b"a.b.c",
    b"[" * 3000, b"{a=" * 3000, b"a." * 3000, b"[" * 90, b"\xe2\x80\xae", b"_", b"-", b"+",
    b"1_000",
]  # fmt: skip


def cases(seed: int, n: int) -> Iterator[bytes]:
    """Yield so many specifications as they would stand in a file."""
    for i in range(n):
        rng = np.random.default_rng([seed, i])
        how = (_flipped, _spliced, _retyped, _drawn, _drawn)[i % 5]
        yield how(rng)


def expressions(seed: int, n: int) -> Iterator[str]:
    """Yield so many texts that look more or less like rules, formulas and models."""
    pieces = [
        *EXPRESSIONS, *CODE, *NAMES, "+", "-", "*", "/", "//", "%", "**", "<", "<=", "==", "!=",
        "=", "(", ")", "[", "]", ",", ":", "~", "&", "|", "and", "or", "not", "in", "if", "then",
        "`", "'", '"', "\\", "0", "1", "1e5", ".5", "True", "log(", "missing(", "C(", "Q('", "I(",
        "round(",
        "\x00", "\ud800", "é", " ", "\n", "'a'", "'2024-01-01'",
    ]  # fmt: skip
    for i in range(n):
        rng = np.random.default_rng([seed, 1, i])
        if i % 2:
            text = EXPRESSIONS[rng.integers(len(EXPRESSIONS))]
            for _ in range(rng.integers(1, 4)):
                start, end = np.sort(rng.integers(0, len(text) + 1, 2))
                end = min(end, start + rng.integers(0, 4))
                text = text[:start] + str(_one(rng, pieces)) + text[end:]
            yield text
        else:
            yield " ".join(str(_one(rng, pieces)) for _ in range(rng.integers(1, 12)))


def _one(rng: np.random.Generator, among: Any) -> Any:
    return among[rng.integers(len(among))]


def _flipped(rng: np.random.Generator) -> bytes:
    raw = bytearray(GOOD.encode())
    for _ in range(rng.integers(1, 6)):
        # Mostly what can stand in a text: other bytes are refused before anything is read.
        raw[rng.integers(len(raw))] = (
            rng.integers(32, 127) if rng.random() < 0.9 else rng.integers(256)
        )
    return bytes(raw)


def _spliced(rng: np.random.Generator) -> bytes:
    raw = GOOD.encode()
    for _ in range(rng.integers(1, 4)):
        start = int(rng.integers(len(raw)))
        end = start + int(rng.integers(0, 12))
        other = int(rng.integers(len(raw)))
        piece = _one(rng, TOKENS) if rng.random() < 0.7 else raw[other : other + 15]
        raw = raw[:start] + piece + raw[end:]
    return raw


def _retyped(rng: np.random.Generator) -> bytes:
    content = tomllib.loads(GOOD)
    inside: Any = content
    while True:
        keys = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
        key = _one(rng, keys)
        if not isinstance(inside[key], dict | list) or not inside[key] or rng.random() < 0.2:
            break
        inside = inside[key]
    if isinstance(inside, dict) and rng.random() < 0.2:
        inside[_one(rng, ["", "\x00", "x" * 5000, "age", "[[", "name"])] = inside.pop(key)
    else:
        inside[key] = _strange(rng)
    return toml(content)


def _drawn(rng: np.random.Generator) -> bytes:
    content = tomllib.loads(GOOD)
    for section in rng.choice(list(SPECIFICATION.keys), rng.integers(1, 4), replace=False):
        kind = SPECIFICATION.keys[section].kind
        made = _fitting(rng, kind)
        if isinstance(content.get(section), dict) and isinstance(made, dict):
            content[section] = {**content[section], **made}
        else:
            content[section] = made
    return toml(content)


def _strange(rng: np.random.Generator) -> Any:
    if rng.random() < 0.3:
        return next(expressions(int(rng.integers(2**31)), 1))
    return _one(rng, STRANGE)


def _fitting(rng: np.random.Generator, kind: Any) -> Any:
    """Return a value that the table of entries allows, or, now and then, one that it does not."""
    if rng.random() < 0.04:
        return _strange(rng)
    match kind:
        case Choice():
            return _one(rng, kind.among)
        case Whole():
            return int(_one(rng, [kind.least, 2, 5, 50, 2**31, 2**63 - 1]))
        case Number():
            return float(_one(rng, [0.1, 0.5, 0.999, 3.0, 1e300]))
        case Flag():
            return bool(rng.integers(2))
        case Text():
            return str(_one(rng, [*NAMES, *NAMES, *EXPRESSIONS, "x"]))
        case Many():
            return [_fitting(rng, kind.item) for _ in range(rng.integers(0, 4))]
        case Named():
            names = kind.names.among if kind.names is not None else NAMES
            some = rng.choice(list(names), min(len(names), rng.integers(0, 3)), replace=False)
            return {str(name): _fitting(rng, kind.item) for name in some}
        case Either():
            return _fitting(rng, _one(rng, kind.kinds))
        case Group():
            wanted = {
                name: key
                for name, key in kind.keys.items()
                if key.required or rng.random() < 3 / len(kind.keys)
            }
            made = {name: _fitting(rng, key.kind) for name, key in wanted.items()}
            return made | _arguments(rng) if kind.open and kind.keys else made
    return _strange(rng)


def _arguments(rng: np.random.Generator) -> dict[str, Any]:
    """Return arguments of a protection, most of them such as it could have."""
    names = [str(name) for name in rng.choice(NAMES, 2, replace=False)]
    usual = {
        "columns": names, "keys": names, "by": names[:1], "top": {names[0]: 50},
        "base": {names[0]: 5}, "population": {names[0]: 1000}, "k": 3, "theta": 0.2, "fewest": 5,
        "column": "made", "into": "rest", "how": "kernel", "metric": "gower", "way": "O",
    }  # fmt: skip
    some = rng.choice(list(usual), rng.integers(0, 3), replace=False)
    return {str(k): _strange(rng) if rng.random() < 0.3 else usual[str(k)] for k in some}


def toml(content: dict[str, Any]) -> bytes:
    """Return content as TOML, whatever it is made of."""
    lines = [f"{_quoted(key)} = {_written(value)}" for key, value in content.items()]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _written(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, dict):
        pairs = (f"{_quoted(str(key))} = {_written(item)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_written, value)) + "]"
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return repr(value)
