"""A good specification, and ways to break it with the message that follows."""

from __future__ import annotations

from caveat.datasets import survey
from caveat.protect.pipeline import PROTECTIONS
from caveat.spec.entries import SETTINGS
from caveat.synthesis.methods import METHODS
from caveat.synthesis.options import GIVEN, WITHOUT_MODEL

GOOD = """\
[release]
title = "Living conditions, synthetic"
access = "public"
seed = 1
copies = 2
control = 0.2

[data]
path = "survey.csv"
decimal = "."

[columns.income]
missing = [-8]

[synthesis]
minbucket = 20
method = "cart"
drop = ["person"]
rules = ["if age < 18 then marital = 'single'"]
[synthesis.derived]
bmi = "weight / (height / 100) ** 2"
[synthesis.columns.friends]
method = "sample"

[[protect]]
name = "remove_replicated_uniques"
keys = ["sex", "age"]

[[scenario]]
name = "a colleague"
keys = ["sex", "age", "region"]
targets = ["marital", "income"]
limits = { DiSCO = 5, repU = 10 }

[[scenario]]
name = "who knows all others"
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
scenario = "a colleague"
risk = "DiSCO"

[output]
formats = ["csv", "sav"]
"""
# Long lists of what is allowed, which stand in messages by these names.
LISTS = {
    "<columns>": ", ".join(survey(rows=2).names),
    # Of so few rows most levels of occupation are rare, and it is left out.
    "<released>": ", ".join(n for n in survey(rows=2).names[1:] if n != "occupation"),
    "<formats>": "csv, tsv, txt, csv.gz, csv.zst, tsv.gz, tsv.zst, txt.gz, txt.zst, parquet, "
    "feather, arrow, sav, zsav, dta, xlsx, sqlite, sqlite3, db, duckdb",
    "<settings>": ", ".join((*SETTINGS, "predictors", "special", "derived")),
    "<methods>": ", ".join(m for m in (*METHODS, *WITHOUT_MODEL) if m != GIVEN),
    "<protections>": ", ".join(PROTECTIONS),
    "<keys>": "title, unit, purpose, recipients, access, seed, copies, rows, control",
}

# what is written, what stands there instead, the line, the message
BROKEN = {
    "guard of plain trees": (
        "minbucket = 20\n",
        'guard = "strong"\n',
        16,
        "synthesis.guard: guard is for guarded trees alone; name the method, method = "
        '"guarded", or leave guard out',
    ),
    "leaves of guarded trees": (
        'method = "cart"\ndrop',
        "drop",
        16,
        "synthesis.minbucket: minbucket is not for guarded trees, the method of columns for "
        'which none is named; name the method, method = "cart", or leave minbucket out',
    ),
    "leaves of one guarded column": (
        'method = "sample"\n',
        'method = "guarded"\nminbucket = 7\n',
        24,
        "synthesis.columns.friends.minbucket: minbucket is not for guarded trees, the method of "
        'columns for which none is named; name the method, method = "cart", or leave minbucket '
        "out",
    ),
    "unknown section": (
        "[output]",
        "[outputs]",
        61,
        "there is no section 'outputs' in a specification; perhaps output (allowed: "
        "release, data, columns, groups, tables, synthesis, privacy, protect, scenario, utility, "
        "map, tune, generator, benchmark, output)",
    ),
    "unknown key": (
        'access = "public"',
        'acces = "public"',
        3,
        "there is no key 'acces' in [release]; perhaps access (allowed: <keys>)",
    ),
    "no value near": (
        'access = "public"',
        'colour = "red"',
        3,
        "there is no key 'colour' in [release]; use <keys>",
    ),
    "wrong type": (
        'title = "Living conditions, synthetic"',
        "title = 7",
        2,
        "release.title must be a text that is not empty",
    ),
    "wrong value": (
        '"public"',
        '"pubic"',
        3,
        "release.access: there is no access mode 'pubic'; perhaps public (allowed: "
        "public, registered, secure)",
    ),
    "column is no table": (
        "[columns.income]\nmissing = [-8]",
        '[columns]\nincome = "numeric"',
        13,
        "columns.income must be a table with kind, missing, format and others",
    ),
    "no data": (
        '[data]\npath = "survey.csv"\ndecimal = "."\n',
        "",
        1,
        "the section [data] is missing; add [data]",
    ),
    "map of a setting that cannot vary": (
        "minbucket = [5, 50]",
        "order = [5, 50]",
        57,
        "map.settings: there is no setting 'order'; use <settings>, strata, weights, "
        "clearing, columns, protect",
    ),
    "scenario is one table": (
        '[[scenario]]\nname = "who',
        '[scenario]\nname = "who',
        35,
        "this is not valid TOML (cannot declare scenario twice); it stands there twice: remove one",
    ),
    "level of a target to be left out is no list": (
        "limits = { DiSCO = 5, repU = 10 }",
        "exclude_levels = { marital = 'single' }",
        33,
        "scenario.exclude_levels.marital must be a list of values",
    ),
    "pair of three": (
        "limits = { DiSCO = 5, repU = 10 }",
        "exclude_pairs = [['marital', 'single', 'age']]",
        33,
        "scenario.exclude_pairs: an excluded pair has four parts; give (target, its "
        "level, key, its level)",
    ),
    "groups and tolerance": (
        "limits = { DiSCO = 5, repU = 10 }",
        "groups = { age = 10 }\ntolerance = { age = 2 }",
        33,
        "scenario.groups.age: a column is either cut into groups or matched with a "
        "tolerance; choose one",
    ),
    "tune with a bad value": (
        "[output]",
        "[tune]\nlimits = { DiSCO = 5 }\nobjective = 'S_pMSE'\n"
        "settings = { cp = [-0.1] }\n\n[output]",
        64,
        "tune.settings.cp: item 1 must be a number, 0 or more",
    ),
    "tune with a word for a flag": (
        "[output]",
        "[tune]\nlimits = { DiSCO = 5 }\nobjective = 'S_pMSE'\n"
        "settings = { prune = [false, 'no'] }\n\n[output]",
        64,
        "tune.settings.prune: item 2 must be true or false",
    ),
    "prune with a number": (
        "[synthesis]\n",
        "[synthesis]\nprune = 0\n",
        16,
        "synthesis.prune must be true or false",
    ),
    "temperature of 0": (
        "[synthesis]\n",
        "[synthesis]\ntemperature = 0\n",
        16,
        "synthesis.temperature must be a number above 0",
    ),
    "temperature that cannot be tried": (
        "[output]",
        "[tune]\nlimits = { DiSCO = 5 }\nobjective = 'S_pMSE'\n"
        "settings = { temperature = [1, -1] }\n\n[output]",
        64,
        "tune.settings.temperature: item 2 must be a number above 0",
    ),
    "unknown guard": (
        "[synthesis]\n",
        '[synthesis]\nguard = "stron"\n',
        16,
        "synthesis.guard: there is no guard 'stron'; perhaps strong (allowed: light, standard, "
        "strong)",
    ),
    "range of two numbers": (
        'method = "sample"',
        "range = [0, 80]",
        23,
        "synthesis.columns.friends.range must be a list of 3 numbers (lowest, highest, step)",
    ),
    "range without points": (
        'method = "sample"',
        'method = "guarded"\nrange = [80, 0, 1]',
        24,
        "synthesis.columns.friends.range: the range has no points, or too many; give a highest "
        "value above the lowest, at most 1,000,000,000 steps, and a step that is not too fine for "
        "numbers of this size",
    ),
    "data beyond the range": (
        'method = "sample"',
        'method = "guarded"\nrange = [0, 2, 1]',
        24,
        "synthesis.columns.friends.range: the data go beyond the declared range; declare a wider "
        "one, or code what lies beyond it (top-coding)",
    ),
    "range of words": (
        'columns.friends]\nmethod = "sample"',
        'columns.marital]\nmethod = "guarded"\nrange = [0, 2, 1]',
        24,
        "synthesis.columns.marital.range: a range is for numbers; leave it out",
    ),
    "unknown scale": (
        'method = "sample"',
        'scale = "log"',
        23,
        "synthesis.columns.friends.scale: there is no scale 'log'; use even, geometric",
    ),
    "syntax error": (
        "seed = 1",
        "seed = = 1",
        4,
        "this is not valid TOML (invalid value); text stands in quotation marks, lists "
        "stand in [ ]",
    ),
    "key twice": (
        "copies = 2",
        "seed = 2",
        5,
        "this is not valid TOML (cannot overwrite a value); it stands there twice: remove one",
    ),
    "seed negative": ("seed = 1", "seed = -1", 4, "release.seed must be a whole number, 0 or more"),
    "seed no number": (
        "seed = 1",
        "seed = true",
        4,
        "release.seed must be a whole number, 0 or more",
    ),
    "copies 0": ("copies = 2", "copies = 0", 5, "release.copies must be a whole number, 1 or more"),
    "control out of range": (
        "control = 0.2",
        "control = 1.5",
        6,
        "release.control must be a share between 0 and 1, or a whole number, 1 or more",
    ),
    "control of all": (
        "control = 0.2",
        "control = 200",
        6,
        "release.control: 200 of 200 records would be held out; leave records on both sides",
    ),
    "missing file": (
        '"survey.csv"',
        '"surveys.csv"',
        9,
        "data.path: surveys.csv: there is no such file; check the name",
    ),
    "no path": (
        'path = "survey.csv"\n',
        "",
        8,
        "data.path is missing; it must be a text that is not empty",
    ),
    "decimal sign": (
        'decimal = "."',
        'decimal = ";"',
        10,
        'data.decimal: there is no decimal sign \';\'; use ".", ","',
    ),
    "missing codes no list": (
        "missing = [-8]",
        "missing = -8",
        13,
        "columns.income.missing must be a list of values, or a table of codes with what they mean",
    ),
    "missing codes nested": (
        "missing = [-8]",
        "missing = [[-8]]",
        13,
        "columns.income.missing: item 1 must be a single value",
    ),
    "unknown property": (
        "missing = [-8]",
        "misssing = [-8]",
        13,
        "there is no key 'misssing' in [columns.income]; perhaps missing (allowed: kind, "
        "missing, format, levels, label, value_labels, recode, public)",
    ),
    "unknown kind": (
        "missing = [-8]",
        'kind = "float"',
        13,
        "columns.income.kind: there is no kind 'float'; use numeric, integer, boolean, "
        "category, ordered, date, datetime, text, id",
    ),
    "column not in the data": (
        "[columns.income]",
        "[columns.incme]",
        12,
        "columns.incme: the schema names a column that the data do not have; remove it or"
        " choose among <columns>",
    ),
    "kind does not fit": (
        "[synthesis]\n",
        '[columns.marital]\nkind = "numeric"\n\n[synthesis]\n',
        15,
        "columns.marital, row 1: 200 cells are not of kind numeric; declare the missing "
        "codes, the format or another kind in the schema",
    ),
    "setting out of range": (
        "minbucket = 20",
        "minbucket = 0",
        16,
        "synthesis.minbucket must be a whole number, 1 or more",
    ),
    "unknown setting": (
        "minbucket = 20",
        "minbuckt = 20",
        16,
        "there is no key 'minbuckt' in [synthesis]; perhaps minbucket (allowed: order, "
        "drop, keep, replace, <settings>, rules, strata, weights, epsilon, delta, poisson, "
        "rare_below, clearing, columns)",
    ),
    "column of a rule": (
        "if age < 18",
        "if aeg < 18",
        19,
        "synthesis.rules: the data have no column 'aeg'; perhaps age (allowed: <columns>)",
    ),
    "rule cannot be read": (
        "if age < 18 then",
        "when age < 18 then",
        19,
        "synthesis.rules: it cannot be read; write it as in: if age < 18 then marital = "
        '"single", or: start <= end',
    ),
    "value of a rule never occurs": (
        "marital = 'single'\"]",
        "marital = 'alone'\"]",
        19,
        "synthesis.rules: the rule gives marital a value that never occurs in the data; "
        "use a value of the column, or missing",
    ),
    "derived from an unknown column": (
        "weight / (",
        "wait / (",
        21,
        "synthesis.derived.bmi: the formula needs wait, which is not synthesised; use "
        "columns of the output",
    ),
    "formula cannot be read": (
        "weight / (",
        "weight / ((",
        21,
        "synthesis.derived.bmi: it cannot be read; check the brackets",
    ),
    "cyclic derived columns": (
        'bmi = "weight / (height / 100) ** 2"',
        'bmi = "weight / 2"\nweight = "bmi * 2"',
        20,
        "synthesis.derived: weight and bmi are derived from each other; synthesise one of them",
    ),
    "unknown method": (
        'method = "sample"',
        'method = "cat"',
        23,
        "synthesis.columns.friends.method: there is no method 'cat'; perhaps cart "
        "(allowed: <methods>)",
    ),
    "settings of an unknown column": (
        "columns.friends",
        "columns.freinds",
        22,
        "synthesis.columns.freinds: the data have no column 'freinds'; perhaps friends "
        "(allowed: <columns>)",
    ),
    "dropped column unknown": (
        'drop = ["person"]',
        'drop = ["persons"]',
        18,
        "synthesis.drop: the data have no column 'persons'; perhaps person (allowed: <columns>)",
    ),
    "unknown protection": (
        '"remove_replicated_uniques"',
        '"remove_uniques"',
        26,
        "protect.name: there is no protection 'remove_uniques'; perhaps "
        "remove_replicated_uniques (allowed: <protections>)",
    ),
    "unknown argument": (
        'keys = ["sex", "age"]\n\n',
        'key = ["sex", "age"]\n\n',
        27,
        "protect.key: 'key' is no argument of remove_replicated_uniques; use keys, existing",
    ),
    "column of a protection": (
        'keys = ["sex", "age"]\n\n',
        'keys = ["sex", "agee"]\n\n',
        27,
        "protect.keys: the data have no column 'agee'; perhaps age (allowed: <released>)",
    ),
    "scenario without a name": (
        'name = "a colleague"\n',
        "",
        29,
        "scenario.name is missing; it must be a text that is not empty",
    ),
    "scenario names twice": (
        '"who knows all others"',
        '"a colleague"',
        36,
        "scenario.name: two scenarios are called 'a colleague'; give each a name of its own",
    ),
    "attacker unknown": (
        'attacker = "strong"',
        'attacker = "strongest"',
        37,
        "scenario.attacker: there is no attacker 'strongest'; perhaps strong (allowed: "
        "release, strong, simulated, ordinary)",
    ),
    "keys empty": (
        'keys = ["sex", "age", "region"]',
        "keys = []",
        31,
        "scenario.keys must be a list of column names that is not empty",
    ),
    "no keys": (
        'keys = ["sex", "age", "region"]\n',
        "",
        29,
        "scenario.keys: no key is named; say which columns an attacker may know",
    ),
    "key is no list": (
        'keys = ["sex", "age", "region"]',
        'keys = "sex"',
        31,
        "scenario.keys must be a list of column names that is not empty",
    ),
    "key not in the data": (
        '"age", "region"]',
        '"age", "regoin"]',
        31,
        "scenario.keys: the data have no column 'regoin'; perhaps region (allowed: <columns>)",
    ),
    "key not released": (
        '"age", "region"]',
        '"age", "person"]',
        31,
        "scenario.keys: person is not released; what is not in the release cannot be "
        "compared: name another column",
    ),
    "key twice named": (
        '"age", "region"]',
        '"age", "sex"]',
        31,
        "scenario.keys, column sex: a key is named twice",
    ),
    "target is a key": (
        'targets = ["marital", "income"]',
        'targets = ["marital", "age"]',
        32,
        "scenario.targets, column age: a key is also the target; what the attacker knows "
        "she need not learn: remove it from one of the two",
    ),
    "limit out of range": (
        "DiSCO = 5",
        "DiSCO = -5",
        33,
        "scenario.limits.DiSCO: no release can meet it: the measure lies between 0 and "
        "100; mend it",
    ),
    "limit of text": (
        "DiSCO = 5",
        'DiSCO = "low"',
        33,
        "scenario.limits.DiSCO must be a number, or a table with most, least, above",
    ),
    "limits contradict": (
        "DiSCO = 5",
        "DiSCO = { most = 5, least = 10 }",
        33,
        "scenario.limits.DiSCO: the limits contradict each other: the smallest value is "
        "above the largest; mend one of them",
    ),
    "limit on an unknown measure": (
        "DiSCO = 5",
        "disco = 5",
        33,
        "scenario.limits: there is no measure of risk 'disco'; perhaps DiSCO; see caveat measures",
    ),
    "measure of another attacker": (
        "DiSCO = 5",
        "strongWorst = 5",
        33,
        "scenario.limits: the attacker 'release' has no measure strongWorst; it belongs "
        "to attacker = 'strong'",
    ),
    "measure that needs more": (
        "DiSCO = 5",
        "GTCAP = 5",
        33,
        "scenario.limits: the attacker 'release' has no measure GTCAP here; add tolerance"
        " = { age = 2 }",
    ),
    "key of another attacker": (
        "records = 50",
        "tolerance = { age = 2 }",
        39,
        "scenario.tolerance: an attacker 'strong' has no such key; remove it, or choose "
        "attacker = 'release' or 'ordinary'",
    ),
    "records out of range": (
        "records = 50",
        'records = "most"',
        39,
        'scenario.records must be a whole number, 1 or more, or "all"',
    ),
    "attack without what it needs": (
        'second = ["region"]\n',
        "",
        46,
        "scenario.attacks: linkability needs two parties; add second = [...]",
    ),
    "unknown attack": (
        '"linkability", "inference"',
        '"linkage", "inference"',
        47,
        "scenario.attacks: there is no attack 'linkage'; use prediction, singling-out, "
        "inference, outliers, linkability, membership, distances",
    ),
    "no family of models": (
        "income ~ age",
        "tobit: income ~ age",
        50,
        "utility.models: there is no family 'tobit'; choose among linear, logistic, "
        "poisson, multinomial",
    ),
    "model cannot be read": (
        "age + sex",
        "age + + (sex",
        50,
        "utility.models: the model cannot be read; write it as 'income ~ age + sex', "
        "quote odd names as Q('name')",
    ),
    "model without a formula": (
        "income ~ age + sex",
        "income",
        50,
        "utility.models: a model is a formula; write 'income ~ age + sex'",
    ),
    "model of an unknown column": (
        "age + sex",
        "age + gender",
        50,
        "utility.models: there is no column 'gender'; choose among <released>",
    ),
    "utility of an unknown measure": (
        '"S_pMSE" = 10',
        '"S_pMES" = 10',
        51,
        "utility.limits: there is no measure of utility 'S_pMES'; perhaps S_pMSE; see "
        "caveat measures",
    ),
    "utility without a model": (
        'models = ["income ~ age + sex"]\n',
        "",
        50,
        'utility.limits: CI overlap needs models; add models = ["income ~ age + sex"]',
    ),
    "edit rule of an unknown column": (
        "marital == 'single'",
        "maritl == 'single'",
        54,
        "utility.rules.child.then: the expression names a column that is not there; "
        "choose among <released>",
    ),
    "edit rule without consequence": (
        "then = \"marital == 'single'\"\n",
        "",
        52,
        "utility.rules.child.then is missing; it must be a text that is not empty",
    ),
    "map of an unknown scenario": (
        'scenario = "a colleague"',
        'scenario = "colleague"',
        58,
        "map.scenario: the scenario 'colleague' is not there; perhaps a colleague "
        "(allowed: a colleague, who knows all others)",
    ),
    "map of an unknown setting": (
        "minbucket = [5, 50]",
        "minbukket = [5, 50]",
        57,
        "map.settings: there is no setting 'minbukket'; perhaps minbucket (allowed: "
        "<settings>, strata, weights, clearing, columns, protect)",
    ),
    "map of a bad value": (
        "minbucket = [5, 50]",
        "minbucket = [5, 0]",
        57,
        "map.settings.minbucket: item 2 must be a whole number, 1 or more",
    ),
    "map without values": (
        "minbucket = [5, 50]",
        "minbucket = []",
        57,
        "map.settings.minbucket must be a list of values that is not empty",
    ),
    "map of a risk that is none": (
        'risk = "DiSCO"',
        'risk = "S_pMSE"',
        59,
        "map.risk: there is no measure of risk 'S_pMSE'; see caveat measures",
    ),
    "map of another attacker": (
        'risk = "DiSCO"',
        'risk = "posterior"',
        59,
        "map.risk: there is no posterior of the attacker 'release'; use a measure of an "
        "audit, such as DiSCO",
    ),
    "unknown format": (
        '"csv", "sav"',
        '"csv", "docx"',
        62,
        "output.formats: there is no format 'docx'; use <formats>",
    ),
}
