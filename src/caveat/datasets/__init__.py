"""Example tables: one from a paper, counted cell by cell, others simulated like those of offices.

None holds data of real people.
"""

from caveat.datasets.buyer_beware import RELEASES, buyer_beware
from caveat.datasets.households import households
from caveat.datasets.patients import patients
from caveat.datasets.register import register
from caveat.datasets.survey import survey

__all__ = ["RELEASES", "buyer_beware", "households", "patients", "register", "survey"]
