"""``caveat draft``: a file for teaching and tests, from published numbers alone."""

from __future__ import annotations

import json as json_text
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caveat.cli import console
from caveat.table.drafts import check_outputs, write_text
from caveat.table.files import check_target, write

if TYPE_CHECKING:
    from caveat.spec.draft_spec import DraftSpec
    from caveat.synthesis.drafts import Draft
    from caveat.synthesis.drafts.targets import Nearness

__all__ = ["draft"]

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
