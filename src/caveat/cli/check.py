"""``caveat check``: may this output leave? By the rules of the statbarns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from caveat.cli import console
from caveat.errors import CaveatError
from caveat.table.drafts import check_outputs, status

if TYPE_CHECKING:
    from caveat.outputs.statbarns import Checked
    from caveat.spec.data_entries import OutputRules

__all__ = ["check"]


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
        _write(results, files, checked, inputs, force)
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


def _write(
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
