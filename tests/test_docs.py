"""The documentation: every Python example runs and says what the page says it says."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import shlex
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer.main
from tests.pages import DOCS, EXAMPLE, examples
from typer.testing import CliRunner

from caveat.cli import app
from caveat.errors import CaveatWarning

BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
TUTORIAL = "tutorial.md"
PAGES = sorted(
    page.name
    for page in DOCS.glob("*.md")
    if EXAMPLE.search(page.read_text("utf-8")) and page.name != TUTORIAL
)


COMMAND = re.compile(r"^(?: {4}|\$ )?caveat ([a-z].*)", re.MULTILINE)
COMMANDS = [
    (page.name, line)
    for page in sorted(DOCS.glob("*.md"))
    for line in COMMAND.findall(page.read_text("utf-8").replace("\\\n", " "))
]

DOTTED = re.compile(r"(?<![\w./@-])caveat(?:\.[A-Za-z_]\w*)+")
"""A name of the package as pages write it: a path or an address has something before it."""
NAMES = [
    (page.relative_to(DOCS).as_posix(), name)
    for page in sorted(DOCS.rglob("*.md"))
    for name in dict.fromkeys(DOTTED.findall(page.read_text("utf-8")))
]
FUTURE = {("develop/format.md", "caveat.table._jsonl")}  # the module that the reader writes there

# Rooms whose names users call, and names in them that only other rooms do.
ROOMS = (
    "table", "findings", "datasets", "synthesis", "generators", "protect", "privacy", "risk",
    "utility", "attack", "attack.registry", "attack.ordinary", "release", "tuning",
    "evidence", "report", "expressions", "studies", "cluster",
)  # fmt: skip
INSIDE = {
    "caveat.table.align_copies", "caveat.risk.ENTRIES", "caveat.risk.Joint",
    "caveat.risk.audit_pairs", "caveat.risk.cross", "caveat.risk.disclosure_of_codes",
    "caveat.risk.key_cells", "caveat.utility.compare_pairs", "caveat.utility.entries",
    "caveat.evidence.FORMAT", "caveat.evidence.text_of", "caveat.evidence.verdict_of",
    "caveat.evidence.with_verdict",
    "caveat.datasets", "caveat.__version__",
}  # fmt: skip


def _risk(names: dict[str, Any]) -> None:
    assert names["found"]["DiSCO", "ill"].value == 0.5


def _utility(names: dict[str, Any]) -> None:
    assert names["result"].value > 0


def _ordinary(names: dict[str, Any]) -> None:
    assert names["copied"].value == 1
    low, high = names["fresh"].interval
    assert low <= names["fresh"].control <= high
    assert names["block"].unique
    assert names["block"].certain[("White", "NH")] == 43
    assert names["random_matches"](names["block"].records()) == 0.08


def _trust(names: dict[str, Any]) -> None:
    # The last release of the loop is the one without 1111.
    assert names["found"]["DiSCO", "var4"].value == 0.066
    assert round(names["attack"].probability, 4) == 0.024


def _between(names: dict[str, Any]) -> None:
    assert names["found"]["spec"] == [{"entry": "synthesis.minbucket", "before": 20, "after": 60}]
    assert (names["n"], names["members"].releases, names["marital"].releases) == (4, 4, 4)
    assert names["members"].probability.max() > 0.9


def _explain(names: dict[str, Any]) -> None:
    assert names["found"].membership == 1
    leaf = names["leaf"]
    assert (leaf.size, leaf.alike, leaf.released, leaf.path) == (
        67,
        1,
        61,
        ("var1", "var2", "var3"),
    )


def _report(names: dict[str, Any]) -> None:
    assert "gives probability 1 to the exact “var4”" in names["worst"]
    assert "(before the release: 0.007)" in names["worst"]
    assert any("other measures do not see it" in line for line in names["lines"])
    assert names["page"].startswith("<!doctype html>")


def _generators(names: dict[str, Any]) -> None:
    found = names["found"]
    assert found["copy"] > found["sample"] > found["margins"] > found["uniform"]


def _margins(names: dict[str, Any]) -> None:
    seen, unseen = names["seen"], names["unseen"]
    assert seen["plain"] < 0.005 < seen["cleared"] < 0.05
    assert unseen["plain"] == 0
    assert 0.25 < unseen["cleared"] < 0.4


def _guarded(names: dict[str, Any]) -> None:
    certain, members = names["certain"], names["members"]
    assert 0.6 < certain["plain"] < 0.7
    assert 0.85 < members["plain"] < 0.9
    assert certain["guarded"] < 0.11
    assert members["guarded"] <= 0.006


def _strong(names: dict[str, Any]) -> None:
    assert (names["by_model"].probability == names["by_seed"].probability).all()


def _groups(names: dict[str, Any]) -> None:
    homes = names["homes"]
    assert homes.ngroups == 400
    assert (homes["hhsize"].first() == homes.size()).all()
    assert homes["age"].max().min() >= 18
    assert not set(names["synthetic"]["household"]) & set(names["frame"]["household"])
    assert set(names["visits"]["patient"]) < set(names["people"]["patient"])


def _privacy(names: dict[str, Any]) -> None:
    assert names["noisy"].shape == (2, 2)
    assert names["ledger"].spent("survey 2026", 0.1) == 2
    assert "again" not in names  # refused


def _safepub(names: dict[str, Any]) -> None:
    done = names["done"]
    assert names["promise"].k == done.step.parameters["k"] == 13
    assert done.table.names == ("age", "sex", "region", "marital")
    assert 600 < done.step.counts["sampled"] < 1200


def _guarantee(names: dict[str, Any]) -> None:
    assert 0 < names["largest"] < 1
    assert names["release"].names == names["original"].names


def _plan_risk(names: dict[str, Any]) -> None:
    assert names["found"].summary()[("region",), 4][2:] == (608, 642, 195)


def _reconstruction(names: dict[str, Any]) -> None:
    for name, right in (("pairs", 0.59), ("triples", 0.98)):
        both = names["found"][name].summary()["records right in one guess"]
        assert [round(share, 2) for share in both] == [right, 0.56]
    assert names["told"] == {0.1: 0.0011, 4.2: 0.0626, 39.91: 1}
    assert names["unknowns"] == 161_109_592_812
    # Of tables with hidden cells; the last hide counts below 10.
    assert names["done"].done.hidden.sum() == 109
    both = names["attacked"].published.agreement, names["attacked"].chance.agreement
    assert both == (pytest.approx(0.84, abs=0.01), pytest.approx(0.76, abs=0.01))


def _robin_hood(names: dict[str, Any]) -> None:
    counts = names["done"].step.counts
    assert (counts["masked"], counts["smallest class"]) == (633, 7)
    assert counts["smallest effective k"] >= 20
    lost = [group.lost for group in names["lost"]]
    assert [round(share, 2) for share in lost] == [0.05, 0.21, 0.21, 0.21, 0.22, 0.23]


def _output_checking(names: dict[str, Any]) -> None:
    assert [finding.rule for finding in names["found"].findings] == [
        "threshold", "nk-rule", "p-ratio", "largest",
    ]  # fmt: skip
    assert [names[n].verdict for n in ("found", "lenient", "model", "table_in_disguise")] == [
        "refuse", "needs review", "safe", "needs review",
    ]  # fmt: skip


def _published(names: dict[str, Any]) -> None:
    done = names["done"]
    assert done.done.primary.any()
    assert done.done.secondary.any()
    assert (done.values[~done.done.hidden] >= 5).all()


def _places(names: dict[str, Any]) -> None:
    found = names["found"]
    assert 100 <= found.distance.min() <= found.distance.max() <= 200
    assert found.apart == 0
    assert "12.8 % among fewer than 3, NOT below" in found.sentences()[1]
    assert found.before.ratio < found.after.ratio < 1
    assert found.zones.zones == ("east", "west")
    assert names["again"].true.mean() >= 0.5


def _drafts(names: dict[str, Any]) -> None:
    assert {one.words for one in names["made"].nearness} == {"met"}
    # The specification and the command of the page, as they stand there.
    blocks = BLOCK.findall((DOCS / "drafts.md").read_text("utf-8"))
    Path("draft.toml").write_text(blocks[0][1], "utf-8")
    done = CliRunner().invoke(app, shlex.split(blocks[1][1])[1:])
    assert done.exit_code == 0, done.output
    near = json.loads(Path("near.json").read_text("utf-8"))
    assert set(near["summary"]) <= {"met", "very near"}
    assert near["read"] == ["draft.toml"]


SAYS: dict[str, Callable[[dict[str, Any]], None]] = {
    "between-releases.md": _between,
    "drafts.md": _drafts,
    "explain.md": _explain,
    "generators.md": _generators,
    "groups.md": _groups,
    "guarantee.md": _guarantee,
    "guarded-trees.md": _guarded,
    "margins.md": _margins,
    "ordinary-attackers.md": _ordinary,
    "places.md": _places,
    "plan-risk.md": _plan_risk,
    "output-checking.md": _output_checking,
    "privacy.md": _privacy,
    "reconstruction.md": _reconstruction,
    "published-tables.md": _published,
    "report.md": _report,
    "risk.md": _risk,
    "robin-hood.md": _robin_hood,
    "safepub.md": _safepub,
    "strong-attacker.md": _strong,
    "trust.md": _trust,
    "utility.md": _utility,
}


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaveatWarning)
        for block in examples(page):
            exec(compile(block, page, "exec"), names)
    if page in SAYS:
        SAYS[page](names)


def test_the_tutorial_goes_as_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are written, commands run in order, and every line shown as output was printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    printed = ""
    for kind, body in BLOCK.findall((DOCS / TUTORIAL).read_text("utf-8")):
        if kind == "python":
            exec(compile(body, TUTORIAL, "exec"), {})
        elif kind == "toml":
            Path(body.splitlines()[0].removeprefix("# ")).write_text(body, "utf-8")
        elif kind == "sh":
            done = CliRunner().invoke(app, shlex.split(body)[1:])
            assert done.exit_code in (0, 3), done.output
            printed = done.stdout
        elif kind == "text":
            lines = {line.rstrip() for line in printed.splitlines()}
            assert [line for line in body.splitlines() if line not in lines] == [], printed
    assert Path("first/inside/report.html").exists()
    assert Path("for-students.html").exists()


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_commands_exist(page: str, line: str) -> None:
    """Parse each command of a page as the command line would, without running it."""
    command: Any = typer.main.get_command(app)
    words = shlex.split(line, comments=True)
    while hasattr(command, "commands"):
        command = command.get_command(None, words[0])
        words = words[1:]
    command.make_context(command.name, words)


def _resolves(dotted: str) -> bool:
    """Whether a dotted name is a module of the package, or something that one holds."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def test_names_of_the_package_exist() -> None:
    wrong = [(page, name) for page, name in NAMES if not _resolves(name)]
    assert set(wrong) == FUTURE


@pytest.mark.parametrize("name", ["caveat.read_table", "caveat.table.files.nothing", "caveat.x.y"])
def test_a_name_that_does_not_exist_is_noticed(name: str) -> None:
    assert DOTTED.findall(f"call `{name}` for it") == [name]
    assert not _resolves(name)


def test_every_page_is_in_the_navigation_and_every_picture_is_there() -> None:
    """What the build of the site does not check."""
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    listed = re.findall(
        r"^ +- .*: (\S+\.md)$", (DOCS.parent / "mkdocs.yml").read_text(), re.MULTILINE
    )
    assert sorted(listed) == sorted(pages)
    for page in pages:
        text = (DOCS / page).read_text("utf-8")
        for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text):
            assert (DOCS / page).parent.joinpath(picture).is_file(), f"{page}: {picture}"


def test_generated_pages_are_up_to_date() -> None:
    """If this fails: python docs/make_measures.py."""
    spec = importlib.util.spec_from_file_location("make_measures", DOCS / "make_measures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, write in module.PAGES.items():
        assert (DOCS / name).read_text("utf-8") == write(), name


def test_the_api_page_is_complete() -> None:
    """Every public name that users call is on the page, by the place where it is defined."""
    paths = re.findall(r"^::: (.*)$", (DOCS / "api.md").read_text("utf-8"), re.MULTILINE)
    assert len(set(paths)) == len(paths)
    shown = []
    for path in paths:
        module, name = path.rsplit(".", 1)
        shown.append(getattr(importlib.import_module(module), name))
    for room in ("caveat", *(f"caveat.{name}" for name in ROOMS)):
        module_ = importlib.import_module(room)
        for name in module_.__all__:
            found = getattr(module_, name)
            is_shown = any(one is found for one in shown)
            assert is_shown != (f"{room}.{name}" in INSIDE), f"{room}.{name}"
