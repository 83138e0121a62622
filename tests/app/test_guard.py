"""Who may ask, and what every answer says to the browser."""

from __future__ import annotations

import pytest
from tests.app.client import HERE, TOKEN, client, csrf

from caveat.app.pages import is_same, secret


@pytest.fixture
def inside(tmp_path):
    return client(tmp_path)


@pytest.mark.parametrize("address", ["/", "/static/style.css", "/p/x/look", "/nothing"])
def test_without_a_token_nothing_is_seen(tmp_path, address):
    answer = client(tmp_path, let_in=False).get(address)
    assert answer.status_code == 403
    assert answer.text.startswith("Caveat: open the address")
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", "é"])
def test_a_wrong_token_is_no_token(tmp_path, token):
    found = client(tmp_path, let_in=False)
    assert found.get("/", params={"token": token}).status_code == 403
    assert found.get("/").status_code == 403


def test_the_token_is_in_the_address_once(tmp_path):
    found = client(tmp_path, let_in=False)
    answer = found.get(f"/?token={TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    page = found.get("/")
    assert page.status_code == 200
    assert TOKEN not in page.text


def test_the_way_in_leads_to_no_other_place(tmp_path):
    answer = client(tmp_path, let_in=False).get(f"{HERE}//example.org/?token={TOKEN}")
    assert answer.headers["location"].startswith("/example.org")


def test_two_servers_on_a_machine_have_cookies_of_their_own():
    assert secret("a", "name") != secret("b", "name")
    assert secret("a", "name") != secret("a", "cookie")
    assert is_same(secret("a", "csrf"), secret("a", "csrf"))
    assert not is_same(None, "")


@pytest.mark.parametrize(
    "host",
    [
        "example.org",
        "127.0.0.1.example.org:8765",
        "evil:127.0.0.1",
        "",
        "[::1]:8765",
        "127.0.0.1:80@evil.com",
        "127.0.0.1:abc",
        "127.0.0.1:8765:1",
    ],
)
def test_a_foreign_name_is_refused_even_with_the_cookie(inside, host):
    assert inside.get("/", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "127.0.0.1"])
def test_our_own_names_are_not(inside, host):
    assert inside.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://example.org"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:8765"},
        {"Origin": "http://127.0.0.1:9999"},  # another program on this machine
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_page_of_somebody_else_writes_nothing(inside, headers):
    token = csrf(inside)
    answer = inside.post("/open", data={"csrf": token, "file": "x.csv"}, headers=headers)
    assert answer.status_code == 403


def test_who_does_not_say_where_a_form_comes_from_writes_nothing(inside):
    del inside.headers["Origin"]
    assert inside.post("/open", data={"csrf": csrf(inside)}).status_code == 403


@pytest.mark.parametrize("given", [None, "", "0" * 64, TOKEN])
def test_a_form_without_the_right_secret_is_refused(inside, given):
    fields = {"file": "x.csv"} | ({} if given is None else {"csrf": given})
    answer = inside.post("/open", data=fields)
    assert answer.status_code == 403
    assert "load the page again" in answer.text


def test_a_form_that_is_too_long_or_none_is_refused(inside):
    assert inside.post("/open", content=b"x" * 5_000_000).status_code == 413
    assert inside.post("/open", content=b"\xff\xfe").status_code == 400


def test_every_answer_tells_the_browser_to_keep_and_to_load_nothing(inside):
    for address in ("/", "/nothing", "/static/style.css"):
        headers = inside.get(address).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert "http" not in policy


def test_pages_have_no_scripts_or_styles_of_their_own(inside):
    text = inside.get("/").text
    assert "<style" not in text
    assert " style=" not in text
    assert text.count("<script") == text.count('<script src="/static/')
    assert HERE not in text
    assert "//" not in text.replace("<!doctype html>", "")
