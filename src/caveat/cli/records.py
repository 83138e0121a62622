"""``caveat safepub`` and ``caveat places``: real records, generalised or moved."""

from __future__ import annotations

import json as text_format
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.table import Table as Sheet

from caveat.cli import console
from caveat.cli.reading import KeyOption, Reader, SeedOption, remark_on_draws
from caveat.errors import CaveatError, hint
from caveat.seeds import ReleaseKey
from caveat.table import Kind, Table
from caveat.table.drafts import check_outputs, write_text
from caveat.table.files import check_target, write
from caveat.table.identifying import CODES, Clearance, Origin, Output, clear, copied_records, judge

if TYPE_CHECKING:
    from caveat.protect import Protected
    from caveat.spec.tables_spec import SafepubSpec
    from caveat.table.coordinates import Floats
    from caveat.utility.places import Population, Zones, ZoneShares


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


# -------------------------------------------------------------------------------------------------
# ``caveat places``: move coordinates into a ring, and say what hides them.


MOST_ZONES = 20  # are printed


def _root(seed: int | None, key: Path | None) -> int | None:
    """Return the root of the draws; None where nobody has to repeat them."""
    return seed if key is None else ReleaseKey.at(key).root(seed or 0)


def _remark_on_draws(seed: int | None, key: Path | None, together: str | None) -> None:
    if key is None and seed is not None:
        remark_on_draws(seed)
    elif key is None and together is not None:
        console.remark("note: to move records alike again later, use --key FILE")


def places(
    original: Annotated[Path, typer.Argument(help="The table with the true places.")],
    moved: Annotated[
        Path | None, typer.Argument(help="The same records with moved places; or use --move.")
    ] = None,
    x: Annotated[str, typer.Option(help="The column east, or longitude.")] = "x",
    y: Annotated[str, typer.Option(help="The column north, or latitude.")] = "y",
    move: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Move each place by a distance between these radii in metres."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="With --move: where the table goes.")
    ] = None,
    radial: Annotated[
        str, typer.Option(help="With --move: what is uniform, 'distance' or 'area'.")
    ] = "distance",
    inside: Annotated[
        Path | None, typer.Option(help="With --move: a GeoJSON file that no place may leave.")
    ] = None,
    box: Annotated[
        tuple[float, float, float, float] | None,
        typer.Option(help="With --move: west, south, east, north that no place may leave."),
    ] = None,
    together: Annotated[
        str | None,
        typer.Option(help="With --move: a column; records with the same value move alike."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="With --move: a column that identifies people and is written. Repeat it."
        ),
    ] = None,
    seed: SeedOption = None,
    key: KeyOption = None,
    degrees: Annotated[
        bool | None,
        typer.Option("--degrees/--metres", help="What the columns are; degrees need caveat[geo]."),
    ] = None,
    epsg: Annotated[
        int | None, typer.Option(help="Of degrees: the metric system to measure in [a local one].")
    ] = None,
    same: Annotated[
        list[str] | None,
        typer.Option(help="A column that an attacker knows beside the place. Repeat it."),
    ] = None,
    k: Annotated[int, typer.Option(min=2, help="Hiding among fewer than this is critical.")] = 3,
    population: Annotated[
        Path | None, typer.Option(help="Where people live: a table with the same two columns.")
    ] = None,
    count: Annotated[
        str | None, typer.Option(help="With --population: the column with how many [1].")
    ] = None,
    grid: Annotated[
        float | None, typer.Option(help="With --population: it is a grid with cells this wide.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Compare a prevalence by zone: COLUMN=VALUE.")
    ] = None,
    zone: Annotated[
        str | None, typer.Option(help="With --target: the column with the zone.")
    ] = None,
    zones: Annotated[
        Path | None,
        typer.Option(help="With --zone: points with zones, the nearest decides [the original]."),
    ] = None,
    cell: Annotated[
        float | None, typer.Option(help="With --target: square zones this wide, in metres.")
    ] = None,
    json: Annotated[
        str | None, typer.Option(help="Write the results to this file, or '-': to the screen.")
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(help="A TOML file that declares kinds and missing codes.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:
    """Move places into a ring around the true ones, or measure places that were moved.

    Says among how many each place hides, whether the points still cluster, and how a prevalence by
    zone changes.

    Example: caveat places people.csv --x east --y north --move 100 400 --out moved.csv
    """
    json_path = Path(json) if json not in (None, "-") else None
    inputs = [original, moved, inside, population, zones, schema]
    check_outputs([out, json_path], force=force, inputs=inputs)
    if out is not None:
        check_target(out, force=force)
    reader = Reader.of(schema)
    check_outputs([out, json_path], force=force, inputs=reader.inputs)
    _check_together(moved, move, out, keep, target, zone, cell)
    before = reader.original(original)
    from caveat.protect import Area, donut
    from caveat.utility.places import measure_places

    if moved is not None:
        after = reader.release(moved)
    else:
        assert move is not None
        area = Area.read(inside) if inside is not None else box
        done = donut(
            before, x, y, *move, radial=radial, inside=area, together=together, degrees=degrees,
            epsg=epsg, seed=_root(seed, key),
        )  # fmt: skip
        after = done.table
        for note in done.step.notes:
            console.remark(f"note: {note}")
    found = measure_places(
        before, after, x, y, same=same or (), degrees=degrees, epsg=epsg,
        population=_population(reader, population, x, y, count, grid),
        zones=_zones(reader, target, zone, zones, cell, x, y),
    )  # fmt: skip
    content = text_format.dumps(found.to_dict(k), indent=2, ensure_ascii=False, allow_nan=False)
    if out is not None:
        trial = seed is not None and key is None
        _write_moved(after, out, reader, before, (x, y), keep or (), trial=trial, force=force)
    if json_path is not None:
        write_text(json_path, content + "\n", confidential=True, force=force)
    if json == "-":
        console.document(content)
    else:
        for sentence in found.sentences(k):
            console.out.print(sentence, markup=False, soft_wrap=True)
        if found.zones is not None:
            _show_places(found.zones)
    _remark_on_draws(seed, key, together)
    for path in (out, json_path):
        if path is not None:
            console.remark(f"written: {path}")


def _write_moved(
    table: Table, out: Path, reader: Reader, before: Table, moved: Sequence[str],
    keep: Sequence[str], *, trial: bool, force: bool,
) -> None:  # fmt: skip
    """Write moved records without what identifies people, unless it is kept; say what may leave."""
    for name in keep:
        if name not in table:
            raise CaveatError(
                f"there is no column {name!r} in the data",
                where="--keep",
                do=hint(name, table.names),
                code="data.column.unknown",
            )
    judged, public = judge(before), reader.schema.public
    left = [name for name in judged if name not in (*keep, *moved, *public)]
    released = table.drop(left)
    origins = copied_records(released.names, judged, dict.fromkeys(moved, Origin.DRAWN))
    cleared = clear(Output(str(out), origins, public, judged))
    write(released, out, force=force, confidential=cleared.confidential or trial)
    for name in left:
        console.remark(
            f"note: {name} is left out: it looks like {CODES[judged[name].code]} "
            f"({judged[name].reason}); --keep {name} would write it"
        )
    console.verdict(str(out), cleared)


def _check_together(
    moved: Path | None,
    move: tuple[float, float] | None,
    out: Path | None,
    keep: list[str] | None,
    target: str | None,
    zone: str | None,
    cell: float | None,
) -> None:
    """Refuse options that do not go together."""
    if (moved is None) == (move is None):
        raise CaveatError(
            "either a table of moved places is measured, or places are moved now",
            where="MOVED, --move",
            do="give one of them",
            code="command.option.conflict",
        )
    if keep and move is None:
        raise CaveatError(
            "nothing is written",
            where="--keep",
            do="leave it out, or add --move",
            code="command.option.unused",
        )
    if (move is None) != (out is None):
        raise CaveatError(
            "moving places and a file for them belong together",
            where="--move, --out",
            do="give both, or neither",
            code="command.option.absent",
        )
    if (target is None) != (zone is None and cell is None) or (zone and cell):
        raise CaveatError(
            "a prevalence needs a target, and zones by a column or by squares",
            where="--target, --zone, --cell",
            do="give --target COLUMN=VALUE and one of the other two",
            code="command.option.absent",
        )


def _population(
    reader: Reader, path: Path | None, x: str, y: str, count: str | None, grid: float | None
) -> Population | None:
    from caveat.table.coordinates import points_of
    from caveat.utility.places import Population

    if path is None:
        if count is not None or grid is not None:
            raise CaveatError(
                "there is no population",
                where="--count, --grid",
                do="name its file",
                code="command.option.absent",
            )
        return None
    table = reader.release(path)
    points = _complete(points_of(table, x, y), path)
    if count is None:
        return Population(points, None, grid)
    if not table[count].kind.is_number:
        raise CaveatError(
            "how many people must be numbers",
            where=str(path),
            column=count,
            code="data.column.type",
        )
    return Population(points, table[count].cell_numbers, grid)


def _zones(
    reader: Reader, target: str | None, zone: str | None, path: Path | None, cell: float | None,
    x: str, y: str,
) -> Zones | None:  # fmt: skip
    from caveat.table.coordinates import points_of
    from caveat.utility.places import Zones

    if target is None:
        return None
    column, equals, value = target.partition("=")
    if not equals:
        raise CaveatError(
            f"{target!r} is not of the form COLUMN=VALUE",
            where="--target",
            code="command.option.malformed",
        )
    if path is None:
        return Zones(column, value, cell, zone or "")
    if zone is None:
        raise CaveatError(
            "points with zones need the column that names them",
            where="--zones",
            do="add --zone",
            code="command.option.absent",
        )
    table = reader.release(path)
    points = _complete(points_of(table, x, y), path)
    return Zones(column, value, places=points, names=table[zone].values)


def _complete(points: Floats, path: Path) -> Floats:
    missing = np.isnan(points[:, 0])
    if missing.any():
        raise CaveatError(
            "a place is missing",
            where=str(path),
            row=int(missing.argmax()) + 1,
            do="take it out",
            code="place.coordinate.absent",
        )
    return points


def _show_places(found: ZoneShares) -> None:
    """Print the zones, those with most records first."""
    sheet = Sheet()
    sheet.add_column("zone")
    for head in ("records", "afterwards", "prevalence", "afterwards"):
        sheet.add_column(head, justify="right")
    order = (-found.n[0]).argsort(kind="stable")
    shown = order if len(order) <= MOST_ZONES else order[:MOST_ZONES]
    for i in shown.tolist():
        cells = ["–" if s != s else f"{100 * s:.1f} %" for s in found.shares[:, i].tolist()]
        sheet.add_row(found.zones[i], *(f"{n:,}" for n in found.n[:, i].tolist()), *cells)
    console.out.print(sheet)
    if len(order) > MOST_ZONES:
        console.out.print(f"… and {len(order) - MOST_ZONES:,} smaller zones", markup=False)
