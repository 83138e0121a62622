"""Good specifications, and what stands in each for something else that is wrong."""

from __future__ import annotations

__all__ = [
    "AFTER",
    "BENCH",
    "BENCH_MISTAKES",
    "DRAFT_MISTAKES",
    "GOOD",
    "GROUP_MISTAKES",
    "MARGINS",
    "MARGIN_MISTAKES",
    "PUBLISHED_MISTAKES",
    "RULES",
    "RULES_MISTAKES",
    "SAFEPUB_MISTAKES",
    "TABLE_MISTAKES",
    "TUNE_MISTAKES",
    "WITHOUT_DATA",
    "WITH_DATA",
]

GOOD = """\
[release]
title = "People"
access = "public"
seed = 1
copies = 2
control = 0.2

[data]
path = "people.csv"
decimal = "."

[columns.income]
missing = [-8]

[synthesis]
minbucket = 8
method = "cart"
drop = ["height"]
rules = ["if age < 18 then marital = 'single'"]
[synthesis.columns.content]
method = "sample"

[[protect]]
name = "remove_replicated_uniques"
keys = ["sex", "age"]

[[scenario]]
name = "a neighbour"
keys = ["sex", "age", "region"]
targets = ["marital", "income"]
limits = { DiSCO = 5, repU = 10 }

[[scenario]]
name = "everybody else"
attacker = "strong"
targets = ["marital"]
records = 50

[[scenario]]
name = "two registers"
attacker = "ordinary"
keys = ["sex", "age"]
second = ["region"]
targets = ["income"]
attacks = ["linkability", "inference"]

[utility]
models = ["income ~ age + sex"]
limits = { "S_pMSE" = 10, "CI overlap" = { least = 0.3 } }
[utility.rules.child]
if = "age < 16"
then = "marital == 'single'"

[map]
settings = { minbucket = [5, 50] }
scenario = "a neighbour"
risk = "DiSCO"

[output]
formats = ["csv"]
reports = []
"""
AFTER = "[output]\n"
GUARDED = 'method = "guarded"\nrange = '
TUNE = "[tune]\nlimits = {{ DiSCO = 5 }}\nobjective = 'S_pMSE'\nsettings = {{ {} }}\n\n[output]\n"
WITHOUT_DATA = {
    "unknown section": ("[output]", "[outputs]"),
    "unknown key": ('access = "public"', 'acces = "public"'),
    "text that is a number": ('title = "People"', "title = 7"),
    "empty text": ('title = "People"', 'title = ""'),
    "access mode": ('"public"', '"pubic"'),
    "negative seed": ("seed = 1", "seed = -1"),
    "seed of 65 bits": ("seed = 1", "seed = 36893488147419103232"),
    "seed that is a flag": ("seed = 1", "seed = true"),
    "no copies": ("copies = 2", "copies = 0"),
    "control beyond 1": ("control = 0.2", "control = 1.5"),
    "rows of a word": ("copies = 2", 'rows = "many"'),
    "no data": ('[data]\npath = "people.csv"\ndecimal = "."\n', ""),
    "no path": ('path = "people.csv"\n', ""),
    "decimal sign": ('decimal = "."', 'decimal = ";"'),
    "column that is no table": ("[columns.income]\nmissing = [-8]", '[columns]\nincome = "x"'),
    "missing codes that are no list": ("missing = [-8]", "missing = -8"),
    "nested missing codes": ("missing = [-8]", "missing = [[-8]]"),
    "unknown property": ("missing = [-8]", "misssing = [-8]"),
    "unknown kind": ("missing = [-8]", 'kind = "float"'),
    "syntax": ("seed = 1", "seed = = 1"),
    "key twice": ("copies = 2", "seed = 2"),
    "table for a list of tables": ('[[scenario]]\nname = "everybody', '[scenario]\nname = "e'),
    "unclosed text": ('title = "People"', 'title = "People'),
    "leaves of no record": ("minbucket = 8", "minbucket = 0"),
    "unknown setting": ("minbucket = 8", "minbuckt = 8"),
    "unknown method": ('method = "sample"', 'method = "cat"'),
    "prune with a number": ("minbucket = 8", "prune = 0"),
    "temperature of 0": ("minbucket = 8", "temperature = 0"),
    "unknown guard": ("minbucket = 8", 'guard = "stron"'),
    "range of two numbers": ('method = "sample"', "range = [0, 80]"),
    "unknown scale": ('method = "sample"', 'scale = "log"'),
    "unknown protection": ('"remove_replicated_uniques"', '"remove_uniques"'),
    "unknown argument of a protection": ('keys = ["sex", "age"]\n\n', 'key = ["sex"]\n\n'),
    "protection without a name": ('name = "remove_replicated_uniques"\n', ""),
    "scenario without a name": ('name = "a neighbour"\n', ""),
    "two scenarios of one name": ('"everybody else"', '"a neighbour"'),
    "unknown attacker": ('attacker = "strong"', 'attacker = "strongest"'),
    "empty keys": ('keys = ["sex", "age", "region"]', "keys = []"),
    "no keys": ('keys = ["sex", "age", "region"]\n', ""),
    "keys that are no list": ('keys = ["sex", "age", "region"]', 'keys = "sex"'),
    "limit out of range": ("DiSCO = 5", "DiSCO = -5"),
    "limit of text": ("DiSCO = 5", 'DiSCO = "low"'),
    "limits that contradict": ("DiSCO = 5", "DiSCO = { most = 5, least = 10 }"),
    "limit on an unknown measure": ("DiSCO = 5", "disco = 5"),
    "measure of another attacker": ("DiSCO = 5", "strongWorst = 5"),
    "key of another attacker": ("records = 50", "tolerance = { age = 2 }"),
    "records of a word": ("records = 50", 'records = "most"'),
    "attack without what it needs": ('second = ["region"]\n', ""),
    "unknown attack": ('"linkability", "inference"', '"linkage", "inference"'),
    "unknown family of models": ("income ~ age", "tobit: income ~ age"),
    "model that cannot be read": ("age + sex", "age + + (sex"),
    "model without a formula": ("income ~ age + sex", "income"),
    "unknown measure of utility": ('"S_pMSE" = 10', '"S_pMES" = 10'),
    "measure that needs a model": ('models = ["income ~ age + sex"]\n', ""),
    "edit rule without consequence": ("then = \"marital == 'single'\"\n", ""),
    "map of an unknown scenario": ('scenario = "a neighbour"', 'scenario = "neighbour"'),
    "map of an unknown setting": ("minbucket = [5, 50]", "minbukket = [5, 50]"),
    "map of a bad value": ("minbucket = [5, 50]", "minbucket = [5, 0]"),
    "map without values": ("minbucket = [5, 50]", "minbucket = []"),
    "map of a risk that is none": ('risk = "DiSCO"', 'risk = "S_pMSE"'),
    "tune with a bad value": (AFTER, TUNE.format("cp = [-0.1]")),
    "unknown format": ('"csv"', '"docx"'),
    "unknown report": ("reports = []", 'reports = ["secret"]'),
    "several mistakes": ("seed = 1\ncopies = 2", "seed = -1\ncopies = 0"),
}
WITH_DATA = {
    "no such file": ('"people.csv"', '"persons.csv"'),
    "control of all": ("control = 0.2", "control = 80"),
    "unknown column": ("[columns.income]", "[columns.incme]"),
    "kind that does not fit": (
        "[synthesis]\n", '[columns.marital]\nkind = "numeric"\n[synthesis]\n',
    ),
    "guard of plain trees": ("minbucket = 8\n", 'guard = "strong"\n'),
    "leaves of guarded trees": ('method = "cart"\ndrop', "drop"),
    "data beyond the range": ('method = "sample"', f"{GUARDED}[0, 2, 1]"),
    "range without points": ('method = "sample"', f"{GUARDED}[80, 0, 1]"),
    "range of words": ('content]\nmethod = "sample"', f"marital]\n{GUARDED}[0, 2, 1]"),
    "column of a rule": ("if age < 18", "if aeg < 18"),
    "rule that cannot be read": ("if age < 18 then", "when age < 18 then"),
    "value of a rule that never occurs": ("= 'single'\"]", "= 'alone'\"]"),
    "derived from an unknown column": (
        "[synthesis.columns", "[synthesis.derived]\nincome = '2 * aeg'\n[synthesis.columns",
    ),
    "formula that cannot be read": (
        "[synthesis.columns", "[synthesis.derived]\nincome = '2 * (age'\n[synthesis.columns",
    ),
    "settings of an unknown column": ("columns.content", "columns.contnt"),
    "dropped column": ('drop = ["height"]', 'drop = ["heigt"]'),
    "order of an unknown column": ("minbucket = 8", 'order = ["aeg"]'),
    "strata of an unknown column": ("minbucket = 8", 'strata = "sx"'),
    "weights of words": ("minbucket = 8", 'weights = "region"'),
    "column of a protection": ('keys = ["sex", "age"]\n\n', 'keys = ["sex", "agee"]\n\n'),
    "unknown key": ('"age", "region"]', '"age", "regoin"]'),
    "key that is not released": ('"age", "region"]', '"age", "height"]'),
    "key named twice": ('"age", "region"]', '"age", "sex"]'),
    "target that is a key": ('targets = ["marital", "income"]', 'targets = ["age"]'),
    "unknown target": ('targets = ["marital", "income"]', 'targets = ["maritl"]'),
    "model of an unknown column": ("age + sex", "age + gender"),
    "edit rule of an unknown column": ("marital == 'single'", "maritl == 'single'"),
}  # fmt: skip
GROUP_MISTAKES = {
    "no key": ('key = "home"\n', ""),
    "unknown key": ('key = "home"', 'key = "hom"'),
    "unknown role": ('role = "role"', 'role = "rol"'),
    "constant that is not": ('"region", "tenure"]', '"region", "age"]'),
    "key that is a target": ('targets = ["tenure"]', 'targets = ["home"]'),
    "unknown unit": ('unit = "group"', 'unit = "household"'),
    "order of an unknown column": ('role = "role"', 'order = "-aeg"'),
    "margins that are not there": ('role = "role"', 'margins = ["margins.csv"]'),
    "too many held out": ("control = 0.2", "control = 500"),
}
TABLE_MISTAKES = {
    "file that is not there": ('"visits.csv"', '"visit.csv"'),
    "link to no table": ('patient = "patients"', 'patient = "patient"'),
    "link of no column": ("{ patient =", "{ patnt ="),
    "unknown key": ('key = "visit"', 'key = "visits"'),
    "key with repeated values": ('key = "patient"', 'key = "sex"'),
    "order of an unknown column": ('order = "date"', 'order = "dates"'),
    "data beside tables": ("[tables.patients]", '[data]\npath = "patients.csv"\n[tables.patients]'),
    "scenario across tables that do not meet": ('"born"]', '"bron"]'),
    "scenario of no table": ('name = "a nurse"', 'name = "a nurse"\ntable = "nurses"'),
    "unknown property": ('order = "date"', 'ordered = "date"'),
}
MARGINS = """\
[release]
seed = 1
[data]
path = "people.csv"
[synthesis]
method = "margins"
drop = ["income", "height", "region", "content"]
margins = [["sex", "marital"]]
clearing = { threshold = 5, dominance = [1, 0.9], multiple = 5 }
[synthesis.columns.age]
bins = [15, 45, 90]
[[scenario]]
name = "a neighbour"
keys = ["sex"]
targets = ["marital"]
"""
MARGIN_MISTAKES = {
    "threshold": ("threshold = 5", "threshold = -3"),
    "multiple": ("multiple = 5 }", "multiple = 0 }"),
    "dominance of three": ("[1, 0.9]", "[1, 2, 3]"),
    "dominance in per cent": ("[1, 0.9]", "[1, 90]"),
    "unknown key of clearing": ("threshold = 5", "treshold = 5"),
    "clearing that leaves nothing": ("threshold = 5", "threshold = 9999"),
    "margin of an unknown column": ('"sex", "marital"]]', '"sx", "marital"]]'),
    "bins that fall": ("[15, 45, 90]", "[90, 45]"),
    "epsilon of 0": ("[synthesis]\n", "[synthesis]\nepsilon = 0\n"),
    "epsilon without a domain": ("clearing = {", "epsilon = 1.0\n#"),
    "epsilon with trees": ('method = "margins"', 'method = "cart"\nepsilon = 1.0'),
    "poisson and epsilon": ("clearing = {", "epsilon = 1.0\npoisson = 1.0\n#"),
    "limit without its delta": (
        "[[scenario]]", "[privacy]\nlimit = { epsilon = 1 }\n[[scenario]]",
    ),
    "delta beyond 1": (
        "[[scenario]]", "[privacy]\nlimit = { epsilon = 1, delta = 2 }\n[[scenario]]",
    ),
}  # fmt: skip
BENCH = """\
[release]
seed = 1
[data]
path = "people.csv"
[[generator]]
name = "margins"
[benchmark]
seeds = 1
[[scenario]]
name = "a neighbour"
keys = ["sex", "age"]
[utility]
measures = ["S_pMSE two-way"]
[tune]
keys = ["sex"]
targets = ["marital"]
limits = { repU = 60 }
settings = { smallest = [10] }
seeds = 1
"""
BENCH_MISTAKES = {
    "no generator": ('[[generator]]\nname = "margins"\n', ""),
    "two generators of one label": (
        "[benchmark]", '[[generator]]\nname = "margins"\n[benchmark]',
    ),
    "no seeds": ("seeds = 1\n[[", "seeds = 0\n[["),
    "settings that are no table": ('name = "margins"', 'name = "copy"\nsettings = 2'),
    "unknown measure": ("seeds = 1\n[[", 'seeds = 1\nrisk = "DiSCOO"\n[['),
    "command that was not allowed": (
        'name = "margins"', 'name = "x"\nsettings = { command = ["true"] }',
    ),
    "unknown column": ('"age"]', '"agee"]'),
}  # fmt: skip
TUNE_MISTAKES = {
    "no limits": ("limits = { repU = 60 }\n", ""),
    "unknown objective": ("limits = {", 'objective = "S_pMES"\nlimits = {'),
    "unknown column": ('keys = ["sex"]', 'keys = ["sx"]'),
    "unknown setting": ("smallest = [10]", "smalest = [10]"),
    "groups": ("[benchmark]", '[groups]\nkey = "region"\n[benchmark]'),
}
PUBLISHED_MISTAKES = {
    "unknown column": ('"region", "marital"]', '"regoin", "marital"]'),
    "no table": ('[[table]]\nname = "Region and marital status"\nby = ["region", "marital"]\n'
                 '[[table]]\nname = "Content"\nby = ["content", "sex"]\n', ""),
    "two tables of one name": ('name = "Content"', 'name = "Region and marital status"'),
    "unknown method": ("least = 5", 'method = "round"'),
    "negative least": ("least = 5", "least = -5"),
    "unknown rule": ("least = 5", "leest = 5"),
    "p of words": ("least = 5", 'value = "marital"\np_percent = 10'),
    "hierarchy of an unknown column": ("\nregion =", "\nregoin ="),
    "hierarchy in a circle": ('north = "coast"', 'north = "coast", coast = "north"'),
    "hierarchy that is no table": ('{ north = "coast", west = "coast" }', "5"),
    "table without columns": ('by = ["content", "sex"]', "by = []"),
}  # fmt: skip
SAFEPUB_MISTAKES = {
    "no response": ('response = "content"\n', ""),
    "epsilon of 0": ("epsilon = 2", "epsilon = 0"),
    "beta of 1": ("beta = 0.4", "beta = 1.4"),
    "delta of 1": ("delta = 1e-5", "delta = 1"),
    "response with levels": ("levels.sex]", "levels.content]"),
    "unknown column": ("levels.sex]", "levels.sx]"),
    "widths that do not nest": ("[10, 20]", "[10, 15]"),
    "no kind": ('age.kind = "integer"\n', ""),
}
DRAFT_MISTAKES = {
    "shares that are not there": ('"sex.csv"', '"sx.csv"'),
    "one row": ("rows = 200", "rows = 1"),
    "unknown column": ('by = ["region", "car"]', 'by = ["region", "cars"]'),
    "cell of two": ('["north", "no", 30]', '["north", "no"]'),
    "negative cell": ('"no", 30]', '"no", -30]'),
    "mean without a spread": ("[columns.car]", "[columns.age]\nmean = 50\n[columns.car]"),
    "least above most": (
        "[columns.car]", "[columns.age]\nmean = 5\nsd = 1\nleast = 9\nmost = 2\n[columns.car]",
    ),
    "unknown key": ("seed = 3", "sed = 3"),
}  # fmt: skip
RULES = '[rules]\nthreshold = 4\n[[output]]\nfile = "all.csv"\ncount = "count"\n'
RULES_MISTAKES = {
    "threshold of words": ("threshold = 4", 'threshold = "few"'),
    "unknown rule": ("threshold = 4", "treshold = 4"),
    "share beyond 1": ("threshold = 4", "dominance_share = 7"),
    "unknown output": ('file = "all.csv"', 'form = "cross"'),
}
