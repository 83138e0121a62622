"""Where a record falls, checked against leaves that can be counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.attack.targets import Leaf, leaves_of
from caveat.synthesis import Synthesizer
from caveat.table import Table

SEX, AREA = ["f"] * 60 + ["m"] * 60, (["N"] * 30 + ["S"] * 30) * 2


def table(**more: list[object]) -> Table:
    return Table.from_frame({"sex": SEX, "area": AREA, **more})


def found(original: Table, record: int, **options: object) -> tuple[dict[str, Leaf], Table]:
    model = Synthesizer(seed=3, **options).fit(original)  # type: ignore[arg-type]
    (release,) = model.tables()
    leaves = leaves_of(model, original, record, [release, release])
    return {f"{leaf.column}{' kind' * leaf.is_kind}": leaf for leaf in leaves}, release


def test_a_plain_leaf_has_those_who_share_the_path() -> None:
    ill = ["yes"] * 30 + ["no"] * 90
    ill[0] = "no"  # one of the 30 women in the north
    leaves, release = found(table(ill=ill), 0, method="cart", minbucket=5)
    leaf = leaves["ill"]
    assert (leaf.size, leaf.alike, leaf.guarded) == (30, 1, False)
    assert set(leaf.path) == {"sex", "area"}
    sex, area, drawn = (release[name].values for name in ("sex", "area", "ill"))
    there = (sex == "f") & (area == "N")
    assert leaf.released == 2 * there.sum()  # of both copies
    assert leaf.released_alike == 2 * (there & (drawn == "no")).sum()
    assert leaves["sex"].to_dict() == {
        "column": "sex", "is_kind": False, "guarded": False, "size": 120, "alike": 60,
        "released": 240, "released_alike": 2 * int((sex == "f").sum()), "path": [],
    }  # fmt: skip


def test_numbers_have_a_leaf_for_what_they_are_and_one_for_how_much() -> None:
    income: list[object] = [None if i % 10 == 0 else float(i * i % 977) for i in range(120)]
    leaves, _ = found(table(income=income), 1, method="cart", minbucket=20)
    assert leaves["income kind"].alike >= leaves["income"].size
    assert leaves["income"].alike == 1  # every number is another
    missing, _ = found(table(income=income), 0, method="cart", minbucket=20)
    assert "income" not in missing  # it has no number that could be drawn
    assert missing["income kind"].alike >= 1


@pytest.mark.parametrize("options", [{}, {"strata": "area"}])
def test_a_guarded_leaf_counts_as_its_tree_does(options: dict[str, str]) -> None:
    rng = np.random.default_rng(1)
    original = Table.from_frame(
        {"sex": rng.choice(["f", "m"], 600), "area": rng.choice(["N", "S"], 600),
         "income": rng.integers(0, 1000, 600)}
    )  # fmt: skip
    leaves, _ = found(original, 7, **options)
    area = original["area"].codes == original["area"].codes[7]
    assert all(leaf.guarded and 1 <= leaf.alike <= leaf.size for leaf in leaves.values())
    if options:
        assert leaves["income"].size <= area.sum()
    assert leaves["income"].released_alike <= leaves["income"].released
