"""The attacks by the name under which they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from caveat.attack.ordinary import distances
from caveat.attack.ordinary.classifiers import prediction
from caveat.attack.ordinary.density import membership_scores
from caveat.attack.ordinary.inference import inference
from caveat.attack.ordinary.linkability import linkability
from caveat.attack.ordinary.linkage import closer_than_neighbour
from caveat.attack.ordinary.outliers import outlier_links
from caveat.attack.ordinary.singling_out import singling_out
from caveat.errors import CaveatError
from caveat.notes import Note
from caveat.risk.measurement import Measurement
from caveat.table import Table, align
from caveat.table.overlap import refuse_other_table

__all__ = ["KINDS", "Finding", "Options", "check_options", "run_kind"]

# Shares of outsiders that may be taken for members.
FALSE_POSITIVES = (0.01, 0.001)


@dataclass(frozen=True)
class Options:
    """What an attack may be told.

    Parameters
    ----------
    keys
        What the attacker knows; for linkability what the first party knows.
    second
        For linkability: what the second party knows.
    target
        What she wants to learn.
    control
        People who were not in the data.
    size
        For the classifiers: every combination of so many keys.
    columns
        For singling out: columns in a description.
    tolerance
        By column: how far a number may lie off.
    neighbours
        For linkability: nearest records that each party takes.
    fraction
        For membership: the share of the population that is in the data.
    attacks
        How many attacks.
    seed
        Root of the randomness.
    """

    keys: tuple[str, ...] = ()
    second: tuple[str, ...] = ()
    target: str | None = None
    control: Any = None
    size: int | None = None
    columns: int = 4
    tolerance: Mapping[str, float] = field(default_factory=dict)
    neighbours: int = 1
    fraction: float | None = None
    attacks: int = 2000
    seed: int = 0


class Finding(NamedTuple):
    """A result and its name in MEASURES; ``label`` tells several of one name apart."""

    measure: str
    label: str
    result: Measurement


def run_kind(kind: str, original: Any, synthetic: Any, options: Options) -> tuple[Finding, ...]:
    """Run one kind of attack on one release.

    Parameters
    ----------
    kind
        One of KINDS: classifier, singling-out, linkability, inference, outliers, membership,
        distances.
    original, synthetic
        Frames or tables.
    options
        What the attack needs to know.
    """
    try:
        run = KINDS[kind]
    except KeyError:
        raise CaveatError(
            f"there is no attack of kind {kind!r}", do=f"choose among {', '.join(KINDS)}"
        ) from None
    doubts = tuple(_doubts(original, synthetic, options))
    found = run(original, synthetic, options)
    return tuple(
        one._replace(result=replace(one.result, notes=(*one.result.notes, *doubts)))
        for one in found
    )


def _doubts(original: Any, synthetic: Any, options: Options) -> Iterator[Note]:
    """Say in which columns of the attack the two tables hardly belong together."""
    both = align(Table.from_frame(original), Table.from_frame(synthetic))
    named = {*options.keys, *options.second, *([options.target] if options.target else [])}
    refuse_other_table(both.original, [both.synthetic])
    for difference in both.differences:
        if difference.is_alarm and (not named or difference.column in named):
            yield Note("tables-differ", str(difference))


def _classifier(original: Any, synthetic: Any, options: Options) -> list[Finding]:
    target = _target(options)
    found = prediction(
        original, synthetic, keys=_keys(options), target=target, control=options.control,
        size=options.size, tolerance=options.tolerance.get(target), seed=options.seed,
    )  # fmt: skip
    return [Finding("prediction", name, found.measurement(name)) for name in found.names]


def _singling_out(original: Any, synthetic: Any, options: Options) -> list[Finding]:
    shared = {"control": options.control, "attacks": options.attacks, "seed": options.seed}
    return [
        Finding(
            "singlingOut",
            f"{options.columns} columns",
            singling_out(original, synthetic, columns=options.columns, **shared),
        ),
        Finding(
            "singlingOut", "one column", singling_out(original, synthetic, columns="one", **shared)
        ),
    ]


def _linkability(original: Any, synthetic: Any, options: Options) -> list[Finding]:
    if not options.second:
        raise CaveatError("linkability needs two parties", do="name the columns of the second")
    found = linkability(
        original, synthetic, first=_keys(options), second=options.second, control=options.control,
        neighbours=options.neighbours, attacks=options.attacks, seed=options.seed,
    )  # fmt: skip
    return [Finding("linkability", f"{options.neighbours} nearest", found)]


def _inference(original: Any, synthetic: Any, options: Options) -> list[Finding]:
    target = _target(options)
    more = {}
    if target in options.tolerance:
        more = {"relative": 0.0, "absolute": options.tolerance[target]}
    found = inference(
        original, synthetic, keys=_keys(options), target=target, control=options.control,
        attacks=options.attacks, seed=options.seed, **more,
    )  # fmt: skip
    return [Finding("inference", target, found)]


def _outliers(original: Any, synthetic: Any, options: Options) -> list[Finding]:
    return [
        Finding(
            "outlierLinks",
            rule,
            outlier_links(
                original, synthetic, keys=_keys(options), target=options.target,
                control=options.control, tolerance=options.tolerance, rule=rule, seed=options.seed,
            ),
        )
        for rule in ("z", "mad", "depth")
    ]  # fmt: skip


def _membership(original: Any, synthetic: Any, options: Options) -> list[Finding]:
    if options.control is None:
        raise CaveatError(
            "membership needs people who were not in the data", do="give them as the control"
        )
    out = []
    for score in ("density", "distance"):
        found = membership_scores(
            original, synthetic, control=options.control, score=score,
            attacks=options.attacks, seed=options.seed,
        )  # fmt: skip
        out += [
            Finding(
                "membershipScore",
                f"{score}, false ≤ {100 * share:g} %",
                found.true_positives(share),
            )
            for share in FALSE_POSITIVES
        ]
        if options.fraction is not None:
            f1, without = found.f1(options.fraction)
            result = Measurement(f1, baseline=without, n=len(found.members))
            out.append(Finding("membershipF1", f"F1, {score}", result))
    return out


def _distances(original: Any, synthetic: Any, options: Options) -> list[Finding]:
    control = options.control
    names: dict[str, Callable[..., Measurement]] = {
        "DCR": distances.closest_record,
        "NNDR": distances.neighbour_ratio,
        "IMS": distances.identical_matches,
        "epsilonIdentifiability": distances.epsilon_identifiability,
        "tooClose": closer_than_neighbour,
    }
    out = [Finding(n, "", run(original, synthetic, control=control)) for n, run in names.items()]
    if control is not None:
        share = distances.closest_share(original, synthetic, control=control)
        out.insert(1, Finding("DCRshare", "", share))
    return out


def _keys(options: Options) -> tuple[str, ...]:
    if not options.keys:
        raise CaveatError("no key is named", do="say which columns an attacker may know (keys)")
    return options.keys


def _target(options: Options) -> str:
    if options.target is None:
        raise CaveatError("no target is named", do="say what she wants to learn (target)")
    return options.target


# What each kind takes beside the control, the number of attacks and the seed.
TAKES = {
    "classifier": {"keys", "target", "size", "tolerance"},
    "singling-out": {"columns"},
    "linkability": {"keys", "second", "neighbours"},
    "inference": {"keys", "target", "tolerance"},
    "outliers": {"keys", "target", "tolerance"},
    "membership": {"fraction"},
    "distances": set[str](),
}


def check_options(kind: str, options: Options) -> None:
    """Refuse options that an attack of this kind does not look at.

    Parameters
    ----------
    kind
        One of KINDS.
    options
        What was asked for.
    """
    unset = Options()
    for part in fields(options):
        if part.name in {"control", "attacks", "seed", *TAKES.get(kind, ())} or kind not in TAKES:
            continue
        if getattr(options, part.name) != getattr(unset, part.name):
            name = "subsets" if part.name == "size" else part.name
            raise CaveatError(f"an attack of kind {kind} takes no {name}", do=f"drop {name}")
    if kind in ("classifier", "inference"):
        for name in set(options.tolerance) - {options.target}:
            raise CaveatError(
                "here only the target can have a tolerance", column=name, do="drop it"
            )


KINDS: dict[str, Callable[[Any, Any, Options], list[Finding]]] = {
    "classifier": _classifier,
    "singling-out": _singling_out,
    "linkability": _linkability,
    "inference": _inference,
    "outliers": _outliers,
    "membership": _membership,
    "distances": _distances,
}
"""The kinds of attack."""
