"""``caveat tables``: tables from microdata, with what must stay hidden hidden."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caveat.cli import console
from caveat.cli.randomness import remark_on_draws
from caveat.cli.reading import Reader
from caveat.errors import CaveatError
from caveat.seeds import TRIAL
from caveat.table import Table
from caveat.table.drafts import check_outputs, make_folder, write_text
from caveat.table.files import write
from caveat.table.identifying import Output, clear, joined

if TYPE_CHECKING:
    from caveat.outputs.publication import Inner, Publication
    from caveat.outputs.shown import Shown
    from caveat.spec.tables_spec import TablesSpec

__all__ = ["tables"]

WHY = "CONFIDENTIAL-why-hidden.csv"
PAGE, BOOK = "tables.html", "tables.xlsx"


def tables(
    spec: Annotated[
        Path, typer.Argument(help="A TOML file with [data] and one or more [[table]].")
    ],
    folder: Annotated[Path, typer.Option(help="Where the tables go.")] = Path("tables"),
    excel: Annotated[
        bool, typer.Option("--excel", help="Write a workbook with a sheet for each table as well.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace earlier tables.")] = False,
) -> None:
    """Make tables of counts or magnitudes in which no hidden cell can be computed.

    All tables are protected together: cells with too few contributors, or dominated by one, are
    hidden, and further ones from which these could be computed. Rounding and cell keys are
    alternatives. Writes a CSV for each table and one HTML page, with --excel a workbook too, and
    for the office alone why each cell is hidden.

    Example: caveat tables tables.toml --folder published
    """
    if excel:
        from caveat.outputs.shown import check_excel

        check_excel()
    reader = Reader.of(spec)
    from caveat.spec.tables_spec import TablesSpec

    assert reader.document is not None
    told = TablesSpec.from_document(reader.document)
    names, inputs = _names(told), [*reader.inputs, *told.files]
    _check(folder, force, inputs)
    table = reader.original(told.path)
    told.check_columns(table.names)
    outputs = told.outputs(table, reader.schema.public)
    inner = _laid_out(told, table)
    shown, why = _protected(told, inner)
    if not shown:
        console.remark("nothing is written: every table is published already")
        return
    make_folder(folder.parent, confidential=False)
    _check(folder, force, inputs)
    notice = TRIAL if told.is_trial else ""
    written = dict(zip(names, shown, strict=True))
    _write(folder, written, outputs, notice, why, excel, force, inputs)


def _check(folder: Path, force: bool, inputs: list[Path]) -> None:
    """Refuse what may not be written, before any work is done for it."""
    from caveat.release.folder import MANIFEST, check_target

    if not folder.parent.is_dir():
        return
    check_outputs([_why(folder)], force=force, inputs=inputs)
    check_target(folder, force=force, inputs=inputs)
    # Another command's folder has a manifest too.
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.suffix != ".csv" and path.name not in (PAGE, BOOK, MANIFEST):
            raise CaveatError(
                f"the folder holds something that is no table: {path.name}",
                where=str(folder),
                do="choose another folder",
                code="outputs.folder.refused",
            )


def _write(
    folder: Path,
    tables: dict[str, Shown],
    outputs: Mapping[str, Output],
    notice: str,
    why: dict[str, list[Any]] | None,
    excel: bool,
    force: bool,
    inputs: list[Path],
) -> None:
    """Write the folder as a whole; why cells are hidden lies beside it."""
    from caveat.outputs.shown import page, write_workbook
    from caveat.release.folder import release_folder, write_manifest

    with release_folder(folder, force=force, inputs=inputs) as (draft, remarks):
        for name, one in tables.items():
            write(Table.from_frame(one.columns()), draft / name, escape_formulas=True)
        write_text(draft / PAGE, page([*tables.values()]), confidential=False)
        if excel:
            write_workbook(draft / BOOK, [*tables.values()])
        of_all = joined(PAGE, outputs.values())
        books = [replace(of_all, name=BOOK)] if excel else []
        write_manifest(draft, [*outputs.values(), of_all, *books], notice)
        if why is not None:
            told = Table.from_frame(why)
            write(told, _why(folder), force=force, escape_formulas=True, confidential=True)
    for remark in remarks:
        console.remark(f"note: {remark}")
    console.verdict(str(folder), clear(of_all))
    if why is not None:
        console.remark(f"CONFIDENTIAL: why cells are hidden is in {_why(folder)}; not for release")
    console.remark(f"written: {folder}")


def _why(folder: Path) -> Path:
    # Beside the folder, not in it: what is in it may be copied to where it is published.
    return folder.with_name(f"{folder.name}-{WHY}")


def _laid_out(told: TablesSpec, table: Table) -> Inner:
    from caveat.outputs.publication import inner_cells

    option = told.options.get
    named = {role: option(role) for role in ("value", "weight", "contributor")}
    with told.document.at("hierarchies" if told.parents else "table"):
        return inner_cells(
            # A rounded count may be 0: which combinations have nobody must not show beside it.
            table, told.layouts, told.parents, every=told.rules.zeros or not told.suppresses,
            total=option("total", "Total"), **named,
        )  # fmt: skip


def _names(told: TablesSpec) -> list[str]:
    """Return the names of the files of the new tables."""
    names: list[str] = []
    for i, layout in enumerate(told.layouts):
        if i in told.published:
            continue
        # Not every system keeps names apart that differ in capitals only.
        if layout.file == ".csv" or layout.file.casefold() in map(str.casefold, names):
            entry = ("table", i, "name")
            told.document.fail(
                entry,
                "the name makes no file name of its own",
                "use other letters",
                code="spec.entry.duplicate",
            )
        names.append(layout.file)
    return names


def _protected(told: TablesSpec, inner: Inner) -> tuple[list[Shown], dict[str, list[Any]] | None]:
    """Return the tables as they are shown, and why cells are hidden."""
    from caveat.outputs import primary
    from caveat.outputs.publication import publish
    from caveat.outputs.shown import reasons, shown_tables

    method = told.options.get("method", "suppress")
    if not told.suppresses:
        if inner.amounts.dtype.kind != "i":
            raise CaveatError(
                f"{method} is for counts without weights",
                where=told.document.where("publication", "method"),
                do='use method = "suppress"',
                code="outputs.method.unsupported",
            )
        base, seed = told.options.get("base", 5), told.seed
        if method != "controlled rounding":
            remark_on_draws(seed, "leave the seed out of the specification")
        if method == "stochastic rounding":
            from caveat.protect import stochastic_round

            values = inner.cells.sums(stochastic_round(inner.amounts, base, seed=seed))
        elif method == "controlled rounding":
            values = primary.controlled(inner.cells.matrix, inner.amounts, base)
        else:
            keys = primary.record_keys(len(inner.cells.row_of), seed)
            values = primary.perturbed(inner.cells, keys, primary.perturbations(base))
        console.out.print(f"{inner.cells.n_cells:,} cells, {method}", markup=False)
        return shown_tables(inner.cells, values, None, rounded=True), None
    earlier = told.earlier(inner)
    with told.document.at("publication"), console.progress() as bar:
        task = bar.add_task("suppressing", total=None)
        done = publish(
            inner, told.rules, earlier=earlier, share=told.options.get("share", 0.1),
            progress=lambda at, of: bar.update(task, completed=at, total=of),
        )  # fmt: skip
    _refuse_leaks(done, told.document.path.name)
    _say(done)
    measure = "count" if inner.is_count else "total"
    shown = shown_tables(done.cells, done.values, done.done.hidden, measure=measure)
    return [one for i, one in enumerate(shown) if i not in told.published], reasons(done)


def _refuse_leaks(done: Publication, where: str) -> None:
    """Refuse tables from which hidden cells could be computed."""
    if done.leaks:
        raise CaveatError(
            f"single contributors could still compute {len(done.leaks)} hidden cells",
            where=where,
            do="use coarser codes or fewer tables; nothing was written",
            code="outputs.cell.confidential",
        )
    if done.recovered:
        raise CaveatError(
            f"{len(done.recovered)} cells hidden by the rules follow from others",
            where=where,
            do="report this as a defect; nothing was written",
            code="outputs.suppression.failed",
        )
    exact = [one for one in done.intervals if one.low == one.high]
    if exact:
        raise CaveatError(
            f"{len(exact)} hidden cells are known exactly: no other value fits what is shown",
            where=where,
            do='use coarser codes, fewer tables or zeros = "public"; nothing was written',
            code="outputs.cell.confidential",
        )


def _say(done: Publication) -> None:
    from caveat.outputs.primary import Reason

    hidden, secondary = int(done.done.primary.sum()), int(done.done.secondary.sum())
    as_before = int((done.done.primary & (done.reasons == Reason.EARLIER)).sum())
    primary = hidden - as_before
    earlier = f"{as_before:,} as they were earlier, " if as_before else ""
    console.out.print(
        f"{done.cells.n_cells:,} cells: {primary:,} hidden by the rules, {earlier}{secondary:,} to "
        f"protect them, {done.cells.n_cells - hidden - secondary:,} shown",
        markup=False,
    )
    follow = f"{len(done.recovered):,}" if done.recovered else "none"
    console.out.print(f"cells hidden by the rules that follow from others: {follow}", markup=False)
    _say_nested(done)
    _say_earlier(done)
    if done.intervals:
        left = primary - len(done.intervals)
        text = f"known too closely: {len(done.narrow):,} of {len(done.intervals):,} tried"
        text += f" ({left:,} not tried, for time)" if left > 0 else ""
        text += f"; {done.added:,} cells are hidden for that alone" if done.added else ""
        console.out.print(text, markup=False)
    elif primary:
        console.out.print("bounds of hidden cells: not tried", markup=False)
    if primary == done.cells.n_cells:
        console.remark("note: every cell is hidden by the rules; use coarser codes")


def _say_nested(done: Publication) -> None:
    """Say against what knowledge of nested columns the hidden cells are protected."""
    for one in done.cells.nested:
        console.out.print(
            f"{one}: hidden cells are also protected against those who know this", markup=False
        )
    empty = int((done.cells.impossible & done.done.hidden).sum())
    if empty:
        console.remark(
            f"note: {empty:,} hidden cells are empty for those who know this; where codes nest, "
            "use [hierarchies] instead of two columns in one table"
        )


def _say_earlier(done: Publication) -> None:
    """Say what an earlier publication has told, which nothing can undo."""
    from caveat.outputs.primary import in_words

    if not done.settled.tables:
        return
    known = int(done.settled.known.sum())
    console.out.print(f"known from what is published already: {known:,} cells", markup=False)
    if done.settled.told:
        console.remark(
            f"note: cells that the rules hide are told by the earlier publication "
            f"({len(done.settled.told):,}): {in_words(done.cells, done.settled.told)}"
        )
    if done.leaks_before:
        cells = sorted({leak.cell for leak in done.leaks_before})
        console.remark(
            f"note: single contributors can compute hidden cells from the earlier publication "
            f"({len(cells):,}): {in_words(done.cells, cells)}"
        )
