"""``caveat run`` and ``caveat app``, and what is read of a release: report, explain, diff."""

from __future__ import annotations

import json as json_format
import secrets
import socket
import threading
import warnings
from collections.abc import Iterator, Mapping
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.markup import escape
from rich.table import Table as Grid

from caveat import stopping
from caveat.cli import console
from caveat.cli.reading import ClusterOption, WorkOption, check_file
from caveat.documents import path_below
from caveat.errors import FEW, CaveatError, CaveatWarning
from caveat.evidence import FEWEST, decision_beside, read, withheld
from caveat.evidence.file import (
    EVIDENCE,
    INSIDE,
    MANIFEST,
    PUBLIC,
    SPEC,
    is_listed,
    list_again,
    listed,
    name_in,
    place_in,
)
from caveat.evidence.verdict import Limited, limited_in
from caveat.seeds import TRIAL
from caveat.table.drafts import check_output, check_outputs, write_text
from caveat.table.source import load_extra

if TYPE_CHECKING:
    from caveat.release.folder import Outcome


# The columns of the limits, which fit into a terminal of 80 characters.
COLUMNS = {"limit": 7, "measure": 21, "value": 6, "baseline": 8, "control": 7, "allowed": 25}
NUMBERS = ("value", "baseline", "control")


def run(
    spec: Annotated[Path, typer.Argument(help="The specification (release.toml).")],
    only: Annotated[
        str | None,
        typer.Option(help="audit: synthesise nothing, the tables were made elsewhere."),
    ] = None,
    synthetic: Annotated[
        list[Path] | None,
        typer.Option(help="With --only audit: a table made elsewhere; repeat it."),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Where the release goes [folder in the specification].")
    ] = None,
    date: Annotated[str | None, typer.Option(help="The date on the reports [today].")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="[all cores]")] = None,
    cluster: ClusterOption = None,
    work: WorkOption = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an earlier release in this folder.")
    ] = False,
    key: Annotated[
        Path | None,
        typer.Option(
            help="File of the release's secret key, created if missing "
            r"\[the specification's name with .key]."
        ),
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Synthesise a table that is too small to hide anybody.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Measure less, to end within a minute of one core.")
    ] = False,
) -> None:
    """Make a release: synthesise, protect, attack, measure, and write the evidence down."""
    check_file(spec)
    from caveat.release.run import Release

    release = Release.from_toml(spec)
    with console.progress() as bar:
        task = bar.add_task("starting", total=1.0)

        def show(step: str, share: float) -> None:
            bar.update(task, description=step, completed=share)

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", CaveatWarning)
            outcome = release.run(
                folder,
                force=force,
                threads=threads,
                cluster=cluster,
                work=work,
                only=only,  # type: ignore[arg-type]
                synthetic=synthetic or None,
                date=date,
                progress=show,
                anyway=anyway,
                quick=quick,
                announce=lambda plan: console.remark(f"plan: {plan}"),
                key=key,
            )
    for warning in caught:
        console.remark(f"note: {warning.message}")
    _print(outcome)
    if outcome.broken:
        raise typer.Exit(3)


def _print(outcome: Outcome) -> None:
    content = outcome.evidence
    for remark in dict.fromkeys(_remarks(content)):
        console.remark(f"note: {remark}")
    from caveat.report.verdict import headline, reasons

    limited = list(limited_in(content))
    if limited:
        for grid in _limits(limited, content["measures"]):
            console.out.print(grid)
    else:
        console.out.print("no limit is set: the evidence says what was measured", markup=False)
    for lead, text in (("verdict", headline(content)), *reasons(content)):
        console.out.print(f"{lead}: {_plain(text)}", markup=False, soft_wrap=True)
    few = "; ".join(_by_attacker(withheld(dict(content)), content))
    if few:
        console.out.print(f"\nnot in the external report, fewer than {FEWEST} records behind it: "
                          f"{few}", markup=False, soft_wrap=True)  # fmt: skip
    # Each table of each copy once, in however many formats, and several in one workbook.
    made = {(file["copy"], file.get("table", "")) for file in content["release"]["files"]}
    tables = "1 synthetic table" if len(made) == 1 else f"{len(made)} synthetic tables"
    console.out.print(f"\n{outcome.folder}: {tables}, evidence and reports", markup=False,
                      soft_wrap=True)  # fmt: skip
    if content.get("trial"):
        console.out.print(f"{TRIAL}\nto make a release, add --key FILE or remove the seed",
                          markup=False, soft_wrap=True)  # fmt: skip
        return
    for what, why in _held(outcome):
        console.out.print(f"CONFIDENTIAL: {what} is not for release: {'; '.join(why)}",
                          markup=False, soft_wrap=True)  # fmt: skip
    console.out.print(
        f"what may leave lies in {outcome.folder / PUBLIC}, and nowhere else",
        markup=False,
        soft_wrap=True,
    )


def _remarks(content: Mapping[str, Any]) -> Iterator[str]:
    """Return the remarks of a run, of each part the first ones: a wide table has hundreds."""
    parts = {scenario["name"]: scenario["remarks"] for scenario in content["scenarios"]}
    synthesis = content["synthesis"] or {"remarks": []}
    for name, remarks in {"": [*synthesis["remarks"], *content["remarks"]], **parts}.items():
        yield from remarks[:FEW]
        if len(remarks) > FEW:
            also = f"{len(remarks) - FEW:,} more remarks are in the evidence"
            yield f"{name}: {also}" if name else also


def _held(outcome: Outcome) -> Iterator[tuple[str, Any]]:
    """Return the synthetic tables that must stay inside, with the reasons."""
    folder = outcome.folder.absolute()
    entries = listed(folder)
    for file in outcome.evidence["release"]["files"]:
        entry = entries.get(name_in(folder, place_in(folder, file["name"])), {})
        if entry.get("confidential"):
            yield file["name"], entry.get("reasons", ())


def _by_attacker(few: list[str], content: Mapping[str, Any]) -> list[str]:
    """Return what was withheld with the name of each attacker once."""
    from caveat.findings.profile import listed

    told: dict[str, list[str]] = {}
    names = sorted((f"{s['name']}: " for s in content["scenarios"]), key=len, reverse=True)
    for entry in few:
        name = next(name for name in names if entry.startswith(name))
        told.setdefault(name, []).append(entry.removeprefix(name))
    return [f"{name}{listed(measures, FEW)}" for name, measures in told.items()]


def _limits(limited: list[Limited], measures: Mapping[str, Any]) -> Iterator[Grid]:
    """Return the limits of each attacker, each with its worst result over targets and copies."""
    from caveat.report.wording import limit_text, number

    for i, (where, limits) in enumerate(groupby(limited, key=lambda limit: limit.where)):
        grid = Grid(box=None, padding=(0, 1, 0, 0), show_header=not i)
        grid.title, grid.title_justify, grid.title_style = escape(where), "left", "bold"
        for name, width in COLUMNS.items():
            justify: Literal["left", "right"] = "right" if name in NUMBERS else "left"
            grid.add_column(name, justify=justify, header_style="dim", width=width)
        for limit in limits:
            m = limit.worst
            unit = measures[m["measure"]]["unit"]
            sides = (m["value"], m.get("baseline", m.get("resample")), m.get("control"))
            values = [_plain(number(value, m["measure"], unit)) for value in sides]
            what = ", ".join(part for part in (m["measure"], _about(m)) if part)
            worst = f"{what} (worst of {limit.results})" if limit.results > 1 else what
            text = _plain(limit_text(m["limit"], "", unit, m.get("rise"))).strip()
            grid.add_row(limit.state, escape(worst), *values, text)
        yield grid


def _plain(text: str) -> str:
    """Return a text of the report for a terminal, where joined spaces are harder to search for."""
    from caveat.report.wording import NBSP

    return text.replace(NBSP, " ")


def _about(m: Mapping[str, Any]) -> str:
    """Return what tells a measurement from others of the same measure."""
    parts = [m.get("target"), m.get("model"), m.get("table")]
    parts.append(m.get("label") if "target" in m else None)
    if (m.get("copy") or 1) > 1:
        parts.append(f"table {m['copy']}")
    return ", ".join(dict.fromkeys(part for part in parts if part))


# -------------------------------------------------------------------------------------------------
# ``caveat app``: the pages of the app, served to a browser on this machine.


HOST = "127.0.0.1"
PORT = 8765  # tried first, so that an address stays; any free one after it


def serve(
    folder: Annotated[
        Path, typer.Argument(help="The folder of the data and of the projects.")
    ] = Path(),
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help=f"[{PORT}, or one that is free]")
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser", help="Open the address in the browser of this machine.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, help="The most MB of a file that is uploaded.")] = (
        4096
    ),
) -> None:
    """Work in the browser: from a file to a report and a decision, on this machine alone."""
    if not folder.is_dir():
        raise CaveatError(
            "there is no such folder",
            where=str(folder),
            do="make it first",
            code="app.folder.absent",
        )
    uvicorn = load_extra("uvicorn", "uvicorn", "app", "caveat app")
    load_extra("starlette", "starlette", "app", "caveat app")
    from caveat.app.server import create_app, warm_up

    token = secrets.token_urlsafe(24)
    bound = _bound(port)
    address = f"http://{HOST}:{bound.getsockname()[1]}/?token={token}"
    console.out.print(f"open {address}", markup=False, soft_wrap=True, highlight=False)
    console.remark("Who has this address sees the data. Ctrl-C ends the app; runs go on.")
    settings = uvicorn.Config(
        create_app(folder, token, limit * 2**20),
        log_level="warning", access_log=False, server_header=False, lifespan="off",
        timeout_graceful_shutdown=2,
    )  # fmt: skip
    threading.Thread(target=warm_up, daemon=True).start()
    if browser:
        import webbrowser

        webbrowser.open(address)
    try:
        uvicorn.Server(settings).run(sockets=[bound])
    except stopping.Stopped as stop:
        stop.add_note("the projects are as they were")
        raise


def _bound(port: int | None) -> socket.socket:
    """Return a socket that only this machine reaches."""
    for wanted in (PORT, 0) if port is None else (port,):
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((HOST, wanted))
            bound.listen()  # who opens the address at once waits, and is not refused
        except OSError:
            bound.close()
            continue
        return bound
    raise CaveatError(
        "the port is taken", where=f"--port {port}", do="leave it out", code="app.port.conflict"
    )


# -------------------------------------------------------------------------------------------------
# ``caveat report``: the report of a release, from its evidence.


def report(
    release: Annotated[
        Path, typer.Argument(help="The folder of a release, or a file with evidence.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where to write it [in the release]."),
    ] = None,
    external: Annotated[
        bool,
        typer.Option("--external", help="Leave out all that is confidential, to be published."),
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Write Markdown, with tables for charts.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Write the report that a review board reads.

    A decision.json beside the evidence fills the box for the decision. In the folder of a release
    the report of the run is written again, in inside/ or with --external in public/, unless
    somebody has changed it.
    """
    evidence = _evidence(release)
    target = out or _target(release, external, markdown)
    # What the run, or this command, has left there can be made again.
    again = out is None and release.is_dir() and is_listed(target)
    check_output(target, force=force or again, inputs=[evidence])
    content = read(evidence)
    decision = decision_beside(evidence)
    # The charts' library takes long to load, and the evidence may be refused before.
    from caveat.report import markdown as as_markdown
    from caveat.report import render

    write = as_markdown if markdown else render
    text = write(
        content,
        version="external" if external else "internal",
        date=date.today().isoformat(),
        decision=decision,
    )
    write_text(target, text, confidential=not external, force=force or again)
    if again:
        list_again(target)
    console.out.print(str(target), markup=False, soft_wrap=True)
    if not external:
        console.remark(
            "confidential: it shows what the data show; --external writes what may leave"
        )


def _evidence(release: Path) -> Path:
    """Return the evidence file of a folder, or the file that was named."""
    if not release.is_dir():
        return release
    if not (release / EVIDENCE).is_file():
        raise CaveatError(
            f"the folder has no {EVIDENCE}",
            where=str(release),
            do="name the folder that caveat run has written",
            code="evidence.file.absent",
        )
    return path_below(release, EVIDENCE, plain=False)


def _target(release: Path, external: bool, markdown: bool) -> Path:
    """Return where the report goes: into its part of the release, or beside the evidence."""
    name = f"report{'-external' if external else ''}.{'md' if markdown else 'html'}"
    if not release.is_dir():
        return path_below(release.parent, name)
    part = PUBLIC if external and (release / PUBLIC).is_dir() else INSIDE  # a trial has one part
    return path_below(release, f"{part}/{name}", plain=False)


# -------------------------------------------------------------------------------------------------
# ``caveat explain``: one page about one record of a release.


def explain(
    spec: Annotated[Path, typer.Argument(help="The specification of the release (release.toml).")],
    record: Annotated[int, typer.Option(min=1, help="The row of the data file, counted from 1.")],
    release: Annotated[
        Path | None,
        typer.Option(help="The folder of the release [folder in the specification]."),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--targets",
            "--target",
            help="Columns she wants to learn, with commas between them [targets of all scenarios].",
        ),
    ] = None,
    draws: Annotated[
        int, typer.Option(min=0, help="Fresh releases in each other way; 0 tries none.")
    ] = 3,
    show_values: Annotated[
        bool, typer.Option("--show-values", help="Show the values of the record too.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the page: .html, .md or .txt.")
    ] = None,
    json: Annotated[
        str | None, typer.Option(help="Write the numbers as JSON, to the screen with '-'.")
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="[all cores]")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Say in plain words what a release gives away about one record, and what would change it.

    Example: caveat explain release.toml --record 17 --out row-17.html
    """
    if spec.is_dir():
        raise CaveatError(
            "this is a folder, and a specification is needed: it says where the data are",
            where=str(spec),
            do=f"give the release.toml beside the data, and --release {spec}",
            code="spec.file.type",
        )
    check_file(spec)
    from caveat.spec.spec import ReleaseSpec

    told = ReleaseSpec.from_toml(spec)
    folder = told.output.folder if release is None else release
    made = [folder / name for name in (EVIDENCE, MANIFEST, SPEC)]
    json_path = Path(json) if json not in (None, "-") else None
    check_outputs([out, json_path], force=force, inputs=[*told.inputs, *made])
    from caveat.report.pages import as_text, explain_page, written

    if out is not None:
        written(out)
    from caveat.release.again import explain_row

    with console.notes(), console.progress() as bar:
        task = bar.add_task("attacking", total=1.0)
        content = explain_row(
            told, record, folder=release, targets=_names(target) or None, draws=draws,
            values=show_values, threads=threads, done=lambda share: bar.advance(task, share),
        )  # fmt: skip
    page = explain_page(content)
    document = json_format.dumps(content, indent=1) + "\n"
    if json_path is not None:
        write_text(json_path, document, confidential=True, force=force)
    if json == "-":
        console.document(document)
    elif out is None:
        console.out.print(as_text(page), markup=False, soft_wrap=True, end="")
    if out is not None:
        write_text(out, written(out)(page), confidential=True, force=force)
        if json != "-":
            console.out.print(str(out), markup=False, soft_wrap=True)
    console.remark("CONFIDENTIAL: about a single record; not for release")


def _names(given: list[str] | None) -> list[str]:
    """Return names that were given one by one, or with commas between them."""
    return [name.strip() for part in given or () for name in part.split(",") if name.strip()]


# -------------------------------------------------------------------------------------------------
# ``caveat diff``: what changed from one release to the next.


def diff(
    before: Annotated[
        Path, typer.Argument(help="The folder of a release, or a file with evidence.")
    ],
    after: Annotated[Path, typer.Argument(help="The folder of another one.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the page: .html, .md or .txt.")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Write what differs as JSON.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Say what changed between two releases: specification, risk, utility and files.

    It reads their evidence and never any data, and exits with 0 whether something differs or not.

    Example: caveat diff release-2025 release-2026 --out changes.html
    """
    for path in (before, after):
        if not path.exists():
            raise CaveatError(
                "there is no such release",
                where=str(path),
                do="check the name",
                code="release.folder.absent",
            )
    # The rooms of a release are loaded when there is one.
    from caveat.release.folder import diff_releases, files_of
    from caveat.report.pages import as_text, difference_page, written

    read = [file for path in (before, after) for file in files_of(path)]
    check_outputs([out, json], force=force, inputs=[before, after, *read])
    if out is not None:
        written(out)
    content = diff_releases(before, after)
    page = difference_page(content)
    if json is not None:
        write_text(json, json_format.dumps(content, indent=1, ensure_ascii=False) + "\n",
                   confidential=True, force=force)  # fmt: skip
    if out is None:
        console.out.print(as_text(page), markup=False, soft_wrap=True, end="")
    else:
        write_text(out, written(out)(page), confidential=True, force=force)
        console.out.print(str(out), markup=False, soft_wrap=True)
    console.remark("confidential: it shows what the evidence shows")
