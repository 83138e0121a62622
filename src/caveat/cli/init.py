"""``caveat init``: a few questions, and a release specification."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caveat.cli import console
from caveat.cli.reading import seen_from
from caveat.errors import CaveatError, hint
from caveat.table import Table, read
from caveat.table.drafts import check_output, write_text
from caveat.table.source import readable

if TYPE_CHECKING:
    from caveat.findings import Profile
    from caveat.spec.forms import Answers, Most

__all__ = ["init"]

SCHEMA = "release.schema.json"


def init(
    data: Annotated[Path | None, typer.Argument(help="The confidential file.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The specification.")] = Path(
        "release.toml"
    ),
    schema: Annotated[
        bool,
        typer.Option(
            "--schema",
            help=f"Ask nothing; write {SCHEMA} beside the specification, for editors.",
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:
    """Write a release specification after a few questions."""
    if schema:
        target = out.with_name(SCHEMA)
        check_output(target, force=force, inputs=[data])
        # The specification knows every room: seconds that `caveat --help` does not need.
        from caveat.spec.entries import json_schema

        write_text(
            target, json.dumps(json_schema(), indent=2) + "\n", confidential=False, force=force
        )
        console.remark(f"written: {target}")
        return
    if not _is_terminal():
        raise CaveatError(
            "init asks questions and needs a terminal",
            do="use caveat look FILE --out release.toml, which asks nothing",
            code="command.terminal.absent",
        )
    check_output(out, force=True, inputs=[data])
    force = force or _may_replace(out)
    check_output(out, force=force)
    table, file = _data(data)
    check_output(out, force=force, inputs=[file])
    from caveat.findings import look as look_at
    from caveat.spec.spec import ReleaseSpec
    from caveat.spec.starter import starter

    profile = look_at(table)
    answers = _ask(profile, "Synthetic data")
    text = starter(profile, seen_from(out, file), {}, answers)
    write_text(out, text, confidential=True, force=force)
    _say(f"\nwritten: {out}")
    ReleaseSpec.from_toml(out).check(table)
    _say("Read it line by line: what the look only suspects stands in comments.")
    _say(f"Then: caveat run {out}")


def _is_terminal() -> bool:
    return sys.stdin.isatty()


def _may_replace(out: Path) -> bool:
    return out.is_file() and typer.confirm(f"{out} exists already. Replace it?", default=False)


def _data(given: Path | None) -> tuple[Table, Path]:
    """Return the table and its file; asked for until it can be read, unless it was named."""
    if given is not None:
        return read(given), given
    here = [path for path in sorted(Path().iterdir()) if path.is_file()]
    here = [path for path in here if path.name.lower().endswith(readable())]
    found: list[Table] = []

    def taken(answer: str) -> Path:
        found.append(read(answer))
        return Path(answer)

    file = _question("The confidential file", taken, str(here[0]) if len(here) == 1 else None)
    return found[-1], file


def _ask(profile: Profile, title: str) -> Answers:
    """Ask what the look cannot know."""
    from caveat.findings.keys import candidates
    from caveat.spec.data_entries import ACCESS
    from caveat.spec.forms import ATTRIBUTES, DISCLOSURE, MEMBERSHIP, Answers
    from caveat.spec.starter import released, usual_share

    groups = _groups(profile)
    names = released(profile, groups)
    likely = candidates(profile, names)
    left_out = [column.name for column in profile.columns if column.name not in names]
    _say(f"{profile.rows:,} rows. Columns that would be released: {', '.join(names)}.")
    if left_out:
        _say(f"Left out, or computed from others: {', '.join(left_out)}.")
    title = _question("\nTitle of the release", _filled, title)
    unit = _question("What is a row (person, household, visit …)", _filled, "person")
    purpose = _question("What is the release for", str.strip, "")
    recipients = _question("Who gets it", str.strip, "")
    access = _question(f"How do they get it ({', '.join(ACCESS)})", _one_of(ACCESS), "secure")
    copies = _question("How many synthetic tables", _whole, "1")
    control = _question(
        "Share of records to hold out, to attack people who were not in the data (0 for none)",
        _share,
        f"{usual_share(profile, groups) or 0:g}",
    )
    _say("\nWhat an attacker may know about a person, with commas; results depend wholly on it.")
    if likely:
        _say(f"People often know: {', '.join(likely)}.")
    keys = _question("Keys", _columns(names, least=1), _listed(likely[:3]) or None)
    others = [name for name in names if name not in keys]
    targets = _question("What they want to learn (empty: everything else)", _columns(others), "")
    limits = _limits(DISCLOSURE)
    _say("\nThe strongest attacker knows all other records, and how the release is made.")
    strong = _question(
        "Columns that they want to learn (a minus: only who was in the data)",
        _columns(others, none="-"),
        _listed(targets) or "-",
    )
    strong_limits = _limits({**MEMBERSHIP, **(ATTRIBUTES if strong else {})})
    _say("\nAnalyses that must work on the synthetic data, as in: income ~ age + sex")
    return Answers(
        title=title, unit=unit, purpose=purpose, recipients=recipients, access=access,
        copies=copies, control=control, keys=keys, targets=targets, limits=limits,
        strong=strong, strong_limits=strong_limits, groups=groups, models=_models(names),
    )  # fmt: skip


def _limits(usual: Mapping[str, Most]) -> dict[str, Most]:
    """Ask for the most that measures may come to, or may be above their comparison."""
    from caveat.risk import MEASURES

    limits: dict[str, Most] = {}
    for measure, most in usual.items():
        above = isinstance(most, Mapping)
        _say(f"\n{measure}: {MEASURES[measure].says}.")
        text = f"The most percentage points of {measure} above the comparison" if above else (
            f"The most that {measure} may come to, in per cent"
        )  # fmt: skip
        default = f"{most['above'] if isinstance(most, Mapping) else most:g}"
        given = _question(f"{text} (a minus: no limit)", _percent, default)
        if given is not None:
            limits[measure] = {"above": given} if above else given
    return limits


def _models(names: Sequence[str]) -> tuple[str, ...]:
    """Ask for one or two formulas."""
    from caveat.utility.analyses import check_model

    def understand(answer: str) -> str:
        if answer.strip():
            check_model(answer.strip(), names)
        return answer.strip()

    first = _question("First analysis (empty: none)", understand, "")
    second = _question("Second analysis (empty: none)", understand, "") if first else ""
    return tuple(model for model in (first, second) if model)


def _groups(profile: Profile) -> bool:
    """Ask whether rows that belong together are synthesised so, if there are any."""
    from caveat.spec.starter import group_finding

    found = group_finding(profile)
    if found is None:
        return False
    _say(f"Rows belong together by {found}")
    text = f"Synthesise whole groups of {found.columns[0]}, with fresh keys (yes, no)"
    return bool(_question(text, _one_of(("yes", "no")), "yes") == "yes")


def _say(text: str) -> None:
    console.out.print(text, markup=False, soft_wrap=True)


def _question(text: str, understand: Callable[[str], Any], default: str | None) -> Any:
    """Ask until the answer is understood; the answer to an empty line is the default."""
    while True:
        answer = typer.prompt(text, default=default, show_default=bool(default))
        try:
            return understand(str(answer))
        except (CaveatError, ValueError) as error:
            console.error(str(error))


def _filled(answer: str) -> str:
    if not answer.strip():
        raise ValueError("an answer is needed")
    return answer.strip()


def _one_of(words: Sequence[str]) -> Callable[[str], str]:
    def understand(answer: str) -> str:
        if answer.strip() not in words:
            raise ValueError(f"{answer.strip()!r} is none of them; {hint(answer, words)}")
        return answer.strip()

    return understand


def _number(answer: str, what: str) -> float:
    try:
        number = float(answer.strip().removesuffix("%"))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{what} is expected")
    return number


def _whole(answer: str) -> int:
    number = _number(answer, "a whole number")
    if number < 1 or number != int(number):
        raise ValueError("a whole number, 1 or more, is expected")
    return int(number)


def _share(answer: str) -> float:
    number = _number(answer, "a share such as 0.2")
    if not 0 <= number < 1:
        raise ValueError("a share from 0 to below 1 is expected")
    return number


def _percent(answer: str) -> float | None:
    if answer.strip() == "-":
        return None
    number = _number(answer, "a number of per cent")
    if not 0 <= number <= 100:
        raise ValueError("a number from 0 to 100 is expected")
    return int(number) if number.is_integer() else number


def _listed(names: Sequence[str]) -> str:
    """Return names as they are typed: those with commas or quotation marks in quotation marks."""
    odd = [f'"{name.replace(chr(34), chr(34) * 2)}"' for name in names]
    return ", ".join(
        q if set(name) & {",", '"'} else name for name, q in zip(names, odd, strict=True)
    )


def _columns(
    known: Sequence[str], least: int = 0, none: str = ""
) -> Callable[[str], tuple[str, ...]]:
    def understand(answer: str) -> tuple[str, ...]:
        if answer.strip() == none:
            answer = ""
        # Names with commas stand in quotation marks, as in a CSV file.
        (row,) = list(csv.reader([answer], skipinitialspace=True)) or [[]]
        names = tuple(dict.fromkeys(name.strip() for name in row if name.strip()))
        for name in names:
            if name not in known:
                raise ValueError(f"there is no column {name!r} to choose; {hint(name, known)}")
        if len(names) < least:
            raise ValueError("name at least one column")
        return names

    return understand
