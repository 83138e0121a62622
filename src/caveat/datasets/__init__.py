"""Example tables: one from a paper, counted cell by cell, others simulated like those of offices.

None holds data of real people.
"""

from caveat.datasets.tables import RELEASES, buyer_beware, households, patients, register, survey

__all__ = ["RELEASES", "buyer_beware", "households", "patients", "register", "survey"]
