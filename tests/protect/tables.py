"""Tables for the tests of protections."""

from __future__ import annotations

from caveat.table import Table


def values(protected, name):
    return protected.table[name].values.tolist()


PEOPLE = Table.from_frame({"sex": list("ffmmm"), "age": [31, 47, 31, 52, 52], "x": range(5)})


RELEASE = Table.from_frame({"sex": list("ffffmm"), "age": [31, 47, 47, 52, 52, 31], "x": range(6)})
