"""Files as people have them: a messy one, and two that belong together."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from caveat.datasets import households

HEADER = "Lfd Nr;Alter;Geschlecht;<i>Region</i>;Einkommen €;Einkommen Jahr;Interview;leer;Bemerkung"
REGIONS = ("Nord", "nord", "Süd", "Ost ", "<b>Mitte</b>")


def messy(path: Path, rows: int = 900) -> None:
    """Write what a spreadsheet saves: semicolons, commas in numbers, umlauts in an old encoding."""
    rng = np.random.default_rng(1)
    lines = [HEADER]
    for i in range(rows):
        income = round(rng.lognormal(7.3, 0.6), 2)
        pay = ("-9", "-9") if rng.random() < 0.1 else (f"{income:.2f}", f"{12 * income:.2f}")
        day = f"{rng.integers(1, 29):02d}.{rng.integers(1, 13):02d}.2021"
        said = rng.choice(["", 'sagte ""nein""', "ruft zurück; Mo", "<script>alert(1)</script>"])
        cells = [
            str(i + 1), str(rng.integers(16, 95)), rng.choice(["m", "w", "k.A."]),
            rng.choice(REGIONS, p=[0.4, 0.1, 0.2, 0.2, 0.1]), *(p.replace(".", ",") for p in pay),
            day, "", f'"{said}"',
        ]  # fmt: skip
        lines.append(";".join(cells))
    path.write_bytes("\r\n".join(lines).encode("mac_roman"))


def homes(folder: Path, number: int = 400) -> None:
    """Write households and persons to two files, each person with the key of a household."""
    frame = households(number=number).to_frame()
    frame.insert(0, "person", np.arange(1, len(frame) + 1))
    shared = ["household", "region", "tenure", "hhsize", "hhincome", "weight"]
    frame.drop_duplicates("household")[shared].to_csv(folder / "households.csv", index=False)
    own = [name for name in frame if name not in shared[1:]]
    frame[own].to_csv(folder / "persons.csv", index=False)
