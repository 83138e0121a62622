"""Seeds and keys: what can be guessed is a trial, and a keyed release cannot be replayed.

`make fuzz` tries 100,000 seeds on a release of 1,000 people, `make test` 300 on one of 200.
"""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

from caveat import Synthesizer
from caveat.datasets import survey
from caveat.errors import CaveatError
from caveat.seeds import ReleaseKey, Stream, child_seed, is_guessable, key_of, random_root, rng_of
from caveat.table import Table

FIRST = "sex"
NAMES = ("sex", "region", "education", "marital", "satisfied")
SEED = 137
PEOPLE, TRIES = (200, 300) if os.environ.get("CAVEAT_FUZZ", "1") == "1" else (1_000, 100_000)


def test_a_root_follows_from_key_and_seed():
    key = ReleaseKey("ab" * 32)
    assert key.root(1) == ReleaseKey("ab" * 32).root(1)
    assert len({key.root(1), key.root(2), ReleaseKey("cd" * 32).root(1)}) == 3


@pytest.mark.parametrize("root", [0, 1, 2**64 - 1, 2**127])
def test_a_short_root_is_guessable(root):
    assert is_guessable(root)


def test_roots_of_keys_and_their_children_are_not_guessable():
    roots = [ReleaseKey.new().root(0), random_root()]
    assert not any(map(is_guessable, roots + [child_seed(root, 3, 1) for root in roots]))
    assert len({*roots}) == 2


def test_children_of_a_trial_are_what_they_were():
    # SeedSequence(1, spawn_key=(2,)) by hand: the first word without its last bit.
    word = np.random.SeedSequence(1, spawn_key=(2,)).generate_state(1, np.uint64)[0]
    assert child_seed(1, 2) == int(word) >> 1
    assert rng_of(1, 2).integers(100) == 42


@pytest.mark.parametrize("root", [1, ReleaseKey("ab" * 32).root(1)])
def test_no_two_streams_of_a_root_meet(root):
    keys = [(stream, *[0] * stream.value[1]) for stream in Stream]
    assert len({child_seed(root, *key) for key in keys}) == len(keys) == 23
    draws = [rng_of(root, *key).integers(2**63) for key in keys]
    assert len({*draws}) == len(keys)
    assert draws[0] == rng_of(root, 0, 0, 0).integers(2**63)  # a stream is its word
    for key in ((Stream.FIT, 1), (Stream.PEOPLE, 1), (1, Stream.CONTROL)):
        with pytest.raises(ValueError, match="words"):
            rng_of(root, *key)


def test_a_key_file_is_created_once_and_only_for_its_owner(tmp_path):
    path = tmp_path / "release.key"
    key = ReleaseKey.at(path)
    assert ReleaseKey.at(path) == key
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["release.key"]
    assert key.text not in repr(key)
    ReleaseKey.new().write(path)  # whoever was first keeps the name
    assert ReleaseKey.read(path) == key


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"# only a comment\n", b"ab" * 31, b"zz" * 32, b"ab" * 32 + b"\n" + b"ab" * 32,
     b"\xff" * 64, b"0" * 2000, "ä".encode() * 32],
)  # fmt: skip
def test_what_is_no_key_is_refused(tmp_path, content):
    path = tmp_path / "release.key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(CaveatError) as error:
        ReleaseKey.at(path)
    assert error.value.where == str(path)


def test_a_key_that_others_can_read_a_link_and_a_folder_are_refused(tmp_path):
    path, link, folder = tmp_path / "a.key", tmp_path / "b.key", tmp_path / "c.key"
    ReleaseKey.at(path)
    link.symlink_to(path)
    folder.mkdir()
    path.chmod(0o640)
    for place in (path, link, folder):
        with pytest.raises(CaveatError) as error:
            ReleaseKey.at(place)
        assert error.value.where == str(place)


def test_only_a_seed_without_a_key_makes_a_trial(tmp_path):
    spec = tmp_path / "release.toml"
    assert key_of(spec, 1) is None
    assert not [*tmp_path.iterdir()]
    key = key_of(spec, None)
    assert key == ReleaseKey.read(tmp_path / "release.key") == key_of(spec, 1)
    assert key_of(tmp_path / "other.toml", 1, tmp_path / "other.key") not in (None, key)
    with pytest.raises(CaveatError):
        key_of(spec, 2**64)


def test_the_same_key_and_seed_give_the_same_table(tmp_path, people):
    path = tmp_path / "a.key"
    one, again, other = (
        Synthesizer(key=path, seed=seed).fit(people).tables()[0] for seed in (1, 1, 2)
    )
    assert one == again != other
    assert "trial" in repr(Synthesizer(seed=1))
    assert "trial" not in repr(Synthesizer(key=path, seed=1))


@pytest.fixture(scope="module")
def people() -> Table:
    return survey(PEOPLE).select(NAMES)


def replayed(people: Table, released: Table) -> list[int]:
    """Return the seeds that repeat the first released column, which is drawn from its counts alone.

    The attacker lacks one record, so that a few cells may come out otherwise.
    """
    known = people.take(np.arange(1, people.n_rows)).select([FIRST])
    model = Synthesizer(seed=0).fit(known)
    seen = released[FIRST].values
    found = []
    for seed in range(TRIES):
        drawn = replace(model, seed=seed).tables(len(seen))[0][FIRST].values
        if np.mean([a == b for a, b in zip(drawn, seen, strict=True)]) > 0.95:
            found.append(seed)
    return found


def identified(people: Table, released: Table, seeds: list[int], target: str, attacked: int) -> int:
    """Return how many of the first people have one value only that a seed makes the release of."""
    column, hits = people[target], 0
    for person in range(attacked):
        fits = set()
        for value in range(len(column.levels)):
            codes = column.codes.copy()
            codes[person] = value
            guess = people.with_columns({target: replace(column, codes=codes)})
            made = (Synthesizer(seed=seed).fit(guess).tables()[0] for seed in seeds)
            fits |= {value} if any(table == released for table in made) else set()
        hits += fits == {int(column.codes[person])}
    return hits


def test_a_guessed_seed_identifies_people_and_a_key_prevents_it(tmp_path, people):
    trial = Synthesizer(seed=SEED).fit(people).tables()[0]
    assert SEED in replayed(people, trial)
    assert identified(people, trial, [SEED], "satisfied", attacked=10) >= 3

    keyed = Synthesizer(seed=SEED, key=tmp_path / "a.key").fit(people).tables()[0]
    seeds = replayed(people, keyed)
    assert seeds == []
    everybody = 10 if PEOPLE == 200 else PEOPLE
    assert identified(people, keyed, [SEED], "satisfied", everybody) == 0
