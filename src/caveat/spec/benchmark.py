"""What ``caveat benchmark`` takes from a specification: generators, and how they are compared."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from caveat.spec.document import Document
from caveat.spec.privacy import refuse_fits
from caveat.spec.spec import ReleaseSpec
from caveat.synthesis.margins.plan import MARGINS

__all__ = ["BenchmarkSpec", "GeneratorSpec", "commands_of", "refuse_commands"]

USUAL = "S_pMSE two-way"


@dataclass(frozen=True)
class GeneratorSpec:
    """One ``[[generator]]``.

    Parameters
    ----------
    name
        As :func:`caveat.generators.generator_of` knows it.
    label
        What the table calls it.
    settings
        Its settings.
    """

    name: str
    label: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> GeneratorSpec:
        """Return what an entry says; without a label its name and settings are one."""
        settings = entry.get("settings", {})
        words = (f"{key} {value}" for key, value in settings.items())
        label = entry.get("label", ", ".join([entry["name"], *words]))
        return cls(entry["name"], label, settings)

    @property
    def command(self) -> str | None:
        """The command line that its settings would start; None if they name none."""
        if "command" not in self.settings:
            return None
        words = self.settings["command"]
        return shlex.join(map(str, words)) if isinstance(words, list | tuple) else str(words)

    @property
    def slug(self) -> str:
        """The label as the name of a folder."""
        return re.sub(r"[^a-z0-9.]+", "-", self.label.lower()).strip("-.") or "generator"


@dataclass(frozen=True)
class BenchmarkSpec:
    """Generators, the attackers and analysts that judge them, and the means.

    Parameters
    ----------
    release
        Data, control, copies, scenarios, utility and where to write: as for ``caveat run``.
    generators
        What is compared.
    seeds, minutes, gigabytes
        As the ``[benchmark]`` part has them.
    risk, utility
        The axes of the picture; None where they are chosen from what was measured.
    """

    release: ReleaseSpec
    generators: tuple[GeneratorSpec, ...]
    seeds: int = 2
    minutes: float = 60
    gigabytes: float = 8
    risk: str | None = None
    utility: str = USUAL

    @classmethod
    def from_toml(cls, path: str | Path) -> BenchmarkSpec:
        """Read a specification; the data need not be there yet."""
        path = Path(path)
        release = ReleaseSpec.from_toml(path)
        document = release.document
        own = [i for i, entry in enumerate(document.content.get("generator", ()))
               if entry["name"] == MARGINS]  # fmt: skip
        refuse_fits(document, "benchmark", *(("generator", i, "settings") for i in own))
        for section in ("groups", "tables"):
            if section in document.content:
                document.fail(
                    (section,),
                    f"{section}: a benchmark compares generators row by row, on one table",
                    "run the release itself (caveat run), or name one table and leave its key out",
                    code="spec.entry.unsupported",
                )
        if release.protect:
            document.fail(
                ("protect", 0),
                "protect: a benchmark compares generators as they are",
                "remove it, or give a generator of ours settings with protect",
                code="spec.entry.unsupported",
            )
        written = document.content.get("output", {})
        output = replace(
            release.output,
            folder=path.parent / written.get("folder", "benchmark"),
            reports=tuple(written.get("reports", ())),
        )
        given = document.content.get("benchmark", {})
        return cls(replace(release, output=output), _generators(document), **given)


def commands_of(generators: Iterable[GeneratorSpec]) -> tuple[str, ...]:
    """Return the command lines that generators would start, as their settings name them."""
    return tuple(one.command for one in generators if one.command is not None)


def refuse_commands(document: Document, label: str | None = None) -> None:
    """Refuse generators whose settings name a command: a document alone starts nothing.

    Parameters
    ----------
    document
        The specification.
    label
        The generator that is used; all of them without it.
    """
    for i, entry in enumerate(document.content.get("generator", ())):
        one = GeneratorSpec.of(entry)
        if one.command is not None and label in (None, one.label):
            document.fail(
                ("generator", i, "settings", "command"),
                f"this would start a command with the confidential data: {one.command}",
                "read it, and add --allow-command (allow_command=True) if you trust it; or use a "
                "generator that you have installed (caveat generator add)",
                code="generator.command.refused",
            )


def _generators(document: Document) -> tuple[GeneratorSpec, ...]:
    entries = document.content.get("generator", ())
    if not entries:
        document.fail(
            (),
            "no generator is named",
            'add [[generator]] and below it name = "guarded"',
            code="spec.entry.absent",
        )
    found: list[GeneratorSpec] = []
    for i, entry in enumerate(entries):
        made = GeneratorSpec.of(entry)
        if made.slug in [other.slug for other in found]:
            document.fail(
                ("generator", i, "name"),
                f"generator: two are called {made.label!r}",
                "give each a label of its own",
                code="spec.entry.duplicate",
            )
        found.append(made)
    return tuple(found)
