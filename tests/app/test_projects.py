"""The first page: projects, files and uploads."""

from __future__ import annotations

import json
import os
import shutil
import signal
import urllib.request
from pathlib import Path

import pytest
from tests.app.browsing import served
from tests.app.client import client, csrf, post

from caveat.app import jobs
from caveat.app.steps import new_project, projects_in
from caveat.table.source import files_in


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "work"
    found.mkdir()
    (found / "survey.csv").write_text("age,sex\n1,f\n")
    (tmp_path / "outside.csv").write_text("secret\n1\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "release.toml").write_text("")
    return found


def send(found, name, content=b"a,b\n1,2\n", **headers):
    headers = {"X-CSRF": csrf(found), **headers}
    return found.post("/upload", params={"name": name}, content=content, headers=headers)


def test_the_first_page_lists_projects_and_files(folder):
    (folder / "one").mkdir()
    (folder / "one" / "release.toml").write_text("")
    (folder / "no project").mkdir()
    (folder / "notes.docx").write_text("")
    text = client(folder).get("/").text
    assert 'href="/p/one/"' in text
    assert 'value="survey.csv"' in text
    assert "no project" not in text
    assert "notes.docx" not in text


def test_links_that_lead_out_are_not_there(folder):
    (folder / "link.csv").symlink_to(folder.parent / "outside.csv")
    (folder / "linked").symlink_to(folder.parent / "other")
    assert [name for name, _ in files_in(folder)] == ["survey.csv"]
    assert projects_in(folder) == []
    found = client(folder)
    assert found.get("/p/linked/look").status_code == 404
    assert post(found, "/open", file="link.csv").status_code == 400


@pytest.mark.parametrize(
    "name",
    ["..", "%2e%2e", "..%2fother", "%2e%2e%2fother", "..%5cother", ".hidden", "x%00", "%252e"],
)
@pytest.mark.parametrize("step", ["look", "spec", "report"])
def test_no_address_leaves_the_folder(folder, name, step):
    answer = client(folder).get(f"/p/{name}/{step}")
    assert answer.status_code == 404
    assert "secret" not in answer.text


@pytest.mark.parametrize("file", ["../outside.csv", "/etc/passwd", "nothing.csv", ""])
def test_only_files_of_the_folder_are_opened(folder, file):
    assert post(client(folder), "/open", file=file).status_code == 400
    assert projects_in(folder) == []


def test_a_new_project_never_takes_the_place_of_another(folder):
    names = [new_project(folder, "My survey!").name for _ in range(2)]
    assert names == ["My-survey", "My-survey-2"]
    assert new_project(folder, "../../x").path == folder / "x"
    assert new_project(folder, "...").name == "project"


def test_an_upload_arrives_whole(folder):
    content = b"a,b\n" + b"1,2\n" * 100_000
    answer = send(client(folder), "new file.csv", content)
    assert (answer.status_code, answer.json()) == (200, {"file": "new file.csv"})
    assert (folder / "new file.csv").read_bytes() == content
    assert sorted(p.name for p in folder.iterdir()) == ["new file.csv", "survey.csv"]


@pytest.mark.parametrize(
    "name",
    ["../up.csv", "/tmp/x.csv", "a/b.csv", "a\\b.csv", ".csv", "-x.csv", "x.exe", "", "a\n.csv",
     "x" * 200 + ".csv", "<b>.csv", "release.toml"],
)  # fmt: skip
def test_an_upload_under_another_name_is_refused(folder, name):
    assert send(client(folder), name).status_code in (400, 415)
    assert [p.name for p in folder.iterdir()] == ["survey.csv"]


def test_an_upload_replaces_nothing(folder):
    before = (folder / "survey.csv").read_bytes()
    assert send(client(folder), "survey.csv").status_code == 409
    assert (folder / "survey.csv").read_bytes() == before


def test_an_upload_that_is_too_large_leaves_nothing(folder):
    found = client(folder, limit=1_000)
    assert send(found, "x.csv", b"x" * 1_001).status_code == 413

    def parts():
        for _ in range(100):
            yield b"x" * 100

    assert send(found, "x.csv", parts()).status_code == 413  # its length is not announced
    assert send(found, "x.csv", b"x" * 1_000).status_code == 200
    assert sorted(p.name for p in folder.iterdir()) == ["survey.csv", "x.csv"]


def test_an_upload_of_nothing_or_without_the_secret_is_refused(folder):
    found = client(folder)
    assert send(found, "x.csv", b"").status_code == 400
    assert found.post("/upload?name=x.csv", content=b"1").status_code == 403
    assert [p.name for p in folder.iterdir()] == ["survey.csv"]


def test_html_in_names_is_text(folder):
    (folder / "<img src=x>.csv").write_text("a\n1\n")
    text = client(folder).get("/").text
    assert "<img" not in text
    assert "&lt;img src=x&gt;.csv" in text


def test_a_folder_that_is_a_project_itself_is_shown_and_its_releases_are_not(folder):
    (folder / "release.toml").write_text('[output]\nfolder = "made"\n')
    (folder / "made").mkdir()
    (folder / "made" / "inside").mkdir()
    for name in ("inside/release.toml", "manifest.json"):
        (folder / "made" / name).write_text("")
    assert projects_in(folder / "made") == []
    assert [project.url() for project in projects_in(folder)] == ["/p/%40/"]
    found = client(folder)
    assert ">work</a>" in found.get("/").text
    assert "release.toml: work" in found.get("/p/%40/spec").text
    assert found.get("/p/%40/").headers["location"] == "/p/%40/report"
    assert client(folder.parent).get("/p/@/spec").status_code == 404


@pytest.mark.parametrize("named", ["..", "../../other", "/etc", "link"])
def test_a_release_outside_of_its_project_is_not_shown(folder, named):
    (folder / "one").mkdir()
    (folder / "one" / "link").symlink_to(folder.parent)
    (folder / "one" / "release.toml").write_text(f'[output]\nfolder = "{named}"\n')
    for place in (folder, folder.parent, folder.parent / "other"):
        (place / "inside").mkdir()
        for file in ("manifest.json", "inside/report.html"):
            (place / file).write_text("secret")
    found = client(folder)
    assert "There is no release yet" in found.get("/p/one/report").text
    assert found.get("/p/one/report/page?version=internal").status_code == 404


def test_what_a_killed_upload_has_left_is_removed_and_never_listed(folder):
    left = folder / ".caveat-draft-confidential-0123-x.csv"
    left.write_text("half a file")
    found = client(folder)
    assert left.name not in found.get("/").text
    assert send(found, "y.csv").status_code == 200
    assert sorted(p.name for p in folder.iterdir()) == ["survey.csv", "y.csv"]


def test_garbage_is_stored_as_it_is_and_looked_at_by_a_process_of_its_own(folder, monkeypatch):
    started = []
    monkeypatch.setattr(jobs, "start", lambda *args, **asked: started.append((args[1], asked)))
    found = client(folder)
    assert send(found, "x.csv", bytes(range(256)) * 999).status_code == 200
    answer = post(found, "/open", file="x.csv", name="<script>")
    assert answer.headers["location"] == "/p/script/look"
    assert started == [("look", {"files": ["../x.csv"]})]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read in /proc")
def test_an_upload_of_500_mb_is_written_as_it_comes(folder):
    process, address = served(folder)
    try:
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        text = browser.open(address).read().decode()
        here, secret = address.partition("/?")[0], text.split('name="csrf" content="')[1]
        part = b"1,2,3,4,5,6\n" * 2**16
        parts, rest = divmod(500 * 2**20, len(part))
        body = (part if i < parts else part[:rest] for i in range(parts + 1))
        headers = {"Origin": here, "X-CSRF": secret.split('"')[0]}
        headers |= {"Content-Length": str(500 * 2**20), "Content-Type": "application/octet-stream"}
        asked = urllib.request.Request(f"{here}/upload?name=large.csv", body, headers)
        assert json.loads(browser.open(asked).read()) == {"file": "large.csv"}
        status = Path(f"/proc/{process.pid}/status").read_text()
        assert int(status.split("VmHWM:")[1].split()[0]) < 300 * 1024  # kB, at its highest
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)
    file = folder / "large.csv"
    assert file.stat().st_size == 500 * 2**20
    with file.open("rb") as content:
        content.seek(-rest, os.SEEK_END)
        assert content.read() == part[:rest]
    file.unlink()


def test_what_cannot_be_opened_or_named_is_left_out(folder, monkeypatch):
    odd = os.fsencode(folder) + b"/Stra\xdfe"
    Path(os.fsdecode(odd)).mkdir()
    Path(os.fsdecode(odd) + ".csv").write_text("a\n1\n")
    (folder / "locked").mkdir()
    whole = Path.is_file

    def is_file(path):
        if path.parent.name == "locked":
            raise PermissionError(13, "Permission denied", str(path))
        return whole(path)

    monkeypatch.setattr(Path, "is_file", is_file)
    found = client(folder)
    for page in ("/", "/review"):
        answer = found.get(page)
        assert answer.status_code == 200
        assert "Stra" not in answer.text
    assert "survey.csv" in found.get("/").text


def test_a_folder_that_is_gone_is_a_sentence(folder):
    found = client(folder)
    secret = csrf(found)
    shutil.rmtree(folder)
    for page in ("/", "/review"):
        assert found.get(page).status_code == 400
        assert "No such file or directory" in found.get(page).text
    answer = found.post("/open", data={"csrf": secret, "example": "survey"})
    assert answer.status_code == 400


def test_names_are_no_longer_than_names_can_be(folder):
    found = client(folder)
    assert found.get(f"/p/{'x' * 300}/look").status_code == 404
    assert send(found, "漢" * 96 + ".csv").status_code == 400
    project = new_project(folder, "漢" * 300)
    assert found.get(project.url("look")).status_code == 200
