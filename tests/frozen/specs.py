"""The specifications of the frozen cases, and the pieces that several of them are made of."""

from __future__ import annotations

__all__ = [
    "BENCH", "BLOCKS", "CART", "CLEARED", "DRAFT", "DRAFTED_NUMBERS", "FORMATS", "GROUPS",
    "LINKED", "METHODS", "NUMBERS", "ORDINARY", "ORIGINAL", "PRIVATE", "PROTECT", "PUBLISHED",
    "RISK", "ROBIN_HOOD", "SAFEPUB", "SHORT", "SPEC", "STRONG", "TABLES", "TUNE", "UTILITY",
]  # fmt: skip

SPEC = """\
[release]
title = "Living conditions"
unit = "person"
access = "registered"
control = 0.2
seed = 7
[data]
path = "people.csv"
[columns.income]
missing = { "-8" = "not asked" }
"""
RISK = """
[[scenario]]
name = "a neighbour"
keys = ["sex", "age", "region"]
targets = ["marital", "content"]
limits = { DiSCO = 90, repU = 90 }
"""
SHORT = f"""{RISK}
[utility]
measures = ["S_pMSE one-way", "total variation"]
[output]
folder = "out"
"""
CART = """
[synthesis]
method = "cart"
minbucket = 8
"""

ORDINARY = """
[[scenario]]
name = "ordinary means"
attacker = "ordinary"
keys = ["sex", "age", "region"]
targets = ["content"]
second = ["marital"]
attacks = ["prediction", "singling-out", "inference", "outliers", "linkability", "membership",
           "distances"]
n_attacks = 60
"""
STRONG = """
[[scenario]]
name = "everybody else"
attacker = "strong"
targets = ["marital"]
records = 25
"""
UTILITY = """
[utility]
measures = ["S_pMSE two-way", "total variation", "CI overlap", "rule violations"]
models = ["height ~ age + sex"]
rules = { minor = { if = "age < 18", then = "marital == 'single'" } }
limits = { "S_pMSE two-way" = 50 }
"""
GROUPS = """
[release]
unit = "person"
seed = 3
control = 0.2
[data]
path = "homes.csv"
[groups]
key = "home"
role = "role"
constant = ["region", "tenure"]
[synthesis]
drop = ["weight"]
[[scenario]]
name = "a neighbour"
keys = ["sex", "age"]
targets = ["tenure"]
measures = ["repU", "DiSCO"]
[[scenario]]
name = "whole homes"
unit = "group"
keys = ["sex", "role"]
targets = ["tenure"]
measures = ["repU", "DiSCO"]
[[scenario]]
name = "everybody else"
attacker = "strong"
targets = ["tenure"]
records = 5
[utility]
measures = ["S_pMSE one-way", "group sizes"]
[output]
reports = ["external"]
"""
TABLES = """
[tables.patients]
file = "patients.csv"
key = "patient"
[tables.visits]
file = "visits.csv"
key = "visit"
links = { patient = "patients" }
order = "date"
"""
LINKED = f"""
[release]
unit = "patient"
seed = 4
copies = 2
{TABLES}
[[scenario]]
name = "a neighbour"
keys = ["sex", "born"]
targets = ["smoker"]
measures = ["repU", "DiSCO"]
[[scenario]]
name = "a nurse"
keys = ["sex", "diagnosis"]
targets = ["pressure"]
measures = ["repU"]
[[scenario]]
name = "everybody else"
attacker = "strong"
targets = ["smoker"]
records = 5
[utility]
measures = ["S_pMSE one-way", "group sizes"]
[output]
folder = "out"
"""
CLEARED = """
[synthesis]
method = "margins"
drop = ["income", "height"]
margins = [["sex", "marital"], ["marital", "age"], ["region", "content"]]
clearing = { threshold = 5, dominance = [1, 0.95], multiple = 5 }
[synthesis.columns.age]
bins = [15, 25, 45, 65, 90]
"""
PRIVATE = """
[synthesis]
method = "margins"
margins = [["sex", "marital"]]
epsilon = 1.0
drop = ["age", "region", "income", "height", "content"]
[synthesis.columns]
sex = { levels = ["female", "male"] }
marital = { levels = ["married", "single", "widowed"] }
[columns]
sex.missing = [""]
marital.missing = [""]
[privacy]
dataset = "people"
limit = { epsilon = 2.0, delta = 1e-8 }
[[scenario]]
name = "a neighbour"
keys = ["sex"]
targets = ["marital"]
limits = { DiSCO = 99 }
[utility]
measures = ["total variation"]
[output]
reports = ["external"]
"""
PROTECT = """
[[protect]]
name = "code_extremes"
top = { age = 80 }
bottom = { age = 18 }
[[protect]]
name = "round_numbers"
base = { income = 50 }
[[protect]]
name = "group_rare_levels"
columns = ["region"]
fewest = 30
into = "rest"
[[protect]]
name = "pram"
columns = ["content"]
theta = 0.2
[[protect]]
name = "remove_replicated_uniques"
keys = ["sex", "age", "marital"]
[[protect]]
name = "label"
column = "made"
text = "synthetic"
"""
NUMBERS = """
[[protect]]
name = "microaggregate"
columns = ["height", "age"]
k = 4
[[protect]]
name = "spectral"
columns = ["age", "height"]
way = "O"
[[protect]]
name = "smooth"
columns = ["age"]
how = "kernel"
"""
ORIGINAL = """
[[protect]]
name = "add_noise"
population = { age = 2000 }
[[protect]]
name = "distance_filter"
metric = "gower"
columns = ["sex", "age", "region"]
[[protect]]
name = "donut"
x = "age"
y = "height"
r_min = 1
r_max = 3
"""
ROBIN_HOOD = """
[[protect]]
name = "code_extremes"
top = { age = 69 }
bottom = { age = 31 }
[[protect]]
name = "round_numbers"
base = { age = 20 }
[[protect]]
name = "robin_hood"
attribute = "region"
keys = ["sex"]
k_initial = 2
k_target = 24
"""
METHODS = """
[data]
path = "people.csv"
[columns.income]
missing = [-8]
[synthesis]
method = "cart"
order = ["sex", "region", "marital"]
proper = true
[synthesis.columns]
sex.method = "sample"
age.method = "cart"
age.smoothing = "density"
region.method = "multinomial"
marital.method = "nested"
marital.within = "region"
height.method = "normrank"
content.method = "ordinal"
income.method = "normal"
"""
BLOCKS = """
[data]
path = "people.csv"
[columns.content]
kind = "ordered"
levels = ["low", "middle", "high"]
[synthesis]
method = "forest"
trees = 4
drop = ["income"]
strata = "sex"
weights = "height"
rules = ["if age < 18 then marital = 'single'"]
derived = { born = "2024 - age" }
[synthesis.columns]
region.method = "saturated"
region.pseudo_count = 1
marital.method = "saturated"
content.method = "sample"
"""
TUNE = """
[tune]
keys = ["sex", "age"]
targets = ["content"]
limits = { repU = 60 }
objective = "S_pMSE one-way"
settings = { minbucket = [5, 40] }
seeds = 1
fresh = 1
"""
BENCH = f"""
[release]
seed = 1
control = 0.2
[data]
path = "people.csv"
[[generator]]
name = "copy"
[[generator]]
name = "uniform"
[[generator]]
name = "margins"
[[generator]]
name = "sample"
settings = {{ share = 0.5 }}
[[generator]]
name = "cart"
label = "no such leaf"
settings = {{ minbucket = 0 }}
[benchmark]
seeds = 1
{RISK.replace("limits = { DiSCO = 90, repU = 90 }", 'measures = ["repU", "DiSCO"]')}
[utility]
measures = ["S_pMSE two-way"]
"""
FORMATS = """
[release]
seed = 2
[data]
path = "people.csv"
[columns.income]
missing = { "-8" = "not asked" }
[columns.content]
kind = "ordered"
levels = ["low", "middle", "high"]
label = "how content"
[synthesis]
drop = ["height"]
[[scenario]]
name = "a neighbour"
keys = ["sex"]
targets = ["content"]
measures = ["repU"]
[utility]
measures = ["total variation"]
[output]
formats = ["csv", "tsv", "csv.gz", "parquet", "feather", "sav", "dta", "xlsx", "sqlite"]
escape_formulas = true
reports = []
"""
PUBLISHED = """
[data]
path = "people.csv"
[columns]
income.missing = [-8]
[publication]
{}
[hierarchies]
region = {{ north = "coast", west = "coast" }}
[[table]]
name = "Region and marital status"
by = ["region", "marital"]
[[table]]
name = "Content"
by = ["content", "sex"]
"""
SAFEPUB = """
[columns]
age.kind = "integer"
sex.kind = "category"
content.kind = "category"
[safepub]
epsilon = 2
delta = 1e-5
beta = 0.4
response = "content"
[safepub.levels.age]
widths = [10, 20]
[safepub.levels.sex]
"""
DRAFT = """
rows = 200
seed = 3
[columns.sex]
shares = "sex.csv"
[columns.region]
[columns.car]
[[table]]
by = ["region", "car"]
cells = [["north", "no", 30], ["north", "yes", 20], ["south", "no", 50], ["south", "yes", 90]]
"""
DRAFTED_NUMBERS = f"""{DRAFT}
[columns.age]
mean = 50
sd = 15
least = 18
most = 90
[[model]]
formula = "car ~ sex + age"
coefficients = {{ "sex[T.m]" = 0.5, age = 0.01 }}
"""
