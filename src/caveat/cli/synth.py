"""``caveat synth``, ``caveat model`` and ``caveat draft``: files that are made, not measured."""

from __future__ import annotations

import json as json_text
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.progress import Progress, TaskID

from caveat.cli import console
from caveat.cli.reading import (
    ClusterOption,
    KeyOption,
    Reader,
    SeedOption,
    WorkOption,
    on_cluster,
    remark_on_draws,
)
from caveat.cli.synth_output import (
    CopyFiles,
    Written,
    say_ranges,
    synth_tables,
    tables_folder,
    write_description,
    write_groups,
    write_source,
)
from caveat.errors import CaveatError
from caveat.seeds import is_guessable
from caveat.stopping import going_on_from
from caveat.table import Kind, Table, identifying
from caveat.table.cells import PrivateNumbers, remark_on
from caveat.table.code_files import CodeFiles
from caveat.table.drafts import check_outputs, make_folder, write_text
from caveat.table.files import check_target, write
from caveat.table.frames import workplace
from caveat.table.grouping import Groups
from caveat.table.identifying import clear, judge
from caveat.table.source import shown

if TYPE_CHECKING:
    from caveat.release.data_dictionary import Released
    from caveat.spec.draft_spec import DraftSpec
    from caveat.synthesis import Model, Synthesizer
    from caveat.synthesis.column_model import ColumnModel
    from caveat.synthesis.drafts import Draft
    from caveat.synthesis.drafts.targets import Nearness
    from caveat.synthesis.linked import GroupModel
    from caveat.synthesis.model import Store


model_app = typer.Typer(help="Look into model files.", no_args_is_help=True)


def synth(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(help="The original data, or a specification that names them (.toml)."),
    ],
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE|FOLDER/",
            help="Where the synthetic data go; with / at its end a folder of Parquet parts, of "
            "[tables] a folder in any case.",
        ),
    ],
    spec: Annotated[
        Path | None, typer.Option(help="A TOML file with [data], [columns], [groups], [synthesis].")
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(help="The column whose groups (households …) are synthesised whole."),
    ] = None,
    copies: Annotated[int, typer.Option(min=1, help="Number of synthetic copies.")] = 1,
    rows: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Rows of each copy, of groups their number [rows in the specification, or as the "
            "original].",
        ),
    ] = None,
    seed: SeedOption = None,
    key: KeyOption = None,
    model: Annotated[
        Path | None, typer.Option(help="Keep the fitted model here. It is confidential.")
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Keep finished columns beside the model, and go on there."),
    ] = False,
    threads: Annotated[int | None, typer.Option(min=1, help="[all cores]")] = None,
    cluster: ClusterOption = None,
    work: WorkOption = None,
    escape_formulas: Annotated[
        bool,
        typer.Option(
            "--escape-formulas", help="Put ' before text in CSV that a spreadsheet would compute."
        ),
    ] = False,
    dictionary: Annotated[
        Path | None,
        typer.Option(help="Describe the columns here, for recipients: .csv, .html or .xml (DDI)."),
    ] = None,
    as_read: Annotated[
        bool,
        typer.Option(
            "--as-read",
            help="Write text as it came in: delimiter, decimal sign, encoding, thousands, dates.",
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Synthesise a table that is too small to hide anybody.")
    ] = False,
) -> None:
    """Make synthetic copies of a table by guarded trees, or as the specification says."""
    output = CopyFiles(out, copies, force)
    targets = output.targets
    reader, file = _named(file, spec) if file.suffix == ".toml" else (Reader.of(spec), file)
    reader.refuse_protections("synth")
    seed = reader.seed if seed is None else seed
    options: dict[str, Any] = {"seed": seed, "key": key, "threads": threads, "anyway": anyway}
    if file.suffix == ".toml" and reader.tables:
        _refuse_for("tables", model=model, groups=groups, cluster=cluster, work=work,
                    dictionary=dictionary)  # fmt: skip
        wanted = reader.rows if rows is None else rows
        written = Written(escape_formulas, force, as_read=as_read)
        synth_tables(reader, targets, wanted, options, written)
        return
    output.check([model, dictionary], [file, spec])
    if resume:
        _check_resume(model, seed, key, reader)
    inputs = [file, *reader.inputs]
    _check_names(output, [model, dictionary], reader, inputs)
    folder = tables_folder(Path(out), reader.synthesis, force=force, inputs=inputs)
    form = reader.text_form(file) if as_read else None
    written = Written(escape_formulas, force, form, as_read, _released(dictionary, output))
    told = _groups(groups, reader)
    wanted = reader.rows if rows is None else rows
    if told is not None:
        given = {"resume": resume or None, "out FOLDER/": output.in_parts or None}
        _refuse_for("groups", **given, cluster=cluster)
        options["groups"] = told
    context.with_resource(on_cluster(cluster, work, targets[0]))
    place = None if work is None else context.with_resource(workplace(work))
    table = reader.original(file, None if place is None else CodeFiles(place))
    # The synthesiser brings a compiler: only when there is something to synthesise.
    from caveat.synthesis import Synthesizer, save
    from caveat.synthesis.linked import GroupModel
    from caveat.synthesis.model import Store
    from caveat.synthesis.store import NOTICE

    store = None if place is None else Store(place)
    fitted = _fit(table, Synthesizer(**options, **reader.synthesis), model, resume, store)
    released = _origins(fitted, reader, table)
    written = written.cleared(released, fitted.seed)
    say_ranges(fitted.plan)
    if model is not None:
        save(fitted, model, force=force)
        console.remark(f"model: {model} ({NOTICE})")
    if isinstance(fitted, GroupModel):
        write_groups(fitted, table, targets, wanted, threads, written)
        write_description(fitted, targets, reader, dictionary, written)
        console.verdict("what was written", clear(released))
        return
    write_source(fitted, folder, released, escape_formulas, force=force, inputs=inputs)
    n = _number(fitted, table, wanted)
    here = store if cluster is None else None
    _write_copies(fitted, table, output, n, here, inputs, written)
    write_description(fitted, targets, reader, dictionary, written)
    console.remark(f"{copies} x {n:,} rows: {', '.join(map(shown, targets))}")
    remark_on_draws(fitted.seed)
    console.verdict("what was written", clear(released))


def _origins(fitted: Model | GroupModel, reader: Reader, table: Table) -> identifying.Output:
    """Return where the columns of the copies, and of what describes them, come from."""
    from caveat.synthesis.linked import GroupModel
    from caveat.synthesis.margins.promise import is_private
    from caveat.synthesis.seen import release_output

    # What a guarantee is for has declared levels, and keys of groups are fresh.
    judged = {} if is_private(reader.synthesis) else judge(table)
    if isinstance(fitted, GroupModel):
        judged.pop(fitted.groups.key, None)
    replaced = fitted.replaced.columns
    public = reader.schema.public
    return release_output(fitted.plan.columns, fitted.names, judged, public, replaced)


def _released(dictionary: Path | None, output: CopyFiles) -> tuple[Released, ...]:
    """Return where is noted what occurs in each copy, if somebody wants it described."""
    if dictionary is None:
        return ()
    from caveat.release.data_dictionary import Released

    return tuple(Released(target, in_parts=output.in_parts) for target in output.targets)


def _check_names(
    output: CopyFiles, others: list[Path | None], reader: Reader, inputs: list[Path]
) -> None:
    """Refuse outputs that something else has, and several tables where one is expected."""
    output.check(others, inputs)
    if "budget" in reader.synthesis:
        # The ledger need not be there yet; nothing else may take its place.
        ledger = Path(reader.synthesis["budget"].ledger)
        check_outputs([*output.files, *others, ledger], force=True)
    if reader.tables and reader.document is not None:
        spec = reader.document.path
        raise CaveatError(
            "the specification names several tables",
            where=str(spec),
            do=f"use caveat synth {spec} --out FOLDER/",
            code="spec.entry.unsupported",
        )


def _write_copies(
    fitted: Model,
    table: Table,
    output: CopyFiles,
    n: int,
    store: Store | None,
    inputs: list[Path],
    written: Written,
) -> None:
    """Draw the copies and write them, block by block."""
    from caveat.synthesis.column_model import ON_A_GRID
    from caveat.synthesis.synthesizer import blocks_of

    # Points of a range: what only one person has comes by chance, as any number.
    plan = fitted.plan.columns
    drawn = [name for name in fitted.names if plan[name].settings.method not in ON_A_GRID]
    private = PrivateNumbers(table, drawn)
    with console.notes(), console.progress() as bar:
        for copy, target in enumerate(output.targets):
            task = bar.add_task(f"writing {target.name}", total=max(n, 1))

            def blocks(
                parts: Path | None, copy: int = copy, task: TaskID = task
            ) -> Iterator[Table]:
                if store is None:
                    drawn = blocks_of(fitted, n, copy, parts)
                else:
                    drawn = store.blocks(fitted, n, copy)
                noted = (partial(written.note, copy), private.add)
                return _watched(drawn, noted, bar, task)

            output.write(blocks, target, inputs, written.options)
    remark = remark_on(private.shares)
    if remark is not None:
        console.remark(f"note: {remark}")
    ranked = [n for n in fitted.names if n in table and table[n].kind is Kind.ORDERED]
    if output.in_parts and ranked:
        console.remark(f"note: in parts the levels of {', '.join(ranked)} have lost their order")


def _named(specification: Path, other: Path | None) -> tuple[Reader, Path]:
    """Return a specification that was given as the data, and the file that it names."""
    if other is not None:
        raise CaveatError(
            "two specifications are named",
            where="--spec",
            do="name one of them, or the data",
            code="command.option.conflict",
        )
    reader = Reader.of(specification)
    if reader.path is None and not reader.tables:
        raise CaveatError(
            "the specification names no data",
            where=str(specification),
            do="add [data] with path, or [tables]",
            code="spec.entry.absent",
        )
    return reader, reader.path or specification


def _number(fitted: Model, table: Table, rows: int | Literal["population"] | None) -> int:
    """Return the rows of a copy; a population has as many as the weights stand for."""
    if rows == "population":
        from caveat.spec.data_entries import population_of

        return population_of(table, fitted.plan.weights)
    return fitted.n_rows if rows is None else rows


def _groups(named: str | None, reader: Reader) -> Groups | None:
    """Return which rows belong together; a specification that says otherwise is not overruled."""
    if named is None or (reader.groups is not None and reader.groups.key == named):
        return reader.groups
    if reader.groups is not None:
        raise CaveatError(
            "the specification names another key in [groups]",
            where=f"--groups {named}",
            do="leave --groups out, or change [groups]",
            code="command.option.conflict",
        )
    return Groups(named)


def _check_resume(model: Path | None, seed: int | None, key: Path | None, reader: Reader) -> None:
    """Refuse to go on with a run that cannot be found, or whose noise cannot."""
    if model is None:
        raise CaveatError(
            "--resume needs a place to keep columns",
            do="add --model NAME.caveat",
            code="command.option.absent",
        )
    if seed is None and key is None:
        raise CaveatError(
            "--resume needs the key of the interrupted run",
            do="add --key FILE",
            code="command.option.absent",
        )
    from caveat.synthesis.margins.promise import is_private

    if is_private(reader.synthesis):
        raise CaveatError(
            "--resume does not go with a guarantee: noise cannot be drawn again, and would be paid "
            "for twice",
            do="leave --resume out",
            code="command.option.conflict",
        )


def _refuse_for(section: str, **given: object) -> None:
    """Refuse options that have no meaning with a section."""
    for name, value in given.items():
        if value is not None:
            raise CaveatError(
                f"--{name} does not go with [{section}]",
                do=f"leave --{name} out",
                code="command.option.conflict",
            )


def _fit(
    table: Table, synthesizer: Synthesizer, path: Path | None, resume: bool, store: Store | None
) -> Model | GroupModel:
    with console.notes():
        return _fit_with_progress(table, synthesizer, path if resume else None, store)


def _fit_with_progress(
    table: Table, synthesizer: Synthesizer, path: Path | None, store: Store | None
) -> Model | GroupModel:
    from caveat.synthesis.store import fingerprint, forget_columns, load_columns, save_column

    plan = synthesizer.plan(table)
    folder = None if path is None else path.with_name(f"{path.name}.partial")
    key, finished = "", {}
    if folder is not None:
        make_folder(folder, confidential=True)
        key = fingerprint(table, plan, synthesizer.seed or 0)
        finished = load_columns(folder, key, plan)
    with going_on_from(folder), console.progress() as bar:
        task = bar.add_task("fitting", total=len(plan.columns), completed=len(finished))

        def done(name: str, model: ColumnModel) -> ColumnModel:
            if folder is not None:
                save_column(folder, key, name, model)
            bar.advance(task)
            return model if store is None else store.put_away(model)

        fitted: Model = synthesizer.fit(table, done=done, finished=finished)
    if folder is not None:
        forget_columns(folder)
    return fitted


def _watched(
    blocks: Iterable[Table],
    noted: Iterable[Callable[[Table], None]],
    bar: Progress,
    task: TaskID,
) -> Iterator[Table]:
    """Pass blocks on, note what is in them and move the progress bar."""
    for block in blocks:
        for note in noted:
            note(block)
        yield block
        bar.advance(task, block.n_rows)


@model_app.command("show")
def show(file: Annotated[Path, typer.Argument(help="A model file.")]) -> None:
    """Print the plan and the size of a fitted model; values of records are not shown."""
    from caveat.synthesis.archive import check_file

    check_file(file)
    from caveat.synthesis import load
    from caveat.synthesis.linked import GroupModel
    from caveat.synthesis.store import NOTICE

    model = load(file)
    console.out.print(NOTICE, markup=False)
    many = f", {model.n_groups:,} groups" if isinstance(model, GroupModel) else ""
    console.out.print(
        f"fitted on {model.n_rows:,} records{many}, {len(model.plan.columns)} columns, "
        f"{f'trial with seed {model.seed}' if is_guessable(model.seed) else 'with a secret key'}\n"
    )
    console.out.print(str(model.plan), markup=False, soft_wrap=True)


# -------------------------------------------------------------------------------------------------
# ``caveat draft``: a file for teaching and tests, from published numbers alone.


SHOWN = 12  # targets that are printed one by one, the worst


def draft(
    spec: Annotated[
        Path, typer.Argument(help="A TOML file with [columns] and published numbers about them.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the draft goes.")] = Path(
        "draft.csv"
    ),
    rows: Annotated[
        int | None, typer.Option(min=2, help="Number of rows, instead of the specification's.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Root of all randomness, instead of its own.")
    ] = None,
    json: Annotated[
        str | None,
        typer.Option(help="Write how near each target came to this file, or '-': the screen."),
    ] = None,
    original: Annotated[
        Path | None,
        typer.Option(
            help="For custodians: the confidential table. It is read after the draft is written, "
            "only to measure what the draft tells about it (TCAP)."
        ),
    ] = None,
    escape_formulas: Annotated[
        bool,
        typer.Option(
            "--escape-formulas", help="Put ' before text in CSV that a spreadsheet would compute."
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:
    """Make a file from published numbers, without access to any microdata.

    It reads the specification and the CSV files of published numbers that it names, and nothing
    else: margins, means and standard deviations, correlations, totals and sums, coefficients of
    regressions with their standard errors. The file reproduces them, and says how nearly. Its rows
    are nobody's.

    Example: caveat draft draft.toml --out draft.csv
    """
    outputs = [out, None if json in (None, "-") else Path(json or "")]
    check_outputs(outputs, force=force, inputs=[spec, original])
    check_target(out, force=force)
    from caveat.spec.draft_spec import DraftSpec

    told = DraftSpec.from_toml(spec, rows)
    check_outputs(outputs, force=force, inputs=[spec, original, *told.files])
    seed = told.seed if seed is None else seed
    made = _made(told, seed)
    write(made.table, out, force=force, escape_formulas=escape_formulas)
    content = _content(told, made, seed)
    if original is not None:
        content["tcap"] = _tcap(told, made, original)
    text = json_text.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if json == "-":
        console.document(text)
    else:
        if json is not None:
            write_text(json, text, confidential=True, force=force)
            console.remark(f"how near each target came: {json}")
        _show(content, made)
    console.remark(f"written: {out}")


def _made(told: DraftSpec, seed: int) -> Draft:
    from caveat.spec.draft_spec import located
    from caveat.synthesis.drafts import draft as make

    with console.progress() as bar, located(told.document):
        task = bar.add_task("moving rows to the targets", total=None)
        return make(
            told.plan, seed=seed,
            done=lambda at, of: bar.update(task, completed=at, total=of),
        )  # fmt: skip


def _content(told: DraftSpec, made: Draft, seed: int) -> dict[str, Any]:
    """Return what the JSON file holds."""
    words = Counter(one.words for one in made.nearness)
    return {
        "format": "caveat draft",
        "version": 1,
        "read": [told.document.path.name, *(path.name for path in told.files)],
        "rows": made.table.n_rows,
        "seed": seed,
        "targets": [
            {"kind": one.kind, "what": one.what, "wanted": one.wanted, "got": one.got,
             "units": one.units, "words": one.words,
             **({"why": one.why} if one.why else {})}
            for one in made.nearness
        ],
        "summary": dict(words),
    }  # fmt: skip


def _show(content: dict[str, Any], made: Draft) -> None:
    from rich.table import Table as Grid

    out = console.out
    out.print(f"read: {', '.join(content['read'])}; no microdata", markup=False)
    summary = ", ".join(f"{n:,} {words}" for words, n in content["summary"].items())
    out.print(f"{made.table.n_rows:,} rows; {len(made.nearness):,} targets: {summary}",
              markup=False)  # fmt: skip
    worst = sorted(made.nearness, key=_how_far, reverse=True)[:SHOWN]
    grid = Grid(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    for i, head in enumerate(("furthest off", "of", "published", "draft", "")):
        grid.add_column(head, justify="right" if i in (2, 3) else "left")
    for one in worst:
        got = "–" if one.got is None else f"{one.got:.6g}"
        words = f"{one.words}: {one.why}" if one.why else one.words
        grid.add_row(one.kind, one.what, f"{one.wanted:.6g}", got, words)
    if worst:
        out.print(grid, markup=False)
    for one in content.get("tcap", ()):
        out.print(_tcap_words(one), markup=False, soft_wrap=True)


def _how_far(one: Nearness) -> float:
    return float("inf") if one.units is None else abs(one.units)


def _tcap(told: DraftSpec, made: Draft, original: Path) -> list[dict[str, Any]]:
    """Measure what the draft tells about the people in the original: TCAP and its baseline."""
    from caveat.risk import audit
    from caveat.spec.draft_spec import attackers_of
    from caveat.table import read

    table = read(original)
    found = []
    for keys, target in attackers_of(told.plan, table.names):
        measured = audit(table, made.table, keys=keys, targets=[target],
                         measures=["TCAPdisclosive", "scaledTCAP", "baseCAPd"])  # fmt: skip
        raw = measured["TCAPdisclosive", target]
        found.append({
            "target": target, "keys": list(keys), "tcap": raw.value,
            "baseline": measured["baseCAPd", target].value,
            "scaled": measured["scaledTCAP", target].value,
            "retained": raw.n if raw.value is not None else 0, "of": table.n_rows,
        })  # fmt: skip
    return found


def _tcap_words(one: dict[str, Any]) -> str:
    if one["tcap"] is None:
        return f"TCAP of {one['target']}: the draft shows one value for the keys of nobody"
    return (
        f"TCAP of {one['target']} from {', '.join(one['keys'])}: {one['tcap']:.3f}, "
        f"{one['baseline']:.3f} without the draft, for {one['retained']:,} of {one['of']:,} people"
    )
