"""The cases: what is run, on what, each by a name that says what a change in it means."""

from __future__ import annotations

from functools import partial

from tests.frozen import calls
from tests.frozen.data import homes, patients, people, places, visits, wide
from tests.frozen.harness import KEY, Case
from tests.frozen.specs import (
    BENCH,
    BLOCKS,
    CART,
    CLEARED,
    DRAFT,
    DRAFTED_NUMBERS,
    FORMATS,
    GROUPS,
    LINKED,
    METHODS,
    NUMBERS,
    ORDINARY,
    ORIGINAL,
    PRIVATE,
    PROTECT,
    PUBLISHED,
    RISK,
    ROBIN_HOOD,
    SAFEPUB,
    SHORT,
    SPEC,
    STRONG,
    TABLES,
    TUNE,
    UTILITY,
)

__all__ = ["CASES", "NEEDED"]

PEOPLE = {"people.csv": people}
RUN = "-q run release.toml --date 2026-01-01 --folder out"
SHARES = {"sex.csv": "sex,share\nf,0.6\nm,0.4\n"}
COPY = partial(people, seed=11)
TWO = PEOPLE | {"one.csv": COPY, "two.csv": partial(people, seed=12)}
CONTROL = {"control.csv": partial(people, n=80, seed=13)}
KEYS = "--keys sex,age,region"
EXPLAIN = f"{SPEC}{RISK}{STRONG}"
CHECKED = {
    "all.csv": "sex,count\nf,120\nm,110\n", "low.csv": "sex,count\nf,120\nm,4\n",
    "less.csv": "sex,count\nf,117\nm,90\n",
    "money.csv": "region,count,sum,mean,max\nn,30,900,30,800\ns,40,800,20,60\n",
    "rules.toml": "[rules]\nthreshold = 4\n",
}  # fmt: skip
POISSON = (
    (SPEC.replace("seed = 7", "rows = 150").partition("[columns")[0] + PRIVATE)
    .replace('margins = [["sex", "marital"]]\nepsilon = 1.0', "epsilon = 2.0\npoisson = 1.0")
    .replace("delta = 1e-8", "delta = 0.1")
)
IDS = """
[data]
path = "people.csv"
[synthesis]
replace = { person = "id" }
rare_below = 3
predictors = 3
special = { income = [-8] }
"""
CODES = """\
column,value,label,missing,low,high,step
sex,female,woman,,,,
sex,male,man,,,,
age,,,,0,110,1
income,,,,0,5000,10
income,-8,not asked,yes,,,
"""
MODELS = {
    "model.json": '{"n": 40, "coefficients": [{"term": "Intercept", "estimate": 1.5, "se": 0.2},'
    ' {"term": "sex[T.m]", "estimate": 0.5, "se": 0.1}]}',
    "survival.csv": "time,at_risk,events,survival\n1,90,12,0.8667\n2,70,3,0.8295\n3,50,20,0.4977\n",
    "cross.csv": "region;m;f;total\nn;30;12;42\ns;25;*;33\ntotal;55;20;75\n",
    "cross.toml": '[rules]\nthreshold = 5\n[[output]]\nfile = "cross.csv"\nform = "cross"\n'
    'across = "sex"\n',
}
STRONGEST = "attack strong people.csv one.csv --spec release.toml"
MOVE = "--x east --y north --move 50 150"
LEDGER = "--ledger ledger.jsonl --dataset people"


def _released(*parts: str, key: bool = False, **more: str) -> Case:
    """Return a run of the survey of persons."""
    files = PEOPLE | {"release.toml": "".join(parts)} | ({"release.key": KEY} if key else {}) | more
    return Case(files, (RUN,))


CASES = {
    "cart, with key, attackers and reports": _released(
        SPEC, CART, RISK, ORDINARY, UTILITY, key=True
    ),
    "cart, several copies": _released(
        SPEC.replace("seed = 7", "seed = 7\ncopies = 3\nrows = 150"),
        CART,
        "rules = [\"if age < 18 then marital = 'single'\"]\n",
        SHORT,
        'formats = ["csv", "parquet"]\nas_read = true\n',
    ),
    "guarded": _released(SPEC, STRONG, SHORT, key=True),
    "guarded, strength": _released(
        SPEC,
        '[synthesis]\nguard = "strong"\ndepth = 4\n',
        SHORT,
        '[map]\nsettings = { guard = ["light", "strong"] }\nseeds = 1\n',
    ),
    "households": Case(
        {"homes.csv": homes, "release.toml": GROUPS, "release.key": KEY},
        (RUN, "-q synth homes.csv --groups home --seed 2 -o homes-2.csv"),
    ),
    "linked tables": Case(
        {"patients.csv": patients, "visits.csv": visits, "release.toml": LINKED}, (RUN,)
    ),
    "private margins": Case(
        PEOPLE
        | {
            "release.toml": SPEC.replace("seed = 7", "rows = 150").partition("[columns")[0]
            + PRIVATE,
            "release.key": KEY,
        },
        (RUN,),
        noisy=True,
    ),
    "poisson mechanism": Case(
        PEOPLE | {"release.toml": POISSON, "release.key": KEY},
        (RUN,),
        noisy=True,
    ),
    "cleared margins": _released(SPEC, CLEARED, SHORT, key=True),
    "protections": _released(SPEC, CART, PROTECT, SHORT),
    "protections of numbers": Case(
        PEOPLE | {"release.toml": f"{SPEC}{CART}{NUMBERS}{SHORT}"}, (RUN,), processor=True
    ),
    "protections that read the original": _released(SPEC, CART, ORIGINAL, SHORT),
    "robin hood": _released(SPEC, CART, ROBIN_HOOD, SHORT),
    "synthesised elsewhere": Case(
        TWO | {"release.toml": SPEC.replace("control = 0.2\n", "") + SHORT},
        (f"{RUN} --only audit --synthetic one.csv --synthetic two.csv",),
    ),
    "attacked by simulation": _released(
        SPEC,
        CART.replace("8", "30"),
        SHORT,
        '[[scenario]]\nname = "with and without"\nattacker = "simulated"\nmost = 1\n'
        "simulations = 20\n",
    ),
    "report, diff": Case(
        PEOPLE | {"release.toml": f"{SPEC}{CART}{SHORT}", "release.key": KEY},
        (
            RUN,
            "-q report out --external --markdown -o external.md",
            "-q run release.toml --folder two --key release.key --quick --date 2026-01-01",
            "-q diff out two --out diff.md --json diff.json",
        ),
    ),
    "explain": Case(
        PEOPLE | {"release.toml": EXPLAIN},
        (
            f"{RUN} --quick",
            "-q explain release.toml --record 18 --release out --draws 2 --out page.md "
            "--json explained.json",
        ),
    ),
    "synth, methods": Case(
        PEOPLE | {"spec.toml": METHODS},
        ("-q synth spec.toml --seed 5 --copies 2 -o out.csv",),
        processor=True,
    ),
    "synth, blocks, strata and weights": Case(
        {"people.csv": partial(people, born=True), "spec.toml": BLOCKS},
        ("-q synth spec.toml --seed 5 --rows 300 -o out.csv",),
    ),
    "synth, models and dictionary": Case(
        {"people.csv": partial(people, ids=True), "a.key": KEY},
        (
            "-q synth people.csv --key a.key -o one.csv --model m.caveat --dictionary d.csv",
            "-q synth people.csv --key a.key -o two.csv --model n.caveat --dictionary d.xml",
            "model show m.caveat",
            "-q synth people.csv --seed 9 --work . -o parts/",
            "-q synth people.csv --seed 9 -o three.csv --dictionary d.html --escape-formulas",
        ),
    ),
    "synth, invented ids": Case(
        {"people.csv": partial(people, ids=True), "spec.toml": IDS},
        ("-q synth spec.toml --seed 5 -o out.csv",),
    ),
    "synth, many columns": Case({"wide.csv": wide}, ("-q synth wide.csv --seed 4 -o out.csv",)),
    "file formats": Case(
        PEOPLE | {"release.toml": FORMATS},
        (RUN, calls.formats),
    ),
    "synth, linked tables": Case(
        {"patients.csv": patients, "visits.csv": visits, "tables.toml": TABLES},
        (
            "-q synth tables.toml --seed 3 -o out/",
            "look patients.csv visits.csv --json look.json --out release.toml",
        ),
    ),
    "plans of tables in Python": Case(TWO, (calls.plans,)),
    "models in Python": Case(PEOPLE, (calls.models,)),
    "measures in Python": Case(TWO | CONTROL, (calls.measures,)),
    "data sets": Case({}, (calls.datasets,)),
    "audit": Case(
        TWO | CONTROL,
        (
            f"audit people.csv one.csv two.csv {KEYS} --target marital,income "
            "--control control.csv --json audit.json --records records.csv --groups age=10",
            f"audit people.csv one.csv {KEYS} --subsets 2 --target content --measure all "
            "--tolerance age=2 --exclude-level content=low --limit 20",
        ),
    ),
    "compare": Case(
        TWO | CONTROL,
        (
            "compare people.csv one.csv two.csv --control control.csv --json compare.json "
            '--model "height ~ age + sex" --model "logistic: sex ~ age"',
        ),
    ),
    "ordinary attacks": Case(
        TWO | CONTROL,
        (
            f"attack prediction people.csv one.csv {KEYS} --target content --control control.csv",
            "attack singling-out people.csv one.csv --n-attacks 80 --json singling.json",
            f"attack inference people.csv one.csv two.csv {KEYS} --target income --tolerance 50",
            "attack outliers people.csv one.csv --keys age,income,sex --target region "
            "--tolerance age=9",
            "attack linkability people.csv one.csv --keys age,sex --second region,marital",
            "attack membership people.csv one.csv --control control.csv --fraction 0.1",
            "attack distances people.csv one.csv --control control.csv --json distances.json",
        ),
    ),
    "strong attack": Case(
        PEOPLE | {"release.toml": f"{SPEC}{CART}", "a.key": KEY},
        (
            "-q synth people.csv --spec release.toml --key a.key --model m.caveat -o one.csv",
            f"{STRONGEST} --model m.caveat --record 3 --json one.json",
            f"{STRONGEST} --target marital --sample 40 --records lines.csv",
            f"{STRONGEST} --model m.caveat --membership --json members.json",
        ),
    ),
    "simulated attack": Case(
        TWO,
        (
            "-q attack simulated people.csv one.csv --generator margins --most 2 --simulations 20 "
            "--json found.json --records lines.csv",
            "-q attack simulated people.csv --generator copy --record 5 --simulations 20",
        ),
    ),
    "tune": Case(
        PEOPLE | {"release.toml": f"{SPEC}{CART}{RISK}{TUNE}"},
        ("-q tune release.toml --json tune.json --threads 1",),
    ),
    "benchmark": Case(
        PEOPLE | {"bench.toml": BENCH},
        ("-q benchmark bench.toml --folder out",),
        without=("screen of step 1", "out/benchmark.html"),
    ),
    "look": Case(
        {"people.csv": partial(people, ids=True), "homes.csv": homes},
        (
            "look people.csv --json look.json --out release.toml",
            "look homes.csv --all --out homes.toml",
        ),
    ),
    "look, code book": Case(
        PEOPLE | {"codes.csv": CODES},
        ("look people.csv --codebook codes.csv --json look.json --out release.toml",),
    ),
    "tables, suppressed": Case(
        PEOPLE | {"tables.toml": PUBLISHED.format("least = 5")},
        ("-q tables tables.toml --folder out",),
    ),
    "tables, magnitudes": Case(
        PEOPLE
        | {
            "tables.toml": PUBLISHED.format(
                'value = "income"\np_percent = 10\ndominance = [2, 0.9]'
            )
        },
        ("-q tables tables.toml --folder out",),
    ),
    "tables, rounded": Case(
        PEOPLE
        | {
            f"{way[:4]}.toml": PUBLISHED.format(f'method = "{way}"\nbase = 3\nseed = 4')
            for way in ("stochastic rounding", "controlled rounding", "cell keys")
        },
        tuple(f"-q tables {way}.toml --folder {way}" for way in ("stoc", "cont", "cell")),
    ),
    "safepub": Case(
        {"people.csv": partial(people, n=900), "safepub.toml": SAFEPUB},
        ("-q safepub people.csv --spec safepub.toml -o out.csv",),
        noisy=True,
    ),
    "places": Case(
        {"places.csv": places, "a.key": KEY},
        (
            f"places places.csv {MOVE} --key a.key --json a.json --out a.csv "
            "--target ill=yes --zone side",
            f"places places.csv {MOVE} --seed 1 --out b.csv --together home --radial area",
            "places places.csv b.csv --x east --y north --same sex --target ill=yes --cell 250",
        ),
    ),
    "check": Case(
        CHECKED,
        (
            "check all.csv low.csv money.csv --results out",
            "check low.csv --rules rules.toml",
            f"check all.csv {LEDGER} --publish",
            f"check less.csv {LEDGER}",
        ),
    ),
    "check, models and survival": Case(
        MODELS, ("check model.json survival.csv cross.csv --rules cross.toml",)
    ),
    "replication": Case(
        TWO,
        (
            "replication people.csv one.csv two.csv --by region --by marital --k 5 --json r.json",
            "replication people.csv one.csv two.csv --by age --rounded",
        ),
    ),
    "draft": Case(
        SHARES | {"draft.toml": DRAFT}, ("-q draft draft.toml --out draft.csv --json near.json",)
    ),
    "draft, numbers": Case(
        SHARES | {"draft.toml": DRAFTED_NUMBERS},
        ("-q draft draft.toml --out draft.csv --json near.json --seed 2",),
        processor=True,
    ),
    "study": Case({}, ("-q study explanations",)),
    "measures, schema": Case(
        {}, ("measures", "measures repU", "-q init --schema", "generator list", "study --list")
    ),
}
NEEDED = {"private margins": "opendp", "poisson mechanism": "opendp"}
"""Libraries that a case needs and that need not be installed."""
