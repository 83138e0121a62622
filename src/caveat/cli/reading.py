"""What commands read with: the tables, the seed and key, and where their work runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from caveat.cli import console
from caveat.cli.console import ask_for_hosts
from caveat.cluster import running_on, workers_of
from caveat.cluster.scheduler import work_folder
from caveat.errors import CaveatError
from caveat.registry import is_extended
from caveat.seeds import MOST_SEED, TRIAL, is_guessable
from caveat.table import Schema, Table
from caveat.table.code_files import CodeFiles
from caveat.table.files import read_into
from caveat.table.frames import workplace
from caveat.table.source import shown, source_of

if TYPE_CHECKING:
    from caveat.spec.data_entries import TableSpec
    from caveat.spec.document import Document
    from caveat.table.files import TextForm
    from caveat.table.grouping import Groups
    from caveat.table.linked import Linked


Number = TypeVar("Number", int, float)

FORMAT = ("delimiter", "decimal", "encoding")


@dataclass(frozen=True)
class Reader:
    """What a specification says about the files.

    Parameters
    ----------
    schema
        The ``[columns]`` part.
    form
        Delimiter, decimal sign and encoding of text files: in the ``[data]`` part.
    synthesis
        The ``[synthesis]`` part.
    groups
        The ``[groups]`` part; None if there is none.
    tables
        The ``[tables]`` part.
    path
        The file that ``[data]`` names, seen from the specification's folder; None if it names none.
    document
        The specification itself; None if there is none.
    inputs
        The specification and every file that it names: nothing is written there.
    quiet
        Whether what was repaired in a file is shown elsewhere.
    """

    schema: Schema = field(default_factory=Schema)
    form: Mapping[str, str] = field(default_factory=dict)
    synthesis: Mapping[str, Any] = field(default_factory=dict)
    groups: Groups | None = None
    tables: tuple[TableSpec, ...] = ()
    path: Path | None = None
    document: Document | None = None
    inputs: tuple[Path, ...] = ()
    quiet: bool = False

    @classmethod
    def of(cls, specification: Path | None, **form: str | None) -> Reader:
        """Read a specification, if there is one; what is given here comes before it."""
        given = {key: value for key, value in form.items() if value}
        if specification is None:
            return cls(form=given)
        from caveat.spec.document import PARTS

        check_file(specification, *PARTS)
        # The specification knows every room: seconds that `caveat --help` does not need.
        from caveat.spec.data_entries import margin_files, read_groups, read_tables
        from caveat.spec.document import Document
        from caveat.spec.spec import read_parts, with_budget

        document = Document.read(specification)
        data, schema, synthesis = read_parts(document)
        declared = {k: v for k, v in document.content.get("data", {}).items() if k in FORMAT}
        path, files = (None, ()) if data is None else (data.path, data.files)
        synthesis = with_budget(document, synthesis, schema)
        groups, tables = read_groups(document), read_tables(document)
        budget = synthesis.get("budget")
        ledger = () if budget is None else (Path(budget.ledger),)
        read_too = (specification, *ledger, *files, *(table.path for table in tables),
                    *margin_files(document))  # fmt: skip
        return cls(
            schema, {**declared, **given}, synthesis, groups, tables, path, document, read_too
        )

    def linked(self) -> Linked:
        """Read the tables of ``[tables]``, checked."""
        from caveat.spec.data_entries import read_linked

        assert self.document is not None
        linked = read_linked(self.document, self.tables, self.form)
        for name, table in linked.tables.items():
            self._remark(name, table)
        return linked

    def _remark(self, name: str, table: Table) -> None:
        """Say what was repaired in a file."""
        for note in () if self.quiet else table.notes:
            console.remark(f"note: {name}: {note}")

    @property
    def rows(self) -> int | Literal["population"] | None:
        """The rows that ``[release]`` asks for, if it does."""
        if self.document is None:
            return None
        from caveat.spec.data_entries import read_rows

        return read_rows(self.document)

    @property
    def seed(self) -> int | None:
        """The seed that ``[release]`` names, if it does."""
        if self.document is None:
            return None
        self.document.check(("release",))
        seed: int | None = self.document.content.get("release", {}).get("seed")
        return seed

    def refuse_protections(self, command: str) -> None:
        """Refuse ``[[protect]]`` in a command that does not carry it out."""
        if self.document is not None and self.document.content.get("protect"):
            self.document.fail(
                ("protect", 0),
                f"protect: caveat {command} does not carry out these protections",
                "use caveat run, which protects and measures the tables, or remove [[protect]]",
                code="spec.entry.unsupported",
            )

    def text_form(self, path: Path) -> TextForm:
        """Return the form of a text file, so that others are written in it."""
        from caveat.table.files import form_of

        return form_of(path, self.schema, **self.form)

    def original(self, path: Path, work: CodeFiles | None = None) -> Table:
        """Read the confidential table (into code files); it has every declared column."""
        return self._read(path, partial=False, work=work)

    def release(self, path: Path, work: CodeFiles | None = None) -> Table:
        """Read a release (into code files), which may lack columns."""
        return self._read(path, partial=True, work=work)

    def data(self, table: Table) -> Table:
        """Return a table without the key of groups: it is fresh in a release, and no data."""
        key = "" if self.groups is None else self.groups.key
        return table.drop([key]) if key in table else table

    def _read(self, path: Path, *, partial: bool, work: CodeFiles | None = None) -> Table:
        lines = nullcontext() if self.document is None else self.document.reading(path)
        with lines:
            table = read_into(work, path, schema=self.schema, partial=partial, **self.form)
        self._remark(path.name, table)
        return table


def check_file(specification: Path, *sections: str) -> None:
    """Refuse a wrong specification before the rooms are loaded for it.

    What is looked at are the entries of all sections, or of those that are named; what they mean
    together, and whether the data fit, is found out later. The stored table is enough for that,
    unless a program has added to the tables of Caveat: then the entries are held against these.
    """
    from caveat.spec._kinds import stored_table
    from caveat.spec.document import Document

    document = Document.read(specification)
    ask_for_hosts(document)
    document.check(sections or None, None if is_extended() else stored_table())


def seen_from(specification: Path, file: Path) -> str:
    """Return how a specification names a file: seen from its own folder, where that is possible."""
    source = source_of(file)
    if source is not None and not source.is_file:
        return shown(file)
    try:
        return Path(os.path.relpath(file, specification.parent)).as_posix()
    except ValueError:  # another drive
        return str(file.absolute())


def column_numbers(
    given: Sequence[str] | None, option: str, number: Callable[[str], Number]
) -> dict[str, Number]:
    """Read options of the form column=number."""
    out = {}
    for text in given or ():
        name, equals, value = text.rpartition("=")
        try:
            out[name] = number(value)
        except ValueError:
            equals = ""
        if not equals or not name:
            raise CaveatError(
                f"{text!r} is not of the form column=number",
                where=option,
                code="command.option.malformed",
            )
    return out


# -------------------------------------------------------------------------------------------------
# ``--cluster`` and ``--work``: where a command lets its work run.


ClusterOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS|local:N",
        help="Let the workers of this Dask scheduler do the work (tcp://host:8786), or N processes "
        "of this machine. The same bytes.",
    ),
]
WorkOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="For large data: a folder in which the table is kept as files while it is needed, and "
        "not in memory. All machines of a cluster must see it. [with an address: where the output "
        "goes]",
    ),
]


@contextmanager
def on_cluster(cluster: str | None, work: Path | None, beside: Path | None) -> Iterator[None]:
    """Let what can be shared out inside run on the workers that are named.

    Parameters
    ----------
    cluster
        The address of a scheduler, or ``local:N``; None for the threads of this process.
    work
        The folder for working files.
    beside
        An output, whose folder it is if none is named; without one the current folder.
    """
    if cluster is None:
        yield
        return
    with workers_of(cluster, work_folder(cluster, work, beside)) as workers, running_on(workers):
        yield


@contextmanager
def code_folders(work: Path | None) -> Iterator[Callable[[], CodeFiles | None]]:
    """Give what makes a folder for the codes of each table that is read; nothing in memory."""
    if work is None:
        yield lambda: None
        return
    numbers = count()
    with workplace(work) as folder:

        def made() -> CodeFiles:
            place = folder / f"table-{next(numbers)}"
            place.mkdir()
            return CodeFiles(place)

        yield made


# -------------------------------------------------------------------------------------------------
# Options for the randomness of a command: its seed and the secret key of a release.


SeedOption = Annotated[
    int | None,
    typer.Option(min=0, max=MOST_SEED, help="Without --key: a repeatable trial, not for release."),
]
KeyOption = Annotated[
    Path | None,
    typer.Option(help="File of the secret key; created if missing. Same key and seed, same bytes."),
]


def remark_on_draws(root: int, do: str = "use --key FILE, or leave the seed out") -> None:
    """Say of a trial that it must not be released."""
    if is_guessable(root):
        console.remark(f"warning: {TRIAL}; {do}")
