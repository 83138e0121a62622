"""Write release-spec.md from the table of entries: python docs/make_release_spec.py.

Also the files from which the command line knows entries and attacks without loading them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from caveat.attack.registry import ATTACKS
from caveat.cli.attack import form_of as of_attack
from caveat.protect.pipeline import PROTECTIONS, arguments_of
from caveat.spec._kinds import Choice, Either, EntryKind, Group, Key, Many, Named, form_of
from caveat.spec.entries import PUBLIC, SPECIFICATION

ROOMS = Path(__file__).parents[1] / "src" / "caveat"

HEAD = """\
# The release specification

`release.toml` says everything about a release: the data, how they are synthesised, which attackers
it must withstand, what analysts need, and what is written. `caveat run release.toml` carries it
out; `caveat synth --spec`, `caveat attack NAME --spec`, `caveat audit --schema`,
`caveat look --schema` and `caveat tune` take their own parts from the same file.

Nobody need begin with an empty file:

```console
$ caveat init survey.csv                        # asks a few questions
$ caveat look survey.csv --out release.toml     # asks nothing, proposes
```

Both write what a [look](look.md) at the data found out, and put in force only what does no harm.
Read every line: which columns an attacker may know, nobody but you can tell.

"""
EXAMPLE = """\
```toml
[release]
title = "Living conditions, synthetic"
unit = "person"
purpose = "teaching"
recipients = "students of statistics"
access = "public"
seed = 1
copies = 2
control = 0.2

[data]
path = "survey.csv"

[columns.income]
missing = { "-8" = "not asked" }

[synthesis]
guard = "standard"
drop = ["person"]
rules = ["if age < 18 then marital = 'single'"]
derived = { bmi = "weight / (height / 100) ** 2" }

[[protect]]
name = "code_extremes"
top = { age = 80 }

[[scenario]]
name = "a colleague"
keys = ["sex", "age", "region"]
targets = ["marital", "income"]
limits = { repU = 5, DiSCO = 10 }

[[scenario]]
name = "someone who knows everybody else"
attacker = "strong"
targets = ["income"]
limits = { strongWorst = 50 }

[[scenario]]
name = "two registers"
attacker = "ordinary"
keys = ["sex", "age", "region"]
second = ["education", "occupation"]
targets = ["income"]

[utility]
models = ["income ~ age + sex", "poisson: friends ~ age"]
rules = { child = { if = "age < 16", then = "marital == 'single'" } }
limits = { "S_pMSE two-way" = 10, "CI overlap" = { least = 0.3 } }

[map]
settings = { guard = ["light", "standard", "strong"] }
scenario = "a colleague"

[output]
folder = "living-conditions"
formats = ["csv", "parquet"]
```

"""
MISTAKES = """\
## Mistakes

A mistake is one line with the file, the line, the entry, and what is allowed:

```text
release.toml, line 6: release.access: there is no access mode 'pubic'; perhaps public (allowed: …).
release.toml, line 29: scenario.keys: the data have no column 'regoin'; perhaps region (allowed: …).
```

What can be said without the data is said first: `caveat.release.ReleaseSpec.from_toml` reads and
checks the file, `check` holds it against a table.

```python
import tempfile
from pathlib import Path

from caveat.datasets import survey
from caveat.release import ReleaseSpec

text = '''
[data]
path = "survey.csv"

[[scenario]]
name = "a colleague"
keys = ["sex", "age", "region"]
limits = { DiSCO = 5 }
'''
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "release.toml"
    path.write_text(text)
    spec = ReleaseSpec.from_toml(path)

print(spec.check(survey(rows=300)))        # the plan of the synthesis
print(spec.scenarios[0].measures)          # what will be measured
print(spec.line("scenario", 0, "keys"))    # 7
```

Editors that know JSON schemas (Even Better TOML, taplo) check the file while it is written and
propose keys: `caveat init --schema` writes `release.schema.json`, and the first line of a starter,
`#:schema ./release.schema.json`, tells the editor where it is.

"""
REFERENCE = """\
## All sections and keys

This part is written by `docs/make_release_spec.py` from the table that the program reads
specifications with. Paths are seen from the folder of the specification.

"""


def page() -> str:
    """Return the page."""
    parts = [HEAD, EXAMPLE, MISTAKES, REFERENCE]
    for name, key in SPECIFICATION.keys.items():
        parts.append(_section(name, key))
    return "".join(parts)


def _section(name: str, key: Key) -> str:
    kind = key.kind
    title = {Many: f"[[{name}]]", Named: f"[{name}.NAME]"}.get(type(kind), f"[{name}]")
    needed = " Must be there." if key.required else ""
    text = f"### `{title}`\n\n{key.says}{needed}\n\n"
    group = kind.item if isinstance(kind, Many | Named) else kind
    assert isinstance(group, Group)
    if name == "protect":
        return text + _protections()
    return text + _table(group)


def _table(group: Group, above: str = "") -> str:
    head = "| key | holds | without it | meaning |\n| --- | --- | --- | --- |\n"
    return head + "".join(_rows(group, above)) + "\n"


def _rows(group: Group, above: str = "") -> list[str]:
    rows = []
    for name, key in group.keys.items():
        only = f" Only for the attacker {' and '.join(key.only)}." if key.only else ""
        rows.append(_row(f"`{above}{name}`", _holds(key.kind), _without(key), f"{key.says}{only}"))
        rows += [
            row for inner, mark in _inner(key.kind) for row in _rows(inner, f"{above}{name}{mark}")
        ]
    return rows


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |\n"


def _inner(kind: EntryKind) -> list[tuple[Group, str]]:
    """Return tables inside an entry that have keys of their own, but for settings said before."""
    if isinstance(kind, Group):
        return [(kind, ".")]
    if isinstance(kind, Named) and isinstance(kind.item, Group) and "then" in kind.item.keys:
        return [(kind.item, ".NAME.")]
    if isinstance(kind, Named) and isinstance(kind.item, Group) and "range" in kind.item.keys:
        own = {name: key for name, key in kind.item.keys.items() if name in PUBLIC}
        return [(Group(own), ".NAME.")]
    return []


def _holds(kind: EntryKind) -> str:
    if isinstance(kind, Either):
        return ", or ".join(map(_holds, kind.kinds))
    if isinstance(kind, Choice):
        return kind.words.replace('"', "`").replace("``", "an empty text")
    if isinstance(kind, Many) and isinstance(kind.item, Choice):
        return f"a list, each {_holds(kind.item)}"
    return kind.words


def _without(key: Key) -> str:
    if key.required:
        return "must be there"
    if key.otherwise:
        return key.otherwise
    return "" if key.default is None else f"`{_toml(key.default)}`"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _protections() -> str:
    rows = ["| name | arguments |\n| --- | --- |\n"]
    for name in PROTECTIONS:
        known, anything = arguments_of(name)
        more = ["those of `caveat.protect.add_noise`"] if anything else []
        rows.append(_row(f"`{name}`", ", ".join([*(f"`{a}`" for a in known), *more]) or "none"))
    return "".join(rows) + "\nWhat they do and when to trust them: [Protections](protect.md).\n\n"


def known() -> dict[Path, str]:
    """Return the files that say what can be known without loading the rooms."""
    content = {
        ROOMS / "spec" / "entries.json": form_of(SPECIFICATION.keys),
        ROOMS / "cli" / "attacks.json": {name: of_attack(a) for name, a in ATTACKS.items()},
    }
    return {path: _lines(forms) for path, forms in content.items()}


def _lines(forms: dict[str, Any]) -> str:
    """Return JSON with a line for each of the outermost names."""
    lines = [f"{json.dumps(n)}: {json.dumps(f, ensure_ascii=False)}" for n, f in forms.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    for path, text in known().items():
        path.write_text(text, encoding="utf-8")
    Path(__file__).with_name("release-spec.md").write_text(page(), encoding="utf-8")
