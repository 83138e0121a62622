"""The one judgement of columns that name people."""

from __future__ import annotations

import re
import uuid
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from caveat.findings import look
from caveat.table import Schema, Table, read
from caveat.table.identifying import CODES, judge

N = 300
RNG = np.random.default_rng(18)
WORDS = [
    "the",
    "a",
    "patient",
    "called",
    "again",
    "because",
    "of",
    "pain",
    "in",
    "the",
    "left",
    "knee",
    "see",
    "letter",
    "from",
    "doctor",
]
HOUSEHOLD = RNG.integers(0, 120, N)
PERSONS = [f"{a} {b}" for a in ("Anna", "Bob", "Cleo", "Dan") for b in ("Mayer", "Lee", "Khan")]
FIRST = re.findall(
    r"\w+",
    """Anna Bernd Carla David Elena Frank Greta Hans Ines Jakob Karin Lukas Maria Nils Olga Peter
    Rita Simon Tanja Ulrich Vera Walter Yvonne Zoe Amina Omar Wei Ivan Sofia Pablo Chloe Liam Emma
    Noah Zaneta Quirin Oisin Xenia Bjarne Wiebke""",
)
LAST = re.findall(
    r"\w+",
    """Müller Schmidt Weber Becker Hoffmann Koch Richter Zywietz Krampitz Ott Garcia Lopez Smith
    Jones Williams Kowalski Nowak Rossi Russo Dubois Quandt Petrov Khan Nguyen Silva Santos
    Ypsilanti Bohm Dreyer Falk""",
)
DAYS = np.datetime64("1940-01-01") + RNG.integers(0, 20_000, N)


def sentence() -> str:
    return " ".join(RNG.choice(WORDS, RNG.integers(4, 12)))


def digits(low: int, high: int, n: int = N) -> np.ndarray:
    return low + RNG.choice(high - low, n, replace=False)


MAIL = [f"{RNG.choice(WORDS)}{i}@example.org" for i in range(N)]
NAMING = {
    "e-mail with a blank": ("v", [*MAIL[:-1], None], "identifier"),
    "e-mail, half empty": ("v", [*MAIL[:150], *[""] * 150], "identifier"),
    "e-mail, ten of each": ("v", MAIL[:30] * 10, "identifier"),
    "uuid": ("v", [str(uuid.UUID(int=int(i))) for i in digits(0, 2**40)], "identifier"),
    "nine digits with gaps": ("v", digits(10**8, 10**9), "identifier"),
    "nine digits and an empty cell": ("v", [None, *map(float, digits(10**8, 10**9)[1:])],
                                      "identifier"),
    "pid after a split": ("pid", np.sort(digits(0, 375)), "identifier"),
    "running, a seventh of it": ("v", np.sort(digits(0, 2000)), "identifier"),
    "running, shuffled, with gaps": ("v", digits(1, 500), "identifier"),
    "padded": ("v", [f"{i:07d}" for i in digits(0, 10**7)], "identifier"),
    "sixteen digits as text": ("v", [str(i) for i in digits(10**15, 10**16)], "identifier"),
    "codes in every third row": ("v", [f"A{n:05d}" if n % 3 == 0 else "" for n in range(N)],
                                 "identifier"),
    "employers": ("IDunit", digits(10, 999, 40)[RNG.integers(0, 40, N)], "group-key"),
    "telephone": ("v", [f"0{d % 900 + 100} {d}" for d in digits(10**5, 10**7)],
                  "near-unique-text"),
    "telephone as a number": ("v", digits(1_500_000_000, 1_799_999_999), "identifier"),
    "names": ("v", [f"{RNG.choice(PERSONS)}-{i}son" for i in range(N)], "near-unique-text"),
    "few names": ("last name", [f"{PERSONS[i % 12]}-{i % 40}son" for i in range(N)],
                  "near-unique-text"),
    "first": ("first", [FIRST[i % 40] for i in range(N)], "person-name"),
    "last": ("last", [LAST[i % 30] for i in range(N)], "person-name"),
    "fname": ("fname", [FIRST[i % 12] for i in range(N)], "person-name"),
    "lname, of six": ("lname_2", [LAST[i % 6] for i in range(N)], "person-name"),
    "pat_vorname": ("pat_vorname", [FIRST[i % 40] for i in range(N)], "person-name"),
    "surname that no list has": ("MotherSurname", [f"Q{chr(97 + i % 26)}x" for i in range(N)],
                                 "person-name"),
    "names by their values": ("v", [FIRST[i % 40] for i in range(N)], "person-name"),
    "full names by their values": ("contact", [f"{LAST[i % 30]}, {FIRST[i % 40]}"
                                               for i in range(N)], "person-name"),
    "names, mostly unknown": ("v", [f"Miss {i}y" if i < 40 else "unknown" for i in range(N)],
                              "near-unique-text"),
    "remarks": ("v", [sentence() for _ in range(N)], "free-text"),
    "few remarks": ("v", [sentence() if i % 9 == 0 else "none" for i in range(N)], "free-text"),
    "born, as text": ("v", DAYS.astype(str), "birth-date"),
    "born, day first": ("v", [f"{d[8:]}.{d[5:7]}.{d[:4]}" for d in DAYS.astype(str)],
                        "birth-date"),
    "born, as dates": ("v", DAYS, "birth-date"),
    "born, as a number": ("v", [int(d.replace("-", "")) for d in DAYS.astype(str)], "birth-date"),
    "e-mails of three people": ("v", [*MAIL[:3], *[""] * (N - 3)], "identifier"),
    "one e-mail among answers": ("v", [MAIL[0], *["by post", "by phone"] * 149, ""], "identifier"),
    "IP addresses, 20 of each": ("v", [f"10.{i % 15}.7.{i % 15}" for i in range(N)], "identifier"),
    "telephone of a household": ("v", [f"0{30 + i % 60}/{i % 60 + 555000}" for i in range(N)],
                                 "near-unique-text"),
    "telephone, 10 and 11 digits": ("v", [*digits(1_500_000_000, 1_799_999_999, 150),
                                          *digits(15_000_000_000, 17_999_999_999, 150)],
                                    "identifier"),
    "keys of a machine, in groups": ("v", [uuid.UUID(int=(i % 90 + 7) * 3**70).hex[-12:]
                                           for i in range(N)], "group-key"),
    "names in three waves": ("v", [f"Miss {'z' * (i % 7)}{i % 100}y" for i in range(100)] * 3,
                             "near-unique-text"),
    "moments": ("v", np.datetime64("2021-01-01T00", "ms") + RNG.integers(0, 10**10, N),
                "identifier"),
    "moments as text": ("v", [str(t).replace("T", " ") for t in np.datetime64("2021-01-01T00:00:00")
                              + digits(0, 10**7)], "identifier"),
    "places in one text": ("v", [f"48.{i % 70 + 10},11.{i % 70 + 10}" for i in range(N)],
                           "coordinate"),
    "born, 12041985": ("v", [int(d[8:] + d[5:7] + d[:4]) for d in DAYS.astype(str)], "birth-date"),
    "few first names in many rows": ("Vorname", [f"Ann{'abcdefghijklmnopqrstuvwxyz'[i % 26]}"
                                                 for i in range(N)], "person-name"),
    "born, in a month, by name": ("Geburtsdatum", DAYS[0] + RNG.integers(0, 30, N), "birth-date"),
}  # fmt: skip


@pytest.mark.parametrize("case", NAMING)
def test_what_names_people_is_found(case: str) -> None:
    name, values, code = NAMING[case]
    found = judge(Table.from_frame({name: values, "sex": ["f", "m"] * (N // 2)}))
    assert {n: j.code for n, j in found.items()} == {name: code}
    assert code in CODES


def test_surnames_that_are_words_are_found_beside_first_names() -> None:
    words = ["Fox", "Bird", "Field", "Stone", "Bush", "Hill", "Rich", "Day", "Short", "Pond", "Ash"]
    columns = {
        "last": RNG.choice(words, N),
        "first": RNG.choice(["yes", "no", "unsure", "refused"], N),
        "last_town": RNG.choice(words, N),
    }
    assert judge(Table.from_frame(columns)) == {}
    columns["given"] = RNG.choice(["John", "Mary", "Linda", "Robert"], N)
    found = judge(Table.from_frame(columns))
    assert {n: j.code for n, j in found.items()} == {"last": "person-name", "given": "person-name"}


def test_initials_are_names_if_the_column_says_so() -> None:
    texts = [f"{a}. {b}." for a in "ABCDEFGHIK" for b in "LMNOPRSTUW"] * 6
    found = judge(Table.from_frame({"Initialen": texts, "grades": texts}))
    assert {n: j.code for n, j in found.items()} == {"Initialen": "person-name"}


ORDINARY = {
    "age": RNG.integers(18, 90, N),
    "age, sorted": np.sort(RNG.integers(18, 90, N)),
    "birth year": RNG.integers(1930, 2005, N),
    "income": RNG.lognormal(10, 0.6, N).round(2),
    "whole income": RNG.lognormal(10, 0.6, N).round().astype(int),
    "sorted income": np.sort(RNG.lognormal(10, 0.6, N).round().astype(int)),
    "price": RNG.integers(50, 500, N) * 1000,
    "weight": RNG.uniform(50, 900, N).round(3),
    "count": RNG.integers(0, 10**6, N),
    "zip": RNG.choice(RNG.integers(10_000, 99_999, 60), N),
    "zip as text": RNG.choice([f"{i:05d}" for i in RNG.integers(1000, 99_999, 60)], N),
    "town": RNG.choice([f"Town {i}" for i in range(80)], N),
    "country_name": RNG.choice([f"Land{i}" for i in range(70)], N),
    "admitted": np.datetime64("2018-01-01") + RNG.integers(0, 2000, N),
    "interviewed": np.datetime64("2020-01-01") + RNG.integers(0, 60, N),
    "occupation code": RNG.choice(RNG.integers(1000, 9999, 50), N),
    "bmi": RNG.normal(25, 4, N),
    "z": RNG.normal(0, 1, N),
    "income as text": [f"{v:.2f}" for v in RNG.lognormal(10, 0.6, N)],
    "time of day": [f"{i // 60:02d}:{i % 60:02d}" for i in RNG.integers(0, 1440, N)],
    "colour": RNG.choice(["brown", "blue", "green", "grey", "hazel", "black", "white", "red"], N),
    "first_job": RNG.choice(["farmer", "baker", "cook", "tailor", "nurse", "miller", "clerk"], N),
    "last_town": RNG.choice(["Paris", "Florence", "Victoria", "Berlin", "Madrid", "Rome", "Oslo",
                             "Lima", "Kyiv", "Cairo", "Austin", "Lagos"], N),
    "first": RNG.choice(["yes", "no", "unsure", "refused"], N),
    "state": RNG.choice(["Virginia", "Texas", "Utah", "Ohio", "Iowa", "Maine", "Nevada", "Alaska",
                         "Oregon", "Kansas", "Georgia", "Florida"], N),
    "mobile brand": RNG.choice([f"Brand {i}" for i in range(40)], N),
    "arrived": np.datetime64("2021-01-01T00", "ms") + 3_600_000 * RNG.integers(0, 8760, N),
    "birth_weight": RNG.normal(3300, 500, N).round().astype(int),
    "opinion": RNG.choice(["I agree with all of it", "I agree with most of it", "not at all"], N),
}  # fmt: skip


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_columns_are_left_alone(name: str) -> None:
    assert judge(Table.from_frame(ORDINARY)).get(name) is None


def test_household_numbers_are_found_by_what_members_share() -> None:
    size, income = RNG.integers(1, 6, 120), RNG.lognormal(8, 1, 120).round().astype(int)
    table = Table.from_frame(
        {
            "v": HOUSEHOLD * 7 + 1000,
            "age": RNG.integers(0, 99, N),
            "size": size[HOUSEHOLD],
            # as unlike a numbering as it is shared
            "income": income[HOUSEHOLD],
        }
    )
    assert {n: j.code for n, j in judge(table).items()} == {"v": "group-key"}
    # A class of ages is shared by all of an age, and age is no key for that.
    ages = Table.from_frame({"age": np.arange(N) % 90, "class": np.arange(N) % 90 // 10})
    assert judge(ages) == {}


def test_coordinates_are_found_by_name_and_by_form() -> None:
    lat, lon = RNG.uniform(47, 55, N).round(5), RNG.uniform(6, 15, N).round(5)
    pairs = ({"lat": lat, "lon": lon}, {"a": lat, "b": lon}, {"x": 1e5 * lat, "y": 1e5 * lon})
    for pair in pairs:
        found = judge(Table.from_frame({**pair, "bmi": RNG.normal(25, 4, N)}))
        assert {n: j.code for n, j in found.items()} == dict.fromkeys(pair, "coordinate")
    assert judge(Table.from_frame({"x": RNG.normal(0, 1, N), "y": RNG.normal(9, 1, N)})) == {}


def test_several_columns_of_logarithms_are_no_coordinates() -> None:
    logs = {
        name: RNG.normal(mean, 0.2, N).round(5)
        for name, mean in zip("abc", (5, 0.2, 4), strict=True)
    }
    assert judge(Table.from_frame(logs)) == {}
    place = {"p": RNG.uniform(47, 55, N).round(5), "q": RNG.uniform(6, 15, N).round(5)}
    found = judge(Table.from_frame({**place, "a": logs["a"]}))
    assert {"p", "q"} <= set(found)


def test_reasons_hold_no_value() -> None:
    for name, values, _ in NAMING.values():
        (judgement,) = judge(Table.from_frame({name: values})).values()
        assert not any(str(v) in judgement.reason for v in values if len(str(v)) > 3)


def test_a_declared_id_is_one_and_a_declared_category_does_not_hide_one() -> None:
    table = Table.from_frame({"x": RNG.integers(0, 9, N), "y": digits(10**8, 10**9)})
    declared = Schema.from_mapping({"x": {"kind": "id"}, "y": {"kind": "category"}}).apply(table)
    assert {n: j.code for n, j in judge(declared).items()} == dict.fromkeys("xy", "identifier")


def test_an_order_hides_no_names() -> None:
    texts = {"v": MAIL, "w": NAMING["names"][1]}
    frame = pd.DataFrame({n: pd.Categorical(v, ordered=True) for n, v in texts.items()})
    found = judge(Table.from_frame(frame))
    assert {n: j.code for n, j in found.items()} == {"v": "identifier", "w": "near-unique-text"}


def test_days_of_birth_may_be_counted_from_some_day_on() -> None:
    table = Table.from_frame({n: RNG.integers(-9000, 16000, 600) for n in ("dob", "birth weight")})
    assert {n: j.code for n, j in judge(table).items()} == {"dob": "birth-date"}


def test_the_look_says_what_the_judgement_says() -> None:
    table = Table.from_frame({str(i): NAMING[c][1] for i, c in enumerate(NAMING)})
    proposed = [f.columns[0] for f in look(table).findings if f.suggestion.get("drop")]
    assert sorted(proposed) == sorted(judge(table))


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("adult", {}), ("cmc", {}), ("fertility", {}), ("german_credit", {}), ("sd2011", {}),
        ("nist_ma2019", {}), ("sdcmicro_francdat", {}),
        ("laeken_eusilc", {"db030": "group-key", "rb030": "identifier"}),
        ("sdcmicro_testdata", {"ori_hid": "group-key"}),
        ("simframe_eusilcP", {"hid": "group-key", "id": "identifier"}),
    ],
)  # fmt: skip
def test_real_surveys(shared: Path, file: str, expected: dict[str, str]) -> None:
    table = read(shared / "data" / f"{file}.csv")
    assert {n: j.code for n, j in judge(table).items()} == expected
    # A part has gaps, fewer repetitions, and no other columns that are judged.
    part = table.take(np.random.default_rng(0).permutation(table.n_rows)[:300])
    assert set(judge(part)) == set(expected)
