"""What Hittmeir, Mayer and Ekelhart (2020) print: Tables 1 to 11, row by row.

DS is DataSynthesizer with ε = 0 (no noise) and 0.1, DV the Synthetic Data Vault, SP synthpop.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

__all__ = ["ACCURACY", "CAP", "UNMATCHED", "Printed", "off", "printed_row", "signed"]

Printed = tuple[tuple[float, float], ...]
"""Mean and sd over the sets of keys, cell by cell."""


def printed_row(text: str) -> Printed:
    """Return the cells of a printed row.

    Examples
    --------
    >>> printed_row("43.4±3.5 45.1±3.8")
    ((43.4, 3.5), (45.1, 3.8))
    """
    numbers = [float(part) for part in text.replace("±", " ").split()]
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def _rows(text: str) -> dict[str, Printed]:
    lines = (line.split("|") for line in text.strip().splitlines())
    return {name.strip(): printed_row(cells) for name, cells in lines}


# 0CAP, ICAP and GCAP as accuracies R, by table.
CAP: Mapping[int, Mapping[str, Printed]] = {
    1: _rows("""
        Original | 54.9±7.8 54.9±7.8 54.9±7.8
        DS 0     | 43.4±3.5 45.1±3.8 45.4±3.9
        DS 0.1   | 40.6±5.4 42.4±4.3 43.2±3.9
        DV       | 32.4±4.4 34.7±2.7 35.5±2.5
        SP       | 46.0±2.3 47.4±3.2 47.6±3.3
    """),
    2: _rows("""
        Original | 84.0±7.4 84.0±7.4 84.0±7.4
        DS 0     | 22.6±6.1 45.0±2.3 46.1±2.3
        DS 0.1   | 16.7±8.6 41.9±2.1 44.5±2.1
        DV       | 14.5±4.9 35.5±1.5 35.6±0.7
        SP       | 30.7±4.4 53.2±3.8 51.9±2.0
    """),
    3: _rows("""
        Original | 64.3±3.1 64.3±3.1 64.3±3.1
        DS 0     | 61.2±2.9 61.8±2.4 61.7±2.6
        DS 0.1   | 60.9±3.8 61.5±3.0 61.4±3.2
        DV       | 60.6±3.2 61.7±2.2 61.3±2.1
        SP       | 62.4±2.9 62.7±2.7 62.6±2.7
    """),
    4: _rows("""
        Original | 77.8±7.0 77.8±7.0 77.8±7.0
        DS 0     | 52.5±6.3 62.0±3.3 60.9±2.6
        DS 0.1   | 50.4±9.2 61.7±6.0 60.9±4.8
        DV       | 44.5±8.9 61.2±3.8 59.6±2.3
        SP       | 59.4±5.0 68.4±4.0 66.7±2.9
    """),
}

# Table 5: women whose keys are not in the release, for Tables 1 to 4.
UNMATCHED: Mapping[str, tuple[int, int, int, int]] = {
    "DS 0": (53, 725, 14, 236),
    "DS 0.1": (64, 854, 16, 317),
    "DV": (103, 865, 27, 398),
    "SP": (42, 611, 6, 190),
}

# NB, SVM, KNN, RF, LR, FR-NN, ENS, by table.
ACCURACY: Mapping[int, Mapping[str, Printed]] = {
    6: _rows("""
        Original | 47.4±2.8 49.9±3.6 48.5±7.0 54.4±7.5 45.7±2.6 54.9±7.8 51.7±5.1
        DS 0     | 46.6±2.7 46.6±4.1 43.0±4.9 45.3±4.0 43.6±2.2 45.4±3.9 46.8±4.1
        DS 0.1   | 44.7±2.7 45.1±2.8 40.7±4.1 42.4±4.2 42.7±0.6 43.2±3.9 45.2±3.0
        DV       | 39.2±2.4 37.8±3.2 36.2±2.5 35.1±2.7 39.6±2.5 35.5±2.5 39.0±2.4
        SP       | 47.0±2.5 48.7±3.7 44.6±3.7 47.4±3.1 45.7±2.6 47.6±3.3 48.8±3.8
    """),
    7: _rows("""
        Original | 49.9±1.6 57.7±2.3 64.5±3.1 82.3±7.0 50.9±1.8 84.0±7.4 66.8±4.3
        DS 0     | 50.9±1.9 50.7±3.2 47.3±2.7 47.8±2.9 48.0±1.9 46.1±2.3 51.4±2.8
        DS 0.1   | 47.4±2.3 48.2±1.6 43.5±1.2 43.5±2.7 43.4±0.5 44.5±2.1 47.9±2.3
        DV       | 38.0±0.8 36.1±1.4 35.6±1.3 36.4±1.6 39.5±1.4 35.6±0.7 38.4±1.0
        SP       | 49.4±1.3 54.2±2.3 51.4±1.7 52.2±3.0 50.2±1.6 51.9±2.0 55.0±2.7
    """),
    8: _rows("""
        Original | 62.6±2.3 63.0±2.1 57.4±7.8 64.2±3.1 62.8±2.1 64.3±3.1 63.2±2.1
        DS 0     | 62.7±2.1 62.8±2.1 53.7±9.1 61.4±2.9 62.8±2.1 61.7±2.6 62.8±2.1
        DS 0.1   | 62.7±2.1 62.2±1.6 52.8±8.7 61.6±2.0 62.4±1.8 61.4±3.2 62.7±2.1
        DV       | 61.6±0.7 61.9±1.2 54.1±10.0 60.8±1.8 61.6±0.7 61.3±2.1 61.7±0.8
        SP       | 62.3±1.9 62.9±2.1 58.9±4.7 62.1±3.1 62.7±2.1 62.6±2.7 62.9±2.0
    """),
    9: _rows("""
        Original | 64.2±1.7 65.0±1.5 69.4±3.5 77.0±6.6 64.4±1.6 77.8±7.0 67.0±1.9
        DS 0     | 64.1±1.9 64.3±1.7 60.8±3.0 59.9±3.8 64.6±1.7 60.9±2.6 64.4±1.8
        DS 0.1   | 63.4±1.6 63.1±1.1 59.7±4.5 59.3±3.0 64.1±1.6 60.9±4.8 63.6±1.4
        DV       | 62.4±0.7 62.0±0.6 59.6±1.6 58.8±2.4 62.2±0.6 59.6±2.3 62.3±0.7
        SP       | 63.3±1.7 64.7±1.7 63.1±3.9 64.8±3.2 64.4±1.6 66.7±2.9 65.0±1.6
    """),
    10: _rows("""
        Original | 60.7±1.9 62.7±2.9 69.0±1.6 75.7±5.0 61.0±2.2 77.0±5.9 69.0±2.2
        DS 0     | 61.3±2.1 60.3±3.1 58.0±2.9 66.0±3.6 63.7±1.7 67.0±0.0 68.7±2.1
        DS 0.1   | 57.7±2.1 61.7±3.4 58.3±1.2 50.3±5.2 56.3±2.5 53.7±8.3 58.7±3.3
        DV       | 56.7±3.3 56.7±0.5 51.7±5.4 54.0±4.2 59.3±2.6 50.7±7.1 55.3±3.3
        SP       | 62.0±3.3 61.7±1.2 65.0±1.4 63.3±6.1 62.7±3.3 63.7±6.6 63.3±3.9
    """),
    11: _rows("""
        Original | 60.3±5.2 60.3±3.3 65.0±7.1 70.3±8.1 57.7±5.4 71.7±9.0 64.7±4.0
        DS 0     | 58.0±5.0 59.0±5.7 57.0±5.1 61.7±7.9 59.3±5.9 63.0±7.5 59.3±5.9
        DS 0.1   | 57.7±8.3 59.0±5.7 57.3±6.2 56.3±5.4 59.0±7.9 56.7±6.1 58.0±6.2
        DV       | 56.3±3.9 57.7±4.0 55.7±0.9 57.3±4.5 60.3±3.3 52.7±1.2 56.7±5.6
        SP       | 55.3±2.4 56.3±2.9 60.3±1.7 60.7±3.9 58.0±3.6 62.7±3.3 60.7±2.9
    """),
}


def off(found: NDArray[np.float64], one: float) -> float:
    """Return how far one more release lies from the mean of ours, in its standard deviation."""
    if len(found) < 2:
        return float(np.nan)
    # It scatters around the mean of k as √(1 + 1/k) standard deviations of one release.
    spread = float(found.std(ddof=1)) * np.sqrt(1 + 1 / len(found))
    return float((one - found.mean()) / spread) if spread else float(np.nan)


def signed(value: float | np.floating) -> str:
    """Return a difference with its sign, and nothing for one that is not defined."""
    near = round(float(value), 1)
    return "" if np.isnan(near) else f"{near:+.1f}" if near else "0"
