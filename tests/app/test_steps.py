"""The steps before a run: each writes release.toml, and shows it."""

from __future__ import annotations

import json
import os
import re
import time
import tomllib

import pytest
from tests.app.client import client, csrf
from tests.app.files import homes

from caveat.app import jobs
from caveat.app.pages import Project, sha256
from caveat.release.opening import example, opened
from caveat.spec import document, forms


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    told = opened(folder, [example(folder, "survey")], lambda *_: None)
    return (folder / "release.toml").read_text(), told, folder / "survey.csv"


@pytest.fixture
def project(tmp_path, made, monkeypatch):
    """A project that was looked at; its jobs are remembered, and not started."""
    found = Project("survey", tmp_path / "survey")
    found.state.mkdir(parents=True)
    text, told, data = made
    found.spec.write_text(text)
    (found.path / "survey.csv").write_bytes(data.read_bytes())
    leave(found, told)
    done(found, "look")
    started = []

    def start(where, kind, **asked):
        started.append((kind, asked))
        done(where, kind, asked=asked)

    monkeypatch.setattr(jobs, "start", start)
    found.__dict__["started"] = started
    return found


def leave(project, told, kind="look"):
    """Leave what a job has found."""
    text = json.dumps({"format": jobs.FORMAT, "left": told})
    (project.state / f"{kind}-result.json").write_text(text)


def found_by(project, kind="look"):
    return json.loads((project.state / f"{kind}-result.json").read_text())["left"]


def done(project, kind, state="done", **more):
    now = time.time()
    said = {"format": jobs.FORMAT, "state": state, "since": now, "ended": now, "step": "", **more}
    (project.state / f"{kind}.json").write_text(json.dumps(said))


@pytest.fixture
def here(project):
    return client(project.path.parent)


def send(here, project, step, text=None, **fields):
    was = sha256(project.text() if text is None else text)
    data = {"csrf": csrf(here), "was": was, **fields}
    return here.post(project.url(step), data=data)


def content(project):
    return tomllib.loads(project.text())


def test_the_look_shows_findings_and_what_is_decided(here, project):
    text = here.get(project.url("look")).text
    assert "2,000 rows, 14 columns" in text
    assert "in force: replace it by invented values" in text
    assert "Accept: make it a rule" in text
    assert "energy worker" not in text


def test_a_finding_is_accepted_and_ignored(here, project):
    page = here.get(project.url("look")).text
    index = next(
        m[0] for m in re.findall(r'id="f(\d+)"(.*?)</form>', page, re.S) if "a rule" in m[1]
    )
    answer = send(here, project, "look/decide", finding=index, choice="0")
    assert answer.headers["location"] == f"/p/survey/look?said=saved#f{index}"
    assert content(project)["synthesis"]["rules"] == ["if age >= 67 then occupation = missing"]
    assert "in force: make it a rule" in here.get(project.url("look")).text
    send(here, project, "look/decide", finding=index, choice="ignore")
    assert "rules" not in content(project)["synthesis"]
    assert "set aside" in here.get(project.url("look")).text
    for wrong in ({"finding": "999", "choice": "0"}, {"finding": index, "choice": "9"}):
        assert send(here, project, "look/decide", **wrong).status_code == 400


def fields_of(page):
    """Return what a browser would send of the forms of a page, one after the other."""
    forms = []
    for form in re.findall(r"<form(.*?)</form>", page, re.S):
        fields = {}
        for tag in re.findall(r"<input[^>]*>", form):
            at = dict(re.findall(r'(\w+)="([^"]*)"', tag))
            if "name" in at and (at.get("type") != "checkbox" or " checked" in tag):
                fields.setdefault(at["name"], []).append(at.get("value", ""))
        for name, inside in re.findall(r'<select name="([^"]*)".*?>(.*?)</select>', form, re.S):
            chosen = re.search(r"<option([^>]*) selected>([^<]*)", inside) or re.search(
                r"<option([^>]*)>([^<]*)", inside
            )
            value = re.search(r'value="([^"]*)"', chosen[1])
            fields[name] = [value[1] if value else chosen[2]]
        for name, inside in re.findall(r'<textarea name="(\w+)"[^>]*>(.*?)</textarea>', form, re.S):
            fields[name] = [inside]
        forms.append(fields)
    return forms


def test_a_form_that_is_sent_as_it_is_changes_nothing(here, project):
    before = project.text()
    for step in ("plan", "attackers"):
        for fields in fields_of(here.get(project.url(step)).text):
            if fields.get("name") == [""]:
                continue  # another attacker
            answer = here.post(project.url(step), data=fields)
            assert answer.headers["location"].endswith("said=same")
    assert project.text() == before


def test_the_plan_is_written(here, project):
    (fields,) = fields_of(here.get(project.url("plan")).text)
    at = {name: i for i, name in enumerate(fields["column"])}
    fields |= {
        "title": ['A "new" title'], "access": ["public"], "copies": ["3"], "control": ["0,2"],
        "seed": ["7"], "guard": ["strong"], "rules": ["age >= 16\r\n\r\nif age < 18 then "
        'marital = "single"'], f"kind-{at['friends']}": ["category"],
        f"made-{at['region']}": ["left out"],
    }  # fmt: skip
    here.post(project.url("plan"), data=fields)
    now = content(project)
    assert now["release"] == {
        "title": 'A "new" title', "unit": "record", "purpose": "", "recipients": "",
        "access": "public", "copies": 3, "control": 0.2, "seed": 7,
    }  # fmt: skip
    assert now["synthesis"]["guard"] == "strong"
    assert now["synthesis"]["rules"] == ["age >= 16", 'if age < 18 then marital = "single"']
    assert now["synthesis"]["drop"] == ["region"]
    assert now["synthesis"]["replace"] == {"person": "id"}
    assert "region" not in now["synthesis"]["order"]
    assert now["columns"]["friends"]["kind"] == "category"
    assert "# seed = 1  # names one release" in project.text()  # comments stay


@pytest.mark.parametrize(
    ("name", "typed"), [("copies", "two"), ("control", "nan"), ("seed", "1.5")]
)
def test_what_is_no_number_is_a_sentence(here, project, name, typed):
    before = project.text()
    answer = send(here, project, "plan", **{name: typed})
    assert answer.status_code == 400
    assert f"{name}: a" in answer.text
    assert project.text() == before


def test_attackers_are_changed_added_and_removed(here, project):
    fields = {"name": "a neighbour", "attacker": "release", "keys": ["age", "sex"]}
    limits = {"measure": ["repU", "DiSCO"], "limit-repU": "5", "limit-DiSCO": "2.5 %"}
    send(here, project, "attackers", scenario="0", **fields, **limits)
    first = content(project)["scenario"][0]
    assert first["limits"] == {"repU": 5, "DiSCO": {"above": 2.5}}
    assert first["keys"] == ["age", "sex"]
    assert "repU at most 5 %" in here.get(project.url("attackers")).text
    send(here, project, "attackers", scenario="2", **fields)
    assert [s["name"] for s in content(project)["scenario"]][2:] == ["a neighbour"]
    send(here, project, "attackers", scenario="1", do="remove")
    assert [s["attacker"] for s in content(project)["scenario"]] == ["release", "release"]
    assert send(here, project, "attackers", scenario="7", **fields).status_code == 400
    assert send(here, project, "attackers", scenario="-1", **fields).status_code == 400


def test_all_mistakes_are_shown_with_their_lines(here, project):
    wrong = '[release]\ntitel = "x"\naccess = "all"\n\n[data]\npath = 3\n'
    here.post(project.url("spec"), data={
        "csrf": csrf(here), "was": sha256(project.text()), "text": wrong.replace("\n", "\r\n")
    })  # fmt: skip
    assert project.text() == wrong
    text = here.get(project.url("spec")).text
    for line in (2, 3, 6):
        assert f"release.toml, line {line}:" in text
    assert ("check", {}) not in project.started
    assert here.get(project.url("run")).text.count("disabled") == 1


def test_what_is_no_toml_is_kept_and_can_be_mended(here, project):
    data = {"csrf": csrf(here), "was": sha256(project.text()), "text": "[release\n</textarea><b>"}
    here.post(project.url("spec"), data=data)
    text = here.get(project.url("spec")).text
    assert "this is not valid TOML" in text
    assert "&lt;/textarea&gt;&lt;b&gt;" in text
    for step in ("look", "plan", "attackers", "run", "report"):
        assert here.get(project.url(step)).status_code == 200
    assert send(here, project, "plan", title="x").status_code == 400


def test_two_tabs_lose_nothing(here, project):
    before = project.text()
    send(here, project, "plan", title="from the first tab")
    first = project.text()
    answer = send(here, project, "plan", text=before, title="from the second tab")
    assert answer.status_code == 409
    assert project.text() == first
    assert "from the first tab" in answer.text
    assert "from the second tab" in answer.text
    was = re.search(r'name="was" value="(\w+)"', answer.text)[1]
    assert was == sha256(first)  # so that the second one can be chosen


def test_the_check_is_made_once_for_each_text(here, project):
    here.get(project.url("spec"))
    here.get(project.url("spec"))
    assert project.started == [("check", {"sha256": sha256(project.text())})]
    send(here, project, "plan", title="another")
    here.get(project.url("plan"))
    assert len(project.started) == 2


def test_what_the_check_says_is_shown(here, project):
    asked = {"sha256": sha256(project.text())}
    says = ["release.toml, line 3: there is no column <b>x</b>."]
    done(project, "check", "failed", mistakes=says, asked=asked)
    text = here.get(project.url("attackers")).text
    assert "there is no column &lt;b&gt;x&lt;/b&gt;." in text


def test_a_page_waits_for_a_job_and_is_loaded_again(here, project):
    answer = here.get(project.url("job/look"))
    assert answer.headers["hx-refresh"] == "true"
    done(project, "look", "starting")
    answer = here.get(project.url("job/look"))
    assert "hx-refresh" not in answer.headers
    assert "<progress" in answer.text
    assert "hx-trigger" in here.get(project.url("look")).text
    assert here.get(project.url("job/x")).status_code == 404


def test_html_in_labels_columns_and_messages_is_text(here, project):
    told = found_by(project)
    bad = '"><script>alert(1)</script>'
    table = told["tables"].pop("survey")
    table["columns"][0] |= {"name": bad, "called": bad, "label": bad}
    table["findings"][0] |= {"message": bad, "columns": [bad], "action": bad}
    told["tables"][bad] = table
    leave(project, told)
    for step in ("look", "plan", "attackers", "run"):
        text = here.get(project.url(step)).text
        assert "<script>" not in text
        assert "alert(1)" in text or step == "run"


@pytest.fixture(scope="module")
def linked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("linked")
    homes(folder, 120)
    told = opened(folder, ["households.csv", "persons.csv"], lambda *_: None)
    return (folder / "release.toml").read_text(), told


@pytest.fixture
def two(project, linked):
    """The same project, with two tables that belong together."""
    text, told = linked
    project.spec.write_text(text)
    leave(project, told)
    return project


def test_findings_of_several_tables_are_decided(two, here):
    text = here.get(two.url("look")).text
    assert "persons: household refers to household" in text
    told = found_by(two)["tables"]
    every = [f for table in told.values() for f in table["findings"]]
    about = [(f["table"], f["code"], f["columns"][0]) for f in every]
    place = about.index(("persons", "missing-code", "income"))
    assert f'id="f{place}"' in text
    answer = send(here, two, "look/decide", finding=str(place), choice="ignore")
    assert answer.headers["location"].endswith(f"said=saved#f{place}")
    assert "missing-code: persons.income" in two.text()
    send(here, two, "look/decide", finding=str(place), choice="0")
    persons = tomllib.loads(two.text())["tables"]["persons"]
    assert persons["columns"]["income"]["missing"] == [-8]


def test_columns_of_several_tables_are_planned_and_named(two, here):
    text = here.get(two.url("plan")).text
    assert text.count('name="column"') == 11  # no keys
    assert 'name="table-5" value="persons"' in text
    assert "keys are made afresh: household, person" in text
    fields = {"column": ["hhsize", "role"], "table-0": "households", "table-1": "persons"}
    fields |= {"kind-0": "ordered", "kind-1": "", "made-0": "drawn", "made-1": "left out"}
    send(here, two, "plan", **fields)
    content = tomllib.loads(two.text())
    assert content["tables"]["households"]["columns"]["hhsize"] == {"kind": "ordered"}
    assert content["synthesis"]["drop"] == ["weight", "role"]
    offered = re.findall(r'name="keys" value="([^"]*)"', here.get(two.url("attackers")).text)
    assert {"region", "age"} <= set(offered)
    assert not {"weight", "role", "household", "person"} & set(offered)  # no attacker sees them


def test_a_key_that_no_box_is_for_stays(two, here):
    keys = ["number of persons", "age"]
    two.spec.write_text(two.text().replace('["sex", "age", "region"]', json.dumps(keys)))
    text = here.get(two.url("attackers")).text
    assert 'value="number of persons" checked' in text
    send(here, two, "attackers", scenario="0", name="x", attacker="release", keys=keys)
    assert tomllib.loads(two.text())["scenario"][0]["keys"] == keys


def test_tables_that_nothing_binds_say_so(two, here):
    leave(two, found_by(two) | {"links": []})
    assert "Nothing was found that binds these tables" in here.get(two.url("look")).text


def test_how_a_file_is_read_is_said_before_there_is_a_specification(project, here):
    project.spec.unlink()
    done(project, "look", "failed", mistakes=["x.csv: no UTF-8."], asked={"files": ["x.csv"]})
    text = here.get(project.url("look")).text
    assert "x.csv: no UTF-8." in text
    assert "Read it so" in text
    send(here, project, "look/again", encoding="cp1252", delimiter="", decimal=",")
    form = {"encoding": "cp1252", "decimal": ","}
    assert project.started == [("look", {"files": ["x.csv"], "form": form})]
    assert 'value="cp1252"' in here.get(project.url("look")).text  # it was the wrong one, perhaps
    send(here, project, "look/again")
    assert project.started[-1] == ("look", {"files": ["x.csv"], "form": form})


def test_how_a_file_is_read_stands_in_the_specification_afterwards(project, here):
    send(here, project, "look/again", encoding="latin-1", delimiter="tab", decimal="")
    data = tomllib.loads(project.text())["data"]
    assert data == {"path": "survey.csv", "encoding": "latin-1", "delimiter": "\t"}
    assert project.started[-1][0] == "look"
    before = project.text()
    answer = send(
        here, project, "look/again", text="another", encoding="", delimiter="", decimal=""
    )
    assert answer.status_code == 409  # another tab was faster
    assert project.text() == before


def test_a_check_that_ends_replaces_its_answer_and_no_form(project, here):
    assert "It fits the data" in here.get(project.url("plan")).text
    done(project, "check", "starting", asked={"sha256": sha256(project.text())})
    assert 'hx-target="#against"' in here.get(project.url("plan")).text
    assert 'hx-get="/p/survey/job/check"' in here.get(project.url("job/check")).text
    again = here.get(project.url("job/check"), params={"page": "run"})
    assert 'hx-get="/p/survey/job/check?page=run"' in again.text
    assert "hx-refresh" not in again.headers
    done(project, "check", asked={"sha256": sha256(project.text())})
    answer = here.get(project.url("job/check"))
    assert "It fits the data" in answer.text
    assert "hx-refresh" not in answer.headers
    assert here.get(project.url("job/check?page=run")).headers["hx-refresh"] == "true"
    project.spec.write_text("[x]\n")
    assert "The specification has mistakes" in here.get(project.url("job/check")).text


ODD = ["release = 3", "synthesis = 3", "columns = 3", "groups = 3", "[tables]\nsurvey = 3",
       "[synthesis]\nrules = 5", "[synthesis]\ndrop = 5", "[synthesis]\norder = 5",
       "[synthesis]\nderived.age = {lookup = 5}", "scenario = 1", '[scenario]\nname = "x"',
       "[[scenario]]\nkeys = 3", "[[scenario]]\nlimits = 3", '[[scenario]]\nattacker = ["x"]',
       "data = 1", "[columns.income]\nmissing = 3", '[output]\nfolder = "a\\u0000b"',
       f"[release]\nseed = 0x{'f' * 6000}", f'[output]\nfolder = "{"x" * 300}"']  # fmt: skip


@pytest.mark.parametrize("text", ODD)
def test_entries_of_another_kind_are_mistakes_on_every_page(project, here, text):
    project.spec.write_text(text)
    for step in ("look", "plan", "attackers", "spec", "run", "map", "report", "record"):
        assert here.get(project.url(step)).status_code == 200, step
    assert "mistakes" in here.get(project.url("plan")).text
    place = next(i for i, f in enumerate(found_by(project)["tables"]["survey"]["findings"]))
    for step, fields in (("plan", {"column": ["age"], "kind-0": "category", "made-0": "left out"}),
                         ("attackers", {"scenario": "0", "name": "x", "keys": ["age"]}),
                         ("map/choose", {"ask": "yes"}),
                         ("look/decide", {"finding": str(place), "choice": "0"})):  # fmt: skip
        assert send(here, project, step, **fields).status_code in (303, 400), step


def test_a_specification_that_is_not_utf_8_is_not_written_over(project, here):
    raw = project.spec.read_bytes() + "# Größe\n".encode("cp1252")
    project.spec.write_bytes(raw)
    answer = send(here, project, "plan", title="x")
    assert answer.status_code == 400
    assert "it is not UTF-8" in answer.text
    assert project.spec.read_bytes() == raw


@pytest.mark.parametrize("name", [" age ", "first\nline"])
def test_names_with_blanks_and_line_breaks_stay(project, here, name):
    sent = name.replace("\n", "\r\n")  # as a browser does
    send(here, project, "attackers", scenario="0", name="x", attacker="release", keys=[sent])
    send(here, project, "plan", **{"column": sent, "kind-0": "category", "made-0": "drawn"})
    send(here, project, "plan", groups=sent)
    written = content(project)
    assert written["scenario"][0]["keys"] == [name]
    assert written["columns"][name] == {"kind": "category"}
    assert written["groups"]["key"] == name


def test_of_very_many_columns_only_those_that_change_are_edited(project, here, monkeypatch):
    text = "".join(f'[columns.c{i}]\nkind = "category"\n' for i in range(1500))
    project.spec.write_text(project.text() + text)
    fields = {"column": [f"c{i}" for i in range(1500)]}
    fields |= {f"kind-{i}": "category" for i in range(1500)}
    fields |= {f"made-{i}": "drawn" for i in range(1500)}
    fields["made-7"] = "left out"
    asked = []

    def edited(text, changes):
        asked.append(changes)
        return document.edited(text, changes)

    monkeypatch.setattr(forms, "edited", edited)
    assert send(here, project, "plan", **fields).headers["location"].endswith("said=saved")
    assert "c7" in content(project)["synthesis"]["drop"]
    assert sum(bool(changes) for changes in asked) == 1  # each reads the whole text


def test_nobody_is_asked_on_a_server_before_somebody_says_so(project, here):
    project.spec.write_text(
        '[data]\npath = "postgresql://example.org/x#t"\n[[scenario]]\nname="a"\n'
    )
    (project.state / "look.json").unlink()
    text = here.get(project.url("look")).text
    assert "The data are on a server: postgresql://example.org/x#t" in text
    for step in ("plan", "attackers", "spec", "run", "job/check"):
        assert "The data are on a server" in here.get(project.url(step)).text
    assert project.started == []
    send(here, project, "look/again")
    assert [kind for kind, _ in project.started] == ["look"]


@pytest.mark.parametrize("make", ["folder", "link", "large", "pipe"])
def test_what_is_no_file_of_this_project_is_a_sentence(project, here, make, tmp_path):
    outside = tmp_path / "outside.toml"
    outside.write_text("secret")
    project.spec.unlink()
    if make == "folder":
        project.spec.mkdir()
    elif make == "link":
        project.spec.symlink_to(outside)
    elif make == "large":
        project.spec.write_bytes(b"#" * 5_000_000)
    else:
        os.mkfifo(project.spec)
    for step in ("look", "plan", "spec", "run", "report", "map"):
        answer = here.get(project.url(step))
        assert answer.status_code in (400, 409), step
        assert "secret" not in answer.text
    assert send(here, project, "spec", text="", was="").status_code in (400, 409)
    assert outside.read_text() == "secret"
