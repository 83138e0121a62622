"""The report of a run: in a frame with a policy of its own, and never from elsewhere."""

from __future__ import annotations

import json

import pytest
from tests.app.client import client, csrf

from caveat.app import jobs
from caveat.app.pages import Project, sha256


@pytest.fixture
def project(tmp_path, monkeypatch):
    found = Project("p", tmp_path / "p")
    for part in ("inside", "public"):
        (found.path / "release" / part).mkdir(parents=True)
    found.spec.write_text('[data]\npath = "x.csv"\n')
    monkeypatch.setattr(jobs, "start", lambda *_, **__: None)
    return found


def release(project, *versions):
    folder = project.path / "release"
    (folder / "inside/release.toml").write_bytes(project.spec.read_bytes())
    files = [{"name": "public/synthetic-1.csv", "confidential": False}]
    files += [{"name": "inside/evidence.json", "confidential": True}]
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "files": files}))
    for name in versions:
        part = "public" if "external" in name else "inside"
        (folder / part / name).write_text(f"<title>{name}</title><script>1</script>")


def test_without_a_release_the_page_says_so(project):
    here = client(project.path.parent)
    assert "There is no release yet" in here.get(project.url("report")).text
    assert here.get(project.url("report/page") + "?version=internal").status_code == 404


def test_the_report_is_in_a_sandbox_that_reaches_nothing(project):
    release(project, "report.html", "report-external.html")
    here = client(project.path.parent)
    text = here.get(project.url("report")).text
    assert '<iframe sandbox="allow-scripts" src="/p/p/report/page?version=internal"' in text
    assert "may leave" in text
    assert "Copy <code>public/</code> and nothing else" in text
    answer = here.get(project.url("report/page"), params={"version": "external"})
    assert answer.text.startswith("<title>report-external.html")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts; default-src 'none';")
    assert "frame-ancestors 'self'" in policy
    assert "connect-src" not in policy  # none, then
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("version", ["", "x", "../evidence", "evidence.json", "report.html"])
def test_only_reports_are_given_out(project, version):
    release(project, "report.html", "evidence.json")
    here = client(project.path.parent)
    answer = here.get(project.url("report/page"), params={"version": version})
    assert answer.status_code == 404


def test_a_report_that_is_a_link_elsewhere_is_not_given_out(project):
    release(project)
    secret = project.path.parent / "secret.html"
    secret.write_text("secret")
    (project.path / "release" / "inside/report.html").symlink_to(secret)
    answer = client(project.path.parent).get(project.url("report/page") + "?version=internal")
    assert answer.status_code == 400
    assert "symbolic link" in answer.text


def test_a_release_of_another_specification_says_so(project):
    release(project, "report.html")
    here = client(project.path.parent)
    assert "has changed since" not in here.get(project.url("report")).text
    project.spec.write_text('[data]\npath = "y.csv"\n')
    assert "has changed since this release was made" in here.get(project.url("report")).text


def test_a_run_of_another_text_or_with_mistakes_is_not_started(project):
    here = client(project.path.parent)
    fields = {"csrf": csrf(here), "was": sha256("another")}
    assert here.post(project.url("run"), data=fields).status_code == 409
    project.spec.write_text("[x]\n")
    fields["was"] = sha256("[x]\n")
    assert here.post(project.url("run"), data=fields).status_code == 400


@pytest.mark.parametrize("folder", ["../other", "../../x", "/tmp/x"])
def test_a_run_writes_into_its_project_only(project, folder):
    project.spec.write_text(f'[data]\npath = "x.csv"\n[[scenario]]\nname = "a"\nkeys = ["b"]\n'
                            f'[output]\nfolder = "{folder}"\n')  # fmt: skip
    here = client(project.path.parent)
    answer = here.post(project.url("run"), data={"csrf": csrf(here), "was": sha256(project.text())})
    assert (answer.status_code, "leads out of the project" in answer.text) == (400, True)


def test_a_manifest_that_is_damaged_lists_nothing(project):
    release(project, "report.html")
    (project.path / "release" / "manifest.json").write_text("{")
    assert "<iframe" in client(project.path.parent).get(project.url("report")).text
