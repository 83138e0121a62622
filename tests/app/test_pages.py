"""Projects as folders, and what pages say about them."""

from __future__ import annotations

import pytest

from caveat.app.pages import Project, environment, go, sha256


@pytest.fixture
def project(tmp_path):
    return Project("a b/ü", tmp_path)


def test_an_address_names_a_project_whatever_it_is_called(project):
    assert project.url("look") == "/p/a%20b%2F%C3%BC/look"
    assert project.title == project.path.name


def test_a_specification_is_read_as_it_stands_there(project):
    assert project.text() == ""
    project.spec.write_bytes(b"\xef\xbb\xbf[data]\r\n\xff")
    assert project.text() == "[data]\r\n�"
    assert sha256("a") != sha256("b")


@pytest.mark.parametrize("named", ["made", "in/side"])
def test_the_release_is_where_the_specification_says(project, named):
    project.spec.write_text(f'[output]\nfolder = "{named}"\n')
    assert project.release is None
    (project.path / named).mkdir(parents=True)
    assert project.release is None  # not whole
    (project.path / named / "manifest.json").write_text("{}")
    assert project.release == project.path / named


def test_the_way_to_another_page_says_what_was_done():
    assert go("/x", "saved").headers["location"] == "/x?said=saved"
    assert go("/x?a=1", "saved").headers["location"] == "/x?a=1&said=saved"
    assert go("/x").headers["location"] == "/x"


def test_what_templates_print_is_text():
    assert environment().from_string("{{ x }}").render(x="<b>") == "&lt;b&gt;"
