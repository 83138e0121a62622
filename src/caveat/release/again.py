"""The tables of a release made again: from its specification, its data, its key and its seed."""

from __future__ import annotations

import hashlib
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from caveat import evidence
from caveat.documents import path_below
from caveat.errors import CaveatError, CaveatWarning
from caveat.evidence.manifest import EVIDENCE
from caveat.release.content import described_file
from caveat.release.folder import sha256_of
from caveat.release.material import Material, planned_whole, synthesise
from caveat.seeds import ReleaseKey
from caveat.spec.spec import ReleaseSpec
from caveat.synthesis.margins.promise import is_private
from caveat.table import Table, write
from caveat.table.identifying import judge
from caveat.table.source import source_of

__all__ = ["made_again"]


def made_again(
    spec: ReleaseSpec, folder: Path | None = None, threads: int | None = None
) -> Material:
    """Return the tables of a release with the model that made them.

    Fitted models are not kept in the folder of a release; the same specification, data, key and
    seed give the same ones.

    Parameters
    ----------
    spec
        The specification.
    folder
        Where the release is; ``[output]`` says it otherwise. Its evidence has key and seed. If
        there is none yet, the specification must have a seed.
    threads
        Threads; all cores by default.
    """
    _refuse_whole(spec)
    place = spec.output.folder if folder is None else folder
    found = None
    written = path_below(place, EVIDENCE, plain=False)
    if folder is not None or written.exists():
        found = evidence.read(written)
        _check_same(found, spec, place)
    table = spec.read_data()
    if found is not None:
        _check_data(found, spec, table)
    spec = replace(spec, synthesis={**spec.synthesis, "judged": judge(table)})
    spec = planned_whole(spec, spec.check(table))
    seed = _seed(found, spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaveatWarning)  # the run has told of it
        material = synthesise(spec, table, seed, threads, lambda _: lambda _: None, anyway=True)
    if found is not None:
        _check_tables(found, material, spec, place)
    return material


def _refuse_whole(spec: ReleaseSpec) -> None:
    """Refuse releases whose rows do not stand by themselves, or that cannot be made again."""
    where = str(spec.path)
    if spec.tables or spec.groups is not None:
        raise CaveatError(
            "rows belong together here, and one of them cannot be looked at alone",
            where=where,
            do="use caveat attack strong, which asks about whole groups",
            code="spec.entry.unsupported",
        )
    if is_private(spec.synthesis):
        raise CaveatError(
            "the noise of a guarantee cannot be drawn again, so that the release cannot be either",
            where=where,
            do="use caveat attack strong with --model",
            code="spec.entry.unsupported",
        )


def _check_same(found: dict[str, Any], spec: ReleaseSpec, place: Path) -> None:
    if found["release"]["synthesised_by"] != "caveat":
        raise CaveatError(
            "the tables were synthesised elsewhere: how is not known, and this attacker knows it",
            where=str(place),
            do="use caveat audit",
            code="release.origin.unsupported",
        )
    if found["inputs"]["spec"]["sha256"] != hashlib.sha256(spec.text).hexdigest():
        raise CaveatError(
            "the release was made by another specification",
            where=str(spec.path),
            do=f"use the one in {place}, beside the data, or run the release again",
            code="release.spec.mismatch",
        )


def _check_data(found: dict[str, Any], spec: ReleaseSpec, table: Table) -> None:
    """Refuse other data; of a workbook or a database the same place is asked as in the run."""
    own = described_file(spec.data.path, table)
    if found["inputs"]["data"]["sha256"] != own["sha256"]:
        raise CaveatError(
            "the release was made from other data",
            where=own["name"],
            do="run it again",
            code="release.data.mismatch",
        )


def _seed(found: dict[str, Any] | None, spec: ReleaseSpec) -> int:
    seed = spec.release.seed if found is None else int(found["seed"])
    if found is not None and found.get("key") is not None:
        return ReleaseKey(found["key"]).root(int(found["seed"]))
    if seed is None:
        raise CaveatError(
            "there is no release yet, and no seed in the specification",
            where=str(spec.output.folder),
            do="run the release first (caveat run), or name its folder (--release)",
            code="release.seed.absent",
        )
    return seed


def _check_tables(
    found: dict[str, Any], material: Material, spec: ReleaseSpec, place: Path
) -> None:
    """Refuse to go on with tables that are not those of the release."""
    listed = found["release"]["files"]
    tables = dict(enumerate(material.complete, 1))
    with tempfile.TemporaryDirectory() as folder:
        for file in listed[:1]:
            # The evidence may be somebody else's: a name in it is only that of a file.
            path = Path(folder) / path_below(place, file["name"]).name
            table = tables.get(file["copy"])
            source = source_of(path)
            if table is None or (source is not None and source.part):
                raise CaveatError(
                    "the evidence lists a file that no release of this specification has",
                    where=str(place),
                    do="run the release again",
                    code="evidence.file.mismatch",
                )
            escape = spec.output.escape_formulas
            write(table.compact(), path, escape_formulas=escape, form=spec.text_form)
            if sha256_of(path) != file["sha256"]:
                raise CaveatError(
                    "the tables come out otherwise than they did: versions are others",
                    where=str(place),
                    do=f"use Caveat {found['software']['caveat']} and the packages in its evidence",
                    code="release.table.mismatch",
                )
