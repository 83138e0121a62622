"""``caveat look`` and ``caveat init``: before a file is synthesised."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from caveat.errors import CaveatError, hint
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
from caveat.table import Schema, Table, read
from caveat.table.drafts import check_output, check_outputs, write_text
from caveat.table.frames import tables_in
from caveat.table.source import has_labels, name_of, readable
from caveat.table.source import shown as shown_path

if TYPE_CHECKING:
    from caveat.findings.keys import Links
    from caveat.spec.codebook import Codebook, Held
    from caveat.spec.forms import Answers, Most


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


# -------------------------------------------------------------------------------------------------
# ``caveat init``: a few questions, and a release specification.


SCHEMA = "release.schema.json"


def init(
    data: Annotated[Path | None, typer.Argument(help="The confidential file.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The specification.")] = Path(
        "release.toml"
    ),
    schema: Annotated[
        bool,
        typer.Option(
            "--schema",
            help=f"Ask nothing; write {SCHEMA} beside the specification, for editors.",
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:
    """Write a release specification after a few questions."""
    if schema:
        target = out.with_name(SCHEMA)
        check_output(target, force=force, inputs=[data])
        # The specification knows every room: seconds that `caveat --help` does not need.
        from caveat.spec.entries import json_schema

        write_text(
            target, json.dumps(json_schema(), indent=2) + "\n", confidential=False, force=force
        )
        console.remark(f"written: {target}")
        return
    if not _is_terminal():
        raise CaveatError(
            "init asks questions and needs a terminal",
            do="use caveat look FILE --out release.toml, which asks nothing",
            code="command.terminal.absent",
        )
    check_output(out, force=True, inputs=[data])
    force = force or _may_replace(out)
    check_output(out, force=force)
    table, file = _data(data)
    check_output(out, force=force, inputs=[file])
    from caveat.findings import look as look_at
    from caveat.spec.spec import ReleaseSpec
    from caveat.spec.starter import starter

    profile = look_at(table)
    answers = _ask(profile, "Synthetic data")
    text = starter(profile, seen_from(out, file), {}, answers)
    write_text(out, text, confidential=True, force=force)
    _say(f"\nwritten: {out}")
    ReleaseSpec.from_toml(out).check(table)
    _say("Read it line by line: what the look only suspects stands in comments.")
    _say(f"Then: caveat run {out}")


def _is_terminal() -> bool:
    return sys.stdin.isatty()


def _may_replace(out: Path) -> bool:
    return out.is_file() and typer.confirm(f"{out} exists already. Replace it?", default=False)


def _data(given: Path | None) -> tuple[Table, Path]:
    """Return the table and its file; asked for until it can be read, unless it was named."""
    if given is not None:
        return read(given), given
    here = [path for path in sorted(Path().iterdir()) if path.is_file()]
    here = [path for path in here if path.name.lower().endswith(readable())]
    found: list[Table] = []

    def taken(answer: str) -> Path:
        found.append(read(answer))
        return Path(answer)

    file = _question("The confidential file", taken, str(here[0]) if len(here) == 1 else None)
    return found[-1], file


def _ask(profile: Profile, title: str) -> Answers:
    """Ask what the look cannot know."""
    from caveat.findings.keys import candidates
    from caveat.spec.data_entries import ACCESS
    from caveat.spec.forms import ATTRIBUTES, DISCLOSURE, MEMBERSHIP, Answers
    from caveat.spec.starter import released, usual_share

    groups = _groups(profile)
    names = released(profile, groups)
    likely = candidates(profile, names)
    left_out = [column.name for column in profile.columns if column.name not in names]
    _say(f"{profile.rows:,} rows. Columns that would be released: {', '.join(names)}.")
    if left_out:
        _say(f"Left out, or computed from others: {', '.join(left_out)}.")
    title = _question("\nTitle of the release", _filled, title)
    unit = _question("What is a row (person, household, visit …)", _filled, "person")
    purpose = _question("What is the release for", str.strip, "")
    recipients = _question("Who gets it", str.strip, "")
    access = _question(f"How do they get it ({', '.join(ACCESS)})", _one_of(ACCESS), "secure")
    copies = _question("How many synthetic tables", _whole, "1")
    control = _question(
        "Share of records to hold out, to attack people who were not in the data (0 for none)",
        _share,
        f"{usual_share(profile, groups) or 0:g}",
    )
    _say("\nWhat an attacker may know about a person, with commas; results depend wholly on it.")
    if likely:
        _say(f"People often know: {', '.join(likely)}.")
    keys = _question("Keys", _ask_columns(names, least=1), _listed(likely[:3]) or None)
    others = [name for name in names if name not in keys]
    targets = _question(
        "What they want to learn (empty: everything else)", _ask_columns(others), ""
    )
    limits = _limits(DISCLOSURE)
    _say("\nThe strongest attacker knows all other records, and how the release is made.")
    strong = _question(
        "Columns that they want to learn (a minus: only who was in the data)",
        _ask_columns(others, none="-"),
        _listed(targets) or "-",
    )
    strong_limits = _limits({**MEMBERSHIP, **(ATTRIBUTES if strong else {})})
    _say("\nAnalyses that must work on the synthetic data, as in: income ~ age + sex")
    return Answers(
        title=title, unit=unit, purpose=purpose, recipients=recipients, access=access,
        copies=copies, control=control, keys=keys, targets=targets, limits=limits,
        strong=strong, strong_limits=strong_limits, groups=groups, models=_models(names),
    )  # fmt: skip


def _limits(usual: Mapping[str, Most]) -> dict[str, Most]:
    """Ask for the most that measures may come to, or may be above their comparison."""
    from caveat.risk import MEASURES

    limits: dict[str, Most] = {}
    for measure, most in usual.items():
        above = isinstance(most, Mapping)
        _say(f"\n{measure}: {MEASURES[measure].says}.")
        text = f"The most percentage points of {measure} above the comparison" if above else (
            f"The most that {measure} may come to, in per cent"
        )  # fmt: skip
        default = f"{most['above'] if isinstance(most, Mapping) else most:g}"
        given = _question(f"{text} (a minus: no limit)", _percent, default)
        if given is not None:
            limits[measure] = {"above": given} if above else given
    return limits


def _models(names: Sequence[str]) -> tuple[str, ...]:
    """Ask for one or two formulas."""
    from caveat.utility.analyses import check_model

    def understand(answer: str) -> str:
        if answer.strip():
            check_model(answer.strip(), names)
        return answer.strip()

    first = _question("First analysis (empty: none)", understand, "")
    second = _question("Second analysis (empty: none)", understand, "") if first else ""
    return tuple(model for model in (first, second) if model)


def _groups(profile: Profile) -> bool:
    """Ask whether rows that belong together are synthesised so, if there are any."""
    from caveat.spec.starter import group_finding

    found = group_finding(profile)
    if found is None:
        return False
    _say(f"Rows belong together by {found}")
    text = f"Synthesise whole groups of {found.columns[0]}, with fresh keys (yes, no)"
    return bool(_question(text, _one_of(("yes", "no")), "yes") == "yes")


def _say(text: str) -> None:
    console.out.print(text, markup=False, soft_wrap=True)


def _question(text: str, understand: Callable[[str], Any], default: str | None) -> Any:
    """Ask until the answer is understood; the answer to an empty line is the default."""
    while True:
        answer = typer.prompt(text, default=default, show_default=bool(default))
        try:
            return understand(str(answer))
        except (CaveatError, ValueError) as error:
            console.error(str(error))


def _filled(answer: str) -> str:
    if not answer.strip():
        raise ValueError("an answer is needed")
    return answer.strip()


def _one_of(words: Sequence[str]) -> Callable[[str], str]:
    def understand(answer: str) -> str:
        if answer.strip() not in words:
            raise ValueError(f"{answer.strip()!r} is none of them; {hint(answer, words)}")
        return answer.strip()

    return understand


def _number(answer: str, what: str) -> float:
    try:
        number = float(answer.strip().removesuffix("%"))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{what} is expected")
    return number


def _whole(answer: str) -> int:
    number = _number(answer, "a whole number")
    if number < 1 or number != int(number):
        raise ValueError("a whole number, 1 or more, is expected")
    return int(number)


def _share(answer: str) -> float:
    number = _number(answer, "a share such as 0.2")
    if not 0 <= number < 1:
        raise ValueError("a share from 0 to below 1 is expected")
    return number


def _percent(answer: str) -> float | None:
    if answer.strip() == "-":
        return None
    number = _number(answer, "a number of per cent")
    if not 0 <= number <= 100:
        raise ValueError("a number from 0 to 100 is expected")
    return int(number) if number.is_integer() else number


def _listed(names: Sequence[str]) -> str:
    """Return names as they are typed: those with commas or quotation marks in quotation marks."""
    odd = [f'"{name.replace(chr(34), chr(34) * 2)}"' for name in names]
    return ", ".join(
        q if set(name) & {",", '"'} else name for name, q in zip(names, odd, strict=True)
    )


def _ask_columns(
    known: Sequence[str], least: int = 0, none: str = ""
) -> Callable[[str], tuple[str, ...]]:
    def understand(answer: str) -> tuple[str, ...]:
        if answer.strip() == none:
            answer = ""
        # Names with commas stand in quotation marks, as in a CSV file.
        (row,) = list(csv.reader([answer], skipinitialspace=True)) or [[]]
        names = tuple(dict.fromkeys(name.strip() for name in row if name.strip()))
        for name in names:
            if name not in known:
                raise ValueError(f"there is no column {name!r} to choose; {hint(name, known)}")
        if len(names) < least:
            raise ValueError("name at least one column")
        return names

    return understand
