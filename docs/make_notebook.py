"""Run the example notebook from top to bottom and write it with what came out.

``pip install nbclient ipykernel``, then ``python docs/make_notebook.py``: Jupyter itself runs it,
so that nothing else of the project needs Jupyter.
"""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient

TARGET = Path(__file__).parent / "example.ipynb"
CELLS = [
    """# From a table to a decision, in a notebook

Every result shows itself: one line in a console, a small table here, a frame by `to_frame()`,
a picture by `plot()`. None of them shows a value of a record unasked, because notebooks are
saved with their output and sent about.""",
    """
import warnings

import altair as alt

import caveat

alt.renderers.enable("png")  # pictures without the network
warnings.simplefilter("ignore", caveat.CaveatWarning)
table = caveat.datasets.survey(rows=1000)  # or your own: caveat.read("file.sav")
table
""",
    "## Look\n\nWhat has to be decided before anything is synthesised.",
    """
profile = caveat.look(table)
profile
""",
    "profile.plot()",
    """## Synthesise

The plan says how each column is made. `Synthesizer` has a keyword for everything that a
specification says.""",
    """
bmi = {"bmi": "weight / (height / 100) ** 2"}
synthesizer = caveat.Synthesizer(seed=1, drop=["person"], derived=bmi, special={"income": [-8]})
synthesizer.plan(table)
""",
    """
model = synthesizer.fit(table)
release = model.sample()
model
""",
    """## What it gives away

First the usual measures, each beside what it is to be judged by.""",
    """
audit = caveat.audit(table, release, keys=["sex", "age", "region"], targets=["income"])
audit.plot()
""",
    """
frame = audit.to_frame()
frame[frame["measure"].isin(["repU", "DiSCO"])][["measure", "value", "baseline"]]
""",
    """Then the attacker who knows the generator and everybody else. For our own trees she is
computed exactly: once for all records, once for one of them.""",
    """
members = caveat.membership(table, release, generator=model)
members
""",
    """
worst = members.worst
one = caveat.posterior(table, release, worst, unknown=["satisfied"], generator=model)
one
""",
    "## What analysts can still do",
    """
utility = caveat.compare(table, release)
utility
""",
    'utility.plot("two-way")',
    """## And the decision

`caveat.Release.from_toml("release.toml").run()` does all of this from one file, holds the
numbers against your limits and writes the report for the board; `caveat init` writes the
file.""",
]


def main() -> None:
    """Execute the cells and write them."""
    made = nbformat.v4.new_notebook()
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    for number, text in enumerate(CELLS):
        prose = text.startswith(("#", "Then"))
        kind = nbformat.v4.new_markdown_cell if prose else nbformat.v4.new_code_cell
        cell = kind(text.strip())
        cell.id = f"cell-{number}"  # drawn at random otherwise
        made.cells.append(cell)
    NotebookClient(made, timeout=300, kernel_name="python3").execute()
    for cell in made.cells:
        cell.metadata.pop("execution", None)  # when it ran says nothing
    nbformat.validate(made)
    TARGET.write_text(nbformat.writes(made) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
