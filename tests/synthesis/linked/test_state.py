"""Models of groups and linked tables in files: what comes back draws the same."""

from __future__ import annotations

import json
import warnings
import zipfile

import pytest
from tests.refusals import refused
from tests.synthesis.linked.people import households, patients

from caveat.synthesis import Synthesizer, load, save
from caveat.synthesis.linked import GroupModel

CASES = {
    "guarded": {"groups": "hh", "derived": {"total": "sum(income)"}},
    "cart": {"groups": {"key": "hh", "role": "role"}, "method": "cart", "drop": ["total"]},
    "order": {"groups": {"key": "hh", "order": "-age"}, "method": "cart", "rules": []},
    "strata": {"groups": "hh", "strata": "region", "method": "cart"},
    "linked": {},
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_loaded_draws_the_same(name, tmp_path):
    data = patients(80) if name == "linked" else households(120)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Synthesizer(seed=2**90 + 1, **CASES[name]).fit(data)
    save(model, tmp_path / "model.caveat")
    again = load(tmp_path / "model.caveat")
    assert again.plan == model.plan
    if isinstance(model, GroupModel):
        assert again.tables()[0] == model.tables()[0]
        assert again.groups == model.groups
    else:
        ours, theirs = model.tables()[0], again.tables()[0]
        assert dict(ours.tables) == dict(theirs.tables)
    assert again.seed == 2**90 + 1
    save(again, tmp_path / "again.caveat")
    assert (tmp_path / "again.caveat").read_bytes() == (tmp_path / "model.caveat").read_bytes()


@pytest.mark.parametrize(
    "change",
    [
        lambda linked: linked["stages"].pop(),
        lambda linked: linked["stages"][1]["stage"].update(part="last"),
        lambda linked: linked["stages"][1]["stage"].update(columns=["age"]),
        lambda linked: linked["stages"][1]["stage"].update(some="__import__('os')"),
        lambda linked: linked["fresh"].clear(),
        lambda linked: linked["rows"].update(groups=-1),
        lambda linked: linked["group"].update(population=-1),
        lambda linked: linked["links"][0].reverse(),
        lambda linked: linked["late"].update(total="open('x')"),
        lambda linked: linked["dictionaries"].clear(),
    ],
)
def test_a_file_that_was_changed_is_refused(change, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        save(Synthesizer(seed=1, **CASES["cart"]).fit(households(60)), tmp_path / "m.caveat")
    with zipfile.ZipFile(tmp_path / "m.caveat") as archive:
        parts = {n: archive.read(n) for n in archive.namelist()}
    document = json.loads(parts["model.json"])
    change(document["linked"])
    parts["model.json"] = json.dumps(document).encode()
    with zipfile.ZipFile(tmp_path / "m.caveat", "w") as archive:
        for n, content in parts.items():
            archive.writestr(n, content)
    with refused("model.file.damaged"):
        load(tmp_path / "m.caveat")
