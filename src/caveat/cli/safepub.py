"""``caveat safepub``: real records, sampled and generalised, with a promise."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from caveat.cli import console
from caveat.cli.reading import Reader
from caveat.table import Kind
from caveat.table.drafts import check_outputs
from caveat.table.files import check_target, write
from caveat.table.identifying import Clearance, Origin, Output, clear

if TYPE_CHECKING:
    from caveat.protect import Protected
    from caveat.spec.tables_spec import SafepubSpec

__all__ = ["safepub"]


def safepub(
    file: Annotated[Path, typer.Argument(help="The original data: one row per person.")],
    spec: Annotated[
        Path, typer.Option(help="A TOML file with [safepub] and the levels of each column.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the released records go.")],
    escape_formulas: Annotated[
        bool,
        typer.Option(
            "--escape-formulas", help="Put ' before text in CSV that a spreadsheet would compute."
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:
    """Release some of the real records, generalised, under (epsilon, delta)-differential privacy.

    Every record is kept with a chosen probability, values are generalised by levels that the
    specification declares, and what fewer than k kept records share is dropped.

    Example: caveat safepub survey.csv --spec safepub.toml --out released.csv
    """
    check_outputs([out], force=force, inputs=[file, spec])
    check_target(out, force=force)
    reader = Reader.of(spec)
    check_outputs([out], force=force, inputs=reader.inputs)
    from caveat.protect import safepub as release
    from caveat.spec.tables_spec import SafepubSpec

    assert reader.document is not None
    told = SafepubSpec.from_document(reader.document)
    if told.budget is not None:
        # Both may be there already; they must not be one file, not even one still to be made.
        check_outputs([out, Path(told.budget.ledger)], force=True)
    cleared = _cleared(told)
    table = reader.original(file)
    with _spending(told), reader.document.at("safepub"):
        done = release(table, told.levels, told.response, **told.options)
    # Only after the spending is entered: who has the file has its entry.
    write(
        done.table, out, force=force, escape_formulas=escape_formulas,
        confidential=cleared.confidential,
    )  # fmt: skip
    _show(done, told)
    if told.budget is None:
        console.remark("note: in no ledger; add [privacy] to count what all releases spend")
    console.verdict(str(out), cleared)
    console.remark(f"written: {out}")


def _cleared(told: SafepubSpec) -> Clearance:
    """Decide whether the released records may leave, before a record is read.

    Values are generalised to declared levels, the response has a class of k records at least, and
    a decision that looked at the data would not be covered by the promise. So what is declared
    decides.
    """
    origins = dict.fromkeys((*told.levels, told.response), Origin.COMPUTED)
    declared = told.document.content["columns"]
    origins |= {name: Origin.IDENTIFYING for name in origins if declared[name]["kind"] == Kind.ID}
    public = [name for name, entry in declared.items() if entry.get("public")]
    return clear(Output("safepub", origins, public))


def _spending(told: SafepubSpec) -> AbstractContextManager[None]:
    """Return the block in which the budget is held, if there is a ledger."""
    if told.budget is None:
        return nullcontext()
    from caveat.privacy import Limit, Spent

    promise = told.promise
    cost = Spent(epsilon=promise.epsilon, delta=promise.delta, what="safepub: real records")
    return told.budget.spending(cost, alone=Limit(promise.epsilon, promise.delta))


def _show(done: Protected, told: SafepubSpec) -> None:
    """Print what is promised, and apart from it what only the office may know."""
    counts: Mapping[str, float] = done.step.counts
    _lines("promised", told.promise.words)
    levels = [
        f"{name}: {one.words(int(counts[f'{name}: level']))}" for name, one in told.levels.items()
    ]
    rates = f"sampling rate {told.promise.beta:.4g}, classes of {told.promise.k} or more"
    _lines("released", [*levels, f"{told.response}: as it is", rates])
    numbers = "{rows:,.0f} rows, {sampled:,.0f} sampled, {suppressed:,.0f} of them dropped, "
    numbers += "{released:,.0f} released in {classes:,.0f} classes"
    notes = [note for note in done.step.notes if note.code != "promise"]
    _lines("for the office, outside the promise", [numbers.format(**counts), *notes])


def _lines(title: str, lines: tuple[str, ...] | list[str]) -> None:
    console.out.print(title, style="bold", markup=False)
    for line in lines:
        console.out.print(f"  {line}", markup=False, soft_wrap=True)
