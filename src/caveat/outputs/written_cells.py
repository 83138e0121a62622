"""Cells of published tables as they are written: 5,000 and 1.767,26, 3 % and €7,000, 12*, <10."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

__all__ = ["HIDDEN", "bound_of", "cell_text", "decimal_of", "number_of"]

HIDDEN = frozenset((
    "", "-", "--", "–", "—", "−", "*", "**", "***", ".", "..", "...", "…", ":", "/", "#", "×", "•",
    "x", "c", "d", "s", "z", "na", "n/a", "n.a.", "k.a.", "suppressed", "hidden", "withheld",
    "confidential", "geheim", "[c]", "[x]", "[z]", "[low]", "(c)", "(d)", "(s)", "(x)", "(z)",
))  # fmt: skip
"""What stands in a cell that is hidden, in small letters; also a bound such as <10 or ≥ 5."""

_BOUND = re.compile(r"(?P<sign><=|=<|>=|=>|<|>|≤|≥|⩽|⩾|≦|≧|&lt;=?|&gt;=?|&le;|&ge;)(?P<rest>.*)")
SPACES = str.maketrans(dict.fromkeys("\u00a0\u2007\u2009\u202f", " ") | {"−": "-", "’": "'"})
_MONEY = r"(?:[€$£¥]|EUR|USD|GBP|CHF|JPY)"
# A footnote is a mark behind the number; a number in brackets is a doubtful one.
_AROUND = re.compile(
    rf"(?:~|≈|ca\.|c\.)?\s*{_MONEY}?\s*(?P<number>.*?)\s*(?:{_MONEY}|%|‰)?\s*[*†‡§¹²³⁴-⁹]*",
    re.IGNORECASE,
)
_FORMS = {
    decimal: re.compile(
        rf"[-+]?(?:[1-9]\d{{0,2}}(?:([{re.escape(other)} '])\d{{3}})(?:\1\d{{3}})*|\d+)?"
        rf"(?P<rest>{re.escape(decimal)}\d*)?(?:e[-+]?\d+)?",
        re.IGNORECASE,
    )
    for decimal, other in ((".", ","), (",", "."))
}


def number_of(text: str, decimal: str = ".") -> float | None:
    """Return a cell as a number, NaN for a hidden one, None for anything else.

    Parameters
    ----------
    text
        What is written in the cell.
    decimal
        The decimal sign, point or comma; the other one may stand between thousands.

    Examples
    --------
    >>> number_of("5,000"), number_of("€7,000"), number_of("3 %"), number_of("12*")
    (5000.0, 7000.0, 3.0, 12.0)
    >>> number_of("1.767,26"), number_of("1.767,26", ","), number_of("0-19")
    (None, 1767.26, None)
    >>> number_of("<10"), number_of("–"), number_of("<10 (3)")
    (nan, nan, None)
    """
    plain = text.translate(SPACES).strip()
    if plain.lower() in HIDDEN or bound_of(plain, decimal) is not None:
        return math.nan
    if plain[:1] + plain[-1:] in ("()", "[]"):
        plain = plain[1:-1].strip()
    sign = plain[:1] if plain[:1] in ("-", "+") else ""
    around = _AROUND.fullmatch(plain[len(sign) :])
    if around is None:
        return None
    digits = sign + around["number"]
    found = _FORMS[decimal].fullmatch(digits)
    if found is None or not any(sign.isdigit() for sign in digits):
        return None
    other = {".": ",", ",": "."}[decimal]
    whole = re.sub(rf"[{re.escape(other)} ']", "", digits).replace(decimal, ".")
    try:
        number = float(whole)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def bound_of(text: str, decimal: str = ".") -> tuple[str, float] | None:
    """Return a bound that stands in a cell, as its sign and its number; None for anything else.

    Only a sign and one number is a bound: what stands beside them may say more than it hides.

    Parameters
    ----------
    text, decimal
        As for :func:`number_of`.

    Examples
    --------
    >>> bound_of("<10"), bound_of("≥ 5"), bound_of(">2 and <4")
    (('<', 10.0), ('>=', 5.0), None)
    """
    found = _BOUND.fullmatch(text.translate(SPACES).strip())
    if found is None or _BOUND.match(found["rest"].strip()):
        return None
    read = (number_of(found["rest"], one) for one in (decimal, "." if decimal == "," else ","))
    number = next((one for one in read if one is not None), math.nan)
    if math.isnan(number):
        return None
    sign = found["sign"].replace("&lt;", "<").replace("&gt;", ">")
    strict = sign in ("<", ">")
    below = sign in ("<", "<=", "=<", "≤", "⩽", "≦", "&le;")
    return ("<" if below else ">") + ("" if strict else "="), number


def decimal_of(columns: Iterable[Iterable[str]]) -> str | None:
    """Return the decimal sign of a table; None if its columns do not tell, or do not agree.

    Parameters
    ----------
    columns
        The cells of each column that is text.

    Examples
    --------
    >>> decimal_of([["north", "south"], ["1.767,26", "2,5"]]), decimal_of([["5,000", "12*"]])
    (',', None)
    """
    found = set()
    for column in columns:
        cells = list(column)
        signs = [
            sign for sign in _FORMS
            if all(number_of(cell, sign) is not None for cell in cells)
        ]  # fmt: skip
        shown = any(not math.isnan(number_of(cell, signs[0]) or 0.0) for cell in cells if signs)
        if len(signs) == 1 and shown:
            found.add(signs[0])
    return found.pop() if len(found) == 1 else None


def cell_text(value: Any) -> str:
    """Return a value of a key as text: the same from all formats of files."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)
