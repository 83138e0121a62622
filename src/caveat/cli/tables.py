"""``caveat tables`` and ``caveat check``: outputs, and whether they may leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caveat.cli import console
from caveat.cli.reading import Reader, remark_on_draws
from caveat.errors import CaveatError
from caveat.seeds import TRIAL
from caveat.table import Table
from caveat.table.drafts import check_outputs, make_folder, status, write_text
from caveat.table.files import write
from caveat.table.identifying import Output, clear, joined

if TYPE_CHECKING:
    from caveat.outputs.publication import Inner, Publication
    from caveat.outputs.shown import Shown
    from caveat.outputs.statbarns import Checked
    from caveat.spec.data_entries import OutputRules
    from caveat.spec.tables_spec import TablesSpec


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
    from caveat.evidence.file import MANIFEST
    from caveat.release.folder import check_target

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


# -------------------------------------------------------------------------------------------------
# ``caveat check``: may this output leave? By the rules of the statbarns.


def check(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Tables, regression results (JSON, CSV), evidence.json, reports; or folders."
        ),
    ],
    rules: Annotated[
        Path | None, typer.Option(help="A TOML file with the rules of the office [the defaults].")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(help="The ledger of what was published, to compare with.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="With --ledger: the name of the data in it.")
    ] = None,
    publish: Annotated[
        bool,
        typer.Option(
            "--publish", help="With --ledger: enter the tables as published, if none is refused."
        ),
    ] = False,
    results: Annotated[
        Path | None,
        typer.Option(help="A folder for SACRO-Viewer: results.json, the outputs, checksums."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an earlier folder of results.")
    ] = False,
) -> None:
    """Say of each output whether it may leave: safe, needs review or refuse, and why.

    Exits with 3 if an output is not safe.

    Example: caveat check table.csv model.json --ledger ledger.jsonl --dataset "survey 2026"
    """
    if (ledger is None) != (dataset is None) or (publish and ledger is None):
        raise CaveatError(
            "a ledger and the name of the data belong together",
            where="--ledger, --dataset",
            do="give both, or neither",
            code="command.option.absent",
        )
    for path in files:
        if status(path) is None:
            raise CaveatError(
                "there is no such file",
                where=str(path),
                do="check the name",
                code="outputs.file.absent",
            )
    # Measuring rooms and the specification are large; --help does not need them.
    from caveat.outputs.checking import files_in

    files = files_in(files)
    inputs = [*files, *([rules] if rules else [])]
    if ledger is not None:
        check_outputs([ledger], force=True, inputs=inputs)
        inputs.append(ledger)
    from caveat.outputs.checking import check_names
    from caveat.release.folder import check_target
    from caveat.spec.data_entries import OutputRules

    if results is not None:
        check_names(files)
        check_target(results, force=force, inputs=inputs)
    told = OutputRules() if rules is None else OutputRules.read(rules)
    if ledger is None or dataset is None:
        checked = _checked(files, told, [])
    else:
        checked = _against(ledger, dataset, files, told, publish)
    if results is not None:
        _write_judged(results, files, checked, inputs, force)
    _show(checked)
    if results is not None:
        console.remark(f"written: {results}")
    if any(one.verdict != "safe" for one in checked):
        raise typer.Exit(3)


def _checked(
    files: Sequence[Path], told: OutputRules, earlier: Sequence[dict[str, object]]
) -> list[Checked]:
    from caveat.outputs.checking import check_files
    from caveat.outputs.differencing import Counts

    before = [Counts.from_entry(entry) for entry in earlier]
    return check_files(files, told.rules, described=told.described, earlier=before)


def _against(
    path: Path, dataset: str, files: Sequence[Path], told: OutputRules, publish: bool
) -> list[Checked]:
    """Compare with what was published; enter what is published now."""
    from caveat.outputs.statbarns import Verdict
    from caveat.privacy import TABLE, Ledger

    ledger = Ledger(path)
    if not publish:
        entries = [entry for entry in ledger.entries(dataset) if entry["kind"] == TABLE]
        return _checked(files, told, entries)
    with ledger.publishing(dataset) as (earlier, new):
        checked = _checked(files, told, earlier)
        if all(one.verdict is not Verdict.REFUSE for one in checked):
            known = {entry["sha256"] for entry in earlier}
            tables = [one.counts for one in checked if one.counts is not None]
            new += [one.entry() for one in tables if one.sha256 not in known]
    if new:
        console.remark(f"entered as published: {', '.join(str(entry['what']) for entry in new)}")
    elif any(one.verdict is Verdict.REFUSE for one in checked):
        console.remark("nothing was entered: an output is refused")
    return checked


def _write_judged(
    folder: Path, files: Sequence[Path], checked: Sequence[Checked], inputs: list[Path], force: bool
) -> None:
    from caveat.outputs.checking import RESULTS, write_results
    from caveat.release.folder import release_folder, write_manifest
    from caveat.table.identifying import Output

    # The folder of a run has a manifest too, and is not ours to replace.
    if folder.is_dir() and any(folder.iterdir()) and not (folder / RESULTS).exists():
        raise CaveatError(
            "the folder holds something that is no results of a check",
            where=str(folder),
            do="choose another folder",
            code="outputs.folder.refused",
        )
    with release_folder(folder, force=force, inputs=inputs) as (draft, remarks):
        names = write_results(draft, files, checked, datetime.now().astimezone())
        why = "it describes outputs that were handed in to be checked"
        write_manifest(draft, [Output(name, inside=why) for name in names])
    for remark in remarks:
        console.remark(f"note: {remark}")


def _show(checked: Sequence[Checked]) -> None:
    for one in checked:
        what = ", ".join(one.barns) or "not checked"
        console.out.print(f"{one.name}: {one.verdict}", style="bold", markup=False, soft_wrap=True)
        console.out.print(f"  {one.form} ({what})", style="dim", markup=False, soft_wrap=True)
        for finding in one.findings:
            console.out.print(
                f"  {finding.verdict}: {finding.reason}", markup=False, soft_wrap=True
            )
            console.out.print(f"    remedy: {finding.remedy}", markup=False, soft_wrap=True)
