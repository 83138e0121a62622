"""Generators by name: ours, the reference ones, and other people's in environments."""

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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from caveat.documents import parse, read_bytes
from caveat.errors import CaveatError, hint
from caveat.generators.contract import REFERENCES, Fitted, Generator, reference
from caveat.generators.ours import OUTPUTS, Setting, drafted
from caveat.generators.process import FittedProcess, GeneratorError, Limits, ProcessGenerator, home
from caveat.protect.pipeline import check_steps
from caveat.stopping import UNFINISHED
from caveat.synthesis.methods import METHODS
from caveat.table import Table
from caveat.table.identifying import Origin

DRIVERS = Path(__file__).with_name("drivers")


@dataclass(frozen=True)
class Source:
    """Where one or several generators come from: an environment of their own.

    Parameters
    ----------
    name
        Name of the environment.
    licence
        Its licence.
    pins
        What is installed, in steps one after the other.
    must_accept
        Whether the licence restricts the use, so that the user has to accept it.
    program
        A program that must be installed already; with it no environment is made.
    without
        Packages that are taken out again: optional ones that do not fit the others.
    weight
        Megabytes on disk, roughly.
    """

    name: str
    licence: str
    pins: tuple[tuple[str, ...], ...] = ()
    must_accept: bool = False
    program: str = ""
    without: tuple[str, ...] = ()
    weight: int = 0


@dataclass(frozen=True)
class Recipe:
    """One generator.

    Parameters
    ----------
    name
        Its name.
    says
        What it is, in a few words.
    source
        Its environment.
    driver
        The script that runs it, without extension.
    is_seeded
        Whether the same seed gives the same tables.
    settings
        Settings that make it this generator and no other.
    origin
        Where the values of its tables come from; a recipe declares it.
    """

    name: str
    says: str
    source: Source
    driver: str
    is_seeded: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)
    origin: Origin = Origin.DRAWN

    @property
    def script(self) -> Path:
        """The driver's file."""
        return DRIVERS / f"{self.driver}.py"


ARROW = "pyarrow==26.0.1"
# Installed before the rest, the processor's build is kept; any other way takes gigabytes.
TORCH = ("torch==2.13.0",)

SDV = Source(
    "sdv",
    "BUSL-1.1",
    (TORCH, ("sdv==2.0.0", *TORCH, ARROW)),
    must_accept=True,
    weight=1560,
)
SYNTHCITY = Source(
    "synthcity",
    "Apache-2.0",
    (("synthcity==0.2.12", "opacus==1.5.2", "scikit-learn<1.6", "numpy<2", "pyarrow<20"),),
    weight=7030,
)

RECIPES: Mapping[str, Recipe] = {
    entry.name: entry
    for entry in (
        Recipe(
            "arfpy",
            "adversarial random forests",
            Source(
                "arfpy",
                "MIT",
                (("arfpy==0.1.1", "numpy==2.3.5", "pandas==2.3.3", ARROW),),
                weight=560,
            ),
            "arfpy",
        ),
        Recipe(
            "datasynthesizer",
            "a Bayesian network; with noise where epsilon is not 0",
            Source(
                "datasynthesizer",
                "MIT",
                (("DataSynthesizer==0.1.13", "pandas==3.1.1", ARROW),),
                weight=660,
            ),
            "datasynthesizer",
        ),
        Recipe(
            "syndiffix",
            "a forest of anonymised trees",
            Source("syndiffix", "MIT", (("syndiffix==1.0.8", "pandas==2.3.3", ARROW),), weight=580),
            "syndiffix",
        ),
        Recipe("sdv-copula", "a Gaussian copula", SDV, "sdv",
               settings={"synthesizer": "GaussianCopula"}),
        Recipe("sdv-ctgan", "a conditional GAN", SDV, "sdv", settings={"synthesizer": "CTGAN"}),
        Recipe("sdv-tvae", "a variational autoencoder", SDV, "sdv",
               settings={"synthesizer": "TVAE"}),
        Recipe(
            "mostlyai",
            "an autoregressive network",
            Source(
                "mostlyai",
                "Apache-2.0",
                (TORCH, ("mostlyai-engine==2.7.3", *TORCH, ARROW)),
                without=("torchaudio", "torchvision"),
                weight=2720,
            ),
            "mostlyai",
        ),
        Recipe(
            "metasyn",
            "each column drawn alone, from a fitted distribution",
            Source(
                "metasyn",
                "MIT",
                (("metasyn==3.0.0", "polars==2.1.0", "pandas==3.1.1", ARROW),),
                weight=710,
            ),
            "metasyn",
        ),
        Recipe("synthcity-ddpm", "a diffusion model", SYNTHCITY, "synthcity",
               settings={"plugin": "ddpm"}),
        Recipe("synthcity-bayes", "a Bayesian network", SYNTHCITY, "synthcity",
               settings={"plugin": "bayesian_network"}),
        Recipe("synthpop", "sequential trees, the R package",
               Source("synthpop", "GPL-2 or GPL-3", program="Rscript"), "synthpop"),
    )
}  # fmt: skip


def sources() -> dict[str, Source]:
    """Return all environments by name.

    Examples
    --------
    >>> sources()["sdv"].must_accept
    True
    """
    return {recipe.source.name: recipe.source for recipe in RECIPES.values()}


# -------------------------------------------------------------------------------------------------
# Environments of other people's generators: made once, with pinned versions, in the user's
# folder.
#
# Each has its own, because no two of them agree on the versions of their libraries. An
# environment that could not be finished is not there.


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


# -------------------------------------------------------------------------------------------------
# Generators by name: ours, the reference ones, and other people's.


RUNS = ("seed", "threads", "anyway")
"""Options of a synthesis that are a matter of the run."""


def generator_names() -> list[str]:
    """Return the names of all generators.

    The reference generator ``sample`` has the name of a method of ours, which is here ``margins``.
    """
    return [*(name for name in METHODS if name not in REFERENCES), *REFERENCES, OUTPUTS, *RECIPES]


def generator_of(
    name: str,
    settings: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    *,
    allow_command: bool = False,
) -> Generator:
    """Return a generator by its name.

    Parameters
    ----------
    name
        One of our methods for the whole table (``guarded``, ``cart``, …), a reference generator,
        ``outputs`` (drafts from published numbers), or one with a recipe (see ``caveat generator
        list``). Any name with the setting ``command``: a
        command of your own.
    settings
        Its settings: for ours the options of a synthesis, and ``protect`` with the steps after it;
        for a command of your own ``command``, a list of words, ``is_seeded`` (true unless you say
        otherwise), ``copies_records`` (false declares that it draws its tables; they count as
        copied otherwise, and are confidential), and whatever it understands itself; for
        ``outputs`` its ``plan``.
    limits
        Of a generator in another process.
    allow_command
        Whether a ``command`` in the settings may be started. Settings often come from a file that
        somebody else has written, and the command gets the confidential data.

    Raises
    ------
    GeneratorError
        If its environment is not there.

    Examples
    --------
    >>> from caveat.datasets import buyer_beware
    >>> generator = generator_of("cart", {"minbucket": 20})
    >>> generator.name, generator.is_seeded
    ('cart, minbucket 20', True)
    >>> generator.fit(buyer_beware(), seed=1).sample(rows=10)[0].n_rows
    10
    """
    given = dict(settings or {})
    if "command" in given:
        return _command(name, given, limits, allow_command)
    if name in RECIPES:
        return process_of(name, given, limits)
    if name in REFERENCES:
        return reference(name, given)
    if name == OUTPUTS:
        return drafted(given)
    if name in METHODS:
        return _ours(name, given)
    near = hint(name, generator_names())
    raise CaveatError(
        f"there is no generator {name!r}",
        do=f"{near}; those of others need: caveat generator add NAME",
        code="generator.name.unknown",
    )


def _ours(name: str, given: dict[str, Any]) -> Setting:
    """Return one of our methods with its settings."""
    for key in RUNS:
        if key in given:
            raise CaveatError(
                f"{key} is no setting of a generator",
                where=f"generator {name}",
                do="leave it out",
                code="generator.setting.unknown",
            )
    steps = given.pop("protect", [])
    check_steps(steps)
    return Setting({"method": name, **given}, tuple(steps))


def _command(
    name: str, given: dict[str, Any], limits: Limits | None, allowed: bool
) -> ProcessGenerator:
    """Return a command of the user's own; a document alone starts none."""
    if not allowed:
        raise CaveatError(
            "its settings name a command, which is not allowed to start",
            where=f"generator {name}",
            do="read the command, and use allow_command=True (--allow-command) if you trust it",
            code="generator.command.refused",
        )
    words, is_seeded = given.pop("command"), given.pop("is_seeded", True)
    origin = Origin.DRAWN if given.pop("copies_records", True) is False else Origin.COPIED
    is_list = isinstance(words, list | tuple) and all(isinstance(word, str) for word in words)
    if not is_list or not words or not words[0]:
        raise CaveatError(
            "a command is a list of words",
            where=f"generator {name}",
            do='write command = ["python3", "/path/of/my_generator.py"]',
            code="generator.command.type",
        )
    return ProcessGenerator(
        name, tuple(words), given, bool(is_seeded), limits or Limits(), origin=origin
    )


def seed_by_seed(generator: Generator, table: Table) -> Callable[[int], Fitted]:
    """Return fits of a generator with any seed; ours is fitted once where a fit draws nothing."""
    if isinstance(generator, Setting):
        return generator.seed_by_seed(table)
    return lambda seed: generator.fit(table, seed)


# -------------------------------------------------------------------------------------------------
# A generator on a small table of our own, to see whether it does what the contract says.


COLUMNS = ("interviewed", "sex", "age", "region", "education", "income", "bmi")
"""Of every kind one, with missing cells; none that names people."""
ROWS = 200


@dataclass(frozen=True)
class Trial:
    """What was seen.

    Parameters
    ----------
    problems
        What is not as it should be; none if all is well.
    is_seeded
        Whether the same seed gave the same table.
    cpu_seconds, peak_megabytes
        What the first run took; None if that is not known.
    """

    problems: tuple[str, ...]
    is_seeded: bool
    cpu_seconds: float | None = None
    peak_megabytes: float | None = None


def people(rows: int = ROWS) -> Table:
    """Return the table that generators are tried on."""
    from caveat.datasets import survey  # large

    return survey(rows=rows).select(COLUMNS)


def try_generator(generator: Generator, table: Table | None = None) -> Trial:
    """Let a generator make two copies twice, and one row, and look at them.

    Examples
    --------
    >>> from caveat.generators import generator_of
    >>> try_generator(generator_of("margins")).problems
    ()
    """
    original = people() if table is None else table
    fitted = generator.fit(original, 1)
    first, second = fitted.sample(copies=2)
    again = generator.fit(original, 1).sample()[0]
    (one,) = generator.fit(original, 2).sample(rows=1)
    problems = [*_unlike(first, original), *_unlike(one, original)]
    if one.n_rows != 1:
        problems.append(f"one row was asked for, {one.n_rows:,} came")
    if first == second:
        problems.append("two copies are the same table")
    if generator.is_seeded and again != first:
        problems.append("the same seed gave another table")
    used = _usage(fitted)
    return Trial(tuple(dict.fromkeys(problems)), again == first, *used)


def _unlike(made: Table, original: Table) -> list[str]:
    """Return in what a table is not like the original."""
    if made.names != original.names:
        return ["the columns are not those of the original"]
    found = []
    for name, column in original.columns.items():
        ours = made[name]
        if ours.kind != column.kind:
            found.append(f"column {name}: another kind")
        if not set(ours.missing) <= set(column.missing):
            found.append(f"column {name}: another way to be missing")
        if not column.kind.is_number and not set(ours.levels) <= set(column.levels):
            found.append(f"column {name}: a level that the original has not")
    return found


def _usage(fitted: Fitted) -> tuple[float | None, float | None]:
    if not isinstance(fitted, FittedProcess) or not fitted.usage:
        return None, None
    return fitted.usage[0].cpu_seconds, fitted.usage[0].peak_megabytes
