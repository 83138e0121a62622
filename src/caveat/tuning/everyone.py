"""The strong attacker on all records of a release at once, where its probability is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from caveat.attack import Attributes, attributes, membership
from caveat.attack.guarded import is_guarded
from caveat.attack.measures import gain_of, members_of, share_of, worst_of
from caveat.attack.posterior import drawn_columns
from caveat.attack.strong import BEFORE
from caveat.errors import CaveatError
from caveat.generators import Copy
from caveat.notes import Note
from caveat.risk.measurement import Measurement
from caveat.spec.limits import STRONGEST, Question
from caveat.table import Table

__all__ = ["Everyone"]

SUMMED = {"strongShare": share_of, "strongWorst": worst_of, "strongGain": gain_of}


class Everyone:
    """What the strong attacker learns about every record of one release.

    Parameters
    ----------
    original
        The original table.
    copy
        The release.
    question
        What she is after, and which records; a number of the most vulnerable ones stands for all.
    """

    def __init__(self, original: Table, copy: Copy, question: Question) -> None:
        self.original, self.copy, self.question = original, copy, question
        self.found: dict[str, Attributes] = {}
        self.results: dict[str, list[Measurement]] = {}

    @property
    def how(self) -> tuple[Note, ...]:
        """How the values are to be read, where the release was protected after it was drawn."""
        return (BEFORE,) if any(step.name != "label" for step in self.copy.steps) else ()

    def takes(self, name: str) -> bool:
        """Whether a measure is to be found here and not record by record."""
        if name not in STRONGEST:
            return True
        question = self.question
        cheap = is_guarded(self.copy.row_plan) or question.records == "all"
        alone = question.unknown is not None and len(question.unknown) == 1
        return cheap and alone and isinstance(question.prior, str) and self._obstacle() is None

    def values(self, names: Sequence[str]) -> Mapping[str, float | None]:
        """Return the values of measures; the worst over the targets counts."""
        obstacle = self._obstacle()
        if obstacle is not None:
            raise CaveatError(
                f"no exact likelihood: {obstacle}", code="attack.likelihood.unsupported"
            )
        return {name: self._value(name) for name in names}

    def _obstacle(self) -> str | None:
        """Say why the release has no known probability; None if it has one."""
        drawn = drawn_columns(self.copy.row_plan)
        if drawn:
            return f"the parameters of the models are drawn (column {drawn[0]})"
        reading = [step.name for step in self.copy.steps if step.reads_original]
        return f"{reading[0]} looks at the original" if reading else None

    def _value(self, name: str) -> float | None:
        question, plan = self.question, self.copy.row_plan
        if name == "membershipShare":
            records = self._records()
            found = membership(
                self.original, self.copy.drawn, generator=plan, records=records, threads=1
            )
            self.results[name] = [members_of(found)]
            return self.results[name][0].value
        if name in STRONGEST:
            (target,) = question.unknown or ()
            attacked = self._attributes(target)
            chosen = attacked.probability if name == "posterior" else attacked.gain
            return float(np.max(chosen))
        self.results[name] = [SUMMED[name](self._attributes(each)) for each in question.sought]
        values = [result.value for result in self.results[name]]
        return None if None in values else max(v for v in values if v is not None)

    def _attributes(self, target: str) -> Attributes:
        prior = self.question.prior
        if not isinstance(prior, str):
            raise CaveatError(
                "a prior in numbers is for one record",
                do="name a prior",
                code="attack.setting.type",
            )
        if target not in self.found:
            self.found[target] = attributes(
                self.original, self.copy.drawn, target, generator=self.copy.row_plan,
                records=self._records(), prior=prior, threads=1,
            )  # fmt: skip
        return self.found[target]

    def _records(self) -> Sequence[int] | None:
        records = self.question.records
        return records if isinstance(records, tuple) else None
