"""How ``caveat synth`` writes the tables, cleared or noisy, that a release was made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caveat.cli import console

if TYPE_CHECKING:
    from caveat.synthesis import Model
    from caveat.table.identifying import Output

__all__ = ["tables_folder", "write_source"]


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
