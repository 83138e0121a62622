"""How far a run has come, and how long it will take, by a clock that stands still if told so."""

from __future__ import annotations

import pytest

from caveat.release import Release
from caveat.release.collect import Steps, plan_in_words
from caveat.release.run import seconds_of
from caveat.spec.spec import ReleaseSpec
from caveat.table import Table, write

SECONDS = {"read": 1.0, "fit": 4.0, "attack": 10.0, "write": 5.0}


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def told():
    return []


@pytest.fixture
def steps(clock, told):
    return Steps(SECONDS, lambda *said: told.append(said), clock)


def left(told, gone):
    """Return the seconds that are left, as who hears of the share reckons them."""
    share = told[-1][1]
    return gone * (1 - share) / share


def test_it_begins_with_nothing_done(steps, told):
    steps.step("read")
    assert told == [("read", 0.0)]


def test_steps_that_take_what_was_expected(steps, told, clock):
    steps.step("read")
    clock.now += 1
    done = steps.step("fit")
    assert told[-1] == ("fit", pytest.approx(1 / 20))
    clock.now += 2
    done(0.5)
    assert told[-1] == ("fit", pytest.approx(3 / 20))


def test_a_step_goes_by_its_own_pace(steps, told, clock):
    steps = Steps(SECONDS, lambda *said: told.append(said), clock)
    done = steps.step("attack")
    clock.now += 50
    done(0.5)  # fifty seconds for a half, where ten were thought for the whole
    assert left(told, 50) == pytest.approx(50 + 5)
    clock.now += 50
    done(0.5)
    assert left(told, 100) == pytest.approx(5)


def test_a_pace_is_trusted_as_it_shows(steps, told, clock):
    done = steps.step("attack")
    clock.now += 10
    done(0.125)  # by its pace 80 s, by what is usual 10: between the two in the middle
    assert left(told, 10) == pytest.approx((10 * 80) ** 0.5 * 0.875 + 5)


def test_a_step_that_says_nothing_is_never_over(steps, told, clock):
    done = steps.step("attack")
    clock.now += 1000
    done(0.0)
    assert left(told, 1000) == pytest.approx(0.1 * 10 + 5)


def test_the_bar_does_not_go_back(steps, told, clock):
    steps.step("read")
    clock.now += 30
    steps.step("write")
    high = told[-1][1]
    pace = (30 + 5) / (1 + 5)  # of this machine, beside five seconds at the usual one
    assert high == pytest.approx(30 / (30 + 5 * pace))
    done = steps.step("attack")
    clock.now += 1
    done(0.1)
    assert told[-1][1] == high


def test_a_step_that_was_left_out_is_not_waited_for(steps, told, clock):
    steps.step("read")
    clock.now += 5
    steps.step("write")  # neither fit nor attack
    assert left(told, 5) == pytest.approx(5 * 10 / 6)


def test_a_slow_machine_is_slow_in_the_steps_behind_too(clock, told):
    steps = Steps({"fit": 100.0, "write": 50.0}, lambda *said: told.append(said), clock)
    steps.step("fit")
    clock.now += 300
    steps.step("write")
    assert left(told, 300) == pytest.approx(50 * 305 / 105)


def test_larger_files_take_longer(specification):
    spec = ReleaseSpec.from_toml(specification())
    small = seconds_of(spec, None)
    with spec.data.path.open("ab") as file:
        file.write(b"\n" * 50_000_000)
    large = seconds_of(spec, None)
    assert list(large) == list(small)
    assert large["fit"] - small["fit"] > 5  # ten million cells more
    assert large["write"] == small["write"]
    assert "fit" not in seconds_of(spec, "audit")


def test_between_two_reports_the_clock_goes_on(steps, told, clock):
    done = steps.step("attack")
    clock.now += 5
    done(0.5)
    first = told[-1][1]
    for _ in range(20):  # the second half takes longer than the first
        clock.now += 5
        before = told[-1][1]
        steps.beat()
        assert told[-1][0] == "attack"
        assert before < told[-1][1] < 1
    assert told[-1][1] > first
    assert left(told, 105) > 10  # it is not said to be nearly over


def test_what_becomes_known_changes_what_is_expected(steps, told, clock):
    steps.step("read")
    clock.now += 1
    steps.expect({"attack": 100.0, "nobody": 5.0})
    steps.step("fit")
    assert left(told, 1) == pytest.approx(4 + 100 + 5)


def test_the_estimate_of_a_steady_run_is_within_a_factor_of_two(steps, told, clock):
    """Each step takes up to twice or half of what was expected, and says how far it is."""
    taken = {"read": 2.0, "fit": 2.0, "attack": 18.0, "write": 2.5}
    gone, whole = 0.0, sum(taken.values())
    for name, seconds in taken.items():
        done = steps.step(name)
        for _ in range(10):
            clock.now += seconds / 10
            gone += seconds / 10
            done(0.1)
            if 0 < gone < whole - 1e-6 and told[-1][1] < 1:
                assert 0.5 <= left(told, gone) / (whole - gone) <= 2 + 1e-9


def test_a_wide_table_takes_longer_than_a_long_one(specification):
    spec = ReleaseSpec.from_toml(specification())
    long = seconds_of(spec, None, shape=(16_000, 100))
    wide = seconds_of(spec, None, shape=(2_000, 800))
    assert wide["fit"] > 2 * long["fit"]
    assert wide["utility"] > 2 * long["utility"]


def test_a_quick_run_expects_less(specification):
    spec = ReleaseSpec.from_toml(specification())
    shape = 50_000, 50
    usual, quick = (seconds_of(spec, None, quick=q, shape=shape) for q in (False, True))
    name = "scenario: everything else"
    assert quick[name] < usual[name] / 2
    assert quick["fit"] == usual["fit"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_plan_that_is_announced_is_that_of_the_data_and_not_of_their_file(tmp_path, ending):
    """A compressed file has fewer bytes: about 10 times fewer in this one."""
    table = Table.from_frame({f"x{i}": ["yes", "no"] * 20_000 for i in range(8)})
    write(table, tmp_path / f"large.{ending}")
    (tmp_path / "large.toml").write_text(
        f'[data]\npath = "large.{ending}"\n[[scenario]]\nname = "strong"\nattacker = "strong"\n'
        '[output]\nfolder = "out"\nreports = []\n'
    )
    release = Release.from_toml(tmp_path / "large.toml")
    expected = plan_in_words(seconds_of(release.spec, None, quick=True, shape=(40_000, 8)))
    told = []

    def announce(plan):
        told.append(plan)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        release.run(announce=announce, quick=True)
    assert told == [expected]
