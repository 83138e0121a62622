"""What a specification says about a release and its data: files, columns, groups, budget."""

from __future__ import annotations

from caveat.spec._kinds import (
    Choice,
    Either,
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
from caveat.table import Kind

__all__ = ["ACCESS", "COLUMN", "DATA", "GROUPS", "PRIVACY", "RELEASE", "TABLE"]

TEXT, FILLED = Text(), Text(filled=True)
VALUES = Many(Plain(), "values")
ACCESS = ("public", "registered", "secure")

RELEASE = Group(
    {
        "title": Key(FILLED, "Name of the release.", "Synthetic data"),
        "unit": Key(FILLED, "What a row is; of [tables] one of the topmost.", "record"),
        "purpose": Key(TEXT, "What the release is for.", ""),
        "recipients": Key(TEXT, "Who gets it.", ""),
        "access": Key(
            Choice(ACCESS, "access mode"),
            "How they get it: anyone may take it, known users may, or it does not leave a secure "
            "room.",
            "secure",
        ),
        "seed": Key(
            Whole(0),
            "Names one of the releases of the key (release.key). Without a key it makes a trial "
            "that must not be released.",
            otherwise="0, and a key is created",
        ),
        "copies": Key(Whole(1), "Number of synthetic tables.", 1),
        "rows": Key(
            Either((Whole(1), Choice(("population",), "number of rows"))),
            'Rows of each; "population": as many as the weights of [synthesis] stand for.',
            otherwise="as many as were fitted",
        ),
        "control": Key(
            Either((Number(share=True), Whole(1))),
            "Records held out before anything is fitted, as a share or a number: the people who "
            "were not in the data.",
            otherwise="none",
        ),
    },
)

DATA = Group(
    {
        "path": Key(FILLED, "The confidential file, seen from the specification's folder.",
                    required=True),
        "delimiter": Key(TEXT, "Between the fields of a text file.", otherwise="found by itself"),
        "decimal": Key(Choice((".", ","), "decimal sign"), "Decimal sign of a text file.", "."),
        "encoding": Key(FILLED, "Encoding of a text file.",
                        otherwise="UTF-8, UTF-16 with its mark or Windows-1252, as found"),
        "synthetic": Key(
            Many(FILLED, "file names"),
            "Tables that were synthesised elsewhere, for `caveat run --only audit`.",
            otherwise="none",
        ),
    },
)  # fmt: skip

COLUMN = Group(
    {
        "kind": Key(Choice(tuple(Kind), "kind"), "Kind of the column.",
                    otherwise="found by itself"),
        "missing": Key(
            Either((VALUES, Named(TEXT, "codes with what they mean"))),
            "Codes that mean missing, as a list or with their meaning.",
            otherwise="none",
        ),
        "format": Key(TEXT, "How dates are written, as in %d.%m.%Y.", otherwise="ISO 8601"),
        "levels": Key(VALUES, "Levels of an ordered column from low to high.",
                      otherwise="sorted as found"),
        "label": Key(TEXT, "What the column is.", otherwise="that of the file"),
        "value_labels": Key(Named(TEXT, "values with what they mean"), "What the values mean.",
                            otherwise="those of the file"),
        "recode": Key(Named(Plain(), "values with what they are read as"), "Values that are read "
                      "as another: spellings that mean the same, as in { \"M\" = \"m\" }.",
                      otherwise="none"),
        "public": Key(Flag(), "Whether its values are public: copies of them may then leave, and "
                      "they may be labels of a published table.", False),
    },
)  # fmt: skip

GROUPS = Group(
    {
        "key": Key(FILLED, "The column that numbers the groups; the release has fresh numbers.",
                   required=True),
        "constant": Key(Many(FILLED, "column names"), "Columns that have one value in each group; "
                        "they are drawn once.", otherwise="found by itself"),
        "order": Key(FILLED, "The column by which members stand, as a date; \"-age\" from the "
                     "eldest on.", otherwise="as in the file"),
        "margins": Key(Many(FILLED, "file names"), "Files with what is known of the population, to "
                       "which the weights of [synthesis] are calibrated: columns of the data and a "
                       "column count (of members) or groups (of groups).", otherwise="none"),
        "role": Key(FILLED, "The column that says what a member is in its group; it is drawn "
                    "first.", otherwise="none"),
    },
)  # fmt: skip

TABLE = Group(
    {
        "file": Key(FILLED, "The confidential file, seen from the specification's folder; the "
                    "synthetic one has the same name.", required=True),
        "key": Key(FILLED, "The column that numbers the rows; the release has fresh numbers.",
                   otherwise="none"),
        "links": Key(Named(FILLED, "columns with the table whose key they hold"),
                     "Which columns hold keys of other tables, as in { patient = \"patients\" }.",
                     otherwise="none"),
        "order": Key(FILLED, "The column by which rows of one parent stand, as a date; \"-age\" "
                     "for falling values.", otherwise="as in the file"),
        "lookup": Key(Flag(), "Whether it is a public list of codes, which is kept as it is.",
                      False),
        "columns": Key(Named(COLUMN, "columns with what is known about them"),
                       "What is known about its columns, before [columns].", otherwise="none"),
    },
)  # fmt: skip

PRIVACY_LIMIT = Group(
    {
        "epsilon": Key(Number(0, above=True), "The most ε.", required=True),
        "delta": Key(Number(share=True), "The most δ.", required=True),
    }
)
PRIVACY = Group(
    {
        "ledger": Key(FILLED, "The file that spending and releases are written to, beside the "
                      "specification unless absolute.", "ledger.jsonl"),
        "dataset": Key(FILLED, "The name of the data: releases with the same name share a budget, "
                       "and are attacked together.",
                       otherwise="the name of the file"),
        "limit": Key(PRIVACY_LIMIT, "What all guarantees may cost together; a run that would "
                     "cost more is refused.", otherwise="the cost of one release"),
    }
)  # fmt: skip
