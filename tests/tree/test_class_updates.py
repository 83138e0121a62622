"""Which splits of classes stay when rows go and come: as if every changed node were searched."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.tree._updates import split_classes

N = 90


def a_node(seed, n_classes, levels, nominal, likely):
    """Return codes, features and classes of a node whose first predictor tells much."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(n, size=N) for n in levels]).astype(np.uint16)
    told = codes[0] % n_classes
    classes = np.where(rng.random(N) < likely, told, rng.integers(n_classes, size=N))
    features = np.array([np.arange(len(levels)), levels, nominal])
    return codes, features, classes.astype(np.uint16)


def searched(codes, features, classes, rules, n_classes):
    """Return the split and the misclassified rows of a node, without any change."""
    nothing = np.zeros((len(codes), 0), np.uint16), np.zeros(0, np.uint16)
    feature, cut, left, risk, same, risks = split_classes(
        codes, features, np.arange(codes.shape[1]), classes, *nothing, np.zeros((0, 2), np.int64),
        rules, n_classes,
    )  # fmt: skip
    assert not len(same)
    assert not len(risks)
    # Flags beyond the predictor's own levels, or of an ordered one, are of no meaning.
    if feature < 0 or not features[2, feature]:
        return feature, cut, [], risk
    return feature, cut, left[: features[1, feature]].tolist(), risk


@pytest.mark.parametrize("likely", [0.0, 0.3, 0.9])
@pytest.mark.parametrize(
    ("n_classes", "levels", "nominal"),
    [
        (3, [4, 5, 9], [1, 0, 1]),
        (4, [12, 3, 30], [1, 1, 0]),
        (3, [25, 18, 6], [1, 1, 1]),  # more levels than all subsets are tried of
        (9, [7, 20, 2], [0, 0, 1]),
    ],
)
@pytest.mark.parametrize("minbucket", [1, 5])
def test_each_change_is_that_of_a_node_searched_again(
    n_classes, levels, nominal, likely, minbucket
):
    rules = (minbucket, 2 * minbucket)
    changed = 0
    for seed in range(3):
        codes, features, classes = a_node(seed, n_classes, levels, nominal, likely)
        rng = np.random.default_rng(99 + seed)
        added = codes[:, rng.integers(N, size=20)].copy()
        added[0, :10] = rng.integers(levels[0], size=10)
        added_classes = rng.integers(n_classes, size=20).astype(np.uint16)
        gone, come = np.arange(N), np.arange(20)
        changes = np.concatenate(
            [
                np.stack([gone, np.full(N, -1)], axis=1),
                np.stack([np.full(20, -1), come], axis=1),
                np.stack([rng.integers(N, size=60), rng.integers(20, size=60)], axis=1),
                [[-1, -1]],
            ]
        )
        feature, cut, _, _, same, risks = split_classes(
            codes, features, np.arange(N), classes, added, added_classes, changes, rules, n_classes
        )
        before = searched(codes, features, classes, rules, n_classes)
        assert before[:2] == (feature, cut)
        for i, (row, new) in enumerate(changes.tolist()):
            stay = np.arange(N) != row
            more = [] if new < 0 else [new]
            *split, risk = searched(
                np.concatenate([codes[:, stay], added[:, more]], axis=1), features,
                np.concatenate([classes[stay], added_classes[more]]), rules, n_classes,
            )  # fmt: skip
            assert same[i] == (split == [*before[:3]])
            assert risks[i] == risk
        assert same[-1]
        changed += int((~same).sum())
    assert changed > 0 or likely == 0.9


def test_a_node_of_one_class_has_no_split():
    codes, features, _ = a_node(0, 3, [4, 5], [0, 1], 0.0)
    classes = np.zeros(N, np.uint16)
    added, other = codes[:, :1].copy(), np.ones(1, np.uint16)
    changes = np.array([[0, -1], [-1, 0]])
    feature, _, _, risk, same, risks = split_classes(
        codes, features, np.arange(N), classes, added, other, changes, (5, 10), 2
    )
    assert feature == -1
    assert risk == 0
    assert same[0]
    assert risks.tolist() == [0, 1]


def test_rows_alike_are_searched_once_and_have_the_same_answer():
    codes, features, classes = a_node(5, 4, [12, 3], [1, 1], 0.3)
    changes = np.stack([np.tile(np.arange(N), 40), np.full(40 * N, -1)], axis=1)
    nothing = np.zeros((2, 0), np.uint16), np.zeros(0, np.uint16)
    given = codes, features, np.arange(N), classes, *nothing
    *_, same, risks = split_classes(*given, changes, (5, 10), 4)
    *_, once, own = split_classes(*given, changes[:N], (5, 10), 4)
    assert np.array_equal(same, np.tile(once, 40))
    assert np.array_equal(risks, np.tile(own, 40))
