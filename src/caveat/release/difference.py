"""Two releases side by side: their folders are read, evidence and specification, never data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from caveat import evidence
from caveat.documents import path_below
from caveat.evidence.difference import difference
from caveat.evidence.manifest import EVIDENCE, SPEC
from caveat.spec.document import read_toml

__all__ = ["diff_releases", "files_of"]


def files_of(release: Path) -> tuple[Path, Path]:
    """Return the evidence and the specification of a release: of its folder, or of its evidence."""
    if release.is_dir() or release.suffix != ".json":
        return path_below(release, EVIDENCE, plain=False), path_below(release, SPEC, plain=False)
    return release, path_below(release.parent, Path(SPEC).name)


def diff_releases(before: str | Path, after: str | Path) -> dict[str, Any]:
    """Return what differs between two releases.

    Parameters
    ----------
    before, after
        Their folders, or their ``evidence.json``. The specifications are compared where both are
        there.
    """
    files = [files_of(Path(path)) for path in (before, after)]
    contents = [evidence.read(path) for path, _ in files]
    specs = [_spec(path) for _, path in files]
    both = None if specs[0] is None or specs[1] is None else (specs[0], specs[1])
    return {"names": [str(before), str(after)], **difference(contents[0], contents[1], both)}


def _spec(path: Path) -> Mapping[str, Any] | None:
    return read_toml(path)[2] if path.is_file() else None
