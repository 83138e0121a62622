"""A row of a release explained from its specification."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.refusals import refused

from caveat.attack import membership
from caveat.release import explain_row
from caveat.release.again import made_again
from caveat.release.folder import Outcome
from caveat.spec.spec import ReleaseSpec


@pytest.fixture(scope="module")
def spec(outcome: Outcome) -> ReleaseSpec:
    return ReleaseSpec.from_toml(outcome.folder.parent / "release.toml")


def test_a_row_of_the_file_is_found_among_the_fitted_records(
    spec: ReleaseSpec, outcome: Outcome
) -> None:
    material = made_again(spec, outcome.folder)
    row = int(material.rows[40]) + 1
    content = explain_row(spec, row, folder=outcome.folder, draws=0)
    assert content["row"] == row
    assert content["title"] == "A survey"
    chance = membership(material.fitted, material.drawn, generator=material.plan, records=[40])
    assert content["membership"]["posterior"] == pytest.approx(chance.posterior()[0])
    assert [belief["target"] for belief in content["targets"]] == ["marital"]
    assert content["tried"] == []
    assert "values" not in content


def test_the_worst_record_of_the_evidence_has_the_number_of_the_evidence(
    spec: ReleaseSpec, outcome: Outcome
) -> None:
    worst = next(r for r in outcome.evidence["records_at_risk"] if r["measure"] == "strongWorst")
    content = explain_row(spec, worst["row"], folder=outcome.folder, draws=0, values=True)
    (belief,) = content["targets"]
    assert belief["posterior"] == pytest.approx(worst["value"])
    assert belief["prior"] == pytest.approx(worst["prior"])
    assert belief["value"] == content["values"]["marital"]


def test_other_ways_are_tried_on_the_same_row(spec: ReleaseSpec, outcome: Outcome) -> None:
    row = int(made_again(spec, outcome.folder).rows[3]) + 1
    heard: list[float] = []
    content = explain_row(spec, row, folder=outcome.folder, draws=1, targets=["education"],
                          done=heard.append)  # fmt: skip
    assert [one["kind"] for one in content["tried"][:2]] == ["as it is", "guarded trees"]
    assert all(list(one["posteriors"]) == ["education"] for one in content["tried"][:2])
    assert sum(heard) == pytest.approx(1)


def test_rows_that_are_held_out_or_not_there_and_protections_are_refused(
    spec: ReleaseSpec, outcome: Outcome
) -> None:
    material = made_again(spec, outcome.folder)
    held_out = int(np.setdiff1d(np.arange(material.original.n_rows), material.rows)[0]) + 1
    with refused("release.row.unused", where="record"):
        explain_row(spec, held_out, folder=outcome.folder)
    with refused("attack.record.unknown", where="record"):
        explain_row(spec, 99_999, folder=outcome.folder)
    output = replace(spec.output, folder=outcome.folder.parent / "nowhere")
    row = int(material.rows[0]) + 1
    filtered = replace(spec, protect=({"name": "remove_replicated_uniques", "keys": ["age"]},),
                       output=output)  # fmt: skip
    with refused("attack.probability.unsupported", where="explain"):
        explain_row(filtered, row)
    rounded = replace(spec, protect=({"name": "round_numbers", "base": {"income": 100}},),
                      output=output)  # fmt: skip
    content = explain_row(rounded, row, draws=0)
    assert content["notes"][0].startswith("Of the release before its protections")
