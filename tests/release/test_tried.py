"""What would have to be written for the settings on a map."""

from __future__ import annotations

import pytest

from caveat.errors import CaveatError
from caveat.release.tried import changes_tried
from caveat.spec.spec import ReleaseSpec

MAP = """\
[map]
scenario = "a neighbour"
settings = { method = ["cart", "guarded"], minbucket = [5, 50], guard = ["light", "strong"] }

[output]
"""


def test_each_setting_says_what_it_needs_and_what_has_to_go(specification):
    path = specification(("[output]\n", MAP), ("minbucket = 20", "minbucket = 20\ncp = 0.001"))
    found = changes_tried(ReleaseSpec.from_toml(path))
    assert list(found) == [
        "cart, minbucket 5", "cart, minbucket 50", "guarded, guard light", "guarded, guard strong",
        "cart, minbucket 20",
    ]  # fmt: skip
    assert dict(found["cart, minbucket 5"]) == {
        ("synthesis", "method"): "cart",
        ("synthesis", "minbucket"): 5,
        ("synthesis", "guard"): None,
    }
    assert dict(found["guarded, guard strong"]) == {
        ("synthesis", "method"): "guarded",
        ("synthesis", "minbucket"): None,
        ("synthesis", "guard"): "strong",
        ("synthesis", "cp"): None,
    }


def test_protections_are_written_step_by_step(specification):
    steps = '[[], [{ name = "round_numbers", base = { age = 5 } }]]'
    varied = MAP.replace('method = ["cart", "guarded"], ', "").replace(
        'minbucket = [5, 50], guard = ["light", "strong"]', f"minbucket = [20], protect = {steps}"
    )
    found = changes_tried(ReleaseSpec.from_toml(specification(("[output]\n", varied))))
    as_it_is, rounded = found.values()
    assert dict(as_it_is) == {("synthesis", "minbucket"): 20}
    assert rounded[1:] == [
        (("protect",), None),
        (("protect", 0, "name"), "round_numbers"),
        (("protect", 0, "base"), {"age": 5}),
    ]


def test_a_release_without_a_map_is_refused(specification):
    with pytest.raises(CaveatError, match="no map"):
        changes_tried(ReleaseSpec.from_toml(specification()))
