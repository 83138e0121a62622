"""A starter specification for several tables that belong together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from caveat.findings.links import Links
from caveat.findings.profile import Profile
from caveat.spec.starter import guarded_lines
from caveat.spec.starter_columns import column_blocks
from caveat.spec.toml import comment, toml_key, toml_value

__all__ = ["starter_of_tables"]

_HEAD = """\
#:schema ./release.schema.json
# A starter specification for several tables that belong together:
# `caveat synth release.toml --out FOLDER` writes them all, with fresh keys that fit each other;
# with a [[scenario]], which says what an attacker may know, `caveat run` measures them too.
# Which columns are keys was read off the values. Read every line: you know the data.
"""


def starter_of_tables(
    profiles: Mapping[str, Profile],
    files: Mapping[str, str],
    links: Links,
    form: Mapping[str, str] | None = None,
) -> str:
    """Return the text of a starter specification.

    Parameters
    ----------
    profiles
        The result of the look at each table.
    files
        Their files, as the specification names them.
    links
        How they belong together.
    form
        Delimiter, decimal sign and encoding, if they were given.
    """
    given = [f"{key} = {toml_value(value)}" for key, value in (form or {}).items()]
    parts = [_HEAD, *(["[data]", *given, ""] if given else [])]
    for name, profile in profiles.items():
        parts += _table(name, profile, files[name], links)
    parts += ["[synthesis]", *guarded_lines(), *_rules(profiles, links), ""]
    return "\n".join(parts).rstrip("\n") + "\n"


def _rules(profiles: Mapping[str, Profile], links: Links) -> Iterator[str]:
    """Return the rules within each table that hold in the data, none of them in force."""
    rules: dict[str, None] = {}
    for name, profile in profiles.items():
        place = {column.name: i for i, column in enumerate(profile.columns)}
        keys = {links.keys.get(name, ""), *links.parents.get(name, {})}
        for f in profile.findings:
            for text, between in zip(
                f.suggestion.get("rules", ()), f.suggestion.get("between", ()), strict=True
            ):
                source, target = between
                if place[source] < place[target] and not keys & {source, target}:
                    rules[text] = None
    if rules:
        yield "# Rules that hold in the data. Take those in force that must hold in every release."
        yield "# rules = ["
        yield from (comment(f"  {toml_value(rule)},") for rule in rules)
        yield "# ]"


def _table(name: str, profile: Profile, file: str, links: Links) -> Iterator[str]:
    heading = f"tables.{toml_key(name)}"
    yield f"[{heading}]"
    yield f"file = {toml_value(file)}"
    if name in links.keys:
        yield f"key = {toml_value(links.keys[name])}"
    parents = links.parents.get(name, {})
    if parents:
        inside = ", ".join(f"{toml_key(c)} = {toml_value(p)}" for c, p in parents.items())
        yield f"links = {{ {inside} }}"
    if len(parents) > 1:
        yield comment("Of two parents one owns the rows; the other is a list: lookup = true there.")
    if name in links.order:
        yield f"order = {toml_value(links.order[name])}  # how the rows of one parent stand"
    if not parents and not any(name in held.values() for held in links.parents.values()):
        yield comment('Nothing was found that binds it to the others: links = { column = "table" }')
    yield ""
    yield from column_blocks(profile, f"{heading}.columns")
