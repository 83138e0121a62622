"""The shares that are printed beside simulated numbers."""

from __future__ import annotations

from caveat.attack.strong import (
    ERRORS,
    RECOVERED,
    STRUCTURE_RECOVERED,
    recovered_at,
    recovered_note,
    structure_note,
)


def test_shares_are_those_of_the_next_smaller_number():
    assert recovered_at(64) == (64, {"plain": 0.332, "guarded": 0.161})
    assert recovered_at(1000)[0] == 128
    assert recovered_at(20)[0] == 16
    every = [*RECOVERED.values(), *ERRORS.values()]
    assert {tuple(shares) for shares in every} == {(16, 32, 64, 128)}


def test_the_note_is_public_and_says_both():
    note = recovered_note(64)
    assert note.public
    assert "with 64 simulations finds 33 % of what" in note
    assert note.endswith("on guarded trees 16 %")


def test_a_structure_of_the_attackers_own_recovers_more_than_learnt_scores():
    assert max(RECOVERED["guarded"].values()) < STRUCTURE_RECOVERED < 1
    note = structure_note()
    assert note.public
    assert "finds 31 ± 5 % of what the exact attacker finds" in note
