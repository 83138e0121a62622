"""Cases one can check by hand: tolerances, rates, chances, reconstructions, mistakes."""

from __future__ import annotations

import itertools
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from typer.testing import CliRunner

from caveat.attack.ordinary import (
    Figure,
    MembershipScores,
    closest_record,
    closest_share,
    identical_matches,
    inference,
    linkability,
    neighbour_ratio,
    outlier_links,
    prediction,
    reconstruct,
    residual_risk,
    singling_out,
)
from caveat.attack.ordinary.classifiers import majority
from caveat.attack.ordinary.inference import is_right, rights_by_level
from caveat.attack.ordinary.linkability import chance_of_link
from caveat.attack.ordinary.regressors import best_constant
from caveat.attack.registry import attacks_of, run_attack
from caveat.cli import app
from caveat.errors import CaveatError
from caveat.risk import MEASURES, audit
from caveat.table import Table


@pytest.mark.parametrize("sign", [1, -1])
def test_tolerance_is_the_same_for_negative_numbers(sign):
    """100 for 96 is within 5 % of the truth, 100 for 94 and for −50 is not; whatever the sign."""
    levels = sorted([sign * 100, sign * 96, sign * 94, sign * -50])
    column = Table.from_frame({"x": levels})["x"]
    place = {value: i for i, value in enumerate(levels)}
    truth = np.array([place[sign * 100]] * 3)
    guess = np.array([place[sign * 96], place[sign * 94], place[sign * -50]])
    assert is_right(column, truth, guess, 0.05, 0).tolist() == [True, False, False]
    assert is_right(column, truth, guess, 0, 6).tolist() == [True, True, False]


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.integers(-50, 50)), min_size=1, max_size=30),
    st.floats(0, 1),
    st.floats(0, 20),
)
def test_chance_of_a_drawn_guess(values, relative, absolute):
    """The exact baseline is the mean over all pairs of a truth and a guess."""
    column = Table.from_frame(pl.DataFrame({"x": pl.Series(values, dtype=pl.Int64)}))["x"]
    n = len(values)
    truth, guess = np.repeat(column.codes, n), np.tile(column.codes, n)
    pairs = is_right(column, truth, guess, relative, absolute).reshape(n, n).mean(axis=1)
    assert rights_by_level(column, relative, absolute)[column.codes] == pytest.approx(pairs)


def test_residual_risk_by_hand():
    """z² = 3.8415: the centres are 81.92/103.84 and 51.92/103.84."""
    a, c = 81.9207294 / 103.8414588, 51.9207294 / 103.8414588
    value, low, high = residual_risk(80, 100, 50, 100)
    assert value == pytest.approx((a - c) / (1 - c))
    # The errors are half the Wilson intervals; the value's derivatives are 1/(1 - c) for a and
    # (a - 1)/(1 - c)² for c.
    wilson = [stats.binomtest(k, 100).proportion_ci(method="wilson") for k in (80, 50)]
    a_error, c_error = ((x.high - x.low) / 2 for x in wilson)
    error = np.hypot(a_error / (1 - c), c_error * (1 - a) / (1 - c) ** 2)
    assert [low, high] == pytest.approx([value - error, value + error])
    assert residual_risk(50, 100, 80, 100)[0] == 0


@pytest.mark.parametrize(("n", "k"), [(4, 2), (7, 3), (5, 1), (3, 2)])
def test_chance_of_a_link_by_counting(n, k):
    sets = list(itertools.combinations(range(n), k))
    meet = [bool(set(a) & set(b)) for a in sets for b in sets]
    assert chance_of_link(n, k) == pytest.approx(np.mean(meet))


def test_equal_columns_make_no_link():
    """Everybody alike: the two lots are apart, so links are as rare as by chance (4 sd)."""
    frame = pl.DataFrame({"a": ["x"] * 400, "b": ["y"] * 400})
    found = linkability(frame, frame, first=["a"], second=["b"], neighbours=10)
    chance = chance_of_link(400, 10)
    assert found.baseline == pytest.approx(chance)
    assert abs(found.value - chance) < 4 * np.sqrt(chance * (1 - chance) / 400)


def test_true_positives_and_f1_by_hand():
    members, outsiders = np.arange(90.0, 190.0), np.arange(0.0, 100.0)
    found = MembershipScores(members, outsiders, "density").true_positives(0.05)
    # Outsiders over 94: five of them. Members over 94: all but 90 to 94.
    assert found.value == 0.95
    assert found.control == 0.05
    # 90 to 99 are ten on both sides: a member is below an outsider in 45 pairs, level in 10.
    assert found.details["AUC"] == pytest.approx(1 - (45 + 10 / 2) / 100**2)
    # f = 1/2 claims the upper hundred of two hundred: 95 ... 189 and 95 ... 99.
    f1, without = MembershipScores(members, outsiders, "density").f1(0.5)
    assert f1 == pytest.approx(2 * 95 / (100 + 100))
    assert without == pytest.approx(2 / 3)


def test_scores_that_say_nothing_find_what_chance_finds():
    """1000 against 1000 equal scores: AUC one half; sd of the AUC is about 0.013."""
    rng = np.random.default_rng(1)
    found = MembershipScores(rng.random(1000), rng.random(1000), "density")
    assert abs(found.auc - 0.5) < 4 * 0.013
    low, high = found.true_positives(0.05).interval
    assert low < 0.05 < high


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=4, max_size=4), st.booleans())
def test_reconstruction_lists_all_blocks(counts, bound):
    """Against trying every block of at most 8 records in 2 × 2 cells."""
    cells = list(itertools.product("ab", "xy"))
    truth = dict(zip(cells, counts, strict=True))
    figures = [
        Figure({}, sum(counts)),
        Figure({"p": "a"}, truth["a", "x"] + truth["a", "y"]),
        Figure({"q": "x"}, truth["a", "x"] + truth["b", "x"], at_most=bound),
    ]
    found = reconstruct({"p": "ab", "q": "xy"}, figures)
    every = [
        block
        for block in itertools.product(range(9), repeat=4)
        if sum(block) == sum(counts)
        and block[0] + block[1] == counts[0] + counts[1]
        and (
            block[0] + block[2] <= counts[0] + counts[2]
            if bound
            else block[0] + block[2] == counts[0] + counts[2]
        )
    ]
    assert sorted(map(tuple, found.solutions.tolist())) == sorted(every)
    assert found.low.tolist() == np.min(every, axis=0).tolist()
    assert found.high.tolist() == np.max(every, axis=0).tolist()
    assert found.unique == (len(every) == 1)


def test_reconstruction_stops_at_the_cap_and_says_so():
    found = reconstruct({"p": "ab", "q": "xy"}, [Figure({}, 9)], most=10)
    assert len(found.solutions) == 10
    assert not found.complete
    assert not found.certain


def test_reconstruction_of_figures_that_contradict_each_other():
    with pytest.raises(CaveatError, match="no block agrees"):
        reconstruct({"p": "ab"}, [Figure({}, 3), Figure({"p": "a"}, 4)])
    with pytest.raises(CaveatError, match="no limit"):
        reconstruct({"p": "ab"}, [Figure({"p": "a"}, 4)])


def test_outlier_links_by_hand():
    """Ages around 40 and one of 90; synthetic 85 and 101: within 10 one link, within 11 two."""
    ages = [38, 39, 40, 41, 42] * 6 + [90]
    original = pl.DataFrame({"age": ages, "job": ["a"] * 31, "ill": ["no"] * 30 + ["yes"]})
    release = pl.DataFrame({"age": [85, 101, 40], "job": ["a"] * 3, "ill": ["yes", "no", "no"]})
    found = outlier_links(
        original, release, keys=["age", "job"], target="ill", tolerance={"age": 10}
    )
    assert (found.value, found.n) == (1, 1)
    assert found.details["one link tells the target"] == 1
    two = outlier_links(original, release, keys=["age", "job"], tolerance={"age": 11})
    assert two.value == 0
    assert two.details["linked pairs"] == 2
    assert found.per_record.tolist() == [0] * 30 + [1]


def test_numeric_target_within_a_tolerance(original, control):
    """Debt rises by 10 a year with sd 400: a line meets ±400 for 68.3 % (within 4 sd)."""
    found = prediction(
        original, original, keys=["age"], target="debt", control=control, tolerance=400, trees=10
    )
    line = found.summary("LR", "control")[0]
    assert abs(line - 0.683) < 4 * np.sqrt(0.683 * 0.317 / 600)
    assert best_constant(np.array([-9.0, -8.0, -7.5, 4.0]), 1.0) == -8.25
    with pytest.raises(CaveatError, match="needs numbers"):
        prediction(original, original, keys=["age"], target="ill", tolerance=1)


ORDINARY = attacks_of("ordinary")
ENTRIES = [measure for attack in ORDINARY.values() for measure in attack.measures]
OPTIONS = {
    "keys": ("age", "sex", "town"), "second": ("debt", "job"), "target": "ill", "n_attacks": 200,
    "fraction": 0.3,
}  # fmt: skip


@pytest.mark.parametrize("name", ORDINARY)
def test_every_attack_runs_and_the_same_seed_gives_the_same(name, original, fresh, control):
    told = {k: v for k, v in OPTIONS.items() if k in ORDINARY[name].takes}
    told["control"] = control
    once, again = (run_attack(name, original[:150], fresh[:150], **told) for _ in range(2))
    assert once
    assert [f.result.to_dict() for f in once] == [f.result.to_dict() for f in again]
    assert {f.measure for f in once} == {measure.name for measure in ORDINARY[name].measures}
    for finding in once:
        assert finding.measure in MEASURES
        assert finding.result.value is not None or name == "outliers"  # nobody beyond 3 sd


@pytest.mark.parametrize("measure", ENTRIES, ids=lambda m: m.name)
def test_entries_are_complete_and_not_part_of_an_audit(measure, original, fresh):
    assert measure.says
    assert measure.formula
    assert measure.source
    assert measure.blind_spot.endswith(".")
    assert len(measure.blind) <= 75
    assert "attack" in measure.needs
    found = audit(original, fresh, keys=["sex"], targets=["ill"], measures=["all"])
    assert measure.name not in set(found.to_frame("polars")["measure"])


def test_diagnostics_do_not_see_the_published_counter_example():
    """16 cells: whether the one record is given away or not, copies and distances are the same."""
    from caveat.attack.ordinary import closest_record, identical_matches
    from caveat.datasets import buyer_beware

    original = buyer_beware()
    given_away, kept = buyer_beware(1), buyer_beware(3)
    for run in (closest_record, identical_matches):
        assert run(original, given_away).value == run(original, kept).value


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda o: run_attack("guess", o, o), "there is no attack 'guess'; choose among"),
        (lambda o: run_attack("prediction", o, o, keys=("age",)), "no target"),
        (lambda o: run_attack("inference", o, o, target="ill"), "no key"),
        (lambda o: run_attack("membership", o, o), "not in the data"),
        (lambda o: run_attack("linkability", o, o, keys=("age",)), "two parties"),
        (lambda o: linkability(o, o, first=["age"], second=["age"]), "columns of its own"),
        (lambda o: inference(o, o, keys=["age"], target="age"), "also the target"),
        (lambda o: singling_out(o, o, columns=99), "no descriptions"),
        (lambda o: outlier_links(o, o, keys=["sex"]), "need a number"),
        (lambda o: singling_out(o, o[:0]), "has no row"),
    ],
)
def test_mistakes_are_told_in_words(call, message, original):
    with pytest.raises(CaveatError, match=message):
        call(original)


def test_command_line(tmp_path, original, fresh, control):
    paths = []
    for name, table in (("o", original), ("s", fresh), ("c", control)):
        paths.append(str(tmp_path / f"{name}.csv"))
        table.write_csv(paths[-1])
    arguments = ["attack", "inference", paths[0], paths[1], "--control", paths[2]]
    arguments += ["--keys", "age,sex", "--target", "debt", "--tolerance", "50"]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0
    assert "inference cannot see" in shown.output
    out = tmp_path / "found.json"
    assert CliRunner().invoke(app, [*arguments, "--json", str(out)]).exit_code == 0
    content = json.loads(out.read_text("utf-8"))
    (finding,) = content["copies"][0]
    expected = inference(
        Table.from_frame(original), fresh, keys=["age", "sex"], target="debt", control=control,
        relative=0, absolute=50,
    )  # fmt: skip
    assert finding["value"] == pytest.approx(expected.value)
    assert finding["control"] == pytest.approx(expected.control)


def test_an_even_vote_goes_to_the_class_named_first():
    """Four against two; three against three, the first says 2; two each, the first says 0."""
    ballots = np.array([[0, 1, 1, 1, 1, 0], [2, 1, 2, 1, 2, 1], [0, 1, 2, 2, 1, 0]])
    assert majority(list(ballots.T), 3).tolist() == [1, 2, 0]


@pytest.mark.parametrize("name", ORDINARY)
def test_options_that_an_attack_does_not_take_are_refused(name):
    with pytest.raises(CaveatError, match=f"the attack {name} takes no trees"):
        ORDINARY[name].told({"trees": 2})


def test_what_several_measures_cannot_see_is_said_once(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("a,b\n1,2\n3,4\n")
    printed = CliRunner().invoke(app, ["attack", "distances", str(file), str(file)]).output
    assert printed.count("Counter-examples") == 3  # common to four, and with a remark to two


def test_more_neighbours_than_records():
    table = pl.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "x"]})
    with pytest.raises(CaveatError, match="no 4 neighbours among 3 records"):
        linkability(table, table, first=["a"], second=["b"], neighbours=4)


def test_a_smaller_control_does_not_hide_a_copy():
    """100 originals, 40 of them compared: the note has the value of the whole, by hand."""
    rng = np.random.default_rng(1)
    original = pl.DataFrame({"x": rng.normal(size=100), "y": rng.normal(size=100)})
    control = pl.DataFrame({"x": rng.normal(size=40), "y": rng.normal(size=40)})
    same = identical_matches(original, original, control=control)
    assert (same.value, same.control) == (0.4, 0)
    assert same.notes[0].endswith("cut to 40 records each, to be compared; on the whole original "
                                  "the value is 100.0 %")  # fmt: skip
    assert closest_record(original, original, control=control).notes[0].endswith("0.0000")
    assert neighbour_ratio(original, original, control=control).notes[0].endswith("0.0000")
    assert singling_out(original, original, control=control, columns=2).notes[0].endswith("100.0 %")
    share = closest_share(original, original, control=control)
    assert share.value == 1
    assert share.baseline == pytest.approx(100 / 140)
    assert identical_matches(original, original, control=original).notes == ()
