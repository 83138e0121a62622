"""Environments of other people's generators: made once, with pinned versions, in the user's folder.

Each has its own, because no two of them agree on the versions of their libraries. An environment
that could not be finished is not there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from caveat.documents import parse, read_bytes
from caveat.errors import CaveatError, hint
from caveat.generators.child import Limits
from caveat.generators.home import home
from caveat.generators.process import GeneratorError, ProcessGenerator
from caveat.generators.recipes import DRIVERS, RECIPES, Recipe, Source, sources
from caveat.stopping import UNFINISHED

__all__ = ["add", "folder_of", "is_installed", "process_of", "recipes_of", "remove"]

MARK = "environment.json"
Say = Callable[[str], None]


def recipes_of(name: str) -> list[Recipe]:
    """Return the generators of a name: of one generator, or of the environment of several."""
    found = [r for r in RECIPES.values() if name in (r.name, r.source.name)]
    if not found:
        known = [*RECIPES, *(s for s in sources() if s not in RECIPES)]
        raise CaveatError(
            f"there is no recipe for a generator {name!r}",
            do=hint(name, known),
            code="generator.name.unknown",
        )
    return found


def folder_of(source: Source) -> Path:
    """Return where an environment lies, or will."""
    return home() / "generators" / source.name


def _python(folder: Path) -> Path:
    return folder.joinpath(*(("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")))


def is_installed(source: Source) -> bool:
    """Whether an environment is there with the pins of today, or the program is."""
    if source.program:
        return shutil.which(source.program) is not None
    with suppress(CaveatError, OSError, ValueError, AttributeError):
        mark = parse(read_bytes(folder_of(source) / MARK))
        return bool(mark.get("pins") == _listed(source)) and _python(folder_of(source)).exists()
    return False


def _listed(source: Source) -> list[list[str]]:
    return [list(step) for step in source.pins]


def process_of(
    name: str, settings: Mapping[str, Any] | None = None, limits: Limits | None = None
) -> ProcessGenerator:
    """Return one of the generators with a recipe.

    Raises
    ------
    GeneratorError
        If its environment is not there.
    """
    recipe = RECIPES[name]
    source = recipe.source
    if not is_installed(source):
        what, do = "it is not installed", f"run: caveat generator add {name}"
        code = "generator.environment.not-installed"
        if source.program:
            what, do = f"it needs {source.program}, which is not installed", "install it"
            code = "generator.program.not-installed"
        raise GeneratorError(what, name=name, do=do, code=code)
    # What R drives runs beside us: pandas and pyarrow are all that its script needs.
    folder = folder_of(source)
    python = Path(sys.executable) if source.program else _python(folder)
    command = (str(python), "-P", "-s", str(DRIVERS / "harness.py"), str(recipe.script))
    # R finds the packages of a user below her own folder.
    home = {"HOME": str(Path.home())}
    places = home if source.program else {"MPLCONFIGDIR": str(folder / "cache")}
    return ProcessGenerator(
        name,
        command,
        {**(settings or {}), **recipe.settings},
        recipe.is_seeded,
        limits or Limits(),
        places,
        recipe.origin,
    )


def add(name: str, *, accept_licence: bool = False, uv: bool = False, say: Say = print) -> Path:
    """Make the environment of a generator.

    Parameters
    ----------
    name
        The generator, or the environment of several.
    accept_licence
        Whether the user accepts a licence that restricts the use.
    uv
        Whether uv does it; otherwise the standard library's venv and pip.
    say
        Told what happens.

    Returns
    -------
    Path
        The environment.
    """
    recipe = recipes_of(name)[0]
    source, folder = recipe.source, folder_of(recipe.source)
    if source.program:
        raise CaveatError(
            f"the generator {name} runs in {source.program}, which Caveat does not install",
            do="install it with the package, and it is there",
            code="generator.program.unsupported",
        )
    if is_installed(source):
        say(f"{name} is installed already")
        return folder
    if source.must_accept and not accept_licence:
        raise CaveatError(
            f"{source.name} is under the licence {source.licence}, which restricts its use",
            do="read it, and use --accept-licence if you accept it",
            code="generator.licence.refused",
        )
    if uv and shutil.which("uv") is None:
        raise CaveatError(
            "uv is not installed",
            do="leave out --uv, or install it",
            code="generator.program.not-installed",
        )
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{source.name}-", dir=folder.parent))
    UNFINISHED.add(draft)
    try:
        _make(draft, source, uv, say)
        if folder.exists():  # one with other pins, or half of one
            shutil.rmtree(folder)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        UNFINISHED.discard(draft)
    return folder


def _make(draft: Path, source: Source, uv: bool, say: Say) -> None:
    weight = f" (about {source.weight:,} MB)" if source.weight else ""
    say(f"making the environment {source.name}{weight}")
    python = str(_python(draft))
    if uv:
        _call(["uv", "venv", "--quiet", "--clear", "--python", sys.executable, str(draft)], source)
        install = ["uv", "pip", "install", "--quiet", "--python", python]
    else:
        _call([sys.executable, "-m", "venv", str(draft)], source)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                   "--no-compile"]  # fmt: skip
    for step in source.pins:
        say(f"installing {', '.join(step)}")
        _call([*install, *step], source)
    if source.without:
        tool = ["uv", "pip", "uninstall", "--python", python]
        tool = tool if uv else [python, "-m", "pip", "uninstall", "--quiet", "--yes"]
        _call([*tool, *source.without], source)
    (draft / "cache").mkdir()
    made = {"pins": _listed(source), "python": sys.version.split()[0], "made": time.strftime("%F")}
    (draft / MARK).write_text(json.dumps(made, indent=1), encoding="utf-8")


def _call(command: Sequence[str], source: Source) -> None:
    """Run a step; of what it prints only the last line that says something is told."""
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        command, capture_output=True, check=False, text=True, errors="replace", env=clean
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line.lower()]
        said = lines[-1].strip() if lines else "no reason was given"
        raise GeneratorError(
            f"its environment could not be made ({said})",
            name=source.name,
            do="check that the package index can be reached",
            code="generator.environment.failed",
        )


def remove(name: str) -> Path:
    """Remove the environment of a generator, with all generators that live in it."""
    folder = folder_of(recipes_of(name)[0].source)
    if not folder.is_dir():
        raise CaveatError(
            f"there is no environment of {name}",
            do="see caveat generator list",
            code="generator.environment.not-installed",
        )
    shutil.rmtree(folder)
    return folder
