"""What all parts of the evidence share: values, records at risk, and how far a run has come."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.attack import Vulnerable, vulnerable
from caveat.errors import CaveatError
from caveat.notes import Note
from caveat.protect.record import Step
from caveat.release.material import Material
from caveat.risk import MEASURES as RISKS
from caveat.risk.measure import Measurement, Rise, undefined
from caveat.spec.limits import Limit
from caveat.stopping import Progress
from caveat.table import Table
from caveat.table.cells import key_cells
from caveat.utility import MEASURES as UTILITIES

MOST_RECORDS = 50
"""Records that the evidence names."""

FAR = 0.99
"""A record is far from all others if its distance is beyond this share of all."""


@dataclass(frozen=True)
class AtRisk:
    """One record that a measure points at.

    Parameters
    ----------
    scenario, target, measure
        What points at it.
    record
        Its position among the fitted records.
    value
        What the measure says: the posterior, or the share that it carries.
    prior
        The same before the release.
    """

    scenario: str
    record: int
    target: str | None
    measure: str
    value: float
    prior: float | None

    @property
    def rise(self) -> float:
        """By how much the release raised the probability of the truth."""
        return 0.0 if self.prior is None else self.value - self.prior


class Signs:
    """Signs of exposure, for attackers who know some keys.

    Parameters
    ----------
    material
        The tables; without a model only uniqueness is looked for.
    keys
        What the attacker knows; everything if empty.
    """

    def __init__(self, material: Material, keys: Sequence[str]) -> None:
        self.material = material
        self.keys = tuple(keys) or material.columns()

    @cached_property
    def found(self) -> Vulnerable | None:
        """The signs of all fitted records; None without a model."""
        plan = self.material.plan
        if plan is None:
            return None
        return vulnerable(self.material.fitted, keys=self.keys, generator=plan)

    @cached_property
    def unique(self) -> NDArray[np.bool_]:
        """Which fitted records are alone with their keys."""
        if self.found is not None:
            return self.found.unique
        return _unique(self.material.fitted, self.keys)

    @cached_property
    def _scores(self) -> NDArray[np.float64]:
        return self.unique.astype(np.float64) if self.found is None else self.found.score

    @cached_property
    def _far(self) -> float:
        return np.inf if self.found is None else float(np.quantile(self.found.distance, FAR))

    def score(self, record: int) -> float:
        """Return how exposed a record is, from 0 to 1."""
        return float(self._scores[record])

    def first(self, most: int) -> NDArray[np.int64]:
        """Return the most exposed records."""
        return np.argsort(-self._scores, kind="stable")[:most]

    def of(self, record: int) -> list[str]:
        """Return the signs of a record in words."""
        signs = ["unique on the keys"] if self.unique[record] else []
        if self.found is not None:
            alone = int(self.found.sole_donor[record])
            if alone:
                columns = "1 column" if alone == 1 else f"{alone} columns"
                signs.append(f"only donor of its value in a leaf, in {columns}")
            if self.found.distance[record] > self._far:
                signs.append("far from all others")
        return signs


def _unique(table: Table, keys: Sequence[str]) -> NDArray[np.bool_]:
    (cells,), n = key_cells(
        [[table[key].codes for key in keys]], [table[key].n_levels for key in keys]
    )
    return np.asarray(np.bincount(cells, minlength=n)[cells] == 1)


def worst_records(
    by_scenario: Sequence[tuple[Sequence[AtRisk], Signs]],
) -> list[dict[str, Any]]:
    """Return the worst records of all scenarios, in turn from each, as the evidence holds them."""
    chosen: list[tuple[AtRisk, Signs]] = []
    longest = max((len(found) for found, _ in by_scenario), default=0)
    for place in range(longest):
        chosen += [(found[place], signs) for found, signs in by_scenario if place < len(found)]
        if len(chosen) >= MOST_RECORDS:
            break
    chosen = chosen[:MOST_RECORDS]
    chosen.sort(key=lambda pair: (-pair[0].rise, -pair[0].value, -pair[1].score(pair[0].record)))
    return [
        {
            "scenario": one.scenario,
            **({"table": signs.material.table} if signs.material.table else {}),
            "row": int(signs.material.rows[one.record]) + 1,
            "target": one.target,
            "measure": one.measure,
            "value": one.value,
            "prior": one.prior,
            "gain": one.value / one.prior if one.prior else None,
            "signs": signs.of(one.record),
        }
        for one, signs in chosen
    ]


# -------------------------------------------------------------------------------------------------
# What one attacker contributes to the evidence.


@dataclass(frozen=True)
class Collected:
    """The results of one scenario.

    Parameters
    ----------
    circumstances
        How the attack was made.
    measurements
        As the evidence holds them.
    checks
        What lies behind them.
    remarks
        What should be known about them.
    at_risk
        The records that they point at, the worst first.
    """

    circumstances: dict[str, Any]
    measurements: list[dict[str, Any]]
    checks: list[dict[str, Any]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    at_risk: list[AtRisk] = field(default_factory=list)


# -------------------------------------------------------------------------------------------------
# What all parts of the evidence share: plain values, limits, and the entries of measures.


Done = Callable[[float], None]
"""Called with the share of a step that has become ready."""

MEMBERS = 0.05
"""The part of a strong attack that asks who was in the data, where it asks for values too."""

TOO_MUCH = Note(
    "too-much-work",
    "left out: an attack on 10 records would exceed the bound of a run; set "
    'records = "all" to attack everyone',
    public=True,
)
NOTHING_TO_COMPARE = Note(
    "nothing-to-compare", "it has neither a control nor a baseline here", public=True
)
NOT_FINITE = Note("not-finite", "a part of it is not a finite number and is left out")


def plain(value: Any) -> Any:
    """Return a value as JSON has it: mappings, lists, texts, finite numbers; else its text."""
    if isinstance(value, Note):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | bool | int):
        return value
    return str(value)


def held_to(
    limits: Sequence[Limit], measure: str, value: float | None, rise: Rise | None = None
) -> dict[str, Any]:
    """Return the limit of a measure and by how much a value exceeds it."""
    limit = next((limit for limit in limits if limit.measure == measure), None)
    if limit is None:
        return {"limit": None, "excess": None}
    # What could not be measured does not meet a limit, and does not exceed it by anything either.
    excess = limit.excess(value, None if rise is None else rise.shown)
    return {"limit": limit.to_dict(), "excess": excess if math.isfinite(excess) else None}


def limits_of(limits: Sequence[Limit]) -> list[dict[str, Any]]:
    """Return limits ready for JSON."""
    return [{"measure": limit.measure, **limit.to_dict()} for limit in limits]


def entry(
    measure: str,
    result: Measurement,
    limits: Sequence[Limit],
    *,
    target: str | None = None,
    copy: int | None = None,
    label: str = "",
    label_is_public: bool = False,
) -> dict[str, Any]:
    """Return one measurement of risk as the evidence holds it.

    A label that is not made of data is marked, so that it may be published.
    """
    content = result.to_dict()
    safe = plain(content)
    if any(v is None and content["details"][k] is not None for k, v in safe["details"].items()):
        safe["notes"].append(NOT_FINITE.to_dict())
    held = held_to(limits, measure, result.value, result.rise)
    if result.value is not None and held["limit"] is not None and held["excess"] is None:
        safe["notes"].append(NOTHING_TO_COMPARE.to_dict())
    outside = result.control_interval
    compared: dict[str, Any] = {} if outside is None else {"control_interval": list(outside)}
    compared |= {} if result.rise is None else {"rise": result.rise.to_dict()}
    return {
        "measure": measure,
        "label": label,
        **({"label_is_public": True} if label_is_public else {}),
        "target": target,
        "copy": copy,
        **held,
        **compared,
        **safe,
    }


def without_value(
    measures: Sequence[str], reason: Note, limits: Sequence[Limit], **more: Any
) -> list[dict[str, Any]]:
    """Return measurements that could not be made, each with the reason."""
    return [entry(name, undefined(reason), limits, **more) for name in measures]


def refusal(error: CaveatError) -> Note:
    """Return the reason that an error gives, without the advice for a command."""
    return Note("refused", f"{error.place}: {error.what}" if error.place else error.what)


def entries_of(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return what the tables of measures say about some of them."""
    found = {}
    for name in dict.fromkeys(names):
        measure = UTILITIES[name] if name in UTILITIES else RISKS[name]
        found[name] = {
            "says": measure.says,
            "attacker": measure.attacker,
            "formula": measure.formula,
            "source": measure.source,
            "blind_spot": measure.blind_spot,
            "blind": measure.blind,
            "baseline": measure.baseline,
            "direction": measure.direction,
            "unit": measure.unit,
            "family": measure.family,
            "fails": sorted(str(prop) for prop in measure.fails),
            "kind": "utility" if name in UTILITIES else "risk",
        }
    return found


@dataclass(frozen=True)
class Attack:
    """How one target is attacked.

    Parameters
    ----------
    target
        The column.
    records
        Number of records, or of groups, 0 if there are none.
    fewer
        Whether these are fewer than the scenario names.
    in_cells
        Whether cells are attacked and not values.
    some
        Whether only some of the candidates are tried.
    candidates
        How many are.
    size
        How the work compares with that of other targets.
    """

    target: str
    records: int
    fewer: bool = False
    in_cells: bool = False
    some: bool = False
    candidates: int = 0
    size: float = 1.0

    def remarks(self, records: int, values: int, cells: int) -> list[str]:
        """Return which records and values were left out, in words."""
        found = self.of_values(values, cells)
        if self.fewer:
            found.append(
                f"{self.target}: {records:,} records are attacked and not more, since each has "
                f'{cells if self.in_cells else self.candidates:,} candidates; records = "all" '
                "attacks everyone"
            )
        return found

    def of_values(self, values: int, cells: int) -> list[str]:
        """Return which values were left out, in words."""
        found = []
        if self.in_cells:
            found.append(
                f"{self.target}: attacked in {cells:,} cells, since it has {values:,} values: a "
                "record counts when its cell is known"
            )
        if self.some and not self.in_cells:
            found.append(
                f"{self.target}: of {values:,} values the {self.candidates:,} most frequent are "
                "tried beside the own one of a record"
            )
        return found

    def notes(self, cells: int) -> tuple[Note, ...]:
        """Return what was left out, as notes on a result."""
        if self.in_cells:
            return (Note("in-cells", "the attacker wants one of {n:,} cells of the number",
                         public=True, n=cells),)  # fmt: skip
        if self.some:
            return (Note("some-candidates", "of {n:,} values and the own one",
                         public=True, n=self.candidates),)  # fmt: skip
        return ()


def not_exact(drawn: Sequence[str], steps: Sequence[Step]) -> Note | None:
    """Return why a release has no exact likelihood, if it has none.

    Parameters
    ----------
    drawn
        Columns whose models draw their parameters.
    steps
        What the protections did.
    """
    reading = [step.name for step in steps if step.reads_original and step.name != "label"]
    if reading:
        return Note(
            "protection-reads-original",
            "no exact likelihood: {protection} looks at the original: the release is no plain draw",
            public=True,
            protection=reading[0],
        )
    if drawn:
        return Note(
            "parameters-drawn",
            "no exact likelihood: the parameters of the models are drawn (column {column})",
            column=drawn[0],
        )
    return None


# -------------------------------------------------------------------------------------------------
# How far a run has come: the progress of steps as that of the whole.


TRUSTED = 0.25  # the part of a step after which its own pace says how long it takes
LEAST = 0.1  # of the seconds of a step are always left, as long as it says nothing of itself
PRIOR = 5.0  # seconds at the usual pace that the pace of this machine is added to
EVERY = 1.0  # seconds between two beats
CREEP = 0.002  # the part of what is left by which the bar moves where the estimate has grown


class Steps:
    """Turns the progress of steps into that of the run, as a share of its time.

    What is left is what is left of the step that goes on, by its own pace as soon as it has one,
    and what those behind it usually take, by the pace of the steps that are finished. Between two
    reports of a step the share moves by the clock (`beat`), so that the time that is left is never
    an old one.

    Parameters
    ----------
    seconds
        About how long each step takes, in order.
    tell
        Hears of it.
    clock
        Tells the time.

    Examples
    --------
    >>> now = iter([0.0, 2.0, 4.0])
    >>> said = []
    >>> seconds = {"fit": 4.0, "write": 6.0}
    >>> steps = Steps(seconds, lambda *told: said.append(told), lambda: next(now))
    >>> done = steps.step("fit")
    >>> done(0.5)  # two seconds for a half: two more, and six for the rest
    >>> _ = steps.step("write")
    >>> said
    [('fit', 0.0), ('fit', 0.2), ('write', 0.4)]
    """

    def __init__(
        self,
        seconds: Mapping[str, float],
        tell: Progress | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.seconds = dict(seconds)
        self.tell = tell
        self.clock = clock
        self.lock = threading.Lock()  # columns are fitted side by side and report so
        self.begin: float | None = None  # of the first step
        self.share = 0.0
        self.now: tuple[str, float, float] | None = None  # the step, its begin and what is ready
        self.pace = 1.0  # seconds here for one that is expected
        self.spent, self.expected = PRIOR, PRIOR  # of finished steps
        self.announce: Callable[[str], None] | None = None

    def expect(self, seconds: Mapping[str, float]) -> None:
        """Take other expectations of some steps, from the data that were read, and announce them.

        Before, nobody knows how large the data are: a file may be compressed, a table on a server.
        """
        self.seconds |= {name: time for name, time in seconds.items() if name in self.seconds}
        if self.announce is not None:
            self.announce(plan_in_words(self.seconds))

    def step(self, name: str) -> Done:
        """Begin a step; return what is called with the shares of it that become ready."""
        since = self.clock()
        self._finish(since)
        begin = self.begin = since if self.begin is None else self.begin
        self.now = name, since, 0.0
        inside = 0.0

        def done(share: float) -> None:
            nonlocal inside
            with self.lock:
                inside = min(inside + share, 1.0)
                self.now = name, since, inside
                self._report()

        self._say(name, since - begin, self.pace * self.seconds[name] + self._behind(name))
        return done

    def _finish(self, now: float) -> None:
        """Learn the pace of this machine from the step that is over."""
        if self.now is not None:
            name, since, _ = self.now
            self.spent += now - since
            self.expected += self.seconds[name]
            self.pace = self.spent / self.expected

    def beat(self) -> None:
        """Report by the clock alone, though the step has said nothing new."""
        with self.lock:
            if self.now is not None:
                self._report(creep=True)

    @contextmanager
    def announced(
        self, announce: Callable[[str], None] | None, every: float = EVERY
    ) -> Iterator[None]:
        """Announce the plan as soon as it is known, and report every second in the block."""
        self.announce = announce
        ended = threading.Event()

        def beats() -> None:
            while not ended.wait(every):
                self.beat()

        if self.tell is not None:
            threading.Thread(target=beats, daemon=True).start()
        try:
            yield
        finally:
            ended.set()

    def _behind(self, name: str) -> float:
        names = list(self.seconds)
        usual = sum(self.seconds[other] for other in names[names.index(name) + 1 :])
        return self.pace * usual

    def _report(self, creep: bool = False) -> None:
        assert self.now is not None and self.begin is not None  # noqa: PT018
        name, since, inside = self.now
        now = self.clock()
        left = self._left(name, now - since, inside)
        self._say(name, now - self.begin, left + self._behind(name), creep)

    def _left(self, name: str, gone: float, inside: float) -> float:
        """Return the seconds that a step still needs."""
        usual = self.pace * self.seconds[name]
        if not inside:
            return max(usual - gone, LEAST * usual)
        trust = min(inside / TRUSTED, 1.0)
        whole: float = usual ** (1 - trust) * (gone / inside) ** trust
        return whole * (1 - inside)

    def _say(self, name: str, gone: float, left: float, creep: bool = False) -> None:
        if self.tell is not None:
            share = gone / (gone + left) if gone else 0.0
            least = self.share + CREEP * (1 - self.share) if creep else self.share
            self.share = max(least, share)  # a bar that goes back is no bar
            self.tell(name, self.share)


def plan_in_words(seconds: Mapping[str, float]) -> str:
    """Return about how long the work takes, and its longer steps.

    Examples
    --------
    >>> plan_in_words({"read": 0.4, "fit": 8.2, "attack": 400})
    'about 7 min of one core: fit 8 s, attack 7 min'
    """
    long = [f"{name} {_in_words(time)}" for name, time in seconds.items() if time >= 1.0]
    return f"about {_in_words(sum(seconds.values()))} of one core: {', '.join(long)}"


def _in_words(seconds: float) -> str:
    return f"{max(seconds, 1):.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
