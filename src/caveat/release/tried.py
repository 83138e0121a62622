"""The settings on the map of a release, as entries of a specification that would choose them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caveat import evidence
from caveat.errors import CaveatError
from caveat.release.difference import EVIDENCE
from caveat.report.blocks import Figure
from caveat.report.map import map_figure

if TYPE_CHECKING:
    from caveat.generators import Setting
    from caveat.spec.spec import ReleaseSpec

__all__ = ["Change", "changes_tried", "settings_in"]

Change = tuple[tuple[str | int, ...], Any]
"""An entry and its value; None where it has to go."""


def settings_in(folder: Path | None) -> tuple[Figure | None, list[str]]:
    """Return the map of a release as a picture, and the names of its settings in their order.

    There is none if nothing was tried, or if there is no release. No room is opened that a run
    needs.
    """
    content = None if folder is None else evidence.read(folder / EVIDENCE)
    if content is None or content["map"] is None:
        return None, []
    return map_figure(content), [point["setting"] for point in content["map"]["points"]]


def changes_tried(spec: ReleaseSpec) -> dict[str, list[Change]]:
    """Return what would have to be written for each setting on the map, by its name there.

    Parameters
    ----------
    spec
        The specification of the release, with a map.
    """
    if spec.map is None:
        raise CaveatError("this release has no map", where="map", do="add [map] and run it again")
    from caveat.release.collect_map import settings_tried

    settings, _ = settings_tried(spec, spec.map)
    return {str(setting): _changes(spec, setting, spec.map.settings) for setting in settings}


def _changes(spec: ReleaseSpec, setting: Setting, varied: Mapping[str, Any]) -> list[Change]:
    """Return the entries that the map varies, and those that are of no use any more."""
    from caveat.spec.settings import SETTINGS

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
