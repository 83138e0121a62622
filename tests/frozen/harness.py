"""Run a case in a folder of its own, and reduce what it leaves to short strings to compare.

A table is frozen to the byte. Of documents and reports the numbers are, apart from the words: a
sentence that is put better moves the words alone. What may differ between two runs of the same code
on two machines is left out by its key: versions, durations, memory, checksums of what holds them.
"""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
import shlex
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from caveat.cli import app, console
from caveat.errors import CaveatError

__all__ = [
    "KEY", "Case", "Step", "Text", "collect", "in_folder", "invoke", "items_of", "place_of",
    "refusal",
]  # fmt: skip

Step = str | Callable[[], object]
"""A command line without its first word, or a function that is called in the folder."""
Text = str | bytes | Callable[[], str]
"""What a file holds, or a function that makes it."""
Items = dict[str, str]

KEY = "# Of the tests.\n" + "0123456789abcdef" * 4 + "\n"
"""A secret key, so that a release can be repeated."""
WIDTH = 200  # of the terminal
DIGITS = 9  # of a float: linear algebra differs in the last ones from machine to machine
SMALL = 1e-12  # what is nearer to 0 is what rounding leaves
SENTENCE = 4  # words, from which on a text is a sentence
LEFT_OUT = {
    "software", "sha256", "bytes", "size", "seconds", "cpu_seconds", "peak_megabytes", "date",
    "time", "version", "versions", "cost", "timestamp",
}  # fmt: skip
TABLES = (".csv", ".tsv", ".txt", ".parquet", ".feather", ".sav", ".dta")
DOCUMENTS = (".json", ".jsonl")
PAGES = (".html", ".md", ".xml")
CHECKSUM = re.compile(r"[0-9a-f]{64}")
DRAWN_NAME = re.compile(r"\b[0-9a-f]{16}\b")  # of files that nobody else may guess
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# No numbers of a report: versions, and checksums of files that hold versions.
NO_NUMBER = re.compile(r"\b\d+\.\d+\.\d+\S*|\b(?=[a-f]*\d)[0-9a-f]{12,}\b")


@dataclass(frozen=True)
class Case:
    """What is run, and on what.

    Parameters
    ----------
    files
        What lies in the folder, by name.
    steps
        What is run there, one after the other.
    noisy
        Whether its noise has no seed, so that only the form of what it leaves can be compared.
    processor
        Whether linear algebra decides what a table holds: the same on one kind of processor only.
    without
        Items that hold how long something took beside values that another item has.
    """

    files: Mapping[str, Text]
    steps: tuple[Step, ...]
    noisy: bool = False
    processor: bool = False
    without: tuple[str, ...] = ()


@contextmanager
def in_folder(files: Mapping[str, Text]) -> Iterator[Path]:
    """Work in a fresh folder with some files, in a window as wide as everywhere."""
    before, columns, width = Path.cwd(), os.environ.get("COLUMNS"), console.out._width
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name)
        for path, text in files.items():
            target = folder / path
            content = text() if callable(text) else text
            target.write_bytes(content if isinstance(content, bytes) else content.encode())
            if target.suffix == ".key":
                target.chmod(0o600)
        os.environ["COLUMNS"] = str(WIDTH)
        console.out.width = WIDTH  # it may have been made in a window of another width
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)
            console.out._width = width  # none where it follows the window
            if columns is None:
                del os.environ["COLUMNS"]
            else:
                os.environ["COLUMNS"] = columns


def invoke(line: str) -> Result:
    """Run a command line in this process."""
    return CliRunner().invoke(app, shlex.split(line))


def collect(case: Case) -> Items:
    """Run a case and return what must not move, item by item."""
    items: Items = {}
    with in_folder(case.files) as folder:
        for number, step in enumerate(case.steps, 1):
            if callable(step):
                step()
                continue
            result = invoke(step)
            error = result.exception
            if error is not None and not isinstance(error, SystemExit):
                raise error
            items[f"exit of step {number}"] = str(result.exit_code)
            if not case.noisy:
                items[f"screen of step {number}"] = _hash(_numbers(result.stdout))
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            name = path.relative_to(folder).as_posix()
            if name not in case.files:
                name = DRAWN_NAME.sub("…", name)
                items |= _form(name, path) if case.noisy else items_of(path, name)
    return {name: item for name, item in items.items() if name not in case.without}


def items_of(path: Path, name: str = "") -> Items:
    """Return what must not move of a file."""
    name = name or path.name
    if path.suffix in DOCUMENTS:
        return dict(_of_document(name, _document(path)))
    if path.suffix in PAGES:
        text = path.read_text("utf-8").replace(date.today().isoformat(), "today")
        return {name: _hash(_numbers(_text_of(text)))}
    if path.suffix in (*TABLES, ".toml"):
        content = path.read_bytes()
        # The checksum of a file that says when it was made.
        is_checksum = len(content) < 100 and CHECKSUM.fullmatch(content.decode().strip())
        return {name: "checksum" if is_checksum else _hash(content)}
    return {name: "present"}


def _form(name: str, path: Path) -> Items:
    """Return what noise without a seed leaves as it is."""
    if path.suffix == ".csv":
        lines = path.read_text("utf-8").splitlines()
        # How many cells of a margin are listed, and levels of a dictionary, is drawn too.
        fixed = path.name.startswith("synthetic")
        return {name: f"{lines[0]}, {len(lines) - 1} rows" if fixed else lines[0]}
    return {name: "present"}


def _document(path: Path) -> Any:
    text = path.read_text("utf-8")
    return (
        [json.loads(x) for x in text.splitlines()] if path.suffix == ".jsonl" else json.loads(text)
    )


def _of_document(name: str, content: Any) -> Iterator[tuple[str, str]]:
    """Yield the values of a document, of evidence section by section, and its sentences."""
    sentences: list[str] = []
    values = _plain(content, sentences)
    if Path(name).name == "evidence.json":
        for section, value in values.items():
            yield f"{name}: {section}", _hash(value)
    else:
        yield f"{name}: values", _hash(values)
    yield f"{name}: words", _hash(sentences)


def _plain(value: Any, sentences: list[str]) -> Any:
    """Return a value without what may differ between machines; put sentences aside."""
    if isinstance(value, dict):
        return {key: _plain(v, sentences) for key, v in value.items() if key not in LEFT_OUT}
    if isinstance(value, list | tuple):
        return [_plain(item, sentences) for item in value]
    if isinstance(value, float):
        return 0.0 if abs(value) < SMALL else float(f"{value:.{DIGITS}g}")
    if isinstance(value, str) and CHECKSUM.fullmatch(value):
        return "checksum"
    if isinstance(value, str) and len(value.split()) >= SENTENCE:
        sentences.append(value)
        return "…"
    return value


def _text_of(page: str) -> str:
    """Return what is read on a page: no script, no style, no picture."""
    page = re.sub(r"(?s)<(script|style|svg)\b.*?</\1>", " ", page)
    return html.unescape(re.sub(r"<[^>]*>", " ", page))


def _numbers(text: str) -> list[str]:
    return NUMBER.findall(NO_NUMBER.sub(" ", text))


def _hash(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()
    return hashlib.sha256(raw).hexdigest()[:16]


def refusal(files: Mapping[str, Text], step: Step) -> dict[str, Any]:
    """Run what is wrong and return the exit code and the places that it names, not the words."""
    with in_folder(files):
        if callable(step):
            try:
                step()
            except Exception as error:
                return _refused(error)
            return {"exit": 0, "place": []}
        result = invoke(step)
        if result.exception is None or isinstance(result.exception, SystemExit):
            return {"exit": result.exit_code, "place": _of_usage(result.stderr)}
        return _refused(result.exception)


def _refused(error: BaseException) -> dict[str, Any]:
    if not isinstance(error, CaveatError):
        return {"exit": 1, "place": [type(error).__name__]}
    errors = (error, *error.others)
    refused: dict[str, Any] = {"exit": 2, "place": [place_of(each) for each in errors]}
    codes = [str(each.code) for each in errors if getattr(each, "code", None)]
    return refused | ({"code": codes} if codes else {})


# What is no word in the place of an error: files, lines, options, columns and rows.
PARTS = re.compile(
    r"--[a-z][\w-]*"
    r"|[\w./-]*\w\.(?:toml|csv|jsonl?|caveat|key|html|md|geojson)\b"
    r"|\b(?:line|row|column|byte|item) \d[\d,]*"
)
ENTRY = re.compile(r"[a-z_]+(?:\.[\w-]+)+(?=[:, ])|[a-z_]+(?=: )")  # of a specification
NAMED = re.compile(r"--[a-z][\w-]*|(?<!\w)'[^']+'(?!\w)")  # options and names in a message


def place_of(error: CaveatError) -> str:
    """Return what an error is about: all of its place that is no words, and the names it quotes."""
    parts = []
    for part in (error.where or "").split(", "):
        part = part.replace(f"{Path.cwd()}/", "")
        parts += PARTS.findall(part) if " " in part else [part] * bool(part)
    entry = ENTRY.match(error.what)  # messages about a specification begin with it
    parts += [f"entry {entry[0]}"] if entry else []
    parts += [f"path {'.'.join(map(str, error.entry))}"] if error.entry else []
    parts += [f"column {error.column}"] if error.column else []
    parts += [f"row {error.row}"] if error.row else []
    return ", ".join([*parts, *NAMED.findall(error.what)])


def _of_usage(text: str) -> list[str]:
    """Return the option, argument or command that a message about the usage names."""
    named = NAMED.search(text.partition("Error: ")[2])
    return [named[0].strip("'")] if named else []
