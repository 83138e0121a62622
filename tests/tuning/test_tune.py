"""The search: what it finds, that it can be interrupted, and what it says when nothing fits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.refusals import refused
from typer.testing import CliRunner

from caveat.attack import membership, posterior
from caveat.charts import save
from caveat.cli import app
from caveat.cluster import running_on, threads
from caveat.datasets import buyer_beware, survey
from caveat.errors import CaveatError
from caveat.spec.document import Document
from caveat.spec.spec import TuneSpec, read_tune
from caveat.table import Table, write
from caveat.tuning import Question, Setting, bench, risk_utility_map, settings_of, tune
from caveat.tuning.bench import Point, Workbench
from caveat.tuning.tune import RiskUtilityMap

UNIQUE = 999
PLAIN = {"method": "cart"}


def spec(**changes) -> dict:
    return {
        "synthesis": PLAIN,
        "tune": {
            "seed": 1,
            "seeds": 2,
            "fresh": 3,
            "limits": {"posterior": 0.2},
            "objective": "S_pMSE two-way",
            "settings": {"minbucket": [5, 50, 75, 100], "cp": [1e-8, 0.05]},
            "attacker": {"records": [UNIQUE], "prior": "uniform"},
            **changes,
        },
    }


@pytest.fixture(scope="module")
def found():
    return tune(buyer_beware(), spec(objective="S_pMSE three-way"))


def test_buyer_beware_finds_the_remedies_of_the_papers(found):
    # The papers use minbucket 75 or cp 0.05; trees with smaller leaves show the record.
    options = found.chosen.setting.options
    assert options["minbucket"] >= 75 or options["cp"] >= 0.05
    assert max(found.chosen.each("posterior")) <= 0.2
    assert len(found.chosen.values) == 3
    by_key = {point.setting.key: point for point in found.points}
    for setting in settings_of(PLAIN, {"minbucket": [5, 50], "cp": [1e-8]}):
        assert by_key[setting.key].worst("posterior") > 0.99


def test_it_shows_what_the_limits_cost(found):
    assert found.free.setting.options["minbucket"] < 75
    assert found.free.mean("S_pMSE three-way") < found.chosen.mean("S_pMSE three-way")
    assert found.binding() == []


def test_fresh_seeds_took_no_part_in_the_search(found):
    tried = {p.setting.key: p for p in found.points}[found.chosen.setting.key]
    assert not set(found.chosen.each("posterior")) & set(tried.each("posterior"))


def test_which_limit_binds_and_the_closest_point():
    found = tune(
        buyer_beware(),
        spec(limits={"posterior": 0.01, "DiSCO": 50}, keys=["var1", "var2"], targets=["var4"]),
    )
    assert found.chosen is None
    assert len(found.binding()) == 1
    assert found.binding()[0].startswith("posterior ≤ 0.01 binds: no setting meets it")
    assert found.closest.worst("posterior") < 0.12


class InterruptedSearchError(Exception):
    pass


def test_an_interrupted_search_goes_on_where_it_stopped(tmp_path, monkeypatch):
    state = tmp_path / "state.json"
    small = spec(settings={"minbucket": [75, 100, 150, 200]})

    def stop(step: str, share: float) -> None:
        if share == 2 / 4:
            raise InterruptedSearchError

    with pytest.raises(InterruptedSearchError):
        tune(buyer_beware(), small, state=state, threads=1, progress=stop)
    finished = set(json.loads(state.read_text())["known"])
    assert len(finished) >= 2
    measured: list[tuple[str, int]] = []
    plain = Workbench.measure

    def count(self, setting, seeds):
        measured.extend((setting.key, seed) for seed in seeds)
        return plain(self, setting, seeds)

    monkeypatch.setattr(Workbench, "measure", count)
    resumed = tune(buyer_beware(), small, state=state, threads=1)
    n_resumed = len(measured)
    measured.clear()
    whole = tune(buyer_beware(), small, threads=2)
    assert resumed.to_dict() == whole.to_dict()
    assert n_resumed == len(measured) - 2 * len(finished)  # two seeds each were there already


def test_settings_are_measured_the_same_on_workers(tmp_path):
    small = spec(seeds=1, fresh=1, settings={"minbucket": [5, 50, 75, 100]})
    alone = tune(buyer_beware(), small, threads=1)
    with threads(2, tmp_path) as workers, running_on(workers):
        shared = tune(buyer_beware(), small)
    assert shared.to_dict() == alone.to_dict()
    assert list(tmp_path.iterdir()) == []
    assert bench._BENCH.kept == {}


def test_a_state_of_other_data_is_refused(tmp_path):
    state = tmp_path / "state.json"
    small = spec(settings={"minbucket": [75, 100]}, seeds=1, fresh=1)
    tune(buyer_beware(), small, state=state)
    with refused("tune.file.mismatch"):
        tune(buyer_beware(1), small, state=state)
    whole = json.loads(state.read_text())
    setting, entry = next(iter(whole["known"].items()))
    seed = next(key for key in entry if key != "steps")
    for known in ([], {setting: 7}, {setting: {seed: {}}}, {setting: {**entry, seed: None}}):
        state.write_text(json.dumps({**whole, "known": known}))
        with refused("tune.file.malformed"):
            tune(buyer_beware(), small, state=state)
    for text in ("{", "[" * 100_000):
        state.write_text(text)
        with refused("tune.file.malformed"):
            tune(buyer_beware(), small, state=state)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"objective": "DiSCO"}, "spec.value.unknown"),
        ({"settings": {"minbucket": 5}}, "spec.entry.type"),
        ({"limits": {"DiSCO": 5}}, "tune.key.absent"),
        ({"keys": ["var9"], "limits": {"DiSCO": 5}}, "data.column.unknown"),
        ({"settings": {"protect": [[{"name": "hide"}]]}}, "spec.value.unknown"),
        (
            {"settings": {"protect": [[{"name": "label", "colour": 1}]]}},
            "protection.entry.unknown",
        ),
        ({"settings": {"guard": ["light"]}}, "synthesis.setting.unused"),
        ({"settings": {"method": ["guarded"], "cp": [0.1]}}, "synthesis.setting.unused"),
        ({"goal": 1}, "spec.entry.unknown"),
        (
            {"attacker": {"simulations": 1}},
            "spec.entry.range",
        ),
        ({"seeds": 0}, "spec.entry.range"),
    ],
)
def test_bad_specifications(changes, message):
    with refused(message):
        tune(buyer_beware(), spec(**changes))


def measured(setting: Setting, **changes) -> Point:
    question = Question(("posterior", "gain"), records=(UNIQUE,), prior="uniform", **changes)
    return Workbench(buyer_beware(), question).measure(setting, [5])


def test_protections_that_look_at_the_release_alone_have_the_posterior_before_them():
    plain = measured(Setting(PLAIN))
    rounded = measured(Setting(PLAIN, protect=({"name": "round_numbers", "base": {"var1": 1}},)))
    assert rounded.each("posterior") == plain.each("posterior")
    assert "before its protections" in rounded.how["posterior"]
    assert plain.how == {}
    assert measured(Setting(PLAIN, protect=({"name": "label"},))).how == {}


def test_a_filtered_release_is_attacked_exactly():
    step = {"name": "distance_filter", "metric": "euclidean"}
    found = measured(Setting(PLAIN, protect=(step,)))
    assert found.how["posterior"].startswith("exact, for an attacker who knows the filter")
    # In the truth 1111 never passes; elsewhere it is never drawn: the release hardly differs.
    assert found.worst("posterior") < 0.1
    assert found.worst("gain") == pytest.approx(16 * found.worst("posterior"))


def test_removal_of_uniques_is_simulated_and_says_so():
    step = {"name": "remove_replicated_uniques", "keys": ["var1", "var2", "var3", "var4"]}
    question = {"unknown": ("var4",), "simulations": 40}
    found = measured(Setting({**PLAIN, "minbucket": 5}, (step,)), **question)
    assert found.how["posterior"].startswith("simulated: 40 releases in each world")
    (error,) = (errors["posterior"] for errors in found.errors)
    assert 0 < error < 0.5
    assert found.cautious("posterior")[0] == found.each("posterior")[0] + 2 * error
    again = measured(Setting({**PLAIN, "minbucket": 5}, (step,)), **question)
    assert again.values == found.values


@pytest.mark.parametrize("options", [{"proper": True}, {"method": "forest", "trees": 3}])
def test_drawn_parameters_are_averaged_over(options):
    question = {"unknown": ("var4",), "simulations": 30}
    found = measured(Setting({**PLAIN, "minbucket": 100, **options}), **question)
    assert "averaged over 30 draws" in found.how["posterior"]
    assert found.worst("posterior") < 0.9
    assert found.errors[0]["posterior"] > 0


def test_a_simulation_that_would_take_too_long_is_refused_with_the_reason():
    found = tune(
        buyer_beware(),
        spec(settings={"proper": [True]}, attacker={"records": [UNIQUE], "simulations": 1000},
             seeds=1, fresh=1),
    )  # fmt: skip
    assert found.chosen is None
    assert "it has no value: nothing is exact here, and a simulation" in found.binding()[0]
    assert "16 worlds with 1,000 fits" in found.binding()[0]


def collinear(**changes) -> tuple[Table, dict]:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 120)).round(2)
    given = spec(keys=["a"], targets=["b"], limits={"DiSCO": 90}, seeds=1, fresh=1, **changes)
    return Table.from_frame({"a": a, "b": b, "c": a + b}), given


def test_a_protection_that_cannot_be_carried_out_leaves_the_others():
    steps = [[{"name": "distance_filter"}], []]
    table, given = collinear(settings={"minbucket": [5], "protect": steps})
    given["tune"]["objective"] = "S_pMSE logit"
    found = tune(table, given)
    assert found.chosen.setting.protect == ()
    broken = found.points[0]
    assert broken.worst("DiSCO") is None
    assert "columns a, b, c: they determine each other" in broken.reasons["DiSCO"]
    del given["tune"]["settings"]["protect"][1]
    with refused("tune.setting.failed"):
        tune(table, given)


def test_a_map_of_settings_and_protections(tmp_path):
    table = survey(rows=300).drop(["person", "interviewed"])
    keys = ("sex", "age", "region")
    steps = [[], [{"name": "remove_replicated_uniques", "keys": list(keys)}],
             [{"name": "distance_filter", "metric": "gower"}, {"name": "label"}]]  # fmt: skip
    settings = settings_of(PLAIN, {"minbucket": [5, 40], "protect": steps})
    question = Question(("repU", "S_pMSE logit"), keys=keys, targets=("marital",))
    found = risk_utility_map(table, settings, question, seeds=2, seed=3, threads=2)
    again = risk_utility_map(table, settings, question, seeds=2, seed=3, threads=1)
    assert [p.values for p in found.points] == [p.values for p in again.points]
    assert len(found.to_frame()["setting"]) == 6
    removed = {str(p.setting): p for p in found.points}
    assert removed["minbucket 5, remove replicated uniques"].worst("repU") == 0
    assert removed["minbucket 5"].worst("repU") > 0
    filtered = removed["minbucket 5, distance filter, label"].steps
    assert [step.name for step in filtered] == ["distance_filter", "label"]
    assert filtered[0].counts["left"] == 300
    save(found.plot("repU", "S_pMSE logit", limit=0.05), tmp_path / "map.svg")
    assert "not beaten" in (tmp_path / "map.svg").read_text()


def test_trees_without_pruning_are_a_setting():
    table = survey(rows=300).select(["sex", "age", "education", "marital"])
    settings = settings_of(PLAIN, {"minbucket": [5, 20], "prune": [True, False]})
    question = Question(("S_pMSE two-way",))
    found = risk_utility_map(table, settings, question, seeds=1, seed=3, threads=1)
    values = {str(p.setting): p.values[0]["S_pMSE two-way"] for p in found.points}
    assert list(values) == [
        "minbucket 5, prune True", "minbucket 5, prune False", "minbucket 20, prune True",
        "minbucket 20, prune False",
    ]  # fmt: skip
    pruned = settings_of(PLAIN, {"minbucket": [5, 20]})
    plain = risk_utility_map(table, pruned, question, seeds=1, seed=3, threads=1)
    assert [p.values[0]["S_pMSE two-way"] for p in plain.points] == [
        values["minbucket 5, prune True"], values["minbucket 20, prune True"],
    ]  # fmt: skip
    assert values["minbucket 20, prune False"] < values["minbucket 20, prune True"]


GRID = {
    "method": ["cart", "guarded"],
    "minbucket": [5, 50],
    "prune": [True, False],
    "cp": [1e-8, 0.05],
    "guard": ["light", "strong"],
}


def test_what_a_method_does_not_use_makes_no_settings():
    settings = settings_of({"smoothing": "kernel"}, GRID)
    assert [str(setting) for setting in settings] == [
        "cart, minbucket 5, prune True, cp 1e-08",
        "cart, minbucket 5, prune True, cp 0.05",
        "cart, minbucket 5, prune False",
        "cart, minbucket 50, prune True, cp 1e-08",
        "cart, minbucket 50, prune True, cp 0.05",
        "cart, minbucket 50, prune False",
        "guarded, guard light",
        "guarded, guard strong",
    ]
    assert settings[2].options == {
        "smoothing": "kernel", "method": "cart", "minbucket": 5, "prune": False,
    }  # fmt: skip
    assert len({setting.key for setting in settings}) == 8
    assert settings[-1].options == {"method": "guarded", "guard": "strong"}
    with refused("synthesis.setting.unused", where="synthesis"):
        settings_of({}, {"minbucket": [5, 50]})
    # A column of its own method needs the settings of that method.
    alone = settings_of({"columns": {"x": {"method": "cart"}}}, GRID)
    assert len(alone) == 6 + 2 * 6
    pruned = {"method": "cart", "columns": {"x": {"prune": True}}}
    assert len(settings_of(pruned, {"cp": [1e-8, 0.05], "prune": [False]})) == 2


MADE_UP = {  # posterior, membershipShare, S_pMSE two-way
    "cart, minbucket 5": (1.0, 0.99, 1.0),
    "cart, minbucket 50": (0.4, 0.6, 1.2),
    "guarded, guard light": (0.8, 0.009, 1.3),
    "guarded, guard standard": (0.45, 0.009, 1.4),
    "guarded, guard strong": (0.3, 0.001, 1.9),
}


@pytest.mark.parametrize(
    ("limits", "chosen"),
    [
        ({"posterior": 0.5, "membershipShare": 1}, "guarded, guard standard"),
        ({"posterior": 0.5}, "cart, minbucket 50"),
        ({"membershipShare": 1}, "guarded, guard light"),
        ({"posterior": 0.4, "membershipShare": 1}, "guarded, guard strong"),
        ({"posterior": 0.2, "membershipShare": 1}, None),
    ],
)
def test_the_dial_is_turned_to_the_limits(monkeypatch, limits, chosen):
    def made_up(_, setting, seeds):
        posterior, share, utility = MADE_UP[str(setting)]
        values = {"posterior": posterior, "membershipShare": share, "S_pMSE two-way": utility}
        return Point(setting, (values,) * len(seeds), errors=({},) * len(seeds))

    monkeypatch.setattr(Workbench, "measure", made_up)
    grid = {"method": ["cart", "guarded"], "minbucket": [5, 50],
            "guard": ["light", "standard", "strong"]}  # fmt: skip
    found = tune(buyer_beware(), spec(limits=limits, settings=grid))
    assert (found.chosen and str(found.chosen.setting)) == chosen
    assert [str(point.setting) for point in found.points] == list(MADE_UP)


def small() -> Table:
    return survey(rows=150).select(["sex", "age", "education", "marital"])


@pytest.mark.parametrize("options", [{"smallest": 20}, {**PLAIN, "minbucket": 20}])
def test_all_records_at_once_are_the_attacks_on_each(options):
    names = ("posterior", "gain", "strongWorst", "strongShare", "strongGain", "membershipShare")
    table, setting = small(), Setting(options)
    question = Question(names, records="all", unknown=("marital",))
    (found,) = Workbench(table, question).measure(setting, [5]).values
    fitted = setting.fit(table, 5)
    plan, release = fitted.model.plan, fitted.model.tables(threads=1)[0]
    each = [posterior(table, release, i, generator=plan, unknown=["marital"]) for i in range(150)]
    chances = np.array([one.probability for one in each])
    before = np.array([one.prior[one.truth] for one in each])
    assert found["posterior"] == pytest.approx(chances.max())
    assert found["gain"] == pytest.approx((chances / before).max())
    rose = (chances >= before + 0.1) | (chances >= 2 * before)
    assert found["strongWorst"] == pytest.approx(chances[rose].max())
    assert found["strongShare"] == pytest.approx(((chances >= 0.9) & rose).mean())
    assert found["strongGain"] == pytest.approx((chances - before).mean())
    members = membership(table, release, generator=plan).posterior()
    assert found["membershipShare"] == pytest.approx((members >= 0.9).mean())


def test_guarded_trees_are_attacked_at_all_records_unless_positions_are_named():
    guarded, table = Setting({"method": "guarded", "smallest": 20}), small()

    def worst(records, setting=guarded):
        question = Question(("posterior",), records=records, unknown=("marital",))
        return Workbench(table, question).measure(setting, [5]).values[0]["posterior"]

    assert worst(1) == worst("all") > worst((1,))
    # Over several targets the worst counts, and each release has a structure of its own.
    names = ("strongWorst",)
    each = [
        Workbench(table, Question(names, targets=targets)).measure(guarded, [5, 6])
        for targets in (("sex",), ("marital",), ("sex", "marital"))
    ]
    one, other, both = (point.each("strongWorst") for point in each)
    assert both == [max(pair) for pair in zip(one, other, strict=True)]
    assert both[0] != both[1]


def test_what_has_no_likelihood_has_no_share():
    question = Question(("membershipShare",))
    found = Workbench(small(), question).measure(Setting({**PLAIN, "proper": True}), [5])
    assert found.values == ({"membershipShare": None},)
    reason = "no exact likelihood: the parameters of the models are drawn (column sex)."
    assert found.reasons["membershipShare"] == reason
    with refused("tune.target.absent", where="tune"):
        Workbench(small(), Question(("strongWorst",)))


def test_methods_are_curves_of_the_map():
    grid = {"method": ["cart", "guarded"], "minbucket": [5, 50], "prune": [True, False],
            "guard": ["light", "strong"]}  # fmt: skip
    points = tuple(
        Point(setting, ({"DiSCO": 9 - i, "pMSE": i},))
        for i, setting in enumerate(settings_of({}, grid))
    )
    question = Question(("DiSCO", "pMSE"), keys=("x",))
    curves = RiskUtilityMap(points, question).curves()
    # Trees with and without pruning are lines of their own: the dial is minbucket.
    assert [(curve["method"], curve["line"]) for curve in curves] == [
        ("cart", 0), ("cart", 1), ("cart", 0), ("cart", 1), ("guarded", 2), ("guarded", 2),
    ]  # fmt: skip
    assert RiskUtilityMap(points[:4], question).curves() == [{}] * 4
    text = json.dumps(RiskUtilityMap(points, question).plot("DiSCO", "pMSE").to_dict())
    for words in ("plain trees", "guarded trees", "in the order of its dial"):
        assert words in text


def test_pareto_by_hand():
    def point(name: str, risk: float, utility: float | None) -> Point:
        return Point(Setting({"order": name}), ({"DiSCO": risk, "pMSE": utility},))

    points = (point("a", 0.01, 0.9), point("b", 0.02, 0.5), point("c", 0.02, 0.6),
              point("d", 0.03, 0.5),
              point("e", 0.09, 0.1), point("f", 0, None))  # fmt: skip
    found = RiskUtilityMap(points, Question(("DiSCO", "pMSE"), keys=("x",)))
    assert found.pareto("DiSCO", "pMSE") == [True, True, False, False, True, False]
    (drawn,) = (data for data in found.plot("DiSCO", "pMSE").to_dict()["datasets"].values()
                if "setting" in data[0])  # fmt: skip
    # What has not both numbers is not in the picture, where shares are in per cent.
    assert [(row["setting"][-1], row["risk_worst"], row["sort"]) for row in drawn] == [
        ("c", 2, "beaten"), ("d", 3, "beaten"), ("a", 1, "not beaten"), ("b", 2, "not beaten"),
        ("e", 9, "not beaten"),
    ]  # fmt: skip


TOML = """
[data]
path = "bb.csv"
[synthesis]
method = "cart"

[tune]
seed = 1
seeds = 1
fresh = 2
limits = { posterior = LIMIT }
objective = "S_pMSE two-way"
[tune.settings]
minbucket = [5, 100]
[tune.attacker]
records = [999]
prior = "uniform"
"""


@pytest.mark.parametrize(("limit", "code"), [(0.2, 0), (0.001, 3)])
def test_on_the_command_line(tmp_path: Path, limit: float, code: int):
    write(buyer_beware(), tmp_path / "bb.csv")
    (tmp_path / "spec.toml").write_text(TOML.replace("LIMIT", str(limit)))
    out = tmp_path / "out.json"
    result = CliRunner().invoke(app, ["tune", str(tmp_path / "spec.toml"), "--json", str(out)])
    assert result.exit_code == code, result.output
    assert (tmp_path / "spec.tune.json").exists()
    content = json.loads(out.read_text())
    if code:
        assert "posterior ≤ 0.001 binds" in result.output
        assert content["chosen"] is None
    else:
        assert "chosen: minbucket 100" in result.output
        assert "the limits cost" in result.output
        assert content["chosen"]["options"] == {"method": "cart", "minbucket": 100}


RELEASE = """
[data]
path = "bb.csv"
[synthesis]
method = "cart"
[[scenario]]
name = "someone who knows a few facts"
keys = ["var1", "var2"]
targets = ["var4"]
limits = { DiSCO = 60 }
[[scenario]]
name = "someone who knows everybody else"
attacker = "strong"
[utility]
models = ["var4 ~ var1"]
limits = { "S_pMSE two-way" = 1000 }
[tune]
seeds = 1
fresh = 1
settings = { minbucket = [50, 100] }
"""


def test_the_specification_of_a_release_says_what_must_hold(tmp_path: Path):
    write(buyer_beware(), tmp_path / "bb.csv")
    path, out = tmp_path / "release.toml", tmp_path / "out.json"
    path.write_text(RELEASE)
    search = read_tune(Document.read(path))
    assert [str(limit) for limit in search.limits] == ["DiSCO ≤ 60", "S_pMSE two-way ≤ 1000"]
    assert (search.question.keys, search.question.targets) == (("var1", "var2"), ("var4",))
    assert (search.question.models, search.objective) == (("var4 ~ var1",), "S_pMSE two-way")
    result = CliRunner().invoke(app, ["tune", str(path), "--json", str(out)])
    assert result.exit_code == 0, result.output
    assert json.loads(out.read_text())["chosen"]["options"]["minbucket"] in (50, 100)


def test_of_guarded_trees_the_positions_are_compared():
    content = {"scenario": [{"keys": ["var1"], "limits": {"DiSCO": 5}}]}
    search = TuneSpec.from_mapping(content)
    assert [s.options["guard"] for s in search.settings] == ["light", "standard", "strong"]
    for wrong, message in (
        ({"scenario": content["scenario"] * 2}, "several scenarios"),
        ({"scenario": [{"keys": ["var1"]}]}, "no limit is named"),
        ({**content, "synthesis": PLAIN}, "no setting is named"),
    ):
        with pytest.raises(CaveatError, match=message):
            TuneSpec.from_mapping(wrong)
