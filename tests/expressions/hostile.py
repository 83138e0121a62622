"""Hostile texts in every place that takes an expression, watched by an audit hook.

Run as a program, since a hook cannot be taken off again. Prints one line of JSON: how many texts
were tried in each place, the events they caused, what was raised but no CaveatError, and the
longest time one of them took.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import tomllib
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer

from caveat.cli import app
from caveat.datasets import survey
from caveat.errors import CaveatError
from caveat.expressions import Expression, Formula
from caveat.release import ReleaseSpec
from caveat.spec._kinds import lines_of
from caveat.spec.document import Document
from caveat.synthesis import make_plan
from caveat.synthesis.options import parse_rule
from caveat.table import Table, write
from caveat.tuning.tune import TuneSpec
from caveat.utility import EditRule, WeightedPair, check_rules, compare_model

CODE = [
    "__import__('os').system('touch X')",
    "__import__('os')",
    "__builtins__",
    "__builtins__['open']('x')",
    "eval('1')",
    "exec('x = 1')",
    "compile('1', 'x', 'eval')",
    "open('X', 'w').write('x')",
    "os.system('touch X')",
    "@pd.io.common.os.system('touch X')",
    "@__builtins__",
    "age.to_csv('X') != 0",
    "age.__class__.__base__.__subclasses__()",
    "age.codes.tofile('X')",
    "().__class__.__mro__[1]",
    "''.join(['a'])",
    "'{0.__class__}'.format(age)",
    "'%s' % age",
    "f'{age}'",
    "f'{__import__(\"os\").getcwd()}'",
    "b'age'",
    "r'age'",
    "u'age'",
    "lambda: age",
    "(lambda x: x)(age)",
    "[x for x in age]",
    "{x for x in age}",
    "{'a': 1}",
    "(x for x in age)",
    "(x := age)",
    "age if age else age",
    "yield age",
    "await age",
    "import os",
    "from os import system",
    "print(age)",
    "getattr(age, 'codes')",
    "np.log.__class__",
    "np.random.normal(age)",
    "np.fromfile('X')",
    "np.load('X')",
    "np.log(np.exp(age))",
    "np.save('X', age)",
    "pd.read_csv('X')",
    "np",
    "max(*age)",
    "max(**age)",
    "max(a=age)",
    "age[0]",
    "age[::2]",
    "age;age",
    "age\nimport os",
    "age # comment",
    "age\\",
    "age = 5",
    "del age",
    "global age",
    "assert age",
    "I(__import__('os').system('touch X'))",
    "Q('age')",
    "Q(\"__import__('os')\")",
    "Q(age)",
    "C(age, Treatment(__import__('os').getpid()))",
    "C(marital)",
    "I(age.to_csv('X'))",
    "poly(age, 3)",
    "bs(age, df=4)",
    "center(age)",
    "EvalEnvironment.capture()",
    "1e999",
    "1" * 5000,
    "0x10",
    "1_000",
    "1j",
    "...",
    "None",
    "True",
    "10**10**10",
    "9**9**9",
    "9**9**9**9 + age",
    "2**-2**2**99999",
    "[1]*10**8",
    "'a'*10**8",
    "'a'*age",
    "age**age**age",
    "exp(exp(exp(10)))",
    "1/0",
    "1//0",
    "1%0",
    "0**-1",
    "'a'+1",
    "'a'+age",
    "-'a'",
    "age in 5",
    "age in []",
    "age in ['a']",
    "age in [1] in [2]",
    "5 in [age, 5]",
    "sex in sex",
    "min()",
    "max()",
    "round()",
    "round(age, 1, 2)",
    "round(age, 0.5)",
    "round(age, age)",
    "round(age, 10**6)",
    "log()",
    "missing()",
    "missing(5)",
    "missing('a')",
    "missing(age, sex)",
    "missing(age)",
    "missing",
    "age < 'a'",
    "sex < 5",
    "sex < 'f'",
    "sex == income",
    "sex + income",
    "not age",
    "not sex",
    "age and sex",
    "~age",
    "log(0)",
    "log(-1)",
    "sqrt(-1)",
    "age < 1 < 'a'",
    "a\x00b",
    "age\x00",
    "'\x00' == sex",
    "sex == '\ud800'",
    "\udcff",
    "sex == '\\ud800'",
    "sex == '\\N{DIGIT ONE}'",
    "sex == '\\U99999999'",
    "größe",
    "ａｇｅ",
    "٣ + age",
    "age\u200b",
    "__class__",
    "__dict__ == 1",
    "`__import__('os')`",
    "`age",
    "``",
    "'age",
    '"age',
    "'''age'''",
    "",
    " ",
    "(" * 5000,
    "(" * 5000 + "1" + ")" * 4999,
    "-" * 5000 + "1",
    "+-" * 2000 + "age",
    "~" * 4000 + "age",
    "not " * 2000 + "age",
    "[" * 5000,
    "2" + "**2" * 3000,
    "age" + "+age" * 2400,
    "age" + " and age" * 1200,
    "age<" * 2000 + "1",
    "abs(" * 1500 + "age" + ")" * 1500,
    "age" + ":age" * 2000,
    "(age + sex + income + marital) ** 99",
    "age * sex * income * marital * region * edu",
    "max(" + "age," * 2000 + ")",
    "age in [" + "1," * 4000 + "]",
    " " * 9999,
    "x" * 100_000,
    "if " + " " * 9000 + "then",
    "`" * 9999,
    "'" * 9999,
]
AROUND = ["{}", "age > 1 and {}", "log({})"]
if os.environ.get("CAVEAT_FUZZ"):
    AROUND += ["({})", "{} > 0", "age + {}", "age in [{}]"]
SPEC = """
[data]
path = "survey.csv"
[[scenario]]
name = "a"
keys = ["sex"]
"""


def texts() -> Iterator[str]:
    for around in AROUND:
        for code in CODE:
            yield around.replace("{}", code)


def places(table: Table) -> dict[str, Callable[[str], Any]]:
    """Return what each place does with a text."""
    part = table.select(["age", "sex", "income", "marital"])
    pair = WeightedPair(part, part)
    tune = {"limits": {"DiSCO": 5}, "objective": "CI overlap", "settings": {"cp": [0.1]}}
    base = tomllib.loads(SPEC)

    def spec(**content: Any) -> None:
        whole = Document(Path("x.toml"), SPEC.encode(), {**base, **content}, lines_of(SPEC))
        read = Document.read
        Document.read = lambda path: whole  # type: ignore[method-assign,assignment,misc]
        try:
            ReleaseSpec.from_toml("x.toml").check(table)
        finally:
            Document.read = read  # type: ignore[method-assign]

    return {
        "expression": lambda text: Expression(text).evaluate(table.columns),
        "condition": lambda text: Expression(text).holds(table.columns),
        "formula": Formula.parse,
        "rule": parse_rule,
        "rule, condition": lambda text: make_plan(
            table, {"rules": [f"if {text} then marital = 'SINGLE'"]}
        ),
        "rule, value": lambda text: make_plan(table, {"rules": [f"if age < 18 then sex = {text}"]}),
        "derived": lambda text: make_plan(table, {"derived": {"income": text}}),
        "edit rule": lambda text: check_rules(pair, {"r": EditRule(text)}),
        "edit rule, condition": lambda text: check_rules(pair, {"r": EditRule("age > 1", text)}),
        "model": lambda text: compare_model(pair, text),
        "model, terms": lambda text: compare_model(pair, f"income ~ {text}"),
        "model, response": lambda text: compare_model(pair, f"{text} ~ age"),
        "tune": lambda text: TuneSpec.from_mapping({"tune": {**tune, "models": [text]}}),
        "specification, rules": lambda text: spec(synthesis={"rules": [text]}),
        "specification, derived": lambda text: spec(synthesis={"derived": {"income": text}}),
        "specification, models": lambda text: spec(utility={"models": [f"income ~ {text}"]}),
        "specification, if": lambda text: spec(
            utility={"rules": {"r": {"if": text, "then": "age > 1"}}}
        ),
        "specification, then": lambda text: spec(utility={"rules": {"r": {"then": text}}}),
        "specification, names": lambda text: spec(
            synthesis={"strata": text, "special": {"income": [text]}}
        ),
    }


def run(seen: list[str]) -> dict[str, Any]:
    """Try every text in every place; a tenth of them through the command line too."""
    table = survey(400, seed=1)
    todo = places(table)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "survey.csv"
        write(table.select(["age", "sex", "income"]).take(range(60)), data)
        line = typer.main.get_command(app)  # once: typer evaluates its own annotations

        def command(text: str) -> None:
            arguments = ["compare", str(data), str(data), "--model", text]
            line.main(arguments, standalone_mode=False)

        for act in [*todo.values(), command]:  # what is loaded late is loaded now
            for text in ("age", "income ~ age + sex", "nonsense ~ wages", "if age < 18 then"):
                _try(act, text)
        watch(seen)
        _try(command, "income ~ wages")  # what reading the files takes, whatever the model
        usual = {event.partition(" ")[0] for event in seen} - {"exec", "compile", "import"}
        seen.clear()
        report: dict[str, Any] = {"tried": {}, "raised": [], "slowest": 0.0}
        todo["compare --model"] = command
        for place, act in todo.items():
            every = list(texts())
            for text in every[::37] if place == "compare --model" else every:
                before = len(seen)
                start = time.process_time()  # the machine may have other work
                said = _try(act, text)
                took = time.process_time() - start
                if place != "compare --model":  # which reads the files each time
                    report["slowest"] = max(report["slowest"], took)
                    if took > 1:
                        report["raised"].append(f"{place}: {text[:60]!r} took {took:.1f} s")
                if said:
                    report["raised"].append(f"{place}: {text[:60]!r}: {said}")
                if place == "compare --model":
                    seen[before:] = [e for e in seen[before:] if e.partition(" ")[0] not in usual]
                if len(seen) > before:
                    seen[before:] = [f"{place}: {text[:60]!r}: {seen[before:][:3]}"]
                report["tried"][place] = report["tried"].get(place, 0) + 1
        report["events"] = list(seen)
    return report


def _try(act: Callable[[str], Any], text: str) -> str:
    try:
        act(text)
    except CaveatError as error:
        return "" if len(str(error)) < 2_000 else f"a message of {len(str(error)):,} characters"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"[:300]
    return ""


def watch(seen: list[str]) -> None:
    """Note every event that has to do with code, files or processes."""
    harmless = ("sys._getframe", "object.__getattr__", "builtins.id", "sys.unraisablehook")

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in harmless:
            seen.append(f"{event} {str(arguments)[:120]}")

    sys.addaudithook(hook)


if __name__ == "__main__":
    warnings.simplefilter("error")
    sys.stdout.write(json.dumps(run([])) + "\n")
