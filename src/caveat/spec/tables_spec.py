"""What ``caveat tables`` and ``caveat safepub`` take from a specification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError, hint
from caveat.outputs.cell_numbers import numbers
from caveat.outputs.primary import Earlier, PrimaryRules
from caveat.outputs.publication import Inner
from caveat.outputs.shown import STATUS, free_name
from caveat.outputs.tables import TOTAL, Layout, check_published
from caveat.privacy import Budget
from caveat.protect.lattice import Levels, Promise, promise_for
from caveat.seeds import is_guessable, key_of
from caveat.showing import without_values
from caveat.spec._kinds import (
    Choice,
    Either,
    Entry,
    Group,
    Key,
    Many,
    Named,
    Number,
    Plain,
    Whole,
    dotted,
)
from caveat.spec.data_entries import COLUMN, DATA, FILLED, PRIVACY, refuse_password
from caveat.spec.document import Document, toml_key
from caveat.spec.spec import budget_of
from caveat.table import Kind, Table
from caveat.table.files import read_into
from caveat.table.identifying import K, Origin, Output, clear, judge, rare_levels
from caveat.table.source import seen_in

METHODS = ("suppress", "stochastic rounding", "controlled rounding", "cell keys")

PUBLICATION = Group(
    {
        "method": Key(Choice(METHODS, "method"), "How cells are protected.", "suppress"),
        "value": Key(FILLED, "The column that is added up.", otherwise="records are counted"),
        "weight": Key(FILLED, "The column with survey weights.", otherwise="every record counts 1"),
        "contributor": Key(
            FILLED, "To whom a record belongs.", otherwise="every record is its own"
        ),
        "least": Key(Whole(1), "The fewest contributors that are shown.", 3),
        "dominance": Key(
            Many(Number(0, above=True), "numbers", exactly=2),
            "n and k: hidden if the n largest have more than the share k.",
            otherwise="no such rule",
        ),
        "p_percent": Key(
            Number(0, above=True),
            "Hidden if the second largest can estimate the largest to within p per cent.",
            otherwise="no such rule",
        ),
        "zeros": Key(
            Choice(("public", "hidden"), "treatment of zeros"),
            "Whether everybody knows which cells are empty, or they are hidden.",
            "public",
        ),
        "share": Key(
            Number(share=True),
            "A hidden value is known too closely if a bound is nearer to it than this share of it.",
            0.1,
        ),
        "base": Key(Whole(2), "Of rounding: the base.", 5),
        "seed": Key(
            Whole(0),
            "Of stochastic rounding and cell keys: names one of the publications of the key, a "
            "file with the specification's name and the ending .key. Without a key it makes a "
            "trial that must not be released. Rounded tables of the same data are made in one run.",
            otherwise="0, and a key is created",
        ),
        "total": Key(FILLED, "What totals are called.", TOTAL),
    }
)
TABLE = Group(
    {
        "name": Key(FILLED, "What the table is called.", required=True),
        "by": Key(Many(FILLED, "columns", least=1), "Its columns.", required=True),
        "depth": Key(
            Named(Whole(1), "columns with how far down their codes are shown"),
            "1 is the level below the total.",
            otherwise="to the end",
        ),
        "published": Key(
            FILLED,
            "The file or folder in which the table was published already: its columns and the "
            "value. It must add up and be that of the data; what it shows is known, what it hides "
            "stays hidden, and it is not written again.",
            otherwise="none",
        ),
    }
)
TABLES_FILE = Group(
    {
        "data": Key(DATA, "The confidential file.", required=True),
        "columns": Key(Named(COLUMN, "columns with what is known about them"), "As elsewhere."),
        "publication": Key(PUBLICATION, "The rules for all tables."),
        "hierarchies": Key(
            Named(
                Either((FILLED, Named(FILLED, "codes with the code above each"))),
                "columns with their hierarchy",
            ),
            "For a column, codes with the code above each; or a file with both in two columns.",
        ),
        "table": Key(Many(TABLE, "tables", least=1), "The tables.", required=True),
    }
)


@dataclass(frozen=True)
class TablesSpec:
    """Tables to be published together.

    Parameters
    ----------
    path
        The confidential file.
    layouts
        The tables.
    parents
        For each column with a hierarchy: for each code the code above it.
    rules
        The primary rules.
    options
        The other entries of ``[publication]``.
    published
        Files with tables that are published already, by the position of the table.
    files
        These files, and those that hold hierarchies.
    document
        The file itself.
    """

    path: Path
    layouts: tuple[Layout, ...]
    parents: Mapping[str, Mapping[str, str]]
    rules: PrimaryRules
    options: Mapping[str, Any]
    published: Mapping[int, Path]
    files: tuple[Path, ...]
    document: Document

    __repr__ = without_values

    @classmethod
    def from_document(cls, document: Document) -> TablesSpec:
        """Read a specification; what is wrong is named with its line."""
        document.refuse(TABLES_FILE.problems(document.content, ()))
        content = document.content
        folder = document.path.parent
        names: set[str] = set()
        layouts = []
        for i, entry in enumerate(content["table"]):
            if entry["name"].casefold() in names:
                what = "two tables have the same name, capitals aside"
                document.fail(("table", i), what, "rename one", code="spec.entry.duplicate")
            names.add(entry["name"].casefold())
            layouts.append(Layout(entry["name"], tuple(entry["by"]), entry.get("depth", {})))
        used = {name for layout in layouts for name in layout.by}
        published = {
            i: _published(document, i, folder / one["published"], layouts[i])
            for i, one in enumerate(content["table"])
            if "published" in one
        }
        _refuse_forgotten(document, published)
        parents, files = {}, [*published.values()]
        for name, given in content.get("hierarchies", {}).items():
            if name not in used:
                document.fail(
                    ("hierarchies", name),
                    f"no table has the column {name!r}",
                    "drop it",
                    code="spec.entry.unused",
                )
            if isinstance(given, str):
                files.append(folder / given)
                with document.reading(files[-1], ("hierarchies", name)):
                    parents[name] = _parents(files[-1])
            else:
                parents[name] = given
        options = dict(content.get("publication", {}))
        with document.at("publication"):
            rules = _rules(options)
        if published and options.get("method", "suppress") != "suppress":
            document.fail(
                ("table", min(published), "published"),
                "what is published already is only protected by hiding cells",
                'drop it, or use method = "suppress"',
                code="spec.entry.conflict",
            )
        path = seen_in(folder, content["data"]["path"])
        refuse_password(document, ("data", "path"), content["data"]["path"])
        return cls(path, tuple(layouts), parents, rules, options, published, tuple(files), document)

    @property
    def suppresses(self) -> bool:
        """Whether cells are hidden; else all are shown, rounded or perturbed."""
        return bool(self.options.get("method", "suppress") == "suppress")

    @property
    def seed(self) -> int:
        """The root of the draws of rounding or cell keys; controlled rounding draws nothing."""
        if self.options.get("method") == "controlled rounding":
            return 0
        seed = self.options.get("seed")
        key = key_of(self.document.path, seed)
        return int(seed or 0) if key is None else key.root(seed or 0)

    @property
    def is_trial(self) -> bool:
        """Whether cells are drawn by a seed that can be guessed."""
        draws = self.options.get("method", "suppress") not in ("suppress", "controlled rounding")
        return draws and is_guessable(self.seed)

    def outputs(self, table: Table, public: Sequence[str]) -> dict[str, Output]:
        """Return the new tables by file, with the origin of their columns.

        Labels that identify people are refused: rules hide cells, and no rule hides a label.

        Parameters
        ----------
        table
            The confidential table.
        public
            Columns whose values are public; codes of a hierarchy are declared, too.
        """
        declared, judged, found = (*public, *self.parents), judge(table), {}
        who = self.options.get("contributor")
        units = None if who is None else table[who].codes
        # A cell that the rules show has a label that they show.
        k = min(K, self.rules.least or 1) if self.suppresses else K
        for i, layout in enumerate(self.layouts):
            named = [name for name in layout.by if name in judged and name not in declared]
            output = Output(
                layout.file,
                {n: Origin.IDENTIFYING if n in named else Origin.COMPUTED for n in layout.by},
                declared,
                judged,
                {
                    n: int(rare_levels(table[n], units, k).sum())
                    for n in layout.by
                    if table[n].kind is not Kind.BOOLEAN
                },
            )
            if named:
                self.document.fail(
                    ("table", i, "by"),
                    f"labels of the table identify people: {clear(output).reasons[0]}",
                    f"leave {named[0]} out; if its values are public, declare its codes in "
                    f"[hierarchies], or write public = true in [columns.{toml_key(named[0])}]",
                    code="outputs.level.confidential",
                )
            if i not in self.published:
                found[layout.file] = output
        return found

    def check_columns(self, names: Sequence[str]) -> None:
        """Refuse columns that the data do not have."""
        roles = ("value", "weight", "contributor")
        asked: list[tuple[Entry, str]] = [
            (("publication", role), self.options[role]) for role in roles if role in self.options
        ]
        for i, layout in enumerate(self.layouts):
            asked += [(("table", i, "by"), name) for name in layout.by]
        for entry, name in asked:
            if name not in names:
                what = f"{dotted(entry)}: there is no column {name!r} in the data"
                self.document.fail(entry, what, hint(name, names), code="data.column.unknown")

    def earlier(self, inner: Inner) -> Earlier:
        """Hold the tables that are published already against the data; return what they show."""
        shown = np.zeros(inner.cells.n_cells, bool)
        for i, path in self.published.items():
            layout = self.layouts[i]
            with self.document.reading(path, ("table", i, "published")):
                codes, given = _shown_in(path, layout)
                shown |= check_published(inner.cells, layout, codes, given, inner.values)
        return Earlier(tuple(self.published), shown)


def _published(document: Document, i: int, path: Path, layout: Layout) -> Path:
    """Return the file of a table that is published already, in its folder if that is named."""
    file = path / layout.file if path.is_dir() else path
    if path.is_dir() and not file.exists():
        entry = ("table", i, "published")
        do = "name the file itself, or the table as it was named"
        document.fail(
            entry,
            f"{dotted(entry)}: there is no {layout.file} in this folder",
            do,
            code="outputs.file.absent",
        )
    return file


def _refuse_forgotten(document: Document, published: Mapping[int, Path]) -> None:
    """Refuse a publication of which a table is left out: what it tells would not be known.

    Its folder is named, or it is that of a file which is: a run has left its list there.
    """
    here = {path.resolve() for path in published.values()}
    for i, path in published.items():
        folder, manifest = path.parent, path.with_name("manifest.json")
        named = folder == document.path.parent / document.content["table"][i]["published"]
        if not named and not (manifest.is_file() and '"tables.html"' in _text(manifest)):
            continue
        left = sorted(one for one in folder.glob("*.csv") if one.resolve() not in here)
        if left:
            entry = ("table", i, "published")
            what = f"{dotted(entry)}: the folder has {left[0].name}, which is no table here"
            document.fail(
                entry, what, "add it as a table with published = …", code="outputs.table.undeclared"
            )


def _text(path: Path) -> str:
    return path.read_text("utf-8", errors="replace")


def _shown_in(path: Path, layout: Layout) -> tuple[list[list[str]], NDArray[np.float64]]:
    """Return the codes and the values of a table that is published already; NaN where hidden."""
    table = read_into(None, path)
    names = [name for name in table.names if name not in layout.by]
    rest = [name for name in names if name != free_name(STATUS, layout.by)] or names
    missing = [name for name in layout.by if name not in table.names]
    if len(rest) != 1 or missing:
        raise CaveatError(
            "its columns are not those of the table and one of values",
            do=f"give it the columns {', '.join(layout.by)} and the value",
            code="outputs.column.mismatch",
        )
    codes = [[str(code) for code in table[name].values] for name in layout.by]
    given = numbers(table[rest[0]], rest[0])
    if len({*zip(*codes, strict=True)}) < table.n_rows:
        raise CaveatError(
            "a cell stands there twice", do="keep one row for each", code="outputs.cell.duplicate"
        )
    return codes, given


def _rules(options: Mapping[str, Any]) -> PrimaryRules:
    dominance = options.get("dominance")
    return PrimaryRules(
        least=options.get("least", 3),
        dominance=None if dominance is None else (dominance[0], dominance[1]),
        p_percent=options.get("p_percent"),
        zeros=options.get("zeros", "public") == "hidden",
    )


def _parents(path: Path) -> dict[str, str]:
    """Read a file of codes and the codes above them: its first two columns."""
    table = read_into(None, path)
    if len(table.names) < 2:
        raise CaveatError(
            "a hierarchy has two columns",
            do="write code and code above it",
            code="outputs.hierarchy.malformed",
        )
    child, parent = (table[name].values.tolist() for name in table.names[:2])
    out: dict[str, str] = {}
    for row, (one, above) in enumerate(zip(child, parent, strict=True), 1):
        if out.setdefault(str(one), str(above)) != str(above):
            raise CaveatError(
                "a code stands below two codes",
                row=row,
                do="keep one",
                code="outputs.hierarchy.conflict",
            )
    return out


# -------------------------------------------------------------------------------------------------
# What ``caveat safepub`` takes from a specification: the promise, and the levels of columns.


ABOVE = Number(0, above=True)

LEVELS = Group(
    {
        "widths": Key(
            Many(ABOVE, "numbers above 0", least=1),
            "Of numbers: the widths of the intervals, each a multiple of the one before.",
        ),
        "origin": Key(Number(), "Where an interval begins.", 0),
        "groups": Key(
            Many(Named(Many(Plain(), "values", least=1), "groups with their values"), "groupings"),
            "Of classes: groups with their values, then groups of these groups.",
        ),
    }
)
SAFEPUB = Group(
    {
        "epsilon": Key(ABOVE, "The epsilon of the whole release.", required=True),
        "delta": Key(Number(share=True), "The delta of the whole release.", required=True),
        "beta": Key(
            Number(share=True), "The sampling rate.", otherwise="the largest that is allowed"
        ),
        "search": Key(
            Number(share=True), "The share of epsilon for the choice of levels.", default=0.1
        ),
        "response": Key(FILLED, "The column that is released as it is.", required=True),
        "levels": Key(
            Named(LEVELS, "columns with their levels"), "The columns to release.", required=True
        ),
    }
)
SAFEPUB_FILE = Group(
    {
        "data": Key(DATA.optional(), "Delimiter, decimal sign and encoding of the file."),
        "columns": Key(Named(COLUMN, "columns with what is known about them"), "As elsewhere."),
        "safepub": Key(SAFEPUB, "The release.", required=True),
        "privacy": Key(PRIVACY, "The ledger of what is spent."),
    }
)


@dataclass(frozen=True)
class SafepubSpec:
    """A release of real records under a promise.

    Parameters
    ----------
    promise
        What is promised; it needs no data.
    response
        The column that is released as it is.
    levels
        The other columns with their declared levels.
    options
        epsilon, delta, beta and search, as :func:`caveat.protect.lattice.safepub` takes them.
    budget
        The ledger, if there is one.
    document
        The file itself.
    """

    promise: Promise
    response: str
    levels: Mapping[str, Levels]
    options: Mapping[str, Any]
    budget: Budget | None
    document: Document

    __repr__ = without_values

    @classmethod
    def from_document(cls, document: Document) -> SafepubSpec:
        """Read a specification; what is wrong is named with its line."""
        document.refuse(SAFEPUB_FILE.problems(document.content, ()))
        part = document.content["safepub"]
        levels = {}
        for name, declared in part["levels"].items():
            with document.at("safepub", "levels", name):
                levels[name] = Levels(**declared)
        options = {key: part[key] for key in ("epsilon", "delta", "beta", "search") if key in part}
        response = part["response"]
        if response in levels:
            document.fail(
                ("safepub", "levels", response),
                f"safepub.levels.{response}: the response is released as it is",
                "declare no levels of it",
                code="outputs.column.conflict",
            )
        _check_kinds(document, (*levels, response))
        with document.at("safepub"):
            promise = promise_for((*levels, response), **options)
        budget = budget_of(document) if "privacy" in document.content else None
        return cls(promise, response, levels, options, budget, document)


def _check_kinds(document: Document, names: tuple[str, ...]) -> None:
    """Refuse a column whose kind would be found from the data: it shows in all its values."""
    for name in names:
        if "kind" not in document.content.get("columns", {}).get(name, {}):
            document.fail(
                ("columns", name),
                f"columns.{name}.kind is missing, and a kind found from the data is not private",
                f'add kind = "category", "integer" or another to [columns.{toml_key(name)}]',
                code="privacy.column.undeclared",
            )
