"""Several tables into one folder: sheets of one workbook are one file, as tables of a database."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from caveat.errors import CaveatError
from caveat.table.atomic import atomic_output
from caveat.table.file_form import TextForm
from caveat.table.files import check_target, write
from caveat.table.input_checks import check_input, in_file
from caveat.table.source import source_of
from caveat.table.table import Table

__all__ = ["parts_of", "write_several"]


def parts_of(path: Path) -> list[Path]:
    """Return the sheets of a workbook or the tables of a database, if the path names none of them.

    Any other path is returned alone.
    """
    source = source_of(path)
    if source is None or source.part:
        return [path]
    if source.is_file:
        check_input(Path(source.place))
    try:
        if source.is_database:
            from caveat.table.database import tables_of

            parts = tables_of(path)
        else:
            from caveat.table._excel import sheets_of

            parts = sheets_of(Path(source.place))
    except CaveatError as error:
        raise in_file(error, path) from None
    return [Path(source.with_part(part)) for part in parts] if len(parts) > 1 else [path]


def write_several(
    tables: Mapping[str, Table],
    folder: Path,
    *,
    escape_formulas: bool = False,
    forms: Mapping[str, TextForm] = MappingProxyType({}),
) -> list[str]:
    """Write tables into a new folder; return the names of its files.

    Parameters
    ----------
    tables
        By the name of the file, with the sheet or table behind it: ``survey.xlsx#persons``.
    folder
        Where they go; none of the files may be there.
    escape_formulas
        As in :func:`caveat.table.write`.
    forms
        How text files are written, by their names.
    """
    books: dict[str, dict[str, Table]] = {}
    files: dict[str, None] = {}
    for name, table in tables.items():
        source = source_of(name)
        files[name if source is None else source.place] = None
        if source is not None and source.sort == "excel" and source.part:
            books.setdefault(source.place, {})[source.part] = table
        else:
            form = forms.get(name)
            write(table, folder / name, escape_formulas=escape_formulas, form=form)
    for name, sheets in books.items():
        from caveat.table._excel import prepare_sheets

        check_target(folder / name)
        save = prepare_sheets(sheets)
        with atomic_output(folder / name, confidential=False) as draft:
            save(draft)
    return list(files)
