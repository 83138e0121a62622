"""``caveat replication``: how often a small cell comes out true over the copies."""

from __future__ import annotations

import json as text_format
from pathlib import Path
from typing import Annotated

import typer

from caveat.cli import console
from caveat.cli.reading import Reader
from caveat.table.drafts import check_outputs, write_text

__all__ = ["replication"]


def replication(
    original: Annotated[Path, typer.Argument(help="The confidential table.")],
    copies: Annotated[list[Path], typer.Argument(help="Two or more runs, or synthetic copies.")],
    by: Annotated[list[str], typer.Option(help="A column of the cells. Repeat it.")],
    k: Annotated[int, typer.Option(help="Cells with fewer records are small: 3, 5 or 10.")] = 3,
    often: Annotated[
        float, typer.Option(help="True in this share of the copies is systematic.")
    ] = 0.9,
    rounded: Annotated[
        bool,
        typer.Option(
            "--rounded", help="Counts below k are shown as 0 or k at random, in each copy anew."
        ),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="With --rounded: seed of the draws.")] = 0,
    json: Annotated[
        str | None,
        typer.Option(help="Write the results with all small cells to this file, or '-': screen."),
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(help="A TOML file that declares kinds and missing codes.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:
    """Say how often the small cells of the original come out true over the copies.

    A cell that does in nearly every copy is replicated systematically, not by chance.

    Example: caveat replication people.csv run-1.csv run-2.csv run-3.csv --by age --by sex
    """
    json_path = Path(json) if json not in (None, "-") else None
    check_outputs([json_path], force=force, inputs=[original, *copies, schema])
    reader = Reader.of(schema)
    check_outputs([json_path], force=force, inputs=reader.inputs)
    tables = [reader.original(original), *(reader.release(path) for path in copies)]
    from caveat.outputs.plan_risk import replication as audit
    from caveat.protect import stochastic_round
    from caveat.seeds import child_seed

    found = audit(
        tables[0],
        tables[1:],
        by,
        k=k,
        often=often,
        shown=(lambda counts, copy: stochastic_round(counts, k, seed=child_seed(seed, copy)))
        if rounded
        else None,
    )
    content = text_format.dumps(found.to_dict(cells=True), indent=2, ensure_ascii=False)
    if json_path is not None:
        write_text(json_path, content + "\n", confidential=True, force=force)
    if json == "-":
        console.document(content)
    else:
        for sentence in found.sentences():
            console.out.print(sentence, markup=False, soft_wrap=True)
    if json_path is not None:
        console.remark(f"written: {json_path}")
