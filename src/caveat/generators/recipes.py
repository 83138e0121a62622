"""Other people's generators: which versions work together, and which script drives each.

The pins are those that were run. A generator under a licence that restricts its use is never a
dependency of Caveat: the user installs it, and says that she accepts its licence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from caveat.table.identifying import Origin

__all__ = ["DRIVERS", "RECIPES", "Recipe", "Source", "sources"]

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
