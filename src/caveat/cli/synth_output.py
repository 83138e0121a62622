"""Where ``caveat synth`` writes: files, or folders with the parts of a table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caveat.cli import console
from caveat.cli.synth_groups import targets_of
from caveat.table import Table
from caveat.table.drafts import check_outputs, make_private
from caveat.table.files import check_target, write_blocks
from caveat.table.frames import write_parts
from caveat.table.source import without_password

__all__ = ["Output"]

SLASH = ("/", os.sep)
"""What the name of a folder ends with."""

Blocks = Callable[[Path | None], Iterator[Table]]


@dataclass(frozen=True)
class Output:
    """The files of the copies, or their folders.

    Parameters
    ----------
    out
        The name that was given; with / at its end that of a folder.
    copies
        Number of copies.
    force
        Whether what exists may be replaced.
    """

    out: str
    copies: int
    force: bool

    @property
    def in_parts(self) -> bool:
        """Whether each copy is a folder of Parquet files."""
        return self.out.endswith(SLASH)

    @property
    def targets(self) -> list[Path]:
        """The names of the copies."""
        return targets_of(without_password(self.out), self.copies)

    @property
    def files(self) -> list[Path]:
        """Those of them that are files."""
        return [] if self.in_parts else self.targets

    def check(self, others: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
        """Refuse targets that no table can be written to, or that something else has."""
        read = [path for path in inputs if path is not None]
        check_outputs([*self.files, *others], force=self.force, inputs=read)
        for target in self.targets:
            if not self.in_parts:
                check_target(target, force=self.force)
                continue
            from caveat.release.folder import check_target as check_folder

            check_folder(target, force=self.force, inputs=read)

    def write(
        self, blocks: Blocks, target: Path, inputs: Iterable[Path], how: Mapping[str, Any]
    ) -> None:
        """Write one copy; workers write the parts that they draw into the folder themselves."""
        if not self.in_parts:
            write_blocks(blocks(None), target, **how)
            return
        from caveat.release.folder import release_folder

        with release_folder(target, force=self.force, inputs=inputs) as (draft, left):
            write_parts(blocks(draft), draft)
            for path in (*draft.iterdir(), draft):
                make_private(path, path, confidential=how["confidential"])
        for remark in left:
            console.remark(f"note: {remark}")
