"""A starter specification for several tables that belong together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from caveat.findings.links import Links
from caveat.findings.profile import Profile
from caveat.findings.weights import chosen_weights
from caveat.spec.answers import (
    Answers,
    candidates_of_tables,
    closing_parts,
    proposal_of_tables,
    release_part,
    usual_control,
)
from caveat.spec.starter import dropped, guarded_lines, replaceable, weight_lines
from caveat.spec.starter_columns import column_blocks
from caveat.spec.toml import comment, toml_key, toml_value

__all__ = ["released_of_tables", "starter_of_tables"]

_HEAD = """\
#:schema ./release.schema.json
# A starter specification for several tables that belong together. `caveat run` makes the release
# and measures it; `caveat synth release.toml --out FOLDER` only writes the tables, with fresh keys
# that fit each other. Which columns are keys was read off the values. Read every line: you know the
# data. Lines that begin with # are not in force.
"""
_FORMATS = '# formats = ["csv"]  # also parquet, sav, dta …; without it as the files came'


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
    held_out = usual_control(_people(profiles, links))
    parts = [_HEAD, *release_part(Answers(), held_out), *(["[data]", *given, ""] if given else [])]
    for name, profile in profiles.items():
        parts += _table(name, profile, files[name], links)
    left_out = list(dict.fromkeys(c for held in _no_data(profiles, links).values() for c in held))
    parts += ["[synthesis]", *guarded_lines()]
    keys = {column for name in profiles for column in links.key_columns(name)}
    invented = {n: how for n, how in replaceable(profiles.values()).items() if n not in keys}
    parts += weight_lines(left_out, _weights(profiles, links), invented)
    parts += [*_rules(profiles, links), ""]
    proposed = proposal_of_tables(_widest(profiles, links), released_of_tables(profiles, links))
    parts += closing_parts(proposed, Answers(), formats=_FORMATS)
    return "\n".join(parts).rstrip("\n") + "\n"


def released_of_tables(profiles: Mapping[str, Profile], links: Links) -> dict[str, list[str]]:
    """Return the columns of each table that are released if nothing is changed; keys are not."""
    no_data = _no_data(profiles, links)
    return {
        name: [
            column.name
            for column in profile.columns
            if column.name not in {*links.key_columns(name), *no_data[name]}
        ]
        for name, profile in profiles.items()
    }


def _no_data(profiles: Mapping[str, Profile], links: Links) -> dict[str, list[str]]:
    """Return the columns of each table that name people or are weights, and are no keys."""
    return {
        name: [column for column in dropped(profile) if column not in links.key_columns(name)]
        for name, profile in profiles.items()
    }


def _people(profiles: Mapping[str, Profile], links: Links) -> int:
    """Return the rows of the one table that belongs to no other; 0 if there are several."""
    roots = [profile.rows for name, profile in profiles.items() if not links.parents.get(name)]
    return roots[0] if len(roots) == 1 else 0


def _weights(profiles: Mapping[str, Profile], links: Links) -> str | None:
    """Return the weights of whole groups: those of the one table that belongs to no other."""
    roots = [name for name in profiles if not links.parents.get(name)]
    return chosen_weights(profiles[roots[0]].findings) if len(roots) == 1 else None


def _widest(profiles: Mapping[str, Profile], links: Links) -> dict[str, Profile]:
    """Return a table and those that its rows belong to: of which people know most columns."""
    released = released_of_tables(profiles, links)
    chains = []
    for name in profiles:
        chain: list[str] = []
        above: str | None = name
        while above is not None and above not in chain:
            chain.append(above)
            above = next(iter(links.parents.get(above, {}).values()), None)
        chains.append({table: profiles[table] for table in reversed(chain)})
    return max(chains, key=lambda c: (len(candidates_of_tables(c, released)), -len(c)))


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
