"""The table of everything that can stand in a release specification, also as JSON schema."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields, replace
from typing import Any, Literal

from caveat.attack.figures import Attacker, Option
from caveat.attack.paired import LEAST_SIMULATIONS, RECORDS, SIMULATIONS
from caveat.attack.registry import ATTACKS, attacks_of
from caveat.protect.pipeline import PROTECTIONS, arguments_of
from caveat.risk import MEASURES
from caveat.risk.scenario import DEFAULT_PRIOR, PRIORS
from caveat.spec._kinds import (
    Choice,
    Either,
    EntryKind,
    Flag,
    Group,
    Key,
    Many,
    Named,
    Number,
    Plain,
    Text,
    Whole,
)
from caveat.spec.data_entries import COLUMN, DATA, GROUPS, PRIVACY, RELEASE, TABLE
from caveat.spec.limits import STRONG_MEASURES, STRONGEST
from caveat.synthesis.choosing import ALL, AUTO, MOST, WIDE
from caveat.synthesis.coding import SCALES
from caveat.synthesis.margins.promise import OPTIONS
from caveat.synthesis.methods import METHODS, Settings
from caveat.synthesis.methods.guarded import GUARDS
from caveat.synthesis.options import GIVEN, WITHOUT_MODEL
from caveat.synthesis.plan import SYNTHPOP
from caveat.synthesis.replacing import HOW
from caveat.synthesis.seen import USUAL_BINS
from caveat.table.identifying import K
from caveat.table.source import writable
from caveat.utility import MEASURES as UTILITIES

ATTACKERS: tuple[Attacker | Literal["release"], ...] = (
    "release",
    "strong",
    "simulated",
    "ordinary",
)

_TWO_TABLES = frozenset({"keys", "target", "tolerance", "columns"})
# What a scenario says about every attacker, or a specification about the release.
_COMMON = frozenset({"keys", "target", "tolerance", "control", "seed"})


def measures_of(attacker: Attacker | Literal["release"]) -> tuple[str, ...]:
    """Return the measures that an attacker can have."""
    if attacker != "release":
        attacks = attacks_of(attacker)
        return tuple(measure.name for attack in attacks.values() for measure in attack.measures)
    others = {measure.name for attack in ATTACKS.values() for measure in attack.measures}
    return tuple(
        name for name, m in MEASURES.items() if m.needs <= _TWO_TABLES and name not in others
    )


def default_measures(given: Collection[str]) -> tuple[str, ...]:
    """Return what an audit measures by itself when these inputs are there."""
    return tuple(
        name
        for name in measures_of("release")
        if MEASURES[name].default and MEASURES[name].needs <= {*given, "columns"}
    )


def own_options() -> dict[str, tuple[Option, list[str]]]:
    """Return what ordinary attacks alone are told, and by which attacks it is taken."""
    found: dict[str, tuple[Option, list[str]]] = {}
    for attack in attacks_of("ordinary").values():
        for name, option in attack.takes.items():
            if name not in _COMMON:
                found.setdefault(name, (option, []))[1].append(attack.name)
    return found


# -------------------------------------------------------------------------------------------------
# Settings of methods as a specification has them: for all columns, or for single ones.


TEXT, FLAG = Text(), Flag()
NAMES = Many(TEXT, "column names")

_METHOD_NAMES = (*METHODS, *(name for name in WITHOUT_MODEL if name != GIVEN))
_SETTINGS: dict[str, tuple[EntryKind, str]] = {
    "method": (
        Choice(_METHOD_NAMES, "method", also=tuple(SYNTHPOP)),
        "How columns are made; cart is synthpop's way, and its names of methods are taken.",
    ),
    "minbucket": (Whole(1), "Records in the smallest leaf of a tree (cart)."),
    "minsplit": (
        Whole(2),
        "Records in the smallest node that is split (cart); three leaves if not said.",
    ),
    "cp": (Number(0), "Complexity: what a split must gain, relative to the root (cart)."),
    "prune": (
        FLAG,
        "Whether splits that gain less are cut away again (cart); cp plays no part if not.",
    ),
    "max_depth": (Whole(1), "Depth of a tree (cart)."),
    "smoothing": (
        Choice(("", "kernel", "density", "spline"), "smoothing"),
        "How drawn numbers are smoothed; not for guarded trees.",
    ),
    "proper": (FLAG, "Whether parameters are drawn too (proper synthesis); not for guarded trees."),
    "trees": (Whole(1), "Trees of a forest."),
    "within": (TEXT, "The column whose levels group this one (nested)."),
    "margins": (
        Many(NAMES, "lists of column names"),
        "Margins that a block keeps (ipf), or is made from (margins; a tree of pairs unless they "
        "are said).",
    ),
    "pseudo_count": (Number(0), "Records spread evenly over all cells of a block (saturated)."),
    "formula": (TEXT, "The formula of a derived column."),
    "guard": (
        Choice(tuple(GUARDS), "guard"),
        "How strongly guarded trees hide single records; the numbers below are those of the dial "
        "unless they are said.",
    ),
    "temperature": (
        Number(0, above=True),
        "How much chance there is in the choice of a split (guarded).",
    ),
    "smallest": (
        Number(0, above=True),
        "Records at which a node is split in half of the cases (guarded).",
    ),
    "backoff": (
        Number(0, above=True),
        "Records' worth that a node borrows from the node above (guarded).",
    ),
    "floor": (
        Number(0, above=True),
        "Records of the rarer half that a node borrows from the node above at least (guarded).",
    ),
    "depth": (Whole(0), "Most splits from the root to a leaf (guarded)."),
}
_DIAL = ("temperature", "smallest", "backoff", "floor", "depth")
_USUAL = {item.name: getattr(Settings(), item.name) for item in fields(Settings)}
SETTINGS = {
    name: Key(kind, says, _USUAL[name], otherwise="from the dial" if name in _DIAL else "")
    for name, (kind, says) in _SETTINGS.items()
}
"""Settings for all columns, or for single ones."""

FIXED = ("order", "drop", "keep", "replace", "rare_below", "rules", *OPTIONS)
"""Settings that a map or a search does not vary; each try of a guarantee would spend budget."""

PUBLIC = {
    "levels": Key(
        Many(Plain(), "values", least=1),
        "What a column can be, declared as public: rare or not, for a guarantee all of them; "
        "texts, or whole numbers, or true and false.",
        otherwise="read off the data, which no guarantee allows",
    ),
    "range": Key(
        Many(Number(), "numbers (lowest, highest, step)", exactly=3),
        "What is public about a number, for guarded trees and margins.",
        otherwise="read off the data, and listed as assumed public",
    ),
    "scale": Key(
        Choice(SCALES, "scale"),
        "Whether the cells of a number are equally wide or grow (guarded, margins).",
        otherwise="geometric if half of the records lie low in the range",
    ),
    "bins": Key(
        Either((Whole(2), Many(Number(), "numbers that rise", least=2))),
        "How many cells a number has in tables, or the values at which one begins (margins).",
        otherwise=f"{USUAL_BINS}",
    ),
}
"""What is declared as public of single columns."""

CLEARING = Group(
    {
        "threshold": Key(Whole(1), "Records in the smallest cell that is published.", 10),
        "dominance": Key(
            Many(Number(0, above=True), "numbers (how many weights, share)", exactly=2),
            "A cell is suppressed whose largest so many weights make up more than this share.",
            otherwise="no such rule",
        ),
        "multiple": Key(Whole(1), "What counts are rounded to, half up.", 1),
    },
)
"""What tables have to meet before anything is made from them."""


# -------------------------------------------------------------------------------------------------
# The table of everything that can stand in a release specification.
#
# Validation, the JSON schema for editors and the reference page of the documentation are made
# from `SPECIFICATION`: to add a key is to write one line here.


FORMATS = tuple(suffix.removeprefix(".") for suffix in writable())
REPORTS = ("internal", "external")
FILLED = Text(filled=True)
SOME_NAMES = Many(TEXT, "column names", least=1)
VALUES = Many(Plain(), "values")
LIMIT = Either(
    (
        Number(),
        Group(
            {
                "most": Key(Number(), "The largest value allowed."),
                "least": Key(Number(), "The smallest value allowed."),
                "above": Key(
                    Number(0),
                    "By how much the value may exceed the control, or the "
                    "baseline without a control; points of shares.",
                ),
            },
        ),
    )
)
ALLOWED = "measures with the most that is allowed"
UTILITY = Choice(tuple(UTILITIES), "measure of utility", "caveat measures")
ANY_RISK = tuple(name for attacker in ATTACKERS for name in measures_of(attacker))
RISK = Choice(ANY_RISK, "measure of risk", "caveat measures")
ANY_MEASURE = Choice((*STRONGEST, *ANY_RISK, *UTILITIES), "measure", "caveat measures")

NAME_OR_NAMES = Either((TEXT, NAMES))
LOOKUP = Group({"lookup": Key(NAME_OR_NAMES, "The columns it is looked up by.", required=True)})
SYNTHESIS = Group(
    {
        "order": Key(NAMES, "Columns in the order of synthesis; others follow.",
                     otherwise="as in the file"),
        "drop": Key(NAMES, "Columns that are not released.", otherwise="what names people"),
        "keep": Key(NAMES, "Columns that name people, or have rare levels, and leave; page one of "
                    "the report says so.", otherwise="none"),
        "replace": Key(Named(Choice(tuple(HOW), "replacement"), "columns with a replacement"),
                       "Columns that are not drawn but invented, so that code still runs: fresh "
                       "ids, invented names, codes of the same form.", otherwise="none"),
        **SETTINGS,
        "predictors": Key(Either((Choice((AUTO, ALL), "choice of predictors"), Whole(1),
                                  Named(NAME_OR_NAMES, "columns with their predictors"))),
                          "How many columns before it one is drawn from, those that tell most "
                          f"about it: {MOST} in tables of more than {WIDE} columns, else all "
                          '("auto"), always "all", or so many; or what single columns are drawn '
                          "from.", otherwise='"auto"'),
        "special": Key(Named(VALUES, "columns with values"),
                       "Values that are modelled apart from the others, as 0 of incomes.",
                       otherwise="missing codes"),
        "derived": Key(Named(Either((TEXT, LOOKUP)), "columns with a formula or a lookup"),
                       "Columns that follow from others.", otherwise="none"),
        "rules": Key(Many(TEXT, "rules"), "What must hold in every synthetic record.",
                     otherwise="none"),
        "strata": Key(NAME_OR_NAMES,
                      "Column within whose levels all others are modelled apart.",
                      otherwise="none"),
        "weights": Key(TEXT, "Column of survey weights; it is not released.", otherwise="none"),
        "epsilon": Key(Number(0, above=True), "The ε of a guarantee (margins, all columns "
                       "declared): how much one record may change the probability of anything.",
                       otherwise="no guarantee"),
        "delta": Key(Number(0, above=True), "The probability with which it may be more.",
                     otherwise="1e-9"),
        "poisson": Key(Number(0, above=True), "What the Poisson mechanism adds to every cell of "
                       "the whole table, instead of Gaussian noise in margins.",
                       otherwise="Gaussian noise"),
        "rare_below": Key(Whole(1), "Levels that nobody declared (levels, keep) and that fewer "
                          "people have are pooled or left out; 1 for none.", K),
        "clearing": Key(CLEARING, "Rules that tables have to meet before columns are made from "
                        "them (margins).", otherwise="tables are taken as they are"),
        "columns": Key(
            Named(
                Group(
                    {
                        **SETTINGS,
                        "predictors": Key(NAME_OR_NAMES, "What it is drawn from."),
                        "special": Key(VALUES, "Values that are modelled apart."),
                        **PUBLIC,
                    },
                ),
                "columns with their settings",
            ),
            "Settings of single columns, before those above.", otherwise="none",
        ),
    },
)  # fmt: skip

PROTECT = Group(
    {"name": Key(Choice(tuple(PROTECTIONS), "protection"), "The protection; its arguments stand "
                 "beside it.", required=True)},
    open=True,
)  # fmt: skip

BOTH, TABLES, STRONG, ORDINARY = ("release", "ordinary"), ("release",), ("strong",), ("ordinary",)
SIMULATED = ("simulated",)
PER_COLUMN = "columns with numbers"


def _not_for(attacker: str, keys: dict[str, Key]) -> dict[str, Any]:
    """Return the JSON schema that keeps keys of other attackers away."""
    foreign = [name for name, key in keys.items() if key.only and attacker not in key.only]
    usual = attacker == keys["attacker"].default
    return {
        "if": {"properties": {"attacker": {"const": attacker}}}
        | ({} if usual else {"required": ["attacker"]}),
        "then": {"properties": dict.fromkeys(foreign, False)},
    }


KINDS_OF_OPTIONS: dict[str, EntryKind] = {
    "columns": SOME_NAMES, "column": FILLED, "number": Number(0), "share": Number(share=True),
    "numbers by column": Named(Number(0), PER_COLUMN), "flag": FLAG, "text": FILLED,
}  # fmt: skip


def _usual_attacks() -> str:
    """Say which attacks are tried unless they are named, and what some of them need."""
    usual = {
        n: {*a.needs} - {"keys", "target"} for n, a in attacks_of("ordinary").items() if a.usual
    }
    words = [", ".join(name for name, needs in usual.items() if not needs)]
    for name, needs in usual.items():
        more = ["a control" if need == "control" else f"`{need}`" for need in sorted(needs)]
        words += [f"{name} with {' and '.join(more)}"] if more else []
    return "; ".join(words)


def _keys_of_attacks() -> dict[str, Key]:
    """Return a key for whatever ordinary attacks alone are told."""
    keys = {}
    for name, (option, attacks) in own_options().items():
        kind = Whole(option.least) if option.kind == "whole" else KINDS_OF_OPTIONS[option.kind]
        text = option.help[0].lower() + option.help[1:]
        keys[name] = Key(
            kind,
            option.help if len(attacks) > 1 else f"{attacks[0]}: {text}",
            None if option.default == () else option.default,
            otherwise=option.otherwise or ("none" if not option.default else ""),
            only=ORDINARY,
        )
    return keys


_SCENARIO = {
    "name": Key(FILLED, "What the report calls the attacker.", required=True),
    "attacker": Key(
        Choice(ATTACKERS, "attacker"),
        "What she has: the released table only (measures of agreement); also the generator and all "
        "other records (strong: exact; simulated: by running the generator with and without a "
        "record); or the released table and ordinary means (attacks).",
        "release",
    ),
    "keys": Key(SOME_NAMES, "Columns she knows about a person. The strong attacker knows all but "
                "the target, the simulated one all.", otherwise="must be named, but for these two"),
    "targets": Key(SOME_NAMES, "Columns she wants to learn.",
                   otherwise="every released column that is no key; none for the strong "
                   "attacker, who then asks about membership only, as the simulated one does"),
    "unit": Key(Choice(("group",), "unit"), "Whom she is after: \"group\" for a whole group of "
                "[groups], or for all that belongs to a row of the topmost of [tables]; she knows "
                "what its members share, how many they are, and how many of each kind.",
                otherwise="a row", only=TABLES),
    "table": Key(FILLED, "Of [tables] the one whose rows the scenario is about, each with the "
                 "columns of the rows that it belongs to.", only=BOTH,
                 otherwise="the first, parents before children, that has the columns"),
    "limits": Key(Named(LIMIT, ALLOWED, RISK), "The most that measures may come to, or by how much "
                  "they may exceed the control (above); shares in per cent.", otherwise="none"),
    "measures": Key(Many(RISK, "measures", least=1), "What is measured; measures with a limit are "
                    "always measured.", otherwise="the standard set of the attacker"),
    "groups": Key(Named(Whole(2), PER_COLUMN), "Groups that numeric columns are cut into.",
                  otherwise="none", only=TABLES),
    "tolerance": Key(Named(Number(0), PER_COLUMN), "How far a number may lie off and still "
                     "count as equal.", otherwise="none", only=BOTH),
    "exclude_levels": Key(Named(VALUES, "columns with levels"), "Levels of targets that anyone "
                          "would guess.", otherwise="none", only=TABLES),
    "exclude_missing": Key(NAMES, "Columns whose missing values do not count.", otherwise="none",
                           only=TABLES),
    "exclude_pairs": Key(Many(VALUES, "lists [target, its level, key, its level]"), "Pairs of "
                         "levels whose disclosure does not count.", otherwise="none", only=TABLES),
    "limit": Key(Whole(1), "Cells with more records do not count.", otherwise="none", only=TABLES),
    "denominator": Key(Choice(("original", "synthetic"), "denominator"), "Whose records are "
                       "counted for `limit`.", "original", only=TABLES),
    "population": Key(Whole(1), "People that the original was drawn from.", otherwise="unknown",
                      only=TABLES),
    "records": Key(Either((Whole(1), Choice(("all",), "choice"))), "Records attacked: a random "
                   "sample of this size and the 20 most vulnerable, or \"all\".", 200, only=STRONG),
    "prior": Key(Choice(PRIORS, "prior"), "What she believes before the release.",
                 DEFAULT_PRIOR, only=STRONG),
    "membership": Key(FLAG, "Whether she also asks who was in the data.", True, only=STRONG),
    "most": Key(Whole(1), "Records attacked: the so many most vulnerable.", RECORDS,
                only=SIMULATED),
    "simulations": Key(Whole(LEAST_SIMULATIONS), "Runs of the generator on the data, and as many "
                       "without each record.", SIMULATIONS, only=SIMULATED),
    "attacks": Key(Many(Choice(tuple(attacks_of("ordinary")), "attack"), "attacks", least=1),
                   "Attacks that are tried.", only=ORDINARY, otherwise=_usual_attacks()),
    **_keys_of_attacks(),
}  # fmt: skip
CIRCUMSTANCES = {
    n: key for n, key in _SCENARIO.items() if "release" in key.only and n not in ("unit", "table")
}
"""Entries of a scenario that are arguments of :class:`caveat.risk.Scenario`."""
SCENARIO = Group(_SCENARIO, rules=tuple(_not_for(a, _SCENARIO) for a in ATTACKERS))

EDIT_RULE = Group(
    {
        "then": Key(FILLED, "What must hold, as in \"age >= 18\".", required=True),
        "if": Key(FILLED, "For which records.", otherwise="all"),
        "group": Key(FILLED, "A column, each of whose groups needs a record that meets both.",
                     otherwise="none"),
    },
)  # fmt: skip
UTILITY_PART = Group(
    {
        "measures": Key(Many(UTILITY, "measures of utility", least=1), "What is measured.",
                        otherwise="the standard set"),
        "models": Key(Many(FILLED, "formulas"), "Models to fit on both sides, as in "
                      "\"income ~ age + sex\".", otherwise="none"),
        "targets": Key(NAMES, "Columns to predict after training on the release (TSTR).",
                       otherwise="none"),
        "rules": Key(Named(EDIT_RULE, "edit rules by name"), "Edit rules whose violations are "
                     "counted on both sides.", otherwise="none"),
        "limits": Key(Named(LIMIT, ALLOWED, UTILITY), "The most, or least, that measures may come "
                      "to; shares in per cent, as they are printed.", otherwise="none"),
    },
)  # fmt: skip

TRIED = Named(
    Many(Either((Plain(), Many(PROTECT, "protections"))), "values", least=1),
    "settings with values to try",
    Choice((*(n for n in SYNTHESIS.keys if n not in FIXED), "protect"),
           "setting"),
)  # fmt: skip
MAP = Group(
    {
        "settings": Key(TRIED, "Settings of [synthesis] with the values to try, and `protect` with "
                        "lists of protections; every combination is tried.", required=True),
        "scenario": Key(FILLED, "The scenario whose risk is drawn.",
                        otherwise="the first whose attacker is release or strong"),
        "risk": Key(Choice((*measures_of("release"), *STRONGEST, *STRONG_MEASURES),
                           "measure of risk", "caveat measures"),
                    "Measure of risk; with a strong attacker posterior, gain or a measure of hers.",
                    otherwise="DiSCO; with a strong attacker posterior"),
        "utility": Key(UTILITY, "Measure of utility.", "S_pMSE"),
        "seeds": Key(Whole(1), "Releases per setting.", 2),
    },
)  # fmt: skip

TUNE = Group(
    {
        "keys": Key(NAMES, "As in a scenario.", otherwise="those of the scenario with limits"),
        "targets": Key(NAMES, "As in a scenario.", otherwise="those of that scenario"),
        "limits": Key(Named(LIMIT, ALLOWED, ANY_MEASURE), "What every release must meet, as in a "
                      "scenario; posterior from 0 to 1.",
                      otherwise="those of the scenarios and of [utility]"),
        "objective": Key(UTILITY, "The utility that should be as good as possible.",
                         otherwise="S_pMSE two-way"),
        "settings": Key(TRIED, "As in [map].", otherwise="the positions of guard"),
        "models": Key(Many(FILLED, "formulas"), "Models, for measures that need one.",
                      otherwise="those of [utility]"),
        "scenario": Key(Group({name: replace(key, only=()) for name, key in CIRCUMSTANCES.items()}),
                        "Further entries of a scenario.", otherwise="none"),
        "attacker": Key(
            Group(
                {
                    "records": Key(
                        Either((Whole(1), Choice(("all",), "choice"), Many(Whole(0), "positions"))),
                        "The most vulnerable, all, or positions from 0; all where every column "
                        "is a guarded tree.", 5),
                    "unknown": Key(NAMES, "Columns she does not know.", otherwise="all"),
                    "prior": Key(Choice(PRIORS, "prior"), "What she believes before the release.",
                                 DEFAULT_PRIOR),
                    "simulations": Key(Whole(2), "Draws or releases in each world, where nothing "
                                       "is exact.", 50),
                },
            ),
            "The strong attacker of posterior and gain.", otherwise="as below",
        ),
        "seeds": Key(Whole(1), "Releases per setting in the first round.", 2),
        "fresh": Key(Whole(1), "Releases of a finalist on fresh seeds.", 5),
        "seed": Key(Whole(0), "Root of all randomness.", 0),
    },
)  # fmt: skip

GENERATOR = Group(
    {
        "name": Key(FILLED, "The generator, as `caveat generator list` names it: a method of ours, "
                    "a reference, or other people's.", required=True),
        "label": Key(FILLED, "What the table calls it.", otherwise="its name and settings"),
        "settings": Key(Named(Either((Plain(), VALUES, Many(PROTECT, "protections"))), "settings"),
                        "Its settings.", otherwise="its own"),
    },
)  # fmt: skip
BENCHMARK = Group(
    {
        "seeds": Key(Whole(1), "Fits of each generator, each with a seed of its own.", 2),
        "minutes": Key(Number(0, above=True), "The most that a fit in a process of its own may "
                       "take, and all simulations of a generator together.", 60),
        "gigabytes": Key(Number(0, above=True), "The most memory of such a process.", 8),
        "risk": Key(RISK, "Measure of risk in the picture.",
                    otherwise="that of the strongest attacker who is known for most"),
        "utility": Key(UTILITY, "Measure of utility in the picture.", otherwise="S_pMSE two-way"),
    },
)  # fmt: skip

OUTPUT = Group(
    {
        "folder": Key(FILLED, "Folder of the release, below that of the specification; "
                      "--folder names any.",
                      "release"),
        "formats": Key(Many(Choice(FORMATS, "format"), "formats", least=1),
                       "File formats of the synthetic tables; those of [tables] have the formats "
                       "of their files unless others are named.", ("csv",)),
        "reports": Key(Many(Choice(REPORTS, "report"), "reports"),
                       "Which reports are written.", REPORTS),
        "as_read": Key(FLAG, "Whether text files are written in the form of the original: "
                       "delimiter, decimal sign, encoding, thousands, dates.", False),
        "escape_formulas": Key(FLAG, "Whether text in CSV and TSV that a spreadsheet would compute "
                               "(= + - @ at its beginning) gets an apostrophe before it.", False),
    },
)  # fmt: skip

SPECIFICATION = Group(
    {
        "release": Key(RELEASE, "What is released, for whom and how."),
        "data": Key(DATA, "The confidential file.", required=True),
        "columns": Key(Named(COLUMN, "columns with what is known about them"),
                       "What is known about columns, each as `[columns.NAME]`."),
        "groups": Key(GROUPS, "Rows that belong together, such as the persons of a household: "
                      "whole groups are synthesised."),
        "tables": Key(Named(TABLE, "tables with their files"), "Several files that belong "
                      "together, instead of the path in [data], each as `[tables.NAME]`."),
        "synthesis": Key(SYNTHESIS, "How the synthetic tables are made."),
        "privacy": Key(PRIVACY, "The budget of a guarantee, and where spending is written down."),
        "protect": Key(Many(PROTECT, "tables [[protect]]"),
                       "Protections, each as `[[protect]]`, carried out in this order."),
        "scenario": Key(Many(SCENARIO, "tables [[scenario]]", least=1),
                        "Attackers, each as `[[scenario]]`.", required=True),
        "utility": Key(UTILITY_PART, "What analysts need."),
        "map": Key(MAP, "A risk–utility map around the release."),
        "tune": Key(TUNE, "The search of `caveat tune`; `caveat run` leaves it alone."),
        "generator": Key(Many(GENERATOR, "tables [[generator]]"), "Generators of "
                         "`caveat benchmark`, each as `[[generator]]`."),
        "benchmark": Key(BENCHMARK, "How `caveat benchmark` compares them."),
        "output": Key(OUTPUT, "What is written."),
    },
)  # fmt: skip


# -------------------------------------------------------------------------------------------------
# The specification as JSON schema, for editors that check TOML files while they are written.


def json_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of a release specification.

    It says of a file what can be said without the data: names, types, ranges and choices.
    """
    schema = SPECIFICATION.schema()
    schema["properties"]["protect"]["items"]["allOf"] = [
        {
            "if": {"properties": {"name": {"const": name}}},
            "then": {"propertyNames": {"enum": ["name", *known]}},
        }
        for name, (known, anything) in ((n, arguments_of(n)) for n in PROTECTIONS)
        if not anything
    ]
    # One file in [data], or several in [tables].
    schema["required"].remove("data")
    path = schema["properties"]["data"].pop("required")
    schema["anyOf"] = [
        {"required": ["data"], "properties": {"data": {"required": path}}},
        {"required": ["tables"]},
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Release specification of Caveat",
        **schema,
    }
