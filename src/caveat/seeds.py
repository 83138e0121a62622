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
from pathlib import Path

import numpy as np

from caveat.errors import CaveatError

__all__ = [
    "MOST_SEED",
    "TRIAL",
    "ReleaseKey",
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


def child_seed(seed: int, *key: int) -> int:
    """Return the seed of one part of the work; it is as long as the root it comes from."""
    state = np.random.SeedSequence(seed, spawn_key=key).generate_state(4, np.uint64)
    if is_guessable(seed):
        return int(state[0] >> np.uint64(1))
    return int.from_bytes(state.astype("<u8").tobytes(), "little")


def rng_of(seed: int, *key: int) -> np.random.Generator:
    """Return the generator of one part of the work: the same key, the same numbers.

    Examples
    --------
    >>> [int(rng_of(1, part).integers(100)) for part in (2, 2, 3)]
    [42, 42, 18]
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


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
