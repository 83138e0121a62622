"""The statbarns: groups of statistics with their rules, and the findings and verdicts on them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from caveat.errors import CaveatError, hint

if TYPE_CHECKING:
    from caveat.outputs.differencing import Counts


PAPER = "Green, Ritchie and White, The statbarn, section 3.2 and table 1"
MANUAL = "SACRO guide to statistical output checking, as the paper cites it"
ACRO = "defaults of ACRO 1.0"


class Verdict(StrEnum):
    """What is said about an output; the order is that of severity."""

    SAFE = "safe"
    REVIEW = "needs review"
    REFUSE = "refuse"

    @property
    def severity(self) -> int:
        """0 for safe, 1 for what a person has to look at, 2 for what must not leave."""
        return list(Verdict).index(self)


class Risk(StrEnum):
    """How a statistic can give somebody away."""

    LOW_COUNT = "low counts"
    CLASS = "class disclosure: empty or full cells"
    DIFFERENCING = "differencing between outputs"
    DOMINANCE = "dominance of one or two contributors"
    SINGLE_VALUE = "the value of one person"
    IMPLICIT = "implicit tables between two lines"
    AUXILIARY = "counts that are published beside it"
    SATURATION = "a table in the form of a model"
    FREEDOM = "too few degrees of freedom"


@dataclass(frozen=True)
class Rule:
    """A number that an office may set otherwise.

    Parameters
    ----------
    default
        What holds without a file of rules.
    says
        What the rule asks, in one line.
    source
        Where the rule and its default are from.
    """

    default: float | str
    says: str
    source: str


RULES: Mapping[str, Rule] = {
    "threshold": Rule(
        10,
        "the fewest persons behind a published number",
        f"rule: {PAPER}; number: {ACRO} (safe_threshold)",
    ),
    "dominance_n": Rule(
        2,
        "the contributors of the (n, k) rule",
        f"rule: Navarro-Arribas and Torra, eq. 1; number: {ACRO} (safe_nk_n)",
    ),
    "dominance_share": Rule(
        0.9,
        "a cell is refused if the n largest contributors have this share of it, or more",
        f"rule: Navarro-Arribas and Torra, eq. 1; number: {ACRO} (safe_nk_k)",
    ),
    "p": Rule(
        0.1,
        "a cell is refused if all but the two largest have less than this share of the largest",
        f"rule: Navarro-Arribas and Torra, eq. 2; number: {ACRO} (safe_pratio_p)",
    ),
    "degrees_of_freedom": Rule(
        10,
        "the fewest residual degrees of freedom of a model or a test",
        f"rule: {PAPER}; number: {ACRO} (safe_dof_threshold)",
    ),
    "survival_threshold": Rule(
        10,
        "the fewest persons at risk, and leaving, in a line of a survival table",
        f"rule: {MANUAL}; number: {ACRO} (survival_safe_threshold)",
    ),
    "empty": Rule(
        Verdict.REVIEW,
        "the verdict on an empty cell that is not declared to be structural",
        f"{PAPER} (class exclusion); {ACRO} refuses (zeros_are_disclosive), but a machine does "
        "not know structural zeros (section 4)",
    ),
    "full": Rule(
        Verdict.REFUSE,
        "the verdict on a line of a table with all its persons in one cell",
        f"{PAPER} (class disclosure)",
    ),
}
"""The rules with their defaults and sources."""


@dataclass(frozen=True)
class Rules:
    """The rules of an office.

    Parameters
    ----------
    threshold, dominance_n, dominance_share, p, degrees_of_freedom, survival_threshold, empty, full
        As :data:`RULES` describes them.
    structural
        Cells that are empty because they must be: the values of columns that such a cell has.
    totals
        What totals are called, in small letters.

    Examples
    --------
    >>> Rules().threshold, Rules(threshold=5).threshold
    (10, 5)
    """

    threshold: int = 10
    dominance_n: int = 2
    dominance_share: float = 0.9
    p: float = 0.1
    degrees_of_freedom: int = 10
    survival_threshold: int = 10
    empty: Verdict = Verdict.REVIEW
    full: Verdict = Verdict.REFUSE
    structural: tuple[Mapping[str, str], ...] = ()
    totals: frozenset[str] = frozenset(
        {"total", "totals", "grand total", "overall", "all", "sum", "gesamt", "insgesamt"}
    )

    def __post_init__(self) -> None:
        for name in ("threshold", "dominance_n", "degrees_of_freedom", "survival_threshold"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise CaveatError(
                    f"{name} is no whole number above 0",
                    where="rules",
                    entry=(name,),
                    code="outputs.rule.range",
                )
        if not 0 < self.dominance_share < 1:
            raise CaveatError(
                "dominance_share is no share between 0 and 1",
                where="rules",
                code="outputs.rule.range",
            )
        if not 0 < self.p < 1:
            raise CaveatError(
                "p is no share between 0 and 1", where="rules", code="outputs.rule.range"
            )

    def is_structural(self, cell: Mapping[str, str]) -> bool:
        """Whether a cell is declared to be empty because it must be."""
        return any(
            one and all(cell.get(name) == value for name, value in one.items())
            for one in self.structural
        )


@dataclass(frozen=True)
class Statbarn:
    """One entry of the table.

    Parameters
    ----------
    letter, name
        As table 1 of the paper has them.
    safe
        Whether its members are published after a check of form, whatever the data.
    members
        Statistics of the barn, by the names that columns of tables have.
    risks
        What can go wrong.
    rules
        The entries of :data:`RULES` that it is held to.
    remedy
        What can be done about a member that is not safe.
    exceptions
        What a person may weigh who looks at it.
    source
        Where the entry is from.
    """

    letter: str
    name: str
    safe: bool
    members: tuple[str, ...]
    risks: tuple[Risk, ...]
    rules: tuple[str, ...]
    remedy: str
    exceptions: str = ""
    source: str = field(default=PAPER)


COUNTED = "suppress the cell and a second one in its row and column, merge, round, or add noise"

STATBARNS: Mapping[str, Statbarn] = {
    barn.name: barn
    for barn in (
        Statbarn(
            "a", "frequencies", False,
            ("count", "counts", "n", "frequency", "freq", "cases", "persons", "histogram",
             "pie chart", "waterfall chart", "scatter plot", "decision tree"),
            (Risk.LOW_COUNT, Risk.CLASS, Risk.DIFFERENCING),
            ("threshold", "empty", "full"),
            COUNTED,
            "zeros that must be (structural), and categories that say nothing about anybody",
        ),
        Statbarn(
            "b", "position", False,
            ("median", "percentile", "quartile", "quantile", "q1", "q3", "iqr"),
            (Risk.LOW_COUNT, Risk.CLASS),
            ("threshold",),
            "merge groups until enough persons lie on either side, or round the value",
            "values that many persons share",
        ),
        Statbarn(
            "c", "maxima and minima", False,
            ("max", "min", "maximum", "minimum", "range"),
            (Risk.SINGLE_VALUE, Risk.CLASS, Risk.LOW_COUNT),
            ("threshold",),
            "publish a percentile with enough persons beyond it instead",
            "ends that are known without the data, such as 0 and 100 per cent",
        ),
        Statbarn(
            "d", "linear aggregates", False,
            ("mean", "average", "total", "sum", "share", "concentration ratio"),
            (Risk.LOW_COUNT, Risk.CLASS, Risk.DIFFERENCING, Risk.DOMINANCE),
            ("threshold", "empty", "full", "dominance_n", "dominance_share", "p"),
            f"{COUNTED}; for dominance only suppression and merging help",
            "contributors whose values are public",
        ),
        Statbarn(
            "e", "calculated odds and risk ratios", False,
            ("odds ratio", "risk ratio", "relative risk"),
            (Risk.AUXILIARY,),
            ("threshold",),
            "hand in the 2 x 2 table of counts, which is checked instead",
        ),
        Statbarn(
            "f", "hazard and survival tables", False,
            ("survival", "at risk", "events", "hazard", "kaplan meier"),
            (Risk.LOW_COUNT, Risk.IMPLICIT),
            ("survival_threshold",),
            "use longer periods, so that more persons leave in each",
            source=f"{PAPER}; {MANUAL}",
        ),
        Statbarn(
            "g", "correlation coefficients and models", True,
            ("coefficient", "estimate", "coef", "correlation", "regression", "kernel density",
             "estimated odds ratio"),
            (Risk.SATURATION, Risk.FREEDOM),
            ("degrees_of_freedom",),
            "a model that is a table in another form is checked as a table of means",
            "none: it fails only if it is no regression",
        ),
        Statbarn(
            "h", "statistical hypothesis tests", True,
            ("test", "p value", "t statistic", "chi2", "f statistic"),
            (Risk.FREEDOM,),
            ("degrees_of_freedom",),
            "publish no test of so few persons",
        ),
        Statbarn(
            "i", "shape", True,
            ("sd", "standard deviation", "variance", "skewness", "kurtosis"),
            (Risk.FREEDOM,),
            ("degrees_of_freedom",),
            "publish no shape of so few persons",
        ),
        Statbarn(
            "j", "mode", True,
            ("mode",),
            (Risk.CLASS, Risk.DIFFERENCING),
            (),
            "say nothing of a group that is all alike",
            source=f"{PAPER}; {MANUAL}, appendix",
        ),
        Statbarn(
            "k", "non-linear concentration ratios", True,
            ("herfindahl", "hhi"),
            (Risk.LOW_COUNT, Risk.DOMINANCE),
            ("threshold",),
            "merge groups until there are enough contributors",
        ),
        Statbarn(
            "l", "gini coefficient and lorenz curve", True,
            ("gini", "lorenz"),
            (Risk.LOW_COUNT,),
            ("threshold",),
            "merge groups until there are enough contributors",
        ),
    )
}  # fmt: skip
"""The twelve barns, six that are looked into and six that are published after a check of form."""

_GERMAN = {
    "anzahl": "count", "fälle": "cases", "personen": "persons", "häufigkeit": "frequency",
    "mittelwert": "mean", "durchschnitt": "average", "summe": "sum", "anteil": "share",
    "zentralwert": "median", "varianz": "variance",
    "standardabweichung": "standard deviation", "schiefe": "skewness", "spannweite": "range",
}  # fmt: skip
_BY_MEMBER = {member: barn for barn in STATBARNS.values() for member in barn.members}


def barn_of(statistic: str) -> Statbarn:
    """Return the barn of a statistic, or say which are known.

    Parameters
    ----------
    statistic
        A name as people write it: "Median", "std_dev" is not known, "standard deviation" is.

    Examples
    --------
    >>> barn_of("Median").letter, barn_of("p90").letter, barn_of("odds_ratio").letter
    ('b', 'b', 'e')
    """
    found = known_barn(statistic)
    if found is None:
        raise CaveatError(
            f"there is no statistic {statistic!r} in any statbarn",
            do=hint(statistic, tuple(_BY_MEMBER), "docs/output-checking.md"),
            code="outputs.statistic.unknown",
        )
    return found


def known_barn(statistic: str) -> Statbarn | None:
    """Return the barn of a statistic; None if it is in none."""
    plain = plain_name(statistic)
    if re.fullmatch(r"[pq]\d{1,2}(\.\d+)?", plain):
        plain = "percentile"
    return _BY_MEMBER.get(plain)


def plain_name(statistic: str) -> str:
    """Return the name of a statistic as barns have it.

    Examples
    --------
    >>> plain_name("Odds_Ratio"), plain_name("Mittelwert")
    ('odds ratio', 'mean')
    """
    plain = re.sub(r"[\s_-]+", " ", statistic).strip().lower()
    return _GERMAN.get(plain, plain)


def percentile_of(name: str) -> float:
    """Return the share of persons below a statistic of position; one half for others.

    Examples
    --------
    >>> percentile_of("p90"), percentile_of("q1"), percentile_of("median"), percentile_of("IQR")
    (0.9, 0.25, 0.5, 0.25)
    """
    plain = name.strip().lower()
    quarters = {"q1": 0.25, "q3": 0.75, "iqr": 0.25, "quartile": 0.25}
    number = re.fullmatch(r"[pq](\d{1,2}(?:\.\d+)?)", plain)
    return quarters.get(plain, float(number[1]) / 100 if number else 0.5)


# -------------------------------------------------------------------------------------------------
# What a check says: findings with a reason and a remedy, and the verdict on an output.


Cell = tuple[int, str]

SHOWN = 6  # cells that a reason names; results.json has all of them


@dataclass(frozen=True)
class Finding:
    """One thing that is not safe about an output.

    Parameters
    ----------
    rule
        The rule that it breaks, as results.json names it.
    verdict
        How bad it is.
    reason
        What was found. It names rows and columns, no value.
    remedy
        What can be done.
    cells
        The cells of the file that it is about: the row, from 0, and the column.
    """

    rule: str
    verdict: Verdict
    reason: str
    remedy: str
    cells: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Checked:
    """An output with what was found about it.

    Parameters
    ----------
    name
        The file, or what else it is called.
    form
        "table", "regression", "survival table", "evidence", "report", "synthetic table",
        "manifest", "file of a run" or "custom".
    barns
        The names of the statbarns whose rules it was held to.
    findings
        What is not safe about it.
    columns
        The columns of the file, for the places of cells.
    counts
        The counts that it publishes, for the comparison with other outputs; None if there are none.
    """

    name: str
    form: str
    barns: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    columns: tuple[str, ...] = ()
    counts: Counts | None = field(default=None, repr=False)

    @property
    def verdict(self) -> Verdict:
        """The worst of what was found; safe if nothing was."""
        found = [finding.verdict for finding in self.findings]
        return max(found, key=lambda verdict: verdict.severity, default=Verdict.SAFE)


def cells_in_words(cells: Sequence[Cell], *, columns: bool = False) -> str:
    """Return cells as a reason names them: rows from 1, with columns where they matter.

    Examples
    --------
    >>> cells_in_words([(1, "n")]), cells_in_words([(1, "n"), (4, "n"), (5, "n")])
    ('row 2', 'rows 2, 5 and 6')
    >>> cells_in_words([(1, "north"), (4, "south")], columns=True)
    'row 2 of north and row 5 of south'
    """
    shown, more = cells[:SHOWN], len(cells) - SHOWN
    if not columns:
        parts = [f"{row + 1:,}" for row, _ in shown]
        start = "row " if len(cells) == 1 else "rows "
    else:
        parts, start = [f"row {row + 1:,} of {column}" for row, column in shown], ""
    if more > 0:
        parts.append(f"{more:,} more")
    return start + " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def named_in_words(cells: Sequence[Mapping[str, str]]) -> str:
    """Return cells by the values of their keys, the first three of them.

    Examples
    --------
    >>> named_in_words([{"region": "n", "sex": "f"}, {}])
    'region n, sex f; all together'
    """
    named = [
        ", ".join(f"{name} {value}" for name, value in cell.items()) or "all together"
        for cell in cells[:3]
    ]
    more = f" and {len(cells) - 3:,} more" if len(cells) > 3 else ""
    return "; ".join(named) + more


# -------------------------------------------------------------------------------------------------
# The (n, k) and the p % rule: whether few contributors make up so much of a cell that it tells.


def few_have_most(total: Any, top: Any, share: float, slack: float = 0) -> Any:
    """Say whether the n largest contributors have more than the share k of a total.

    Parameters
    ----------
    total, top
        The sum of all contributions and that of the n largest: of one cell, or arrays of many.
    share
        The share k.
    slack
        By so much, of the total, it may be less. With any slack a share of exactly k is too much.

    Examples
    --------
    >>> few_have_most(100, 90, 0.9), few_have_most(100, 90, 0.9, 1e-9)
    (False, True)
    """
    return top > (share - slack) * total


def largest_can_be_told(
    total: Any, largest: Any, two_largest: Any, p: float, slack: float = 0
) -> Any:
    """Say whether the rest is less than the share p of the largest.

    The second largest contributor, who knows her own part, can then estimate the largest that well.

    Parameters
    ----------
    total, largest, two_largest
        The sums of all contributions, of the largest and of the two largest: of one cell, or arrays
        of many.
    p
        The share p.
    slack
        By so much, of the total, the rest must be less.

    Examples
    --------
    >>> largest_can_be_told(100, 60, 95, 0.1), largest_can_be_told(100, 60, 94, 0.1)
    (True, False)
    """
    return total - two_largest < p * largest - slack * total
