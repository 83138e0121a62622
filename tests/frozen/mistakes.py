"""The mistakes: what is wrong, by groups that share their files.

Of each the exit code and the places are frozen that its messages name, and never their words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.frozen.cases import SHARES
from tests.frozen.data import homes, patients, people, visits
from tests.frozen.harness import Step, Text
from tests.frozen.specs import DRAFT, LINKED, PUBLISHED, SAFEPUB
from tests.frozen.specs import GROUPS as HOMES
from tests.frozen.wrong import (
    AFTER,
    BENCH,
    BENCH_MISTAKES,
    DRAFT_MISTAKES,
    GOOD,
    GROUP_MISTAKES,
    MARGIN_MISTAKES,
    MARGINS,
    PUBLISHED_MISTAKES,
    RULES,
    RULES_MISTAKES,
    SAFEPUB_MISTAKES,
    TABLE_MISTAKES,
    TUNE_MISTAKES,
    WITH_DATA,
    WITHOUT_DATA,
)

import caveat

__all__ = ["GROUPS", "Group"]

Mistake = tuple[Step, Mapping[str, Text]]
"""What is run, and the files that are other than those of the group."""


@dataclass(frozen=True)
class Group:
    """Mistakes about the same files."""

    files: Mapping[str, Text]
    mistakes: Mapping[str, Mistake]

    def items(self) -> list[tuple[str, Mistake]]:
        """Return the mistakes by name."""
        return list(self.mistakes.items())


def _specs(
    good: str, files: Mapping[str, Text], step: str, changes: Mapping[str, tuple[str, str]]
) -> Group:
    """Return a group of specifications in each of which something stands for something else."""
    name = next(word for word in step.split() if word.endswith(".toml"))
    mistakes = {}
    for what, (old, new) in changes.items():
        assert good.count(old) >= 1, (what, old)
        mistakes[what] = (step, {name: good.replace(old, new, 1)})
    return Group(files, mistakes)


def _lines(files: Mapping[str, Text], lines: Mapping[str, str]) -> Group:
    """Return a group of wrong command lines."""
    return Group(files, {what: (line, {}) for what, line in lines.items()})


def _files(line: str, files: Mapping[str, Text], wrong: Mapping[str, Text]) -> Group:
    """Return a group in each of which the file x.csv, or what is named before a colon, is wrong."""
    mistakes = {}
    for what, content in wrong.items():
        name = what.partition(":")[0] if ":" in what else "x.csv"
        mistakes[what] = (line.replace("x.csv", name), {name: content})
    return Group(files, mistakes)


PEOPLE = {"people.csv": partial(people, n=80)}
RUN = "-q run release.toml --folder out"
ALL = {"all.csv": "sex,count\nf,120\nm,110\n"}
LOOK = "look x.csv"
HEAD = "a,b\n"
DATA = {
    "empty": "", "ragged": f"{HEAD}1,2\n3\n",
    "too long a row": f"{HEAD}1,2\n3,4,5\n", "unclosed quotation": f'{HEAD}1,"2\n3,4\n',
    "x.sav: no SPSS file": b"$FL2@(#) nothing",
    "x.parquet: no parquet file": b"PAR1 nothing", "x.xlsx: no workbook": b"PK nothing",
    "x.sqlite: no database": b"SQLite format 3\x00 nothing", "x.docx: unknown ending": b"x",
    "x.csv.gz: no archive": b"\x1f\x8b nothing", "unnamed column": "a,\n1,2\n",
    "x.dta: no Stata file": b"\x76 nothing", "UTF-16 without its end": b"\xff\xfea\x00,\x00b",
}  # fmt: skip
ABOVE = '[output]\nfolder = "../elsewhere"\n'
TWO = PEOPLE | {
    "one.csv": partial(people, n=80, seed=2), "other.csv": homes, "old.json": "{}",
    "none.csv": HEAD, "few.csv": f"{HEAD}1,2\n", "above.toml": GOOD.replace(AFTER, ABOVE),
}  # fmt: skip
KEYS = "--keys sex,age"
AUDIT = f"audit people.csv one.csv {KEYS}"
ATTACK = "attack inference people.csv one.csv"
OPTIONS = {
    "no command": "runn release.toml",
    "no such option": "run release.toml --fold out",
    "missing argument": "audit people.csv",
    "missing option": "audit people.csv one.csv",
    "no such file": f"audit persons.csv one.csv {KEYS}",
    "a folder": f"audit . one.csv {KEYS}",
    "no such specification": "run nothing.toml",
    "audit: unknown key": "audit people.csv one.csv --keys sex,agee",
    "audit: unknown target": f"{AUDIT} --target maritl",
    "audit: target that is a key": f"{AUDIT} --target sex",
    "audit: unknown measure": f"{AUDIT} --measure DISCO",
    "audit: groups without a number": f"{AUDIT} --groups age",
    "audit: groups of no width": f"{AUDIT} --groups age=0",
    "audit: groups and tolerance": f"{AUDIT} --groups age=5 --tolerance age=2",
    "audit: level without a column": f"{AUDIT} --exclude-level low",
    "audit: too large subsets": f"{AUDIT} --subsets 5",
    "audit: other columns": f"audit people.csv other.csv {KEYS}",
    "audit: output that exists": f"{AUDIT} --json old.json",
    "audit: output that is the data": f"{AUDIT} --json people.csv --force",
    "audit: output in no folder": f"{AUDIT} --json no/where.json",
    "audit: two outputs of one name": f"{AUDIT} --json a.csv --records a.csv",
    "compare: unknown column of a model": 'compare people.csv one.csv --model "height ~ aeg"',
    "compare: model that cannot be read": 'compare people.csv one.csv --model "height ~ ("',
    "compare: too few rows": "compare people.csv one.csv --model-rows 5",
    "compare: unknown weights": "compare people.csv one.csv --weights wt",
    "attack: unknown": "attack strongest people.csv one.csv",
    "attack: no keys": "attack inference people.csv one.csv --target content",
    "attack: no target": f"attack inference people.csv one.csv {KEYS}",
    "attack: no control": "attack membership people.csv one.csv",
    "attack: tolerance of a word": f"{ATTACK} {KEYS} --target income --tolerance x",
    "attack: no generator": "attack strong people.csv one.csv --membership",
    "attack: no generator to simulate": "attack simulated people.csv one.csv",
    "attack: unknown generator": "attack simulated people.csv --generator cat --most 1",
    "attack: too few simulations": "attack simulated people.csv --generator copy --simulations 3",
    "attack: row beyond the end": "attack simulated people.csv --generator copy --record 999",
    "synth: no rows": "synth none.csv -o out.csv",
    "synth: too few rows": "synth few.csv -o out.csv",
    "synth: no output": "synth people.csv",
    "synth: unknown ending": "synth people.csv -o out.docx",
    "synth: output that is the data": "synth people.csv -o people.csv --force",
    "synth: negative rows": "synth people.csv -o out.csv --rows -1",
    "synth: no copies": "synth people.csv -o out.csv --copies 0",
    "synth: seed too large": f"synth people.csv -o out.csv --seed {2**64}",
    "synth: resume without a model": "synth people.csv -o out.csv --resume",
    "synth: resume without a key": "synth people.csv -o out.csv --resume --model m.caveat",
    "synth: unknown groups": "synth people.csv -o out.csv --groups hom",
    "synth: no threads": "synth people.csv -o out.csv --threads 0",
    "run: folder above": "run above.toml",
    "run: only something else": "run release.toml --only report",
    "run: synthetic without audit": "run release.toml --synthetic one.csv",
    "run: folder that is a file": "run release.toml --folder old.json",
    "explain: no row": "explain release.toml",
    "explain: row beyond the end": "explain release.toml --record 999 --draws 0",
    "explain: a folder": "explain . --record 1",
    "diff: no release": "diff nothing nowhere",
    "report: no release": "report nothing",
    "measures: unknown": "measures repX",
    "study: unknown": "study nothing",
    "generator: unknown": "generator test nothing",
    "init: no terminal": "init people.csv",
    "look: two of one name": "look people.csv people.csv",
    "look: delimiter of two": "look people.csv --delimiter ab",
    "look: unknown encoding": "look people.csv --encoding utf-99",
    "places: neither moved nor to be moved": "places people.csv",
    "places: unknown column": "places people.csv --move 1 2 --out out.csv --x east --y north",
    "places: no output": "places people.csv --move 1 2 --x age --y height",
    "places: radii that fall": "places people.csv --move 2 1 --x age --y height --out out.csv",
    "places: prevalence without zones": "places people.csv one.csv --x age --y height --target x=y",
    "replication: one copy": "replication people.csv one.csv --by sex",
    "replication: unknown column": "replication people.csv one.csv one.csv --by sx",
    "check: no such file": "check nothing.csv",
    "check: ledger without a name": "check people.csv --ledger ledger.jsonl",
}  # fmt: skip
TOML = {"release.toml": GOOD}
RECEIVED: Mapping[str, Mistake] = {
    "model: no archive": ("model show m.caveat", {"m.caveat": b"nothing"}),
    "model: empty": ("model show m.caveat", {"m.caveat": b""}),
    "model: half an archive": ("model show m.caveat", {"m.caveat": b"PK\x03\x04" + bytes(40)}),
    "model: not there": ("model show n.caveat", {}),
    "evidence: no JSON": ("report evidence.json", {"evidence.json": "{"}),
    "evidence: another document": ("report evidence.json", {"evidence.json": '{"a": 1}'}),
    "evidence: another version": ("report evidence.json", {"evidence.json": '{"format": 99}'}),
    "evidence: against the schema": ("report evidence.json", {"evidence.json": '{"format": 2}'}),
    "key: too short": ("synth people.csv --key a.key -o out.csv", {"a.key": "abc\n"}),
    "key: empty": ("synth people.csv --key a.key -o out.csv", {"a.key": ""}),
    "ledger: damaged": (
        "check all.csv --ledger l.jsonl --dataset x", {"l.jsonl": "{\n"} | ALL,
    ),
    "ledger: an entry without its parts": (
        "check all.csv --ledger l.jsonl --dataset x",
        {"l.jsonl": '{"kind": "table", "dataset": "x", "what": "y"}\n'} | ALL,
    ),
    "search: no state": ("tune bench.toml", {"bench.tune.json": "[]", "bench.toml": BENCH}),
    "area: no GeoJSON": (
        "places people.csv --x age --y height --move 1 2 --out o.csv --inside a.geojson",
        {"a.geojson": "{}"},
    ),
    "specification: no UTF-8": ("run release.toml", {"release.toml": b"[data]\npath = '\xff'\n"}),
    "specification: empty": ("run release.toml", {"release.toml": ""}),
}  # fmt: skip


def _read(**options: object) -> Callable[[], object]:
    return lambda: caveat.read("people.csv", **options)


def _synthesised(**options: object) -> Callable[[], object]:
    return lambda: caveat.Synthesizer(**options).fit(caveat.read("people.csv"))


def _audited(**options: object) -> Callable[[], object]:
    def call() -> object:
        table = caveat.read("people.csv")
        return caveat.audit(table, [table], **options)

    return call


CALLS: Mapping[str, Step] = {
    "no such file": lambda: caveat.read("nothing.csv"),
    "unknown kind in a schema": lambda: caveat.Schema.from_mapping({"age": {"kind": "x"}}),
    "delimiter of two": _read(delimiter="ab"),
    "unknown method": _synthesised(seed=1, method="cat"),
    "guard that is none": _synthesised(seed=1, guard="x"),
    "leaves of no record": _synthesised(seed=1, method="cart", minbucket=0),
    "unknown column": _synthesised(seed=1, drop=["agee"]),
    "measures that are a text": _audited(keys=["sex"], measures="repU"),
    "unknown measure": _audited(keys=["sex"], measures=["repX"]),
    "key that is a text": _audited(keys="sex"),
    "unknown key": _audited(keys=["sx"]),
    "columns of unequal length": lambda: caveat.Table.from_frame({"a": [1], "b": [1, 2]}),
    "an infinite number": lambda: caveat.Table.from_frame({"a": [1.0, float("inf")]}),
    "output that exists": lambda: caveat.write(caveat.read("people.csv"), Path("people.csv")),
    "model that is not there": lambda: caveat.load("m.caveat"),
    "specification that is not there": lambda: caveat.Release.from_toml("nothing.toml"),
}
LINKED_FILES = {"patients.csv": patients, "visits.csv": visits}
GROUPS = {
    "specification": _specs(GOOD, PEOPLE, RUN, WITHOUT_DATA),
    "specification and data": _specs(GOOD, PEOPLE, RUN, WITH_DATA),
    "groups": _specs(HOMES, {"homes.csv": homes}, RUN, GROUP_MISTAKES),
    "linked tables": _specs(LINKED, LINKED_FILES, RUN, TABLE_MISTAKES),
    "margins": _specs(MARGINS, PEOPLE, RUN, MARGIN_MISTAKES),
    "benchmark": _specs(BENCH, PEOPLE, "-q benchmark bench.toml --folder out", BENCH_MISTAKES),
    "tune": _specs(BENCH, PEOPLE, "-q tune bench.toml", TUNE_MISTAKES),
    "published tables": _specs(
        PUBLISHED.format("least = 5"), PEOPLE, "-q tables tables.toml", PUBLISHED_MISTAKES
    ),
    "safepub": _specs(
        SAFEPUB, PEOPLE, "-q safepub people.csv --spec safepub.toml -o out.csv", SAFEPUB_MISTAKES
    ),
    "draft": _specs(DRAFT, SHARES, "-q draft draft.toml", DRAFT_MISTAKES),
    "rules": _specs(RULES, ALL, "check all.csv --rules rules.toml", RULES_MISTAKES),
    "data": _files(LOOK, {}, DATA),
    "options": _lines(TWO | TOML, OPTIONS),
    "received files": Group(PEOPLE | TOML, RECEIVED),
    "Python": Group(PEOPLE, {what: (call, {}) for what, call in CALLS.items()}),
}
