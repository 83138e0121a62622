"""Compare a folder of the source with what a wheel holds of it: templates and schemas included."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path


def missing(source: Path, wheel: Path) -> list[str]:
    """Return the files of the source that the wheel lacks."""
    held = set(zipfile.ZipFile(wheel).namelist())
    files = (path for path in sorted(source.rglob("*")) if path.is_file())
    names = (f"{source.name}/{path.relative_to(source).as_posix()}" for path in files)
    return [name for name in names if "__pycache__" not in name and name not in held]


if __name__ == "__main__":
    lost = missing(Path(sys.argv[1]), Path(sys.argv[2]))
    if lost:
        sys.exit(f"not in the wheel: {', '.join(lost)}")
