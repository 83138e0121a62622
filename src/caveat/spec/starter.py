"""A starter specification for one table or for several: what the look suggests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from caveat.expressions.parser import can_be_named, named
from caveat.findings.codes_and_kinds import chosen_weights
from caveat.findings.keys import ADULT, Links, candidates_of_tables, proposal, proposal_of_tables
from caveat.findings.profile import Finding, Profile, plural
from caveat.findings.shape import FINDINGS
from caveat.spec.codebook import Domain, column_blocks, domain_lines
from caveat.spec.document import comment, toml_key, toml_value
from caveat.spec.forms import Answers, closing_parts, release_part, usual_control
from caveat.table import Kind

_HEAD = """\
#:schema ./release.schema.json
# A starter specification for `caveat run`. The first line is for editors, which then know every
# key; `caveat init --schema` writes that file.
# What the look found out is written below; what it only suspects stands in comments. Read every
# line: you know the data. Lines that begin with # are not in force. `caveat synth --spec`, `attack`
# and `tune` read this file too.
"""
_DROPPED = (*FINDINGS.values(), "mostly-rare", "survey-weights")
_CLEARLY_DERIVED = ("arithmetic", "groups-of", "one-to-one")
# What is merely fixed by another column may as well be the source of it.
_DERIVED = (*_CLEARLY_DERIVED, "determined-by")
_GUARDED = (
    "# Guarded trees: splits are drawn, every value is possible everywhere, small groups borrow",
    "# from larger ones: no single record moves a draw by much. More or less of it with guard:",
    '# guard = "standard"   # or "light", "strong"',
    'method = "guarded"',
    '# method = "cart"   # synthpop\'s trees: more exact, and nearly every record can be '
    "recognised",
    "# The range of a number is read off the data unless it is declared, as in",
    "# columns = { age = { range = [0, 120, 1] } }   # lowest, highest, step",
)


def released(profile: Profile, groups: bool = True) -> list[str]:
    """Return the columns that are drawn or looked up if nothing is changed, in this order."""
    found = group_finding(profile) if groups else None
    return _order(profile, _in_force(profile, found), found)


def group_finding(profile: Profile) -> Finding | None:
    """Return what the look says about groups that can be synthesised whole, if there are any."""
    return next(iter(profile.about("groups")), None)


def starter(
    profile: Profile,
    path: str = "",
    form: Mapping[str, str] | None = None,
    answers: Answers | None = None,
    domains: Mapping[str, Domain] | None = None,
) -> str:
    """Return the text of a starter specification.

    Parameters
    ----------
    profile
        The result of the look.
    path
        The file that was looked at.
    form
        Delimiter, decimal sign and encoding, if they were given.
    answers
        What the user wants.
    domains
        What a code book says that columns can be; never what was found in them.
    """
    answers = answers or Answers()
    groups = group_finding(profile) if answers.groups else None
    derived = _in_force(profile, groups)
    order = _order(profile, derived, groups)
    parts = [
        _HEAD,
        *release_part(answers, usual_share(profile, answers.groups)),
        *_data(path, form or {}),
        *_columns(profile, domains or {}),
        *_groups(groups),
        *_synthesis(profile, order, groups),
        *_rules(profile, order, derived, groups),
        *_domains(domains or {}),
        *_derived(profile, derived, groups),
        *closing_parts(proposal(profile, order), answers, list(_edit_rules(groups))),
    ]
    return "\n".join(parts).rstrip("\n") + "\n"


def usual_share(profile: Profile, groups: bool = True) -> float | None:
    """Return the share of records that a starter holds out; None where the file is too small."""
    found = group_finding(profile) if groups else None
    distinct = {column.name: column.distinct for column in profile.columns}
    return usual_control(profile.rows, distinct[found.columns[0]] if found else None)


def _data(path: str, form: Mapping[str, str]) -> list[str]:
    line = f"path = {toml_value(path)}"
    given = [f"{key} = {toml_value(value)}" for key, value in form.items()]
    return ["[data]", line if path else f"# {line}", *given, ""]


def guarded_lines() -> tuple[str, ...]:
    """Return the settings of a synthesis by guarded trees, with what they mean."""
    return _GUARDED


def _columns(profile: Profile, domains: Mapping[str, Domain]) -> Iterator[str]:
    yield "# Kinds: numeric, integer, boolean, category, ordered, date, datetime, text, id."
    yield '# A missing code is better with its meaning: missing = { "-8" = "not applicable" }.'
    yield ""
    yield from column_blocks(profile, "columns", domains)


def _in_force(profile: Profile, groups: Finding | None) -> dict[str, Finding]:
    """Return the derived columns with what they follow from, the surest of several."""
    derived: dict[str, Finding] = {}
    not_drawn = _not_drawn(profile, groups)
    for f in profile.findings:
        target, inputs = f.columns[:1], f.columns[1:]
        if f.code not in _CLEARLY_DERIVED or target[0] in derived:
            continue
        if not_drawn & {*f.columns} or not all(_is_drawn_so(n, target[0], groups) for n in inputs):
            continue
        if f.code == "arithmetic":
            possible = all(map(can_be_named, inputs))
        else:
            # What is computed is computed last, too late to be looked up by.
            possible = not any(n in derived and derived[n].code == "arithmetic" for n in inputs)
        # No two columns follow from each other.
        if possible and not any(target[0] in _ancestors(name, derived) for name in inputs):
            derived[target[0]] = f
    return derived


def _ancestors(name: str, derived: Mapping[str, Finding]) -> set[str]:
    """Return a column and all those it is derived from."""
    sources = derived[name].columns[1:] if name in derived else ()
    return {name}.union(*(_ancestors(source, derived) for source in sources))


def _groups(found: Finding | None) -> Iterator[str]:
    """Return the section about groups; what was found may be edited."""
    if found is None:
        return
    section = found.suggestion["groups"]
    yield "# Rows that belong together: whole groups are synthesised, and get fresh keys."
    yield "[groups]"
    yield f"key = {toml_value(section['key'])}"
    if section["constant"]:
        yield comment("One value in each group, drawn once; found again without this line.")
        yield f"constant = {toml_value(section['constant'])}"
    for key, says in (("order", "how the members stand"), ("role", "what a member is")):
        if key in section:
            yield f"{key} = {toml_value(section[key])}  # {says}"
    if "order" not in section:
        yield comment('order = "-age"  # how the members stand; without it as in the file')
    yield ""


def _adult(groups: Finding | None) -> list[str]:
    """Return what some member of every group meets."""
    age = groups.suggestion["adult"] if groups else ""
    return [f"{named(age)} >= {ADULT}"] if age and can_be_named(age) else []


def _edit_rules(groups: Finding | None) -> Iterator[str]:
    """Return rules about the members of a group that hold in the data."""
    for rule in _adult(groups):
        key = toml_value(groups.columns[0]) if groups else ""
        yield "# Every group has somebody who is of age; where that fails, it is counted."
        yield f"rules.adult = {{ then = {toml_value(rule)}, group = {key} }}"


def _not_drawn(profile: Profile, groups: Finding | None) -> set[str]:
    """Return the columns that are not part of the output, and the key of groups."""
    return {*dropped(profile), *(groups.columns if groups else ())}


def _order(profile: Profile, derived: Mapping[str, Finding], groups: Finding | None) -> list[str]:
    """Return the order of the file, long factors after it, looked-up columns after their source."""
    no_data = _not_drawn(profile, groups)
    late = {f.columns[0] for f in profile.findings if f.code == "long-factor"}
    distinct = {column.name: column.distinct for column in profile.columns}
    drawn = [n for n in distinct if n not in no_data and n not in derived]
    looked_up = [n for n, f in derived.items() if f.code != "arithmetic"]
    role = groups.suggestion["groups"].get("role") if groups else None
    drawn.sort(key=lambda n: n != role)  # who a member is comes before what it has
    return [
        *(n for n in drawn if n not in late),
        *sorted((n for n in drawn if n in late), key=lambda n: distinct[n]),
        *sorted(looked_up, key=lambda n: len(_ancestors(n, derived))),
    ]


def dropped(profile: Profile) -> list[str]:
    """Return the columns that are no data: what names people, and survey weights."""
    return list(dict.fromkeys(f.columns[0] for f in profile.findings if f.code in _DROPPED))


def _synthesis(profile: Profile, order: Sequence[str], groups: Finding | None) -> Iterator[str]:
    yield "[synthesis]"
    yield from _GUARDED
    key = groups.columns if groups else ()
    names = [name for name in dropped(profile) if name not in key]
    yield from weight_lines(names, chosen_weights(profile.findings), replaceable([profile]))
    if groups:  # who somebody is comes first: role, sex, age
        return
    yield comment("The order of synthesis: that of the file, long factors and look-ups last.")
    yield "order = ["
    yield from (f"  {toml_value(name)}," for name in order)
    yield "]"


def replaceable(profiles: Iterable[Profile]) -> dict[str, str]:
    """Return the columns that name people and can be invented, with what takes their place."""
    how = {FINDINGS["identifier"]: "id", FINDINGS["person-name"]: "name"}
    kinds = (Kind.INTEGER, Kind.CATEGORY, Kind.TEXT, Kind.ID)
    return {
        f.columns[0]: how[f.code]
        for profile in profiles
        for f in profile.findings
        if f.code in how and any(c.name == f.columns[0] and c.kind in kinds
                                 for c in profile.columns)
    }  # fmt: skip


def weight_lines(
    left_out: Sequence[str], weights: str | None, replaced: Mapping[str, str]
) -> Iterator[str]:
    """Return the lines about columns that are no data; ids are replaced, names may be."""
    can_be = {name: how for name, how in replaced.items() if name in left_out}
    fresh = {name: how for name, how in can_be.items() if how == "id"}
    out = [name for name in left_out if name not in fresh]
    if out:
        also = ", and survey weights" if weights else ""
        yield comment(f"Not part of the output: what names people{also}.")
        yield f"drop = {toml_value(out)}"
    if can_be:
        yield comment("Invented values, so that code still runs: fresh ids; of names and codes if")
        yield comment("they are taken out of drop.")
        yield f"{'' if fresh else '# '}replace = {_inline(fresh or can_be)}"
    if fresh and fresh != can_be:
        yield comment(f"replace = {_inline(can_be)}")
    if weights:
        yield comment("Survey weights: every record counts so often, and the output needs none.")
        yield f"weights = {toml_value(weights)}"


def _inline(entries: Mapping[str, str]) -> str:
    inside = ", ".join(f"{toml_key(name)} = {toml_value(how)}" for name, how in entries.items())
    return f"{{ {inside} }}"


def _rules(
    profile: Profile,
    order: Sequence[str],
    derived: Mapping[str, Finding],
    groups: Finding | None,
) -> Iterator[str]:
    place = {name: i for i, name in enumerate(order)}
    rules: list[str] = []
    unfit = 0
    for f in profile.findings:
        # A rule decides upon a column once what it asks about is drawn, never upon a derived one.
        fit = [
            text
            for text, (source, target) in zip(
                f.suggestion.get("rules", ()), f.suggestion.get("between", ()), strict=True
            )
            if place.get(source, len(place)) < place.get(target, -1)
            and target not in derived
            and _is_drawn_so(source, target, groups)
        ]
        rules += fit
        unfit += "rules" in f.suggestion and not fit
    adult = _adult(groups)
    if rules or adult:
        # Every household has an adult: that is no chance.
        mark = "" if adult else "# "
        yield "# Rules that hold in the data. Take those in force that must hold in every release."
        yield f"{mark}rules = ["
        yield from (f"  {toml_value(f'any({rule})')}," for rule in adult)
        yield from (comment(f"  {toml_value(rule)},") for rule in dict.fromkeys(rules))
        yield f"{mark}]"
    if unfit:
        more = f"{plural(unfit, 'finding')} of the report"
        yield comment(f"{more} cannot be stated as a rule with this order and these columns.")
    yield ""


def _is_drawn_so(source: str, target: str, groups: Finding | None) -> bool:
    """Whether both are drawn, and the target not before the source because groups come first."""
    if groups is None:
        return True
    counted = {*groups.suggestion["size"], *groups.suggestion["sums"]}
    shared = groups.suggestion["groups"]["constant"]
    backwards = target in shared and source not in shared
    return not backwards and not counted & {source, target}


def _domains(domains: Mapping[str, Domain]) -> Iterator[str]:
    """Return what the columns can be, by the code book."""
    known = {name: domain for name, domain in domains.items() if domain.is_whole}
    if known:
        yield "# What columns can be, by the code book: a guarantee needs it, never from data."
        yield "# A number has its lowest value, its highest value and its step."
    for name, domain in known.items():
        yield f"[synthesis.columns.{toml_key(name)}]"
        yield from domain_lines(domain)
        yield ""


def _derived(
    profile: Profile, derived: Mapping[str, Finding], groups: Finding | None
) -> Iterator[str]:
    found = [f for f in profile.findings if f.code in _DERIVED]
    found = [f for f in found if f.code != "arithmetic" or all(map(can_be_named, f.columns[1:]))]
    sums = groups.suggestion["sums"] if groups else {}
    if not found and not sums:
        return
    yield "# Columns that follow from others: computed or looked up in the original, not drawn."
    yield "# What another column is looked up by comes before it in the order and is not computed."
    yield "[synthesis.derived]"
    for name, part in sums.items():
        if can_be_named(part):
            yield f"{toml_key(name)} = {toml_value(f'sum({named(part)})')}"
    for f in found:
        line = f"{toml_key(f.columns[0])} = {_derivation(f)}"
        in_force = derived.get(f.columns[0]) is f and f.columns[0] not in sums
        yield line if in_force else comment(line)
    yield ""


def _derivation(finding: Finding) -> str:
    if finding.code == "arithmetic":
        return toml_value(finding.suggestion["formula"])
    return f"{{ lookup = {toml_value(finding.suggestion['from'])} }}"


# -------------------------------------------------------------------------------------------------
# A starter specification for several tables that belong together.


_STARTER_TABLES_HEAD = """\
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
    parts = [
        _STARTER_TABLES_HEAD,
        *release_part(Answers(), held_out),
        *(["[data]", *given, ""] if given else []),
    ]
    for name, profile in profiles.items():
        parts += _table(name, profile, files[name], links)
    left_out = list(dict.fromkeys(c for held in _no_data(profiles, links).values() for c in held))
    parts += ["[synthesis]", *guarded_lines()]
    keys = {column for name in profiles for column in links.key_columns(name)}
    invented = {n: how for n, how in replaceable(profiles.values()).items() if n not in keys}
    parts += weight_lines(left_out, _weights(profiles, links), invented)
    parts += [*_rules_starter_tables(profiles, links), ""]
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


def _rules_starter_tables(profiles: Mapping[str, Profile], links: Links) -> Iterator[str]:
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
