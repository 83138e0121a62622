"""Every entry that tomllib finds has a line, and that line holds it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from caveat.spec._kinds import Entry, lines_of

TEXT = '''\
# title = "not this one"
title = "one" # nor = "this"
"odd key" . 'more.so'."\\u00e9" = { a = 1, "b=}" = "x # ]", c.d = [1, 2] }

[[scenario]]
keys = [ # [a]
  "sex", # "age"
  """
[fake]
fake = 1 \\""" """"",
  [
    1979-05-27 07:32:00, { z = "]" }],
]
[scenario.limits]
DiSCO = 5

[[scenario]]
keys = \'\'\'
fake = 2
\'\'\'\'\'
[[scenario.sub]]
x = 1
[[scenario.sub]]
x = 2
  [ a . "b c" ]
d = true'''


def test_every_form_of_key_is_found() -> None:
    assert tomllib.loads(TEXT)["scenario"][1]["sub"] == [{"x": 1}, {"x": 2}]
    assert lines_of(TEXT) == {
        ("title",): 2,
        ("odd key",): 3,
        ("odd key", "more.so"): 3,
        ("odd key", "more.so", "é"): 3,
        ("odd key", "more.so", "é", "a"): 3,
        ("odd key", "more.so", "é", "b=}"): 3,
        ("odd key", "more.so", "é", "c"): 3,
        ("odd key", "more.so", "é", "c", "d"): 3,
        ("odd key", "more.so", "é", "c", "d", 0): 3,
        ("odd key", "more.so", "é", "c", "d", 1): 3,
        ("scenario",): 5,
        ("scenario", 0): 5,
        ("scenario", 0, "keys"): 6,
        ("scenario", 0, "keys", 0): 7,
        ("scenario", 0, "keys", 1): 8,
        ("scenario", 0, "keys", 2): 11,
        ("scenario", 0, "keys", 2, 0): 12,
        ("scenario", 0, "keys", 2, 1): 12,
        ("scenario", 0, "keys", 2, 1, "z"): 12,
        ("scenario", 0, "limits"): 14,
        ("scenario", 0, "limits", "DiSCO"): 15,
        ("scenario", 1): 17,
        ("scenario", 1, "keys"): 18,
        ("scenario", 1, "sub"): 21,
        ("scenario", 1, "sub", 0): 21,
        ("scenario", 1, "sub", 0, "x"): 22,
        ("scenario", 1, "sub", 1): 23,
        ("scenario", 1, "sub", 1, "x"): 24,
        ("a",): 25,
        ("a", "b c"): 25,
        ("a", "b c", "d"): 26,
    }


def test_line_ends_of_windows_count_once() -> None:
    assert lines_of("a = 1\r\n\r\nb = [\r\n 1]\r\n") == {("a",): 1, ("b",): 3, ("b", 0): 4}


# Names and texts full of what a scanner could stumble over.
names = st.text(st.sampled_from("ab-_ .=#[]{}\"'\\\n,é"), min_size=0, max_size=5)
texts = st.text(st.sampled_from("a=#[]{}\"'\\\n, é"), max_size=8)
scalars = st.one_of(
    texts,
    st.integers(-9, 9),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.datetimes(timezones=st.none()),
    st.dates(),
    st.times(timezones=st.none()),
)


def tables(values: Any) -> Any:
    return st.dictionaries(names, values, max_size=4)


values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | tables(inner))
documents = tables(values | st.lists(tables(values), min_size=1, max_size=3))


class Writer:
    """Writes TOML in forms drawn by hypothesis."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.lines: list[str] = []

    def flip(self) -> bool:
        return self.data.draw(st.booleans())

    def noise(self) -> str:
        return self.data.draw(st.sampled_from(["", " ", "\t", "  # = [\"'''\n", "\n", "\n\n#x\n "]))

    def space(self) -> str:
        return self.data.draw(st.sampled_from(["", " ", "\t "]))

    def key(self, name: str) -> str:
        bare = name and all(c.isascii() and (c.isalnum() or c in "-_") for c in name)
        if bare and self.flip():
            return name
        if not set(name) & set("'\n") and self.flip():
            return f"'{name}'"
        return json.dumps(name, ensure_ascii=self.flip())

    def dotted(self, keys: list[str]) -> str:
        return f"{self.space()}.{self.space()}".join(map(self.key, keys))

    def value(self, value: Any) -> str:
        if isinstance(value, dict):
            inside = [
                f"{self.dotted(keys)}{self.space()}={self.space()}{self.value(v)}"
                for keys, v in self.shortened(value)
            ]
            return "{" + f"{self.space()},{self.space()}".join(inside) + "}"
        if isinstance(value, list):
            inside = [f"{self.noise()}{self.value(v)}{self.noise()}" for v in value]
            last = "," if value and self.flip() else ""
            return f"[{','.join(inside)}{last}{self.noise()}]"
        return self.scalar(value)

    def scalar(self, value: Any) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, int | float):
            return repr(value)
        if not isinstance(value, str):
            text = value.isoformat()
            return text.replace("T", " ") if self.flip() else text
        if "'''" not in value and not value.endswith("'''") and self.flip():
            return f"'''\n{value}'''"
        if self.flip():
            return '"""\n' + value.replace("\\", "\\\\").replace('"""', '""\\"') + '"""'
        return json.dumps(value, ensure_ascii=False)

    def shortened(self, table: dict[str, Any]) -> Iterator[tuple[list[str], Any]]:
        """Give entries, tables with one entry now and then as dotted keys."""
        for key, value in table.items():
            if isinstance(value, dict) and len(value) == 1 and self.flip():
                (inner, content), *_ = value.items()
                yield [key, inner], content
            else:
                yield [key], value

    def document(self, content: dict[str, Any]) -> str:
        headed = {
            k: v
            for k, v in content.items()
            if v
            and isinstance(v, dict | list)
            and (isinstance(v, dict) or all(isinstance(item, dict) for item in v))
            and self.flip()
        }
        parts = [self.pairs({k: v for k, v in content.items() if k not in headed})]
        for key, value in headed.items():
            for item in value if isinstance(value, list) else [value]:
                opening, closing = ("[[", "]]") if isinstance(value, list) else ("[", "]")
                head = f"{opening}{self.space()}{self.key(key)}{self.space()}{closing}"
                parts.append(f"{head}{self.space()}# {{\n{self.pairs(item)}")
        return "".join(parts)

    def pairs(self, table: dict[str, Any]) -> str:
        return "".join(
            f"{self.dotted(keys)}{self.space()}={self.space()}{self.value(v)} # x = [\n"
            for keys, v in self.shortened(table)
        )


def entries(value: Any, above: Entry = ()) -> Iterator[Entry]:
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in inside:
        yield (*above, key)
        if isinstance(item, dict | list):
            yield from entries(item, (*above, key))


@given(documents, st.data())
def test_what_tomllib_finds_has_a_line_that_holds_it(
    content: dict[str, Any], data: st.DataObject
) -> None:
    text = Writer(data).document(content)
    read = tomllib.loads(text)
    found = lines_of(text)
    assert set(found) == set(entries(read))
    lines = text.split("\n")
    for entry, number in found.items():
        key = entry[-1]
        if isinstance(key, str):
            ways = [f"'{key}'", json.dumps(key), json.dumps(key, ensure_ascii=False), key or "''"]
            assert any(way in lines[number - 1] for way in ways), (entry, number)
    # Whoever reads the file from the top meets the entries in this order.
    for entry, number in found.items():
        assert not entry[:-1] or found[entry[:-1]] <= number
