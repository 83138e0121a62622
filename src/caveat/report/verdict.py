"""The verdict of the evidence in words: one sentence, and what stands behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from caveat.evidence import verdict_of
from caveat.report.numbers import NBSP, count, number, percent, tiny
from caveat.report.reading import Evidence, and_list, shown, unit_of
from caveat.report.wording import called, phrase

__all__ = ["CODES", "FEW", "compared", "headline", "never", "reasons"]

MOST = 3
"""Findings of a kind that page one names."""
NOT_READY = "as specified, not ready for release"
CODES = {
    "promise": "a promise stands for the measurements",
    "not-ready": "not ready for release",
    "too-small": "too few people to rely on the numbers",
    "not-measured": "a limit could not be measured",
    "unattainable": "a limit that no setting can meet",
    "uncovered": "a risk that no limit covers",
    "no-limit": "no limit was set",
    "met": "all limits are met",
}
"""The verdict in a few words."""
FEW = "too few people were held out to exclude a rise above the control"
MEMBERS = {"membershipShare": "of the people known to be in the data"}
SUBJECTS = {
    "membershipShare": "the secrecy of who took part",
    "strongShare": "the secrecy of {target} from an attacker who knows all else",
    "strongWorst": "the secrecy of {target} for every single person",
    "DiSCO": "the secrecy of {target} among people whose keys are known",
    "nearDiSCO": "the secrecy of {target} among people whose keys are known",
    "repU": "unique people not being found by their keys",
    "exactMatch": "rows not being copies of original rows",
    "fullMatch": "rows not being copies of original rows",
    "S_pMSE two-way": "tables of two variables",
}
"""What a measure is evidence of."""
TABLES = {"S_pMSE two-way": "tables of two variables"}
Finding = Mapping[str, Any]


def headline(evidence: Evidence) -> str:
    """Return what the evidence says, in one sentence; of a trial that it is one."""
    said = _headline(evidence)
    return f"Trial, not for release. {said}" if evidence.get("trial") else said


def _headline(evidence: Evidence) -> str:
    found = evidence.get("verdict") or verdict_of(evidence)
    code, n = found["code"], sum(found["limits"].values())
    if code == "promise":
        promise = evidence["promise"]
        return (
            f"Differential privacy is promised: ε = {promise['epsilon']:g}, "
            f"δ = {tiny(promise['delta'])}."
        )
    if code == "not-ready":
        return _not_ready(evidence, found)
    if code == "too-small":
        people = next(f["n"] for f in found["unreliable"] if f["code"] == "few-people")
        return (
            f"Only {count(people, 'person is', 'people are')} behind the numbers: too few to "
            "conclude from them."
        )
    if n and found["limits"]["not_shown"] == n:
        return "How the limits compare is not shown: too few records."
    if code == "not-measured":
        return f"{_unmet(found)}{_hidden(found)}: {NOT_READY}."
    if code == "unattainable":
        return _unattainable(found)
    if code == "uncovered":
        return _uncovered(evidence, found)
    if code == "no-limit":
        return "No limit was set: whether this is ready for release is for the board to say."
    return f"{_met(found)}{_hidden(found)}; the decision is the board's."


def _not_ready(evidence: Evidence, found: Mapping[str, Any]) -> str:
    codes = {finding["code"]: finding for finding in found["unreliable"]}
    if "real-values" in codes:
        columns = _columns(evidence, codes["real-values"])
        return f"Values that name people leave in {columns}: {NOT_READY}."
    if "copied-columns" in codes:
        columns = _columns(evidence, codes["copied-columns"])
        return f"Original values leave unchanged in {columns}: {NOT_READY}."
    if "copied-rows" in codes:
        share = percent(codes["copied-rows"]["value"])
        return f"The table repeats original records ({share}): {NOT_READY}."
    return f"{_unmet(found)}{_hidden(found)}: {NOT_READY}."


def _unmet(found: Mapping[str, Any]) -> str:
    """Return how many limits are not met, and how many could not be measured."""
    limits, n = found["limits"], sum(found["limits"].values())
    the_only, parts = "The limit that was set", []
    broken, unknown, never = (limits[k] for k in ("not_met", "not_measured", "cannot_be_met"))
    if broken:
        which = the_only if n == 1 else f"{broken:,} of {n:,} limits"
        parts.append(f"{which} {'is' if broken == 1 else 'are'} not met")
    if unknown:
        which = the_only if n == 1 else f"{unknown:,}" + ("" if broken else f" of {n:,} limits")
        parts.append(f"{which} could not be measured")
    if never:
        parts.append(f"{never:,} cannot be met by any setting")
    return and_list(parts)


def _hidden(found: Mapping[str, Any]) -> str:
    hidden = found["limits"]["not_shown"]
    return f" ({hidden:,} not shown: too few records)" if hidden else ""


def _met(found: Mapping[str, Any]) -> str:
    n, met = sum(found["limits"].values()), found["limits"]["met"]
    if n == 1:
        return "The limit that was set is met"
    return f"All {n:,} limits are met" if met == n else f"{met:,} of {n:,} limits are met"


def _unattainable(found: Mapping[str, Any]) -> str:
    n, never = sum(found["limits"].values()), found["limits"]["cannot_be_met"]
    which = "The limit that was set" if n == 1 else f"{never:,} of {n:,} limits"
    others = "" if n == never else f"; of the others {found['limits']['met']:,} are met"
    return (
        f"{which} cannot be met by any setting, since it is exceeded without this release "
        f"too{others}: the limit says nothing about this release."
    )


def _uncovered(evidence: Evidence, found: Mapping[str, Any]) -> str:
    worst = next(f for f in found["unreliable"] if f["code"] in ("rises", "single-values"))
    n = sum(found["limits"].values())
    begin = f"{_met(found)}, but" if n else "No limit was set, and"
    if worst["code"] == "single-values":
        return f"{begin} values of single people leave in {_columns(evidence, worst)}."
    what = f"{phrase(evidence, worst)}, {compared(evidence, worst)}"
    return f"{begin} one number stands out: {what}."


def compared(evidence: Evidence, m: Finding) -> str:
    """Return a number and what it is compared with.

    The control comes first, people who are not in the data; else the baseline.
    """
    text = shown(evidence, m)
    if m.get("scenario") == "utility":
        fresh = f", {shown(evidence, m, 'baseline')} for a fresh sample of the original"
        return text if m.get("baseline") is None else f"{text}{fresh}"
    if m.get("control") is not None:
        return f"{text}, {shown(evidence, m, 'control')} of people not in the data"
    if m.get("baseline") is not None:
        return f"{text}, {shown(evidence, m, 'baseline')} without the release"
    return text


def reasons(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Return what the board can rely on, what not, and the next step with its price."""
    found = evidence.get("verdict") or verdict_of(evidence)
    if found["code"] == "promise":
        return
    for lead, findings in (
        ("The board can rely on", found["reliable"]),
        ("The board cannot rely on", found["unreliable"]),
    ):
        texts = list(dict.fromkeys(_says(evidence, finding) for finding in findings))
        if texts:
            more = len(texts) - MOST
            rest = f"; and {more:,} more below" if more > 0 else ""
            yield lead, f"{'; '.join(texts[:MOST])}{rest}."
    if found["next"] is not None:
        yield "Next step", _next(evidence, found["next"])


def _says(evidence: Evidence, f: Finding) -> str:
    """Return one finding in words."""
    if "measure" in f:
        if f["code"] == "limit-unattainable":
            return f"the limit on {f['measure']}: {never(evidence, f)}"
        what = SUBJECTS.get(f["measure"], phrase(evidence, f))
        target = f"“{called(evidence, f['target'])}”" if f.get("target") else "the target"
        what = what.format(target=target)
        if f["code"] == "limit-not-measured":
            return f"{what}, which could not be measured ({f['measure']})"
        what = f"{what} ({f['measure']} {compared(evidence, f)})"
        return f"{what}: {FEW}" if f["code"] == "within-chance" else what
    columns = _columns(evidence, f)
    if f["code"] == "few-people":
        return f"any share, since {count(f['n'], 'person is', 'people are')} behind it"
    return {
        "real-values": f"{columns}: the values name people and leave as they are",
        "copied-columns": f"{columns}: copied from the original",
        "single-values": f"{columns}: values of single people, more than by chance",
        "undeclared-groups": f"the control: rows of one {columns or 'group'} are on both sides",
        "no-control": "levels alone, since nobody was held out as a control",
        "no-strong-attacker": "any of these numbers as the worst case: the strong attacker was not "
        "computed",
    }[f["code"]]


def never(evidence: Evidence, f: Finding) -> str:
    """Say of a limit that no setting can meet what shows it."""
    if f.get("control") is not None:
        return (
            "no setting can meet it: people who are not in the data have "
            f"{shown(evidence, f, 'control')}"
        )
    return f"no setting can meet it: the baseline is {shown(evidence, f, 'baseline')}"


def _columns(evidence: Evidence, about: Mapping[str, Any]) -> str:
    return and_list([called(evidence, name) for name in about.get("columns", ())], most=4)


def _next(evidence: Evidence, step: Mapping[str, Any]) -> str:
    columns = _columns(evidence, step)
    if step["code"] in ("safer-setting", "more-useful-setting"):
        price = [_price(evidence, step[kind]) for kind in ("risk", "utility")]
        if step["code"] == "more-useful-setting":
            price.reverse()
        return f"{step['setting']}: {'; '.join(price)}."
    measure = step.get("measure", "")
    return {
        "leave-out": f"leave out {columns}, or have the values replaced by invented ones.",
        "synthesise": f"synthesise {columns or 'the table'} instead of copying it.",
        "declare-groups": f'declare the groups, [groups] with key = "{columns}", and run again.',
        "limit-above": f"replace the limit by {measure} = {{ above = 2 }}: it compares with people "
        "who are not in the data.",
        "coarsen": f"coarsen or leave out columns that “{step.get('scenario')}” uses.",
        "hold-out": "hold out more records (control in [release]), so that the rise above people "
        "who are not in the data can be measured.",
    }[step["code"]]


def _price(evidence: Evidence, one: Mapping[str, Any]) -> str:
    name, unit = one["measure"], unit_of(evidence, one["measure"])
    then, now = (number(one[when], name, unit) for when in ("then", "now"))
    text = f"{then} instead of {now}"
    if name in MEMBERS:
        return f"{text} {MEMBERS[name]}"
    return f"{TABLES.get(name, phrase(evidence, {'measure': name}))} {text} (1{NBSP}is expected)"
