"""``caveat look``: what has to be decided before a file is synthesised."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from caveat.cli import console
from caveat.cli.reading import Reader, seen_from
from caveat.errors import CaveatError
from caveat.findings.keys import (
    MOST_DECISIONS,
    further_findings,
    heading,
    open_decisions,
    settled_decisions,
)
from caveat.findings.profile import (
    CATALOGUE,
    ColumnProfile,
    Finding,
    Profile,
    Strength,
    listed,
    percent,
    plural,
    shown,
)
from caveat.table import Schema, Table
from caveat.table.drafts import check_outputs, write_text
from caveat.table.frames import tables_in
from caveat.table.source import has_labels, name_of
from caveat.table.source import shown as shown_path

if TYPE_CHECKING:
    from caveat.findings.keys import Links
    from caveat.spec.codebook import Codebook, Held

__all__ = ["look"]

WIDEST = 100
# Columns beyond these are not listed on the terminal; the JSON has them all.
MOST_COLUMNS = 1_000
# So many columns are always listed; of more the user asks for the list.
FEW_COLUMNS = 12
# Findings of one decision that are written out, and columns that are named.
MOST_LINES, MOST_NAMES = 2, 6


def look(
    file: Annotated[
        list[Path],
        typer.Argument(
            help="The data: CSV, Excel (FILE#SHEET), Parquet, SPSS, Stata, SAS, a table of a "
            "database (FILE#TABLE) … Of several files, sheets or tables also what links them."
        ),
    ],
    schema: Annotated[
        Path | None, typer.Option(help="A TOML file that declares kinds and missing codes.")
    ] = None,
    codebook: Annotated[
        Path | None,
        typer.Option(
            help="The possible values of columns, for a guarantee: a table (column, value, "
            "missing, label; or column, low, high, step), or the value labels of an SPSS "
            "or Stata file."
        ),
    ] = None,
    json_to: Annotated[
        str | None, typer.Option("--json", help="Write the report as JSON; - for the terminal.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write a starter specification (release.toml).")
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="Between the fields of a text file [found by itself].")
    ] = None,
    decimal: Annotated[str | None, typer.Option(help="The decimal sign of a text file [.]")] = None,
    encoding: Annotated[str | None, typer.Option(help="Of a text file [found by itself].")] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Show all columns and all findings.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:
    """Report what has to be decided before FILE is synthesised."""
    json_path = Path(json_to) if json_to not in (None, "-") else None
    check_outputs([json_path, out], force=force, inputs=[*file, schema, codebook])
    reader = Reader.of(schema, delimiter=delimiter, decimal=decimal, encoding=encoding)
    reader = replace(reader, quiet=True)  # the findings say it
    check_outputs([json_path, out], force=force, inputs=reader.inputs)
    file = [part for path in file for part in tables_in(path)]
    if len(file) == 1:
        found, text = _look_at_one(
            file[0], reader, codebook, out, quiet=json_to == "-", every=every
        )
    elif codebook:
        what = "a code book goes with one file: a guarantee is for a single table"
        raise CaveatError(
            what,
            where="--codebook",
            do="look at the files one by one",
            code="command.option.conflict",
        )
    else:
        found, text = _look_at_several(file, reader, out, quiet=json_to == "-", every=every)
    document = json.dumps(found, indent=2, ensure_ascii=False, default=str)
    if json_to == "-":
        console.document(document)
    written = [(json_path, document + "\n"), (out, text)]
    for target, content in written:
        if target is not None:
            write_text(target, content, confidential=True, force=force)
            console.remark(f"written: {target}")


def _look_at_one(
    path: Path, reader: Reader, codebook: Path | None, out: Path | None, *, quiet: bool, every: bool
) -> tuple[dict[str, Any], str]:
    """Look at a file; return the report and the starter specification."""
    book = None
    if codebook is not None:
        from caveat.spec.codebook import read_codebook

        book = read_codebook(codebook, **{k: v for k, v in reader.form.items() if k != "delimiter"})
    table = reader.original(path) if book is None else _read_by_the_book(path, reader, book)
    # What is said of a guarantee brings the synthesiser, and with it a compiler.
    from caveat.findings import look as look_at
    from caveat.spec.codebook import declared_in
    from caveat.spec.starter import released, starter

    declared = declared_in(reader.synthesis)
    profile = look_at(table)
    held = None if book is None else book.held_against(table, path)
    domains = {} if held is None else held.domains
    declared |= {name for name, domain in domains.items() if domain.is_whole}
    needed = [name for name in released(profile) if name not in declared]
    if not quiet:
        show(profile, shown_path(path), every=every)
        if every or held is not None:
            _show_domains(held, needed, path)
    about = {"needed": needed}
    if held is not None:
        about |= {"declared": [n for n in domains if n in declared], "unfit": list(held.unfit)}
        about |= {"unknown": list(held.unknown)}
    text = starter(profile, seen_from(out, path), reader.form, domains=domains) if out else ""
    return {**profile.to_dict(), "domains": about}, text


def _read_by_the_book(path: Path, reader: Reader, book: Codebook) -> Table:
    """Read a table with what a code book says, where the schema says nothing."""
    own = reader.schema.columns
    both = Schema({**book.schema(path).columns, **own})
    table = replace(reader, schema=both).release(path)  # the code book may have other columns too
    Schema({name: entry for name, entry in own.items() if name not in table}).apply(table)
    return table


def _show_domains(held: Held | None, needed: Sequence[str], path: Path) -> None:
    """Show the columns that lack a declaration for a guarantee; in one line without code book."""
    width = min(console.out.width, WIDEST)
    if held is None:
        if needed:
            source = path.name if has_labels(path) else "FILE"
            text = (
                f"A guarantee (epsilon) needs declared domains for {listed(needed)}; "
                f"--codebook {source} writes them."
            )
            console.out.print(Text(f"\n{text}", style="dim"), width=width)
        return
    known = [name for name, domain in held.domains.items() if domain.is_whole]
    grid = Grid.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for names, says in (
        (known, "declared by the code book"),
        (needed, "needs a declared domain before a guarantee can be given"),
        (
            held.unfit,
            "has values that the code book lacks; a guarantee treats them as empty or as the limit",
        ),
        (held.unknown, "in the code book, not in the data (ignored)"),
    ):
        if names:
            grid.add_row("·", Text(f"{says}: {listed(names, 12)}"))
    console.out.print(Text("\nDeclared domains, for a guarantee", style="bold"), width=width)
    console.out.print(Padding(Group(grid), (0, 0, 0, 2), expand=False), width=width)


def _look_at_several(
    files: Sequence[Path], reader: Reader, out: Path | None, *, quiet: bool, every: bool
) -> tuple[dict[str, Any], str]:
    """Look at files that belong together; return the report and the starter specification."""
    named = {name_of(path): path for path in files}
    if len(named) < len(files):
        raise CaveatError(
            "two files are called the same", do="name each of them once", code="data.file.duplicate"
        )
    tables = {name: reader.release(path) for name, path in named.items()}
    from caveat.findings import look as look_at
    from caveat.findings.keys import find_links
    from caveat.spec.starter import starter_of_tables

    profiles = {name: look_at(table) for name, table in tables.items()}
    links = find_links(tables)
    if not quiet:
        for name, profile in profiles.items():
            show(profile, shown_path(named[name]), every=every, table=name)
            console.out.print()
        _show_links(links)
    found = {
        "format": "caveat look 1",
        "tables": {name: profile.to_dict() for name, profile in profiles.items()},
        "keys": dict(links.keys),
        "links": {name: dict(held) for name, held in links.parents.items()},
        "order": dict(links.order),
    }
    if out is None:
        return found, ""
    seen = {name: seen_from(out, path) for name, path in named.items()}
    return found, starter_of_tables(profiles, seen, links, reader.form)


def _show_links(links: Links) -> None:
    grid = Grid.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for sentence in links.sentences() or ["No links between the tables were found."]:
        grid.add_row("·", Text(sentence))
    if links.parents:
        advice = "Synthesise them together as [tables]: new keys, and every row keeps its parent."
        grid.add_row("→", Text(advice, style="italic"))
    width = min(console.out.width, WIDEST)
    console.out.print(Text("Linked tables", style="bold"), width=width)
    console.out.print(Padding(Group(grid), (0, 0, 0, 2), expand=False), width=width)


def show(
    profile: Profile, title: str, *, every: bool = False, table: str = "", to: Console | None = None
) -> None:
    """Print what has to be decided, and what the starter specification decides.

    Parameters
    ----------
    profile
        The result of the look.
    title
        The name of the data.
    every
        Whether all columns and all findings follow.
    table
        The table of a specification of several tables.
    to
        Where to print.
    """
    to = to or console.out
    width = min(to.width, WIDEST)
    counts = f"{plural(profile.rows, 'row')}, {plural(len(profile.columns), 'column')}"
    to.print(Text.assemble((title, "bold"), f"  {counts}"), width=width)
    listing = every or len(profile.columns) <= FEW_COLUMNS
    if listing:
        to.print()
        to.print(_columns(profile.columns[:MOST_COLUMNS], width), width=width)
    more = len(profile.columns) - MOST_COLUMNS
    if listing and more > 0:
        to.print(f"… and {plural(more, 'further column')}; --json lists them all", width=width)
    for block in [*_open(profile, every, table), *_settled(profile, table)]:
        to.print(block, width=width)
    if every:
        for block in _findings(profile):
            to.print(block, width=width)
        return
    rest = [] if listing else [plural(len(profile.columns), "column")]
    further = len(further_findings(profile))
    rest += [plural(further, "other finding")] if further else []
    if rest:
        to.print(Text(f"\nNot shown: {' and '.join(rest)}; --all shows them.", style="dim"))


def _open(profile: Profile, every: bool, table: str) -> Iterator[RenderableType]:
    """Show what the user has to decide, the most important first."""
    decisions = open_decisions(profile)
    if not decisions:
        yield Text("\nNothing has to be decided.")
        return
    yield Text("\nWhat has to be decided", style="bold")
    for number, decision in enumerate(decisions[: None if every else MOST_DECISIONS], 1):
        grid = Grid.grid(padding=(0, 1, 0, 0))
        grid.add_column(no_wrap=True, justify="right", min_width=2)
        grid.add_column(overflow="fold")
        where = Text(f"   {_entry(decision.entry, table)}", style="cyan")
        grid.add_row(f"{number}.", Text.assemble((_sentence_case(decision.title), "bold"), where))
        most = len(decision.findings) if every else MOST_LINES
        for finding in decision.findings[:most]:
            grid.add_row("", _line(finding))
        if len(decision.findings) > most:
            grid.add_row("", _others(decision.findings[most:]))
        if decision.summary:
            grid.add_row("", Text(decision.summary))
        grid.add_row("", Text(f"→ {decision.action}", style="italic"))
        yield grid


def _others(findings: Sequence[Finding]) -> Text:
    """Name the columns of the findings that are not written out."""
    names = list(dict.fromkeys(f.columns[0] for f in findings if f.columns))
    return Text(f"and {plural(len(findings), 'more')[:-1] if len(findings) > 1 else '1 more'}"
                + (f": {listed(names)}" if names else ""))  # fmt: skip


def _settled(profile: Profile, table: str) -> Iterator[RenderableType]:
    """Show what the starter specification decides, a line for each entry."""
    settled = settled_decisions(profile)
    if not settled:
        return
    yield Text("\nDecided in the starter specification (--out release.toml)", style="bold")
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(overflow="fold")
    grid.add_column(overflow="fold")
    for decision in settled:
        names = listed(decision.columns, MOST_NAMES)
        says = Text.assemble((names, "bold"), f": {decision.title}")
        grid.add_row(says, Text(_entry(decision.entry, table), style="cyan"))
    yield Padding(grid, (0, 0, 0, 2), expand=False)


def _entry(entry: str, table: str) -> str:
    """Return an entry as it is called where there are several tables."""
    prefix = f"[tables.{table}.columns"
    return entry.replace("[columns", prefix) if table else entry


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]


def _columns(columns: Sequence[ColumnProfile], width: int) -> Grid:
    grid = Grid(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    grid.add_column("column", overflow="fold", max_width=max(12, width // 4))
    grid.add_column("kind", no_wrap=True)
    grid.add_column("distinct", justify="right", no_wrap=True)
    grid.add_column("missing", justify="right", overflow="fold")
    grid.add_column("values", overflow="fold")
    names = max((len(column.name) for column in columns), default=0)
    ways = (line for column in columns for line in _missing(column).splitlines())
    taken = min(names, max(12, width // 4)) + max((*map(len, ways), 7)) + 26
    for column in columns:
        grid.add_row(
            Text(column.name),
            Text(str(column.kind)),
            f"{column.distinct:,}",
            Text(_missing(column)),
            Text(_values(column, width - taken - len(", …"))),
        )
    return grid


def _missing(column: ColumnProfile) -> str:
    if not column.missing:
        return ""
    only = list(column.missing) == ["empty"]
    return "\n".join(
        percent(n / column.rows) if only else f"{shown(way)}: {percent(n / column.rows)}"
        for way, n in column.missing.items()
    )


def _values(column: ColumnProfile, width: int) -> str:
    """Return the range, or as many of the commonest levels as fit."""
    if column.low is not None:
        named = [(value, column.labels.get(value)) for value in (column.low, column.high)]
        return " … ".join(shown(v) + (f" ({shown(label)})" if label else "") for v, label in named)
    parts: list[str] = []
    for value, count in column.top:
        label = f" ({shown(column.labels[value])})" if value in column.labels else ""
        part = f"{shown(value)}{label} {percent(count / column.rows)}"
        if parts and len(", ".join([*parts, part])) > width:
            break
        parts.append(part)
    return ", ".join(parts) + (", …" if len(parts) < column.distinct else "")


def _findings(profile: Profile) -> Iterator[RenderableType]:
    """Show all findings by topic."""
    for topic, of_topic in groupby(profile.findings, key=lambda f: f.topic):
        yield Text(f"\n{topic}", style="bold")
        for code, found in groupby(of_topic, key=lambda f: f.code):
            yield from _kind(code, list(found))
    if any(f.strength is Strength.POSSIBLE for f in profile.findings):
        yield Text("\n? marks a finding that is only possible.", style="dim")


def _kind(code: str, found: list[Finding]) -> Iterator[RenderableType]:
    """Show all findings of one kind, and the action once if it is the same for all."""
    yield Padding(Text(_sentence_case(CATALOGUE[code].title)), (0, 0, 0, 2), expand=False)
    grid = Grid.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    actions = list(dict.fromkeys(f.action for f in found))
    for action in actions:
        for finding in (f for f in found if f.action == action):
            mark = "?" if finding.strength is Strength.POSSIBLE else "·"
            grid.add_row(mark, _line(finding))
        grid.add_row("→", Text(action, style="italic"))
    yield Padding(Group(grid), (0, 0, 0, 4), expand=False)


def _line(finding: Finding) -> Text:
    names = heading(finding)
    return (
        Text.assemble((names, "bold"), f": {finding.message}") if names else Text(finding.message)
    )
