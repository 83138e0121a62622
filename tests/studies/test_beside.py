"""Printed numbers as a table."""

from __future__ import annotations

from caveat.studies.study import Number, beside


def test_numbers_stand_beside_the_printed_ones() -> None:
    found = beside(
        "Counts",
        [
            Number("cells", "Table 1", 23568, 23568.0),
            Number("share", "Sect. 2", 0.37, 0.3678796),
            Number("secret", "Sect. 3", 1e-43, None, "not public"),
        ],
        "a note",
    )
    assert found.header == ("what", "ours", "printed")
    assert found.rows == (
        ("cells", "23,568", "23,568"),
        ("share", "0.36788", "0.37"),
        ("secret", "", "1e-43"),
    )
    assert (found.title, found.note) == ("Counts", "a note")
    assert found.groups == ((1, 2),)
