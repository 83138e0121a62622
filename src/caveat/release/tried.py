"""The settings on the map of a release, as entries of a specification that would choose them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caveat import evidence
from caveat.documents import path_below
from caveat.evidence.manifest import EVIDENCE
from caveat.report.blocks import Figure
from caveat.report.board import is_drawn, map_figure

if TYPE_CHECKING:
    from caveat.generators import Setting
    from caveat.spec.spec import ReleaseSpec

__all__ = ["Change", "Tried", "changes_tried", "settings_in"]

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
    from caveat.release.collect_map import settings_tried

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
