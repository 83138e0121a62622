"""What a review needs: releases with evidence, the decision, and the settings on their map."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caveat import evidence
from caveat.documents import path_below, read_bytes
from caveat.errors import CaveatError
from caveat.evidence import Decision, decision_beside, evidence_sha256, write_decision
from caveat.evidence.file import EVIDENCE, is_listed, list_again, listed, place_in
from caveat.release.folder import DECIDED, diff_releases
from caveat.report.account import is_withheld
from caveat.report.attacker import disagreements
from caveat.report.blocks import Block, Figure, Remark
from caveat.report.board import board_section, is_drawn, map_figure
from caveat.report.findings import findings
from caveat.report.pages import Page, difference_page
from caveat.spec.forms import Form
from caveat.table.drafts import write_text
from caveat.table.source import entries_in

if TYPE_CHECKING:
    from caveat.generators import Setting
    from caveat.spec.spec import ReleaseSpec


DEEPEST = 2
"""Folders below another in which evidence is looked for: a project, and the release in it."""


@dataclass(frozen=True)
class Review:
    """What the evidence of a release says, for those who decide about it.

    Parameters
    ----------
    title
        What the release is called.
    blocks
        The first page of its report, with the decision that lies there.
    findings, remarks
        What it comes to, and where measures disagree.
    sha256
        The checksum of the evidence.
    decision
        The decision that lies beside it, on this evidence or on another.
    stands
        The checksum of that decision, "" if there is none.
    broken
        What is wrong with a decision that cannot be read.
    unprinted
        Reports of the run that are older than the decision.
    """

    title: str
    blocks: Sequence[Block]
    findings: Sequence[tuple[str, str]]
    remarks: Sequence[Remark]
    sha256: str
    decision: Decision | None
    stands: str
    broken: str = ""
    unprinted: Sequence[str] = ()


def releases_in(folder: Path) -> dict[str, Path]:
    """Return the folders with evidence in a folder by name; links that lead out are left out."""
    found: dict[str, Path] = {}

    def search(path: Path, depth: int) -> None:
        with suppress(CaveatError):  # a link may lead out
            if path_below(path, EVIDENCE, plain=False).is_file():
                found[path.relative_to(folder).as_posix()] = path
        for below in entries_in(path) if depth else ():
            with suppress(OSError):  # what cannot be opened is not reviewed
                if below.is_dir() and not below.is_symlink():
                    search(below, depth - 1)

    search(folder, DEEPEST)
    return found


def review_of(folder: Path) -> Review:
    """Return what there is to say about the release in a folder."""
    content = evidence.read(path_below(folder, EVIDENCE, plain=False))
    decision, broken = None, ""
    try:
        decision = decision_beside(folder / EVIDENCE)
    except CaveatError as error:
        broken = str(error)
    return Review(
        content["release"]["title"],
        board_section(content, decision, external=False).blocks,
        findings(content),
        [] if is_withheld(content) else disagreements(content),
        evidence_sha256(content),
        decision,
        _stands(folder),
        broken,
        [] if decision is None else _unprinted(folder),
    )


def side_by_side(releases: Mapping[str, Path]) -> tuple[Page, list[Review]]:
    """Return what differs between two releases, and what is to be said about each.

    Parameters
    ----------
    releases
        The folders of both by the names that they are called by, the earlier one first.
    """
    content: dict[str, Any] = diff_releases(*releases.values())
    page = difference_page({**content, "names": list(releases)})
    return page, [review_of(folder) for folder in releases.values()]


def decision_of(form: Form) -> Decision:
    """Return the decision that was filled in; names and conditions have a line each."""
    names, conditions = (
        [line.strip() for line in form.get(name).splitlines() if line.strip()]
        for name in ("names", "conditions")
    )
    given = (names, form.get("date"), conditions, form.get("next_review") or None)
    return Decision(form.get("sha256"), form.get("decision"), *given)


def decide(folder: Path, decision: Decision, *, stands: str = "", replace_it: bool = False) -> None:
    """Write a decision beside the evidence that it was made on.

    Parameters
    ----------
    folder
        The folder of the release.
    decision
        The decision, with the checksum of the evidence that was looked at.
    stands
        The checksum of the decision that was there when it was made.
    replace_it
        Whether that may be replaced.
    """
    if decision.evidence_sha256 != evidence_sha256(
        evidence.read(path_below(folder, EVIDENCE, plain=False))
    ):
        raise CaveatError(
            "the evidence has become another one since it was looked at",
            do="read what it says now, then decide",
            code="evidence.file.changed",
        )
    if stands != _stands(folder):
        raise CaveatError(
            "somebody else has decided meanwhile",
            do="read that decision first",
            code="decision.file.changed",
        )
    if stands and not replace_it:
        raise CaveatError(
            "there is a decision already",
            do="say that it is to be replaced",
            code="decision.file.exists",
        )
    write_decision(folder / DECIDED, decision, force=replace_it)


def _unprinted(folder: Path) -> list[str]:
    """Return the reports that a run has left as they are, and that are older than the decision."""
    if not (folder / DECIDED).is_file():
        return []
    decided, entries = (folder / DECIDED).stat().st_mtime_ns, listed(folder)
    return [
        name
        for name in entries
        if Path(name).name.startswith("report")
        and is_listed(folder / name, entries)
        and (folder / name).stat().st_mtime_ns < decided
    ]


def print_again(folder: Path) -> list[str]:
    """Write the reports of a run again, with the decision; return which.

    A report that somebody has changed is left as it is.
    """
    from caveat.release.run import reports  # all rooms

    names, printed = _unprinted(folder), []
    if not names:
        return []
    wanted = [v for v, stem in (("internal", "report."), ("external", "report-external."))
              if any(Path(name).name.startswith(stem) for name in names)]  # fmt: skip
    place = path_below(folder, EVIDENCE, plain=False)
    content, decision = evidence.read(place), decision_beside(place)
    for name, text, secret in reports(content, wanted, dt.date.today().isoformat(), decision):
        path = place_in(folder, name)
        if path.relative_to(folder).as_posix() in names:
            write_text(path, text, confidential=secret, force=True)
            list_again(path)
            printed.append(path.relative_to(folder).as_posix())
    return printed


def _stands(folder: Path) -> str:
    """Return the checksum of the decision that lies in a folder; nothing if there is none."""
    try:
        return hashlib.sha256(read_bytes(path_below(folder, DECIDED, plain=False))).hexdigest()
    except CaveatError:  # there is none, or it is no file that could be replaced
        return ""


# -------------------------------------------------------------------------------------------------
# The settings on the map of a release, as entries of a specification that would choose them.


Change = tuple[tuple[str | int, ...], Any]
"""An entry and its value; None where it has to go."""


@dataclass(frozen=True)
class Tried:
    """A setting on the map of a release.

    Parameters
    ----------
    name
        What it is called there; others may be called the same.
    is_own
        Whether it is that of the release.
    place
        The place of its point among those that are drawn; None if it has none.
    """

    name: str
    is_own: bool
    place: int | None


def settings_in(folder: Path | None) -> tuple[Figure | None, list[Tried]]:
    """Return the map of a release as a picture, and its settings in their order.

    There is none if nothing was tried, or if there is no release. No room is opened that a run
    needs.
    """
    content = None if folder is None else evidence.read(path_below(folder, EVIDENCE, plain=False))
    if content is None or content["map"] is None:
        return None, []
    places = count()
    settings = [
        Tried(point["setting"], point["chosen"], next(places) if is_drawn(point) else None)
        for point in content["map"]["points"]
    ]
    return map_figure(content), settings


def changes_tried(spec: ReleaseSpec) -> list[list[Change]]:
    """Return what would have to be written for each setting on the map, in their order.

    Parameters
    ----------
    spec
        The specification of the release; without a map there is nothing to choose.
    """
    from caveat.release.collect_utility import settings_tried

    if spec.map is None:
        return []
    settings, _ = settings_tried(spec, spec.map)
    return [_changes(spec, setting, spec.map.settings) for setting in settings]


def _changes(spec: ReleaseSpec, setting: Setting, varied: Mapping[str, Any]) -> list[Change]:
    """Return the entries that the map varies, and those that are of no use any more."""
    from caveat.spec.entries import SETTINGS

    used = setting.used
    names = [name for name in varied if name != "protect"]
    names += [n for n in SETTINGS if n in spec.synthesis and n not in used and n not in names]
    changes: list[Change] = [(("synthesis", name), used.get(name)) for name in names]
    if "protect" in varied and list(setting.protect) != list(spec.protect):
        changes.append((("protect",), None))
        changes += [
            (("protect", place, name), value)
            for place, step in enumerate(setting.protect)
            for name, value in step.items()
        ]
    return changes
