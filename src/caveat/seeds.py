"""Randomness: a tree of seeds, and the secret key of a release.

Each part of the work has a seed of its own, whatever runs beside it. The root of the tree decides
every draw, so whoever can guess it can repeat the release. A release therefore takes its root from
a secret key of 256 random bits; the seed only names one of the releases of that key. A seed without
a key makes a trial: it can be repeated anywhere, and must not be released.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import stat
from dataclasses import dataclass
from enum import Enum, unique
from pathlib import Path

import numpy as np

from caveat.errors import CaveatError

__all__ = [
    "MOST_SEED",
    "TRIAL",
    "ReleaseKey",
    "Stream",
    "child_seed",
    "is_guessable",
    "key_of",
    "random_root",
    "rng_of",
]

MOST_SEED = 2**64 - 1
"""The largest seed that a user can write: a root that is not larger than 128 bits is a trial's."""

TRIAL = (
    "this is a trial and must not be released: its seed has no key, and an attacker who guesses "
    "the seed can repeat the draw"
)
_SECRET = 2**128  # no root below is a release's; of 256 random bits one in 2**128 is
_DIGITS = re.compile(r"[0-9a-f]{64}")
_HEAD = "# Confidential: whoever has this key can repeat every draw of the release.\n"
_MOST_BYTES = 1000


@unique
class Stream(Enum):
    """The draws of Caveat: the first word of their keys, and how many words follow it.

    Keys differ in their first word or in their length, so that no two streams of one root meet: a
    word that is given out twice for keys of one length is refused when this module is loaded.
    """

    FIT = 0, 2
    """Fitting a column: copy, position of the column."""
    SAMPLE = 1, 3
    """Drawing a column: copy, position of the column, block of rows."""
    SHUFFLE = 2, 1
    """The order of copied rows: copy."""
    PREDICTORS = 3, 1
    """Choosing the predictors of a column: its position."""
    STAGES = 3, 3
    """Drawing a table of several: copy, number of the stage, place in the group."""
    SEARCH = 0, 1
    """Releases that settings are compared on, in a search or a map: number."""
    FRESH = 1, 1
    """Releases that confirm the best settings of a search: number."""
    REFILL = 1_000_003, 1
    """Records that replace those that a filter has removed: number of the draw."""
    SIMULATED_POSTERIOR = 1_000_004, 0
    """The simulations of the strong attacker in a search."""
    CONTROL = 1_000_010, 0
    """Which records are held out."""
    PROTECT = 1_000_011, 1
    """The protections of a copy: its number."""
    RECORDS = 1_000_012, 1
    """Which records an attack or a protection takes: number of the scenario or table."""
    SIMULATED_WORST = 1_000_013, 0
    """The simulations of the strong attacker where there is no likelihood."""
    ORDINARY = 1_000_014, 2
    """An ordinary attack: number of the scenario, copy."""
    RESAMPLES = 1_000_015, 0
    """The resamples of the original that utility is compared with."""
    MAP = 1_000_016, 0
    """The releases of a risk–utility map."""
    SIMULATED = 1_000_017, 1
    """The attack by simulation: number of the scenario."""
    FITS = 1_000_020, 1
    """The fits of a comparison of generators: number."""
    PEOPLE = 1_000_021, 0
    """The other records that an attack by simulation compares with."""
    WHAT_IF = 1_000_021, 1
    """Releases made in another way, to explain the risk of a record: number."""
    TRIES = 1_000_022, 0
    """The root of the releases made in other ways."""
    ORDER = 1_000_023, 0
    """Which records the account of all releases of the data is kept for."""
    STRUCTURE = 1_000_033, 0
    """The structures of trees that an attacker draws."""


def child_seed(seed: int, *key: Stream | int) -> int:
    """Return the seed of one part of the work; it is as long as the root it comes from."""
    state = _sequence(seed, key).generate_state(4, np.uint64)
    if is_guessable(seed):
        return int(state[0] >> np.uint64(1))
    return int.from_bytes(state.astype("<u8").tobytes(), "little")


def rng_of(seed: int, *key: Stream | int) -> np.random.Generator:
    """Return the generator of one part of the work: the same key, the same numbers.

    Examples
    --------
    >>> [int(rng_of(1, part).integers(100)) for part in (2, 2, 3)]
    [42, 42, 18]
    """
    return np.random.default_rng(_sequence(seed, key))


def _sequence(seed: int, key: tuple[Stream | int, ...]) -> np.random.SeedSequence:
    words = list[int]()
    for part in key:
        if isinstance(part, Stream):
            first, following = part.value
            if words or len(key) - 1 != following:
                raise ValueError(f"a key of {part.name} has {following} words after it")
            words.append(first)
        else:
            words.append(part)
    return np.random.SeedSequence(seed, spawn_key=words)


def random_root() -> int:
    """Return a root that nobody can guess, for draws that need not be repeated."""
    return ReleaseKey.new().root(0)


def key_of(
    specification: Path, seed: int | None, path: str | Path | None = None
) -> ReleaseKey | None:
    """Return the key of what a specification makes, created if there is none; None for a trial.

    Parameters
    ----------
    specification
        Its file; the key has the same name with the ending .key.
    seed
        The seed that the specification has. Without one a key is created.
    path
        Another file for the key: it is created whatever the seed.
    """
    file = specification.with_suffix(".key") if path is None else Path(path)
    if seed is not None and seed > MOST_SEED:
        raise CaveatError(
            "the seed is too long",
            where=str(specification),
            do="use a number below 2**64",
            code="spec.entry.range",
        )
    if seed is not None and path is None and not os.path.lexists(file):
        return None
    return ReleaseKey.at(file)


def is_guessable(root: int) -> bool:
    """Return whether a root is short enough to be a seed without a key.

    Examples
    --------
    >>> is_guessable(1), is_guessable(ReleaseKey.new().root(1))
    (True, False)
    """
    return root < _SECRET


@dataclass(frozen=True, repr=False)
class ReleaseKey:
    """The secret of a release: 256 bits that decide, with a seed, every draw.

    Parameters
    ----------
    text
        The bits as 64 hexadecimal digits.
    """

    text: str

    def __post_init__(self) -> None:
        if not _DIGITS.fullmatch(self.text):
            raise ValueError("no key")

    def __repr__(self) -> str:
        return "<ReleaseKey>"

    @classmethod
    def new(cls) -> ReleaseKey:
        """Return a random key."""
        return cls(secrets.token_hex(32))

    def root(self, seed: int) -> int:
        """Return the root of all draws: HMAC-SHA256 of the seed under the key.

        Examples
        --------
        >>> key = ReleaseKey("0" * 64)
        >>> key.root(1) == ReleaseKey("0" * 64).root(1) != key.root(2)
        True
        """
        message = f"caveat release {seed}".encode()
        # Roots of at least 129 bits: none of them is taken for a seed.
        return int.from_bytes(hmac.digest(bytes.fromhex(self.text), message, "sha256")) | _SECRET

    @classmethod
    def read(cls, path: Path) -> ReleaseKey:
        """Read a key file; refuse one that others can read or that is a link."""
        try:
            file = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | os.O_NONBLOCK)
        except OSError as error:
            raise _unusable(
                path, f"the key cannot be read ({error.strerror})", "key.file.unreadable"
            ) from None
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST_BYTES:
            os.close(file)
            raise _unusable(path, "this is not a key file", "key.file.type")
        with os.fdopen(file, "rb") as opened:
            if os.name == "posix" and found.st_mode & 0o077:
                raise CaveatError(
                    "others can read the key of the release",
                    where=str(path),
                    do="run chmod 600 on it if nobody has read it; otherwise delete it, and a new "
                    "one is created",
                    code="key.file.refused",
                )
            lines = opened.read().decode("ascii", "replace").splitlines()
        held = [line.strip() for line in lines if not line.startswith("#")]
        if len(held) != 1 or not _DIGITS.fullmatch(held[0]):
            raise _unusable(path, "this is not a key file", "key.file.type")
        return cls(held[0])

    @classmethod
    def at(cls, path: Path) -> ReleaseKey:
        """Read a key file, or create it with a random key if there is none."""
        if not os.path.lexists(path):
            cls.new().write(path)
        return cls.read(path)

    def write(self, path: Path) -> None:
        """Write a key file that only its owner can read; one that exists stays as it is."""
        draft = path.with_name(f".{path.name}-{secrets.token_hex(6)}")
        try:
            file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with os.fdopen(file, "w", encoding="ascii", newline="\n") as opened:
                    opened.write(f"{_HEAD}{self.text}\n")
                    opened.flush()
                    os.fsync(opened.fileno())
                _give_name(draft, path)
            finally:
                draft.unlink(missing_ok=True)
        except OSError as error:
            raise _unusable(
                path, f"the key cannot be written ({error.strerror})", "key.file.not-writable"
            ) from None


def _give_name(draft: Path, path: Path) -> None:
    """Give a complete file its name; whoever was first keeps it."""
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    except OSError:  # no links in this file system
        if not os.path.lexists(path):
            draft.rename(path)


def _unusable(path: Path, what: str, code: str) -> CaveatError:
    return CaveatError(
        what,
        where=str(path),
        do="restore it to repeat the release; to make a new one, delete the file or name another",
        code=code,
    )
