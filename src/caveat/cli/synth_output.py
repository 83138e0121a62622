"""How ``caveat synth`` writes: files and folders, groups and linked tables, margins."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from caveat.cli import console
from caveat.cli.reading import Reader, remark_on_draws
from caveat.errors import CaveatError
from caveat.seeds import TRIAL, is_guessable
from caveat.table import Table, write
from caveat.table.cells import PrivateNumbers, remark_on
from caveat.table.drafts import check_outputs, make_private
from caveat.table.files import TextForm, check_target, write_blocks
from caveat.table.frames import write_parts, write_several
from caveat.table.identifying import Origin, Output, clear, joined, judge
from caveat.table.linked import Linked, without_keys
from caveat.table.source import file_of, shown, source_of, without_password

if TYPE_CHECKING:
    from caveat.release.data_dictionary import Released
    from caveat.spec.data_entries import TableSpec
    from caveat.synthesis import Model, Plan
    from caveat.synthesis.linked import GroupModel, LinkedModel, LinkedPlan


def tables_folder(
    out: Path, synthesis: Mapping[str, Any], *, force: bool, inputs: Iterable[Path | str]
) -> Path | None:
    """Return the folder beside the synthetic data that tables go to, if there are any.

    One that may not be written is refused, before any work is done for it.
    """
    if not synthesis:
        return None
    from caveat.synthesis.margins.promise import is_private

    if "clearing" not in synthesis and not is_private(synthesis):
        return None
    from caveat.release.folder import check_target

    folder = out.with_name(f"{out.name.partition('.')[0]}-margins")
    check_target(folder, force=force, inputs=inputs)
    return folder


def write_source(
    fitted: Model,
    folder: Path | None,
    released: Output,
    escape_formulas: bool,
    *,
    force: bool,
    inputs: Iterable[Path | str],
) -> None:
    """Write the tables with their manifests, if there is a folder for them."""
    if folder is None:
        return
    from caveat.release.folder import release_folder, write_manifest
    from caveat.synthesis.margins.guaranteed import source_of
    from caveat.synthesis.margins.plan import write_tables

    tables = source_of(fitted)
    with console.notes(), release_folder(folder, force=force, inputs=inputs) as (draft, left):
        outputs = write_tables(tables, draft, released, escape_formulas=escape_formulas)
        write_manifest(draft, outputs)
    for remark in left:
        console.remark(f"note: {remark}")
    kind = "cleared" if fitted.cleared else "noisy"
    word = "table" if len(tables) == 1 else "tables"
    console.remark(f"{len(tables)} {kind} {word}, the only source of the data: {folder}")


# -------------------------------------------------------------------------------------------------
# How ``caveat synth`` writes groups and linked tables.


@dataclass(frozen=True)
class Written:
    """How the synthetic tables are written, and what occurs in each copy if it is described."""

    escape_formulas: bool
    force: bool
    form: TextForm | None = None
    as_read: bool = False
    released: tuple[Released, ...] = ()
    confidential: bool = True

    def note(self, copy: int, block: Table) -> None:
        """Note what occurs in a block of a copy, if its columns are to be described."""
        if self.released:
            self.released[copy].add(block)

    def cleared(self, output: Output, seed: int) -> Written:
        """Return how tables are written of which it is clear where their columns come from."""
        return replace(self, confidential=clear(output).confidential or is_guessable(seed))

    @property
    def options(self) -> dict[str, Any]:
        """Options of :func:`caveat.table.write`."""
        return {
            "escape_formulas": self.escape_formulas,
            "force": self.force,
            "confidential": self.confidential,
            "form": self.form,
        }


def targets_of(out: Path, copies: int) -> list[Path]:
    """Return the names of the copies: the one that was given, or with numbers."""
    if copies == 1:
        return [out]
    source = source_of(out)
    if source is not None and source.part:
        return [Path(source.with_part(f"{source.part}_{k}")) for k in range(1, copies + 1)]
    stem, dot, ending = out.name.partition(".")
    return [out.with_name(f"{stem}-{k}{dot}{ending}") for k in range(1, copies + 1)]


def write_groups(
    fitted: GroupModel,
    table: Table,
    targets: Sequence[Path],
    groups: int | Literal["population"] | None,
    threads: int | None,
    written: Written,
) -> None:
    """Draw copies of a table with groups and write each of them."""
    private = PrivateNumbers(table, _unguarded(fitted.plan, fitted.names))
    lengths = []
    with console.notes():
        copies = fitted.tables(groups, len(targets), threads)
        for copy, (drawn, target) in enumerate(zip(copies, targets, strict=True)):
            private.add(drawn)
            drawn = fitted.complete(drawn, copy)
            written.note(copy, drawn)
            write(drawn.compact(), target, **written.options)
            lengths.append(drawn.n_rows)
    _say_private(private)
    number = fitted.population if groups == "population" else groups or fitted.n_groups
    key = fitted.groups.key
    console.remark(
        f"{len(targets)} x {number:,} groups ({' and '.join(f'{n:,}' for n in lengths)} rows) with "
        f"fresh {key}: {', '.join(map(shown, targets))}"
    )
    remark_on_draws(fitted.seed)


def write_description(
    fitted: Model | GroupModel,
    targets: Sequence[Path],
    reader: Reader,
    path: Path | None,
    written: Written,
) -> None:
    """Describe the columns of the copies that were written, if somebody wants it."""
    if path is None:
        return
    from caveat.release.data_dictionary import described, write_dictionary

    # Not read again: text has no labels, and does not say which codes are missing.
    releases = [released.columns for released in written.released]
    done = {name: entry.settings.method for name, entry in fitted.plan.columns.items()}
    done |= dict.fromkeys(fitted.replaced.columns, "replaced")
    if reader.groups is not None:
        done[reader.groups.key] = "key"
    variables = described(releases, done)
    files = {"": [target.name for target in targets]}
    write_dictionary(
        variables, path, title=targets[0].name, files=files, force=written.force,
        confidential=written.confidential,
    )  # fmt: skip
    console.remark(f"written: {path}")


def _unguarded(plan: LinkedPlan, names: Sequence[str]) -> list[str]:
    """Return the columns whose numbers may be those of records."""
    known = plan.columns
    return [n for n in names if n in known and known[n].settings.method not in ("guarded", "drop")]


def say_ranges(plan: Plan | LinkedPlan) -> None:
    """Name the columns whose range was read off the data."""
    from caveat.synthesis.seen import remark_on_ranges

    for remark in remark_on_ranges(plan.columns):
        console.remark(f"note: {remark}")


def _say_private(private: PrivateNumbers, where: str = "") -> None:
    remark = remark_on(private.shares)
    if remark is not None:
        console.remark(f"note: {where}{remark}")


def synth_tables(
    reader: Reader,
    targets: Sequence[Path],
    rows: int | Literal["population"] | None,
    options: Mapping[str, Any],
    written: Written,
) -> None:
    """Synthesise the tables of a specification; each copy is a folder with files of their names."""
    from caveat.release.folder import check_target

    assert reader.document is not None
    for target in targets:
        check_target(target, force=written.force, inputs=reader.inputs)
    linked = reader.linked()
    from caveat.synthesis import Synthesizer

    wanted = _rows(linked, rows, reader.synthesis.get("weights", ""))
    synthesizer = Synthesizer(**options, **reader.synthesis)
    with console.notes(), console.progress() as bar:
        with reader.document.at("synthesis"):
            plan = synthesizer.plan(linked)
        steps = sum(len(stage.columns) for stage in plan.stages.values())
        task = bar.add_task("fitting", total=steps)
        fitted = synthesizer.fit(linked, done=lambda *_: bar.advance(task))
    outputs = {one.name: _output(one, linked, fitted) for one in reader.tables}
    say_ranges(fitted.plan)
    private = {
        name: PrivateNumbers(
            linked.tables[name], _unguarded(fitted.plan, linked.tables[name].names)
        )
        for name in linked.sequence
    }
    copies = fitted.tables(wanted, len(targets), options["threads"])
    for copy, (drawn, target) in enumerate(zip(copies, targets, strict=True)):
        notice = TRIAL if is_guessable(fitted.seed) else ""
        complete = fitted.complete(drawn, copy)
        _write_folder(reader, complete, target, written, outputs, notice)
        for name, count in private.items():
            count.add(drawn.tables[name])
    for name, count in private.items():
        _say_private(count, f"{name}: ")
    _report(fitted, linked, targets)
    console.verdict("what was written", clear(joined("release", outputs.values())))


def _output(table: TableSpec, linked: Linked, fitted: LinkedModel) -> Output:
    """Return where the columns of a drawn table come from; lookups are public lists."""
    from caveat.synthesis.seen import release_output

    original, name = linked.tables[table.name], table.name
    if name in linked.lookups:
        return Output("release", dict.fromkeys(original.names, Origin.LOOKED_UP))
    plan = fitted.plan.columns
    data = {*without_keys(linked, name)} - {linked.order.get(name, "").removeprefix("-")}
    judged = {n: one for n, one in judge(original).items() if n in data}
    released = [n for n in original if n not in plan or plan[n].settings.method != "drop"]
    replaced = fitted.replaced[name].columns if name in fitted.replaced else ()
    return release_output(plan, released, judged, table.schema.public, replaced)


def _rows(
    linked: Linked, rows: int | Literal["population"] | None, weights: str
) -> dict[str, int] | None:
    """Return the rows of the table without parent, if a number was given."""
    if rows is None:
        return None
    tops = linked.roots
    if len(tops) > 1:
        raise CaveatError(
            f"{' and '.join(tops)} have no parent: of which are these the rows?",
            where="rows",
            do="leave it out",
            code="spec.entry.conflict",
        )
    if rows == "population":
        from caveat.spec.data_entries import population_of

        return {tops[0]: population_of(linked.tables[tops[0]], weights)}
    return {tops[0]: rows}


def _write_folder(
    reader: Reader,
    drawn: Linked,
    target: Path,
    written: Written,
    outputs: Mapping[str, Output],
    notice: str,
) -> None:
    from caveat.release.folder import release_folder, write_manifest
    from caveat.spec.data_entries import forms_of

    with (
        console.notes(),
        release_folder(target, force=written.force, inputs=reader.inputs) as (draft, left),
    ):
        tables = {one.file_name: drawn.tables[one.name].compact() for one in reader.tables}
        forms = forms_of(reader.tables, reader.form) if written.as_read else {}
        files = write_several(tables, draft, escape_formulas=written.escape_formulas, forms=forms)
        held = {
            file: [
                outputs[one.name] for one in reader.tables if str(file_of(one.file_name)) == file
            ]
            for file in files
        }
        write_manifest(draft, [joined(file, these) for file, these in held.items()], notice)
    for remark in left:
        console.remark(f"note: {remark}")


def _report(fitted: LinkedModel, linked: Linked, targets: Sequence[Path]) -> None:
    fresh = ", ".join(sorted({linked.keys[name] for name in fitted.keys}))
    console.remark(
        f"{len(targets)} x {len(linked.tables)} tables with fresh {fresh}: "
        f"{', '.join(map(str, targets))}"
    )
    remark_on_draws(fitted.seed)


# -------------------------------------------------------------------------------------------------
# Where ``caveat synth`` writes: files, or folders with the parts of a table.


SLASH = ("/", os.sep)
"""What the name of a folder ends with."""

Blocks = Callable[[Path | None], Iterator[Table]]


@dataclass(frozen=True)
class CopyFiles:
    """The files of the copies, or their folders.

    Parameters
    ----------
    out
        The name that was given; with / at its end that of a folder.
    copies
        Number of copies.
    force
        Whether what exists may be replaced.
    """

    out: str
    copies: int
    force: bool

    @property
    def in_parts(self) -> bool:
        """Whether each copy is a folder of Parquet files."""
        return self.out.endswith(SLASH)

    @property
    def targets(self) -> list[Path]:
        """The names of the copies."""
        return targets_of(without_password(self.out), self.copies)

    @property
    def files(self) -> list[Path]:
        """Those of them that are files."""
        return [] if self.in_parts else self.targets

    def check(self, others: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
        """Refuse targets that no table can be written to, or that something else has."""
        read = [path for path in inputs if path is not None]
        check_outputs([*self.files, *others], force=self.force, inputs=read)
        for target in self.targets:
            if not self.in_parts:
                check_target(target, force=self.force)
                continue
            from caveat.release.folder import check_target as check_folder

            check_folder(target, force=self.force, inputs=read)

    def write(
        self, blocks: Blocks, target: Path, inputs: Iterable[Path], how: Mapping[str, Any]
    ) -> None:
        """Write one copy; workers write the parts that they draw into the folder themselves."""
        if not self.in_parts:
            write_blocks(blocks(None), target, **how)
            return
        from caveat.release.folder import release_folder

        with release_folder(target, force=self.force, inputs=inputs) as (draft, left):
            write_parts(blocks(draft), draft)
            for path in (*draft.iterdir(), draft):
                make_private(path, path, confidential=how["confidential"])
        for remark in left:
            console.remark(f"note: {remark}")
