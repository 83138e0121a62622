"""What page one says: the verdict, what analysts can rely on, and what leaves as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from caveat.evidence import verdict_of
from caveat.evidence.verdict import NOTABLE, beyond_chance
from caveat.report.blocks import Block, Cell, Field, Grid, cell
from caveat.report.wording import (
    NBSP,
    Evidence,
    and_list,
    called,
    column_cell,
    count,
    has_plain_trees,
    number,
    other_columns,
    percent,
    phrase,
    shown,
    tiny,
    unit_of,
)

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


# -------------------------------------------------------------------------------------------------
# What analysts can rely on, for page one: correlations, regressions, and pairs not to trust.
#
# None of these figures depends on the number of records, as the propensity scores of the annex
# do.


Reading = Literal["all", "most", "some", "few", "unknown"]

KEPT = "correlations kept"
RATIO, OVERLAP = "coefficient ratio", "interval overlap"
# The rows of the table, in words.
SAYS = {
    KEPT: "Correlations kept",
    f"automatic {RATIO}": "Coefficients of automatic regressions, relative to the original's",
    f"automatic {OVERLAP}": "Overlap of their confidence intervals, as 1,000 records give them",
    RATIO: "Coefficients, relative to the original's",
    OVERLAP: "Overlap of confidence intervals, as 1,000 records give them",
}
# Shares of the correlations from which on all, most and some of them are said to be kept.
ALL, MOSTLY, SOME = 0.975, 0.8, 0.5
WORST = 5
IN_WORDS = {
    "all": "Nearly all correlations of the original are kept",
    "most": "Most correlations of the original are kept",
    "some": "Only some correlations of the original are kept",
    "few": "Most correlations of the original are lost",
}


def reliance(evidence: Evidence) -> list[Block]:
    """Return what analysts can rely on: a table, and the pairs of columns not to trust.

    Empty where nothing of it was measured.
    """
    found = [m for m in evidence["utility"].get("measurements", ()) if m["measure"] in SAYS]
    held = [m for m in found if m["value"] is not None]
    if not held:
        return []
    blocks: list[Block] = [
        Grid(
            _caption(evidence),
            [Field("What is compared", wide=True), Field("Release", numeric=True),
             Field("Fresh sample", numeric=True), Field("Independent columns", numeric=True)],
            [_row(m) for m in held],
            name="reliance",
        )
    ]  # fmt: skip
    pairs = evidence["utility"].get("associations", ())
    if pairs:
        blocks.append(_pairs(evidence, pairs))
    return blocks


def correlations_reading(evidence: Evidence) -> Reading:
    """Return how many of the correlations are kept; of several tables in the worst one."""
    values = [
        m["value"]
        for m in evidence["utility"].get("measurements", ())
        if m["measure"] == KEPT and m["value"] is not None
    ]
    if not values:
        return "unknown"
    worst = min(values)
    return (
        "all" if worst >= ALL else "most" if worst >= MOSTLY else "some" if worst >= SOME else "few"
    )


def in_words(evidence: Evidence) -> str:
    """Return what analysts can rely on in sentences; "" where it was not measured."""
    reading = correlations_reading(evidence)
    if reading == "unknown":
        return ""
    told = []
    for name, what in (
        (KEPT, "correlations kept"),
        (f"automatic {RATIO}", "coefficients relative to the original's"),
    ):
        measured = [m for m in evidence["utility"]["measurements"]
                    if m["measure"] == name and m["value"] is not None]  # fmt: skip
        if measured:
            m = min(measured, key=lambda m: m["value"])
            fresh = "" if m["resample"] is None else f", {percent(m['resample'])} in a fresh sample"
            told.append(f"{what} {percent(m['value'])}{fresh}")
    return f"{IN_WORDS[reading]} ({'; '.join(told)})."


def _caption(evidence: Evidence) -> str:
    reading = correlations_reading(evidence)
    return (
        f"What analysts can rely on. {IN_WORDS[reading]}."
        if reading in IN_WORDS
        else ("What analysts can rely on")
    )


def _row(m: Mapping[str, Any]) -> list[Cell]:
    def share(field: str) -> Cell:
        value = m.get(field)
        return cell(number(value, m["measure"], "share"), value)

    says = SAYS[m["measure"]] + (f": {m['model']}" if m.get("model") else "")
    of = f", {m['table']}" if m.get("table") else ""
    counted = next((n["parameters"] for n in m["notes"] if n["code"] == "pairs-kept"), None)
    small = str(m["measure"])
    if counted is not None:
        small = f"{counted['kept']:,} of {counted['pairs']:,} pairs of columns"
    return [cell(f"{says}{of}", None, small), share("value"), share("resample"),
            share("independent")]  # fmt: skip


def _pairs(evidence: Evidence, pairs: Any) -> Grid:
    worst = pairs[:WORST]
    which = count(len(worst), "pair") if len(worst) == len(pairs) else f"the {len(worst)} worst"

    def value(one: Mapping[str, Any], side: str) -> Cell:
        shown = one[side]
        if shown is None:
            return cell("–")
        return cell(f"{shown:.2f}".replace("-", "−").replace("−0.00", "0.00"), shown)

    return Grid(
        f"Pairs of columns not to trust: {which}",
        [Field("Column"), Field("With"), Field("Original", numeric=True),
         Field("Release", numeric=True)],
        [
            [
                column_cell(evidence, one["names"][0]),
                column_cell(evidence, one["names"][1], one["coefficient"]),
                value(one, "original"),
                value(one, "synthetic"),
            ]
            for one in worst
        ],
        name="distrusted",
    )  # fmt: skip


# -------------------------------------------------------------------------------------------------
# Earlier releases of the same data, in one line.


def released_before(evidence: Evidence, *, short: bool = False) -> Iterator[tuple[str, str]]:
    """Say that the same data were released before, and what that comes to; nothing if not.

    Parameters
    ----------
    evidence
        The evidence; of the external version earlier releases are no part.
    short
        Whether only the number that rises most is told.
    """
    found = evidence.get("earlier_releases")
    if not found or not (found["releases"] or found["other_data"]):
        return
    n, other = found["releases"], found["other_data"]
    times = "once" if n == 1 else f"{n:,} times"
    text = f"These data were released {times} before." if n else "Not these data, by the ledger."
    told = _told(evidence, found)
    if told:
        most = max(told, key=lambda one: one[0])[1]
        text += (
            f" By all {found['together'] + 1:,} releases together the strong attacker is nearly "
            f"certain (0.9 or more) {most if short else '; '.join(words for _, words in told)}."
        )
        parts = (found["membership"], *found["targets"])
        fitted = evidence["release"]["fitted_rows"] or 0
        if not short and any(one["records"] < fitted for one in parts):
            text += (
                " These are records chosen once for all releases of the data, not those that the "
                "attackers of this report are tried on: numbers differ for that reason."
            )
    elif n:
        text += " What the releases tell together is not added up."
    left_out = len(found["left_out"])
    if left_out and told:
        text += f" {count(left_out, 'release')} could not be added."
    if other:
        are = "is" if other == 1 else "are"
        text += f" {count(other, 'release')} under the same name {are} of other data and not added."
    yield "Released before", f"{text} Details: remarks of the run." if short else text


def _told(evidence: Evidence, found: Mapping[str, Any]) -> list[tuple[float, str]]:
    """Return of whom she is sure by all releases and by this one alone, with how much is added."""
    if found["membership"] is None:
        return []
    parts = [("that they were in the data", found["membership"])]
    parts += [(f"of {called(evidence, one['target'])}", one) for one in found["targets"]]
    told = []
    for what, one in parts:
        together, alone = one["together"]["share"], one["alone"]["share"]
        words = (
            f"{what} for {percent(together)} of {count(one['records'], 'record')} (by this release "
            f"alone {percent(alone)})"
        )
        told.append((together - alone, words))
    return told


# -------------------------------------------------------------------------------------------------
# What leaves as it is: copied, looked up, named, or taken as public without being declared.


# Columns that no model draws, and that are no copies of a record's values either.
NOT_COPIED = {
    "derived": "computed from other columns",
    "lookup": "looked up",
    "constant": "the same in all rows",
    "key": "fresh keys",
    "replaced": "replaced by invented values",
}
FEW_TABLES = {"promise": "noisy tables", "cleared": "cleared tables"}


def unprotected(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Say what is copied or not protected; if it is nothing, that it is nothing."""
    yield from _rare(evidence)
    yield from _replaced(evidence)
    found, more = list(_as_it_is(evidence)), [*_looked_up(evidence), *_undeclared(evidence)]
    yield from [*found, *more]
    if found:
        return
    if evidence["synthesis"] is None:
        yield "Copied or not protected", "Not known: the tables were made elsewhere."
        return
    methods = {c["name"]: c["method"] for c in evidence["synthesis"]["columns"]}
    methods |= {found["column"]: "replaced" for found in evidence["release"].get("replaced", ())}
    released = evidence["release"]["columns"]
    apart = {
        words: [n for n in released if methods.get(n, "key") == method]
        for method, words in NOT_COPIED.items()
    }
    others = sum(map(len, apart.values()))
    told = [f"{and_list(names, most=4)}: {words}" for words, names in apart.items() if names]
    drawn = f"{len(released) - others:,} of {len(released):,}" if others else "all"
    yield (
        "Copied or not protected",
        f"No column{' is copied' if more else ''}. Of the released columns {drawn} are drawn "
        f"from {_source(evidence)}" + (f" ({'; '.join(told)})." if told else "."),
    )


HOW = {
    "pooled": "pooled into one level",
    "commonest": "too few to pool, and replaced by the most frequent level",
    "neighbour": "merged with the neighbouring level",
    "empty": "left empty",
    "left out": "left out with the column",
    "kept": "released all the same",
}


def _rare(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Say what was done to levels that few people have, and who can be proven by a level."""
    rare = evidence["release"].get("rare_levels")
    if rare is None:
        return
    below, told = rare["below"], []
    for how, words in HOW.items():
        of = [c for c in rare["columns"] if c["how"] == how]
        if of:
            which = and_list([called(evidence, c["column"]) for c in of], most=6)
            levels = sum(c.get("levels", 0) for c in of)
            told.append(f"{count(levels, 'level') if levels else 'levels'} of {which} {words}")
    if rare.get("people_kept"):
        told.append(
            f"the membership of {count(rare['people_kept'], 'person', 'people')} is certain "
            "by a rare level that leaves"
        )
    if rare.get("people_at_threshold"):
        told.append(
            f"{count(rare['people_at_threshold'], 'person', 'people')} have a level that exactly "
            f"{below} have: an attacker who knows all others can prove that they took part"
        )
    if told:
        yield "Rare levels", f"Fewer than {below} people have them: {'; '.join(told)}."


def _replaced(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Say which columns invented values take the place of."""
    found = evidence["release"].get("replaced", ())
    if found:
        which = and_list([f"{called(evidence, one['column'])} ({one['is']})" for one in found],
                         most=20)  # fmt: skip
        yield (
            "Replaced by invented values",
            f"{which}. They come from no record and have no relation to the other columns; no "
            "attack and no measure of utility uses them.",
        )


def _looked_up(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Say which columns follow from others as they do in the original, value by value."""
    columns = (evidence["synthesis"] or {"columns": ()})["columns"]
    names = evidence["release"]["columns"]
    told = []
    for c in columns:
        if c["method"] == "lookup" and c["name"] in names:
            by = and_list([called(evidence, name) for name in c["predictors"]], most=4)
            whose = f"its {by}" if by else "a column that is not released"
            told.append(f"{called(evidence, c['name'])}: each value as in the original for {whose}")
    if told:
        yield (
            "Looked up in the original",
            f"{'; '.join(told)}. Which values go together is shown as it is, not protected.",
        )


def _undeclared(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Say of which columns the ends were read off the data and are taken as public."""
    assumed = (evidence["synthesis"] or {}).get("assumed_public", ())
    texts = (entry.partition(": ") for entry in assumed)
    names = list(
        dict.fromkeys(n for n, _, text in texts if text.startswith(("range ", "its range")))
    )
    if names:
        which = and_list([called(evidence, name) for name in names], most=4)
        yield (
            "Undeclared ranges",
            f"{count(len(names), 'column')} ({which}). The ends were read off the data, rounded "
            f"outwards, and are taken as public.{_ends(evidence)} See “Assumed public” under how "
            "the release was made.",
        )


def _ends(evidence: Evidence) -> str:
    """Say how many people an end of a range proves."""
    ends = evidence["release"].get("range_ends")
    if ends is None or not ends.get("people"):
        return ""
    people = count(ends["people"], "person holds", "people hold")
    return (
        f" {people} an end alone; a released value beyond it proves {ends['proven']:,} of them "
        "to an attacker who knows all others."
    )


def _source(evidence: Evidence) -> str:
    """Return what columns are drawn from."""
    tables = [words for name, words in FEW_TABLES.items() if name in evidence]
    return tables[0] if tables and not other_columns(evidence) else "models"


def _as_it_is(evidence: Evidence) -> Iterator[tuple[str, str]]:
    kept = evidence["release"].get("identifying", ())
    if kept:
        which = and_list(
            [f"{called(evidence, found['column'])} ({found['is']})" for found in kept], most=20
        )
        decided = (
            "Somebody decided to keep them."
            if evidence["release"]["synthesised_by"] == "caveat"
            else "The tables were made elsewhere: check whether the values are real."
        )
        yield (
            "Real identifying values leave",
            f"Columns that name people leave with this release: {which}. {decided}",
        )
    columns = (evidence["synthesis"] or {"columns": ()})["columns"]
    copied = [called(evidence, c["name"]) for c in columns if c["method"] == "copy"]
    if copied:
        yield (
            "Copied columns",
            f"{and_list(copied, most=20)}: copied from the original and not protected at all. The "
            "rows of the release are shuffled as a whole.",
        )
    private = [
        found
        for found in evidence["release"].get("private_numbers", ())
        if beyond_chance(found) >= NOTABLE
    ]
    if private:
        private.sort(key=lambda found: -beyond_chance(found))
        which = and_list([_beside_chance(evidence, found) for found in private], most=6)
        yield (
            "Values of single people",
            "Released numbers that exactly one original record has, and levels that few have, more "
            f"often than by chance: {which}. "
            + (
                'Rounding, smoothing or guarded trees (method = "guarded")'
                if has_plain_trees(evidence)
                else "Rounding or smoothing"
            )
            + " would hide them.",
        )


def _beside_chance(evidence: Evidence, found: Mapping[str, Any]) -> str:
    """Return a column with the share of its released values, and that of chance."""
    text = f"{called(evidence, found['column'])} {percent(found['released'])}"
    if found.get("control") is not None:
        return f"{text} ({percent(found['control'])} of the people not in the data)"
    if found.get("baseline") is not None:
        return f"{text} ({percent(found['baseline'])} by chance)"
    return text
