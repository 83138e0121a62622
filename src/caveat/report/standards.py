"""Which part of the report answers which heading of a standard.

Of ISO/IEC 27559:2022 only the headings of its published table of contents are used; what SATRE asks
for is said in our words. Neither has been checked by anybody who accredits.
"""

from __future__ import annotations

from collections.abc import Mapping

from caveat.report.blocks import Field, Grid, Section, Text, cell

__all__ = ["standards_section"]

# Section of the report, what in it, and the heading it answers.
ISO = (
    ("decision", "limits and the board's decision", "9.2", "Before data are made available"),
    ("short", "who gets what for which purpose, and who is protected", "7.2", "Data features"),
    ("promise", "the promise and its assumptions", "7.3.4", "Data privacy models"),
    ("attacker", "who the attackers are, what they know and want", "6.2", "Threat modelling"),
    ("attacker", "the worst record beside means", "7.3.2", "Maximum or average risk"),
    ("attacker", "values, intervals, baselines", "8.2.2", "Quantifying identifiability"),
    ("attacker", "attacks on the release, with controls", "8.2.3", "Adversarial testing"),
    ("records", "records that stand out", "8.2.2", "Quantifying identifiability"),
    ("map", "other settings of the generator", "8.3.4", "Re-evaluation"),
    ("done", "synthesis and protections", "8.3.3", "Transforming the data"),
    ("limits", "assumptions, what was not measured", "7.3", "Attack modelling"),
)
SATRE = (
    "asks, for each released package, for records that a machine can read of all criteria, "
    "parameters, thresholds and tool versions of disclosure control"
)


def standards_section(present: Mapping[str, str], external: bool) -> Section:
    """Return the annex that maps headings.

    Parameters
    ----------
    present
        The sections of this report: id and how they are called.
    external
        Whether it is written for the public, who do not have the evidence file.
    """
    rows = [
        [cell(present[part]), cell(what), cell(number), cell(heading)]
        for part, what, number, heading in ISO
        if part in present
    ]
    kept = "evidence.json, kept inside" if external else "evidence.json and release.toml"
    return Section(
        "standards",
        "Where standards ask for it",
        [
            Text(
                "For readers who work by a standard. The right-hand side has headings only; that a "
                "part of this report stands beside one does not say that it meets all that the "
                "standard asks for there. What concerns people and places (6.3, 8.3.2, 9.3) is not "
                "in this report."
            ),
            Grid(
                "Parts of this report, and the headings of ISO/IEC 27559:2022 they belong to",
                [Field("Part", wide=True), Field("What", wide=True), Field("Number"),
                 Field("Heading", wide=True)],
                rows,
            ),
            Text(f"{SATRE}. Here it is {kept}.", "SATRE 3.3.09 (2026)"),
        ],
        annex=True,
    )  # fmt: skip
