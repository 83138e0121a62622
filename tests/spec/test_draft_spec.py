"""The specification of ``caveat draft``: what it says, and mistakes with their lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.spec.draft_spec import DraftSpec, attackers_of, draft_files, with_plan
from caveat.synthesis.drafts import Category, Derived, Numeric

SPEC = """\
rows = 100
seed = 7
[columns.sex]
shares = { f = 0.6, m = 0.4 }
[columns.region]
shares = "regions.csv"
[columns.age]
mean = 45
sd = 12
least = 18
most = 90
whole = true
[columns.pay]
total = 200000
sd = 500
least = 0
family = "lognormal"
decimals = 2
weight = 2
[columns.twice]
formula = "pay + pay"
mean = 4000
[columns.job]
[[table]]
by = ["sex", "job"]
cells = [["f", "yes", 20], ["f", "no", 40], ["m", "yes", 30], ["m", "no", 10]]
[[correlation]]
columns = ["age", "pay"]
matrix = [[1, 0.3], [0.3, 1]]
weight = 3
[[model]]
formula = "logistic: job ~ age + sex"
coefficients = { age = 0.1, "sex[T.f]" = 1 }
errors = { age = 0.05 }
reference = { sex = "m" }
"""


def read(folder: Path, text: str = SPEC, **files: str) -> DraftSpec:
    files = {"regions": "code,share\n1,0.5\n2,0.5\n", **files}
    for name, content in files.items():
        (folder / f"{name}.csv").write_text(content)
    (folder / "draft.toml").write_text(text, encoding="utf-8")
    return DraftSpec.from_toml(folder / "draft.toml")


def test_everything_is_read(tmp_path: Path) -> None:
    spec = read(tmp_path)
    plan = spec.plan
    assert (plan.n_rows, spec.seed, spec.files) == (100, 7, (tmp_path / "regions.csv",))
    assert plan.columns["region"] == Category(("1", "2"), (0.5, 0.5))
    assert plan.columns["job"] == Category(("yes", "no"))
    assert plan.columns["age"] == Numeric(45, 12, 18, 90, whole=True)
    assert plan.columns["pay"] == Numeric(
        2000, 500, least=0, family="lognormal", decimals=2, weight=2, exact=True
    )
    twice = plan.columns["twice"]
    assert isinstance(twice, Derived)
    assert (twice.formula.text, twice.mean) == ("pay + pay", 4000)
    assert plan.tables[0].cells["m", "no"] == 10
    assert plan.correlations[0].weight == 3
    assert plan.equations[0].names == ["Intercept", "sex[T.f]", "age"]
    assert plan.models[0].errors == {"age": 0.05}


def test_published_numbers_may_stand_in_files(tmp_path: Path) -> None:
    text = SPEC
    for inline, file in (
        ('cells = [["f", "yes", 20], ["f", "no", 40], ["m", "yes", 30], ["m", "no", 10]]', "cells"),
        ("matrix = [[1, 0.3], [0.3, 1]]", "related"),
        ('coefficients = { age = 0.1, "sex[T.f]" = 1 }', "model"),
    ):
        text = text.replace(inline, f'file = "{file}.csv"')
    spec = read(
        tmp_path,
        text.replace("errors = { age = 0.05 }\n", ""),
        cells="job;sex;count\nyes;f;20\nno;f;40\nyes;m;30\nno;m;10\n",
        related="name,age,pay\nage,1,\npay,,1\n",
        model="term,coefficient,error\nage,0.1,0.05\nsex[T.f],1,\n",
    )
    inline = read(tmp_path).plan
    assert spec.plan.tables[0].cells == inline.tables[0].cells
    assert spec.plan.models[0] == inline.models[0]
    assert np.isnan(spec.plan.correlations[0].matrix[0, 1])
    assert [path.name for path in spec.files] == [
        "cells.csv", "related.csv", "model.csv", "regions.csv"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("rows = 100", "row = 100", 1, "no section 'row'"),
        ("f = 0.6", "f = 0.5", 4, "columns.sex.shares: the shares sum to 0.9, not to 1"),
        ("f = 0.6", "f = -0.6", 4, "must be a number, 0 or more"),
        ('"regions.csv"', '"nowhere.csv"', 6, "nowhere.csv cannot be read (No such file"),
        ('"regions.csv"', '"empty.csv"', 6, "empty.csv holds no numbers"),
        ('"regions.csv"', '"words.csv"', 6, "words.csv, line 2: here a number is expected"),
        ('"regions.csv"', '"twice.csv"', 6, "columns.region.shares: 1 is there twice"),
        ('"regions.csv"', '"nameless.csv"', 6, "a level has no name"),
        ('"regions.csv"', '"ragged.csv"', 6, "ragged.csv, line 3: it has 3 cells"),
        ("sd = 12", "sd = -12", 9, "columns.age.sd: a standard deviation is above 0"),
        ("sd = 12", "sd = 60", 9, "the largest feasible one is 34.86"),
        ("mean = 45", "mean = 95", 8, "the mean is not between least and most"),
        ("whole = true", "shares = { a = 1 }", 8, "age has shares and mean"),
        ("total = 200000", "total = 200000\nmean = 3", 14, "a total and a mean"),
        ("total = 200000", "total = 200000.555", 14,
         "columns.pay.total: the total 200000.555 is finer than the column, which has 2 digits"),
        ("decimals = 2", "decimals = 400", 18, "a number has up to 15 digits"),
        ("mean = 4000", "mean = 4100", 22, "twice has the mean 4100, but its parts together 4000"),
        ('"pay + pay"', '"pay + bonus"', 21, "there is no column 'bonus'"),
        ('"pay + pay"', '"1 + 2"', 21, "the formula names no column"),
        ("sd = 500", "sd = 1e200", 15, "columns.pay.sd: sd is beyond 1e+100"),
        ('"pay + pay"', '"pay +"', 21, "columns.twice.formula"),
        ('by = ["sex", "job"]', 'by = ["sex", "jobs"]', 25, "there is no column 'jobs'; perhaps"),
        ('["m", "no", 10]', '["m", 10]', 26, "a cell is 2 levels and a number"),
        ('["m", "no", 10]', '["m", "yes", 10]', 26, "table.cells: m, yes is there twice"),
        ('["m", "no", 10]', '["x", "no", 10]', 26, "table.cells: sex has no level 'x'"),
        ("matrix = [[1, 0.3], [0.3, 1]]", "matrix = [[1, 1.3], [1.3, 1]]", 29,
         "correlation.matrix: a correlation is not between -1 and 1"),
        ("[0.3, 1]]", "[0.4, 1]]", 29, "the matrix is not symmetric: age with pay is 0.3 and 0.4"),
        ("[0.3, 1]]", "[0.3]]", 29, "its lines differ in length"),
        ('["age", "pay"]', '["age", "age"]', 28, "a column is named twice"),
        ('["age", "pay"]', '["age", "wage"]', 28, "there is no column 'wage'"),
        ("job ~ age", "pay ~ age", 32, "pay is a number; a logistic model explains a category"),
        ("~ age + sex", "~ age + sexes", 32, "'sexes', which is no column of the draft"),
        ("{ age = 0.1,", "{ ages = 0.1,", 33, "the model has no term 'ages'; perhaps age"),
        ("errors = { age = 0.05 }", "errors = { age = -1 }", 34, "a standard error is above 0"),
        ('reference = { sex = "m" }', 'reference = { sex = "x" }', 35, "'sex' has no level 'x'"),
        ('coefficients = { age = 0.1, "sex[T.f]" = 1 }', "", 31, "coefficients or file"),
    ],
)  # fmt: skip
def test_mistakes_have_their_line(tmp_path: Path, old: str, new: str, line: int, what: str) -> None:
    assert old in SPEC
    files = {
        "twice": "code,share\n1,0.5\n1,0.5\n",
        "nameless": "code,share\n,0.5\n1,0.5\n",
        "empty": "",
        "words": "code,share\n1,much\n",
        "ragged": "code,share\n1,1\n2,3,4\n",
    }
    with pytest.raises(CaveatError) as error:
        read(tmp_path, SPEC.replace(old, new), **files)
    assert f"draft.toml, line {line}: " in str(error.value)
    assert what in str(error.value)
    assert str(error.value).count("\n") == 0


def test_tables_of_different_totals(tmp_path: Path) -> None:
    more = '[[table]]\nby = ["region"]\nfile = "counts.csv"\n'
    with refused("draft.table.mismatch", where="draft.toml, line 36"):
        read(tmp_path, SPEC + more, counts="region,n\n1,60\n2,60\n")


def test_a_file_of_microdata_is_no_file_of_published_numbers(tmp_path: Path) -> None:
    with refused("draft.file.too-large", where="draft.toml, line 6"):
        read(tmp_path, regions="x,y\n" + "1,2\n" * 20_001)


def test_attackers_are_those_of_the_models_or_of_all_categories(tmp_path: Path) -> None:
    plan = read(tmp_path).plan
    assert attackers_of(plan, ["age", "sex", "job", "pay"]) == [(("age", "sex"), "job")]
    assert attackers_of(plan, ["sex", "region", "age"]) == [
        (("region", "age"), "sex"), (("sex", "age"), "region")
    ]  # fmt: skip


def test_a_generator_may_name_a_specification(tmp_path: Path) -> None:
    plan = read(tmp_path).plan
    name, settings = with_plan("outputs:draft.toml", {}, tmp_path)
    assert name == "outputs"
    assert settings["plan"].columns == plan.columns
    assert with_plan("cart", {"minbucket": 5}, tmp_path) == ("cart", {"minbucket": 5})
    names = [path.name for path in draft_files("outputs:draft.toml", tmp_path)]
    assert names == ["draft.toml", "regions.csv"]
    assert draft_files("cart", tmp_path) == ()
