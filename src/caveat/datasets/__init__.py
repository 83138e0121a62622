"""Example tables: one from a paper, counted cell by cell, and one simulated like a survey.

Neither holds data of real people.
"""

from caveat.datasets.buyer_beware import RELEASES, buyer_beware
from caveat.datasets.survey import survey

__all__ = ["RELEASES", "buyer_beware", "survey"]
