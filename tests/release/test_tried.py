"""What would have to be written for the settings on a map."""

from __future__ import annotations

from tests.report.sample import small

from caveat.charts import on_page
from caveat.evidence import write
from caveat.evidence.file import EVIDENCE
from caveat.release.review import Tried, changes_tried, settings_in
from caveat.spec.spec import ReleaseSpec

MAP = """\
[map]
scenario = "a neighbour"
settings = { method = ["cart", "guarded"], minbucket = [5, 50], guard = ["light", "strong"] }

[output]
"""


def test_each_setting_says_what_it_needs_and_what_has_to_go(specification):
    path = specification(("[output]\n", MAP), ("minbucket = 20", "minbucket = 20\ncp = 0.001"))
    found = changes_tried(ReleaseSpec.from_toml(path))
    assert [dict(one).get(("synthesis", "minbucket")) for one in found] == [5, 50, None, None, 20]
    assert dict(found[0]) == {
        ("synthesis", "method"): "cart",
        ("synthesis", "minbucket"): 5,
        ("synthesis", "guard"): None,
    }
    assert dict(found[3]) == {
        ("synthesis", "method"): "guarded",
        ("synthesis", "minbucket"): None,
        ("synthesis", "guard"): "strong",
        ("synthesis", "cp"): None,
    }


def test_protections_are_written_step_by_step(specification):
    steps = '[[], [{ name = "round_numbers", base = { age = 5 } }]]'
    varied = MAP.replace('method = ["cart", "guarded"], ', "").replace(
        'minbucket = [5, 50], guard = ["light", "strong"]', f"minbucket = [20], protect = {steps}"
    )
    found = changes_tried(ReleaseSpec.from_toml(specification(("[output]\n", varied))))
    as_it_is, rounded = found
    assert dict(as_it_is) == {("synthesis", "minbucket"): 20}
    assert rounded[1:] == [
        (("protect",), None),
        (("protect", 0, "name"), "round_numbers"),
        (("protect", 0, "base"), {"age": 5}),
    ]


def test_a_release_without_a_map_has_nothing_to_choose(specification, tmp_path):
    assert changes_tried(ReleaseSpec.from_toml(specification())) == []
    assert settings_in(None) == (None, [])
    content = small()
    content["map"] = None
    (tmp_path / "inside").mkdir()
    write(tmp_path / EVIDENCE, content)
    assert settings_in(tmp_path) == (None, [])


def test_settings_have_the_places_of_their_points(tmp_path):
    content = small()
    content["map"]["points"][1]["risk_mean"] = None
    (tmp_path / "inside").mkdir()
    write(tmp_path / EVIDENCE, content)
    figure, settings = settings_in(tmp_path)
    assert settings == [
        Tried("minbucket 5", False, 0), Tried("minbucket 20", True, None),
        Tried("minbucket 50", False, 1), Tried("minbucket 100", False, 2),
    ]  # fmt: skip
    datasets = on_page(figure.charts[0][1])["datasets"].values()
    rows = [row for dataset in datasets for row in dataset]
    for one in settings:
        places = {row["place"] for row in rows if row.get("setting") == one.name}
        assert places == ({one.place} if one.place is not None else set())


def test_settings_of_one_name_stay_apart(specification):
    one = MAP.replace("[5, 50]", "[5]")
    spec = ReleaseSpec.from_toml(specification(("[output]\n", one)))
    found = changes_tried(spec)
    assert [dict(one)["synthesis", "minbucket"] for one in (found[0], found[-1])] == [5, 20]
