"""What leaves as it is: copied, looked up, named, or taken as public without being declared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from caveat.evidence.verdict import NOTABLE, beyond_chance
from caveat.report.numbers import count, percent
from caveat.report.reading import Evidence, and_list, has_plain_trees, other_columns
from caveat.report.wording import called

__all__ = ["unprotected"]

# Columns that no model draws, and that are no copies of a record's values either.
NOT_COPIED = {
    "derived": "computed from other columns",
    "lookup": "looked up",
    "constant": "the same in all rows",
    "key": "fresh keys",
}
TABLES = {"promise": "noisy tables", "cleared": "cleared tables"}


def unprotected(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Say what is copied or not protected; if it is nothing, that it is nothing."""
    yield from _rare(evidence)
    found, more = list(_as_it_is(evidence)), [*_looked_up(evidence), *_undeclared(evidence)]
    yield from [*found, *more]
    if found:
        return
    if evidence["synthesis"] is None:
        yield "Copied or not protected", "Not known: the tables were made elsewhere."
        return
    methods = {c["name"]: c["method"] for c in evidence["synthesis"]["columns"]}
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
    "commonest": "too few to be pooled, and given the commonest level",
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
    elif below == 1:
        yield "Rare levels", "Every level leaves, however few people have it (rare_below = 1)."


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
    tables = [words for name, words in TABLES.items() if name in evidence]
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
