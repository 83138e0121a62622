"""All tables of the corpus, one line each: ``python -m tests.corpus FILE``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.corpus.passage import passage_in_words
from tests.corpus.tables import names
from tests.fuzz.harness import iter_cases

SECONDS = 180.0  # of the processor


def main() -> int:
    """Write the lines to the file; return the number of failures."""
    failed, cases = 0, [(name, name) for name in names()]
    with Path(sys.argv[1]).open("w", encoding="utf-8") as out:
        for outcome in iter_cases(passage_in_words, cases, seconds=SECONDS):
            accepted = outcome.verdict == "accepted"
            measured = json.loads(outcome.detail) if accepted else {"why": outcome.detail}
            failed += not accepted
            line = {"table": outcome.name, "outcome": outcome.verdict, **measured}
            print(json.dumps(line), file=out, flush=True)
    sys.stderr.write(f"{len(cases)} tables, {failed} of them not carried through\n")
    return failed


if __name__ == "__main__":
    sys.exit(main() > 0)
