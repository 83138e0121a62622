"""Fields of forms as entries of a specification."""

from __future__ import annotations

import tomllib

import pytest
from tests.refusals import refused

from caveat.spec.forms import Form, attacked, mapped, planned, read_as, read_so

TEXT = """\
[release]
title = "A"  # on the report
seed = 3

[synthesis]
method = "guarded"
guard = "strong"

[groups]
key = "home"
order = "-age"

[[scenario]]
name = "one"
keys = ["sex", "age"]
limits = { repU = 5, DiSCO = { least = 1, most = 2 } }
"""


def filled(**fields):
    return Form(
        {name: value if isinstance(value, list) else [value] for name, value in fields.items()}
    )


def test_only_fields_that_are_there_count():
    assert planned(TEXT, filled()) == TEXT
    assert planned(TEXT, filled(title=" A ")) == TEXT


def test_an_empty_field_takes_an_entry_away():
    new = tomllib.loads(planned(TEXT, filled(seed="", method="cart", guard="strong", groups="")))
    assert new["release"] == {"title": "A"}
    assert new["synthesis"] == {"method": "cart"}  # a guard is of guarded trees only
    assert "groups" not in new


def test_another_key_of_groups_keeps_the_rest():
    new = tomllib.loads(planned(TEXT, filled(groups="flat")))
    assert new["groups"] == {"key": "flat", "order": "-age"}


@pytest.mark.parametrize(
    ("typed", "number"), [("0.2", 0.2), ("0,25", 0.25), ("200", 200), ("", None)]
)
def test_a_control_is_a_share_or_a_number(typed, number):
    new = tomllib.loads(planned(TEXT, filled(control=typed)))
    assert new["release"].get("control") == number
    assert type(new["release"].get("control")) is type(number)


@pytest.mark.parametrize("typed", ["x", "inf", "nan", "1e999"])
def test_what_is_no_number_is_refused(typed):
    with refused("app.value.type", where="control"):
        planned(TEXT, filled(control=typed))


def test_keys_stay_in_the_order_in_which_they_are_written():
    same = filled(scenario="0", name="one", attacker="release", keys=["age", "sex"])
    assert tomllib.loads(attacked(TEXT, same))["scenario"][0]["keys"] == ["sex", "age"]


def test_limits_that_a_form_cannot_say_stay():
    fields = {"limit-repU": "", "limit-DiSCO": "", "measure": ["repU", "DiSCO"]}
    new = attacked(TEXT, filled(scenario="0", name="one", attacker="release", **fields))
    assert tomllib.loads(new)["scenario"][0]["limits"] == {"DiSCO": {"least": 1, "most": 2}}


def test_columns_of_several_tables_are_said_of_theirs():
    text = '[tables.a]\nfile = "a.csv"\n\n[tables.b]\nfile = "b.csv"\n\n[synthesis]\n'
    rows = {"column": ["x", "x"], "table-0": "a", "table-1": "b"}
    form = {"kind-0": "category", "kind-1": "", "made-0": "left out", "made-1": "drawn"}
    new = tomllib.loads(planned(text, filled(**rows, **form)))
    assert new["tables"]["a"]["columns"] == {"x": {"kind": "category"}}
    assert "columns" not in new["tables"]["b"]
    assert new["synthesis"]["drop"] == ["x"]  # it is changed in one of them, and so in both
    again = planned(planned(text, filled(**rows, **form)), filled(**rows, **form))
    assert "drop" not in tomllib.loads(again)["synthesis"]  # and so it is taken back


def test_how_text_files_are_read():
    form = filled(encoding=" cp1252 ", delimiter="tab", decimal="")
    assert read_as(form) == {"encoding": "cp1252", "delimiter": "\t"}
    text = read_so('[data]\npath = "x.csv"\ndecimal = ","\n', form)
    assert tomllib.loads(text)["data"] == {
        "path": "x.csv", "encoding": "cp1252", "delimiter": "\t"
    }  # fmt: skip


def test_a_map_is_asked_for():
    new = tomllib.loads(mapped(TEXT))["map"]
    assert new == {
        "scenario": "one",
        "settings": {"method": ["cart", "guarded"], "guard": ["light", "standard", "strong"]},
    }
    text = TEXT + '\n[[scenario]]\nname = "all"\nattacker = "strong"\n'
    new = tomllib.loads(mapped(text))["map"]
    assert (new["scenario"], new["risk"]) == ("all", "membershipShare")
    assert mapped(mapped(text)) == mapped(text)
    with refused("spec.entry.absent"):
        mapped("[release]\n")


def test_another_attacker_has_other_measures():
    form = {"scenario": "0", "name": "one", "keys": ["sex", "age"], "measure": ["repU", "DiSCO"]}
    new = tomllib.loads(attacked(TEXT, filled(**form, attacker="release", **{"limit-repU": "7"})))
    assert new["scenario"][0]["limits"]["repU"] == 7
    new = tomllib.loads(attacked(TEXT, filled(**form, attacker="strong", **{"limit-repU": "7"})))
    assert "repU" not in new["scenario"][0]["limits"]
