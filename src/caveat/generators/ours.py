"""Our own generators: sequential synthesis with protections, and drafts from numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Literal

from caveat.errors import CaveatError
from caveat.protect.pipeline import Surroundings, check_steps, protect, reads_original
from caveat.protect.record import Step
from caveat.seeds import Stream, child_seed
from caveat.showing import without_values
from caveat.synthesis import Model, Plan, Synthesizer
from caveat.synthesis.coding import SMOOTHINGS
from caveat.synthesis.column_model import ColumnModel
from caveat.synthesis.drafts import DraftPlan, draft
from caveat.synthesis.linked.model import GroupModel, GroupPlan
from caveat.synthesis.margins.promise import is_private
from caveat.synthesis.methods import Settings
from caveat.synthesis.options import DIAL, PLAIN, WITHOUT_MODEL, is_idle, why_idle
from caveat.synthesis.seen import has_guard
from caveat.table import Table
from caveat.table.identifying import Origin

# First words of the seeds for refilling, and for the protections of further copies.

DRAWN = ("smoothing", "proper")
"""What guarded trees do anyway."""
OF_TREES = (*DIAL, *PLAIN, *DRAWN)
"""Settings of trees, in the order in which one of them is the dial of a map."""


def refuse_second_source(options: Mapping[str, Any], steps: Sequence[Mapping[str, Any]]) -> None:
    """Refuse protections that look at records where nothing but tables of them may be used."""
    if not (is_private(options) or options.get("clearing")):
        return
    for place, step in enumerate(steps):
        if reads_original(step["name"]):
            what = "a guarantee" if is_private(options) else "what cleared tables are for"
            raise CaveatError(
                f"{step['name']} looks at original records, which undoes {what}",
                where="protect",
                do="take protections that look at the release alone, such as code_extremes",
                entry=(place, "name"),
                code="privacy.protection.conflict",
            )


@dataclass(frozen=True)
class Setting:
    """How a release is made: options of the synthesiser, and protections after it.

    Parameters
    ----------
    options
        Options of :class:`caveat.synthesis.Synthesizer`.
    protect
        Steps for :func:`caveat.protect.pipeline.protect`.
    shown
        The options that differ between the settings of a map, for its name.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    protect: tuple[Mapping[str, Any], ...] = ()
    shown: tuple[str, ...] | None = None

    @property
    def key(self) -> str:
        """A text that is the same for the same setting, whatever its method has no use for."""
        return json.dumps([self.used, self.protect], sort_keys=True, default=str)

    @property
    def used(self) -> dict[str, Any]:
        """The options without those that its method has no use for."""
        idle = idle_options(self.options)
        return {name: value for name, value in self.options.items() if name not in idle}

    @property
    def method(self) -> str:
        """The method of the columns that have none of their own."""
        return str(self.options.get("method", Settings().method))

    def __str__(self) -> str:
        used = self.used
        parts = [
            f"{name} {_short(used[name])}" if name != "method" else self.method
            for name in (used if self.shown is None else self.shown)
            if name in used and name not in ("groups", "budget")
        ]
        parts += [step["name"].replace("_", " ") for step in self.protect]
        return ", ".join(parts) or "as it is"

    @property
    def is_public(self) -> bool:
        """Whether its name may be published: numbers, yes or no, words of ours, and protections."""
        names = set(self.options if self.shown is None else self.shown) - {"method", "guard"}
        return all(isinstance(self.options.get(name, 0), int | float) for name in names)

    @property
    def name(self) -> str:
        """What it is called in tables and messages."""
        return str(self)

    @property
    def is_seeded(self) -> bool:
        """Whether the same seed gives the same tables: always."""
        return True

    @property
    def origin(self) -> Origin:
        """Where the values come from; the plan of a fit says it column by column."""
        return Origin.DRAWN

    def fit(
        self,
        table: Table,
        seed: int,
        *,
        threads: int | None = 1,
        anyway: bool = True,
        done: Callable[[float], None] | None = None,
    ) -> FittedSetting:
        """Fit the synthesiser.

        Parameters
        ----------
        table
            The original.
        seed
            Root of all randomness.
        threads
            Columns fitted at the same time, all cores if None. The result does not depend on it.
        anyway
            Whether a table is synthesised that is too small to hide anybody.
        done
            Called for each column that is ready, with its share of the work.
        """

        def ready(name: str, model: ColumnModel) -> None:
            del name, model
            if done is not None:
                done(1 / len(table.names))

        refuse_second_source(self.options, self.protect)
        synthesizer = Synthesizer.of(self.options, seed=seed, threads=threads, anyway=anyway)
        model = synthesizer.fit(table, done=ready)
        return FittedSetting(self, pooled_by(model.plan, table), model)

    def seed_by_seed(self, table: Table) -> Callable[[int], FittedSetting]:
        """Return fits with any seed; where a fit draws nothing the table is fitted once."""
        if is_private(self.options):
            raise CaveatError(
                "every release that is made from the data spends budget of the guarantee, and this "
                "attacker makes many",
                do="use caveat attack strong with --model, who is exact here",
                code="attack.generator.unsupported",
            )
        first = self.fit(table, 0)
        if first.is_drawn or self.method == "forest":
            return lambda seed: self.fit(table, seed)
        return first.with_seed

    def again(self, world: Table) -> Callable[[int], Table]:
        """Return what makes releases from another table, seed by seed."""
        fitted = self.seed_by_seed(world)
        return lambda seed: fitted(seed).sample()[0]


@dataclass(frozen=True)
class Copy:
    """One synthetic table that a setting made.

    Parameters
    ----------
    drawn, release
        The table before the protections, and after them.
    setting
        How it was made.
    plan
        The plan of the setting for the table that it was made from.
    steps
        What the protections did.
    """

    drawn: Table
    release: Table
    setting: Setting
    plan: Plan | GroupPlan
    steps: tuple[Step, ...] = ()

    __repr__ = without_values

    @property
    def row_plan(self) -> Plan:
        """The plan of a table whose rows stand by themselves; groups have none."""
        if isinstance(self.plan, GroupPlan):
            raise CaveatError(
                "groups are synthesised whole, and this attack is on single records",
                where="strong attacker",
                do="ask for another measure",
                code="attack.group.unsupported",
            )
        return self.plan


@dataclass(frozen=True)
class FittedSetting:
    """A setting that has seen a table.

    Parameters
    ----------
    setting
        How releases are made.
    original
        The table, its rare levels pooled.
    model
        The fitted synthesiser.
    """

    setting: Setting
    original: Table
    model: Model | GroupModel

    __repr__ = without_values

    @property
    def is_drawn(self) -> bool:
        """Whether another seed needs another fit: parameters or the structure are drawn."""
        return bool(self.setting.options.get("proper")) or has_guard(self.model.plan.columns)

    def with_seed(self, seed: int) -> FittedSetting:
        """Return the same fit with another seed for its draws."""
        model = self.model
        if isinstance(model, GroupModel):
            return replace(self, model=model.with_seed(seed))
        return replace(self, model=replace(model, seed=seed))

    @property
    def exact(self) -> Model | None:
        """The model, unless its parameters are drawn, or protections or groups come with it."""
        if isinstance(self.model, GroupModel):
            return None
        settings = [entry.settings for entry in self.model.plan.columns.values()]
        drawn = any(each.proper or each.method == "forest" for each in settings)
        return None if drawn or self.setting.protect else self.model

    def sample(self, rows: int | None = None, copies: int = 1) -> list[Table]:
        """Return releases: drawn, then protected."""
        drawn = self.draw(rows, copies)
        return [self.protect(table, copy).release for copy, table in enumerate(drawn)]

    def draw(
        self,
        rows: int | Literal["population"] | None = None,
        copies: int = 1,
        threads: int | None = 1,
    ) -> list[Table]:
        """Return tables as they are drawn, before the protections; of groups so many each.

        The groups of a population are as many as the weights stand for.
        """
        if isinstance(self.model, GroupModel):
            return self.model.tables(rows, copies, threads)
        assert rows != "population"  # the specification has counted them
        return self.model.tables(rows, copies, threads)

    def protect(self, drawn: Table, copy: int = 0) -> Copy:
        """Apply the protections to a drawn copy; fresh records for a filter come from the model."""
        # The first copy has the seeds that the same setting has in a map.
        seed = self.model.seed if copy == 0 else child_seed(self.model.seed, Stream.PROTECT, copy)

        def refill(n: int, number: int) -> Table:
            if isinstance(self.model, GroupModel):
                raise _torn()
            fresh = replace(self.model, seed=child_seed(seed, Stream.REFILL, number))
            return fresh.tables(n, threads=1)[0]

        # What is not released cannot be compared with what is.
        key = self.model.groups.key if isinstance(self.model, GroupModel) else None
        data = drawn if key is None else drawn.drop([key])
        shared = self.original.select([name for name in self.original if name in data])
        around = Surroundings(shared, seed, refill, SMOOTHINGS)
        release, steps = protect(data, self.setting.protect, around)
        if key is not None:
            if release.n_rows != drawn.n_rows:
                raise _torn()
            order = [*drawn.names, *(name for name in release if name not in drawn)]
            release = release.with_columns({key: drawn[key]})
            release = release.select([name for name in order if name in release])
        return Copy(drawn, release, self.setting, self.model.plan, steps)


def pooled_by(plan: Plan | GroupPlan, table: Table) -> Table:
    """Return a table, original or control, as a plan sees it: rare levels pooled."""
    return plan.pooled_rows(table) if isinstance(plan, GroupPlan) else plan.pooled(table)


def _torn() -> CaveatError:
    return CaveatError(
        "a protection that removes records would tear groups apart",
        where="protect",
        do="take one that changes values, or leave [groups] out",
        code="protection.group.conflict",
    )


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def idle_options(options: Mapping[str, Any]) -> frozenset[str]:
    """Return the settings of trees that play no part with these options.

    Examples
    --------
    >>> options = {"minbucket": 5, "cp": 0.01, "prune": False, "guard": "light"}
    >>> sorted(idle_options({"method": "cart", **options}))
    ['cp', 'guard']
    >>> sorted(idle_options(options))
    ['cp', 'minbucket', 'prune']
    """
    alone = options.get("columns") or {}
    unpruned = options.get("prune") is False and all(p is False for p in _each(alone, "prune"))
    idle = _foreign_options(options)
    return idle | {"cp"} if unpruned and "cp" in options else idle


def _foreign_options(options: Mapping[str, Any]) -> frozenset[str]:
    """Return the settings of trees that none of the methods grows."""
    methods = {options.get("method", Settings().method)}
    methods.update(_each(options.get("columns") or {}, "method"))
    methods.difference_update(WITHOUT_MODEL)
    drawn = DRAWN if methods == {"guarded"} else ()
    return frozenset(name for name in options if is_idle(name, methods) or name in drawn)


def _each(columns: Mapping[str, Any], name: str) -> list[Any]:
    """Return what single columns say about a setting."""
    return [given[name] for given in columns.values() if name in given]


def settings_of(base: Mapping[str, Any], grid: Mapping[str, Any]) -> list[Setting]:
    """Return all combinations of a grid; ``protect`` holds alternative lists of steps.

    Combinations that differ in nothing that their method uses are one setting; a setting that none
    of the methods uses is a mistake.

    Examples
    --------
    >>> [str(s) for s in settings_of({"method": "cart"}, {"minbucket": [5, 50], "cp": [1e-8]})]
    ['minbucket 5', 'minbucket 50']
    >>> grid = {"method": ["cart", "guarded"], "minbucket": [5, 50], "guard": ["light", "strong"]}
    >>> [str(s) for s in settings_of({}, grid)]
    ['cart, minbucket 5', 'cart, minbucket 50', 'guarded, guard light', 'guarded, guard strong']
    """
    for name, values in grid.items():
        if not isinstance(values, list | tuple) or not values:
            raise CaveatError(
                "a setting needs a list of values to try",
                where=f"tune, settings, {name}",
                entry=(name,),
                do=f"write {name} = [5, 20, 50]",
                code="tune.setting.type",
            )
    protections = grid.get("protect", [[]])
    for steps in protections:
        check_steps(steps)
    options = {name: values for name, values in grid.items() if name != "protect"}
    shown = tuple(name for name, values in options.items() if len(values) > 1)
    found: dict[str, Setting] = {}
    unused = {*base, *options}
    for *values, steps in product(*options.values(), protections):
        tried = dict(zip(options, values, strict=True))
        whole = {**base, **tried}
        idle = idle_options(whole)
        unused &= _foreign_options(whole)
        used = {name: value for name, value in whole.items() if name not in idle}
        setting = Setting(used, tuple(steps), shown)
        found.setdefault(setting.key, setting)
    for name in sorted(unused):
        what, do = why_idle(name)
        raise CaveatError(
            what, where="synthesis", do=do, entry=(name,), code="synthesis.setting.unused"
        )
    return list(found.values())


# -------------------------------------------------------------------------------------------------
# The generator ``outputs``: drafts from published numbers, behind the contract of all others.
#
# It never looks at the table but for its number of rows. So it stands for what everybody can make
# who has read the publications: a release that tells more than this one tells more than they do.


OUTPUTS = "outputs"
FEWEST = 100  # rows of a draft that fewer are taken from: targets mean little for a handful


@dataclass(frozen=True)
class Drafted:
    """A generator that knows published numbers only.

    Parameters
    ----------
    plan
        The columns and the published numbers.
    name
        What it is called.

    Examples
    --------
    >>> from caveat.datasets import buyer_beware
    >>> from caveat.synthesis.drafts import Category, DraftPlan
    >>> plan = DraftPlan({"sex": Category(("f", "m"), (0.6, 0.4))}, rows=100)
    >>> (made,) = Drafted(plan).fit(buyer_beware(), 1).sample()
    >>> made.n_rows, made.names
    (1000, ('sex',))
    """

    plan: DraftPlan
    name: str = OUTPUTS

    @property
    def is_seeded(self) -> bool:
        """Whether the same seed gives the same tables: always."""
        return True

    @property
    def origin(self) -> Origin:
        """Where the values come from: drawn from published numbers."""
        return Origin.DRAWN

    def fit(self, table: Table, seed: int) -> FittedDraft:
        """Take the number of rows from a table, and nothing else."""
        return FittedDraft(self.plan, table.n_rows, seed)


@dataclass(frozen=True)
class FittedDraft:
    """Drafts of one size."""

    plan: DraftPlan
    rows: int
    seed: int

    def sample(self, rows: int | None = None, copies: int = 1) -> list[Table]:
        """Return drafts; each copy has its own seed."""
        n = self.rows if rows is None else rows
        made = (
            draft(self.plan, seed=child_seed(self.seed, copy), rows=max(n, FEWEST)).table
            for copy in range(copies)
        )
        return [table.take(slice(n)) for table in made]


def drafted(settings: Mapping[str, Any]) -> Drafted:
    """Return the generator with its settings: ``plan``, a :class:`DraftPlan`."""
    plan = settings.get("plan")
    if not isinstance(plan, DraftPlan) or len(settings) > 1:
        raise CaveatError(
            "it is made from a specification of published numbers, and has no settings",
            where=f"generator {OUTPUTS}",
            do="name it outputs:draft.toml",
            code="generator.setting.unsupported",
        )
    return Drafted(plan)
