"""What the names and the values of a column tell about it: persons, places, numberings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from caveat.registry import Late
from caveat.showing import without_values
from caveat.table.table import Column, Kind, Table
from caveat.table.written import YEARS

if TYPE_CHECKING:
    import polars as pl
else:
    pl = Late("polars")


_WORD = re.compile(r"(?<![A-Za-z])ID(?=[a-z])|[A-ZÄÖÜ]+(?![a-zäöüß])|[A-ZÄÖÜ]?[a-zà-ÿß]+")
# Identification variables of EU-SILC, whose names say nothing to others.
_EU_SILC = re.compile(r"[dhrp][bx]0?[34]0", re.IGNORECASE)
_OF_WHOM = (
    "person|pers|p|household|hh|h|haushalt|family|fam|user|patient|pat|pt|case|fall|rec|record|row|"
    "client|cust|customer|member|mitglied|resp|respondent|firm|firma|company|employer|employee|emp|"
    "betrieb|school|subject|sample|serial|unit|account|acc|konto|card|policy|contract|visit|"
    "individual|indiv|ind|menage|foyer|hogar|persona|matricule|dossier|"
    "tax|steuer|social|insurance|versicherung|security|national|citizen|passport|licence|license"
)
_ID = re.compile(
    r"id|ids|ident|identifier|identifiant|identificador|uuid|guid|key|keys|nr|pid|hid|hhid|uid|"
    r"ssn|nin|nhs|bsn|cpr|iban|pseudonym|token|matricule|idno|idnr|idnum"
)
_NUMBER = re.compile(r"no|num|number|numero|numéro|nummer|code|lfd|lfdnr|index|serial")
_GLUED = re.compile(rf"(?:{_OF_WHOM})(?:id|nr|no|num|number|nummer|key)|id(?:{_OF_WHOM})")
_SUBJECT = re.compile(_OF_WHOM)
_NAME = re.compile(r"name|names|nm|nom|nombre|nome|naam|navn|namn")
# A name is that of a person if it stands alone or beside one of these: not that of a town.
_WHOSE = re.compile(
    r"first|last|full|family|given|middle|maiden|sur|user|patient|person|client|customer|"
    r"member|mother|father|child|employee|contact|respondent|resp|de|famille|completo|holder|"
    r"home|work|private|privat|business|partner|spouse|parent|doctor|of|the|no|nr|number|nummer|"
    r"numero|numéro|num|house|haus|hausnr|line|and|und"
)
# Part of a name that is nothing else, whatever stands before, behind or in front of it.
_PART_OF_NAME = re.compile(
    r"surname|lastname|firstname|forename|givenname|middlename|maidenname|fullname|familyname|"
    r"nachname|vorname|familienname|geburtsname|rufname|zuname|prenom|prénom|apellido|cognome|"
    r"sobrenome|achternaam|voornaam|familienaam|fornavn|etternavn|efternavn|förnamn|fornamn|"
    r"efternamn|nazwisko|příjmení|prijmeni|etunimi|sukunimi"
)
_SHORT_NAME = re.compile(
    r"[fls]name|[fl]nm|fn|ln|imie|imię|nname|vname|nachn|vorn|mname|"
    r"initials|initialen|initiales|iniciales|iniziali|inicjały|inicjaly"
)
# Said of names, and of much else: the first visit, the last job.
_FIRST_OR_LAST = re.compile(r"first|last|given|middle|maiden|family|sur|fore|christian|nick")
_PERSON = re.compile(
    r"apellidos|mail|email|emails|phone|telephone|tel|telefon|telefono|téléphone|"
    r"mobile|handy|fax|address|adresse|addr|anschrift|direccion|indirizzo|street|strasse|"
    r"straße|rue|calle|url|website|login|username|nickname|iban|passport"
)
_BIRTH = re.compile(
    r"birth|born|dob|geb|geburt|nais|nacim|nasc|nascita|födel|fødsel|foedsel|fodt|född|syntym|"
    r"urodz|naroz|narod|bday"
)
_DAY = re.compile(
    r"dob|bday|birthday|birthdate|date|day|datum|tag|geburtsdatum|geburtstag|gebdat|gebdatum|"
    r"jour|fecha|data|dato|naissance"
)
_PLACE = re.compile(
    r"lat|latitude|lon|lng|longitude|xcoord|ycoord|coord|coords|coordinate|easting|northing|utm|"
    r"geo|gps|breitengrad|längengrad|laengengrad|rechtswert|hochwert|latitud|longitud|latitudine|"
    r"longitudine"
)
# Names of places and of much else.
_MAY_BE_PLACE = re.compile(r"x|y|long|breite|länge|laenge|east|north|ost|nord")


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _one(pattern: re.Pattern[str], words: Iterable[str]) -> bool:
    return any(pattern.fullmatch(word) for word in words)


def says_id(name: str) -> bool:
    """Whether a name says that the column numbers persons, households, firms or other units.

    Examples
    --------
    >>> [says_id(name) for name in ("pid", "IDunit", "hh_id", "employer_no", "rb030", "paid")]
    [True, True, True, True, True, False]
    """
    words = _words(name)
    if _EU_SILC.fullmatch(name.strip()) or _one(_ID, words) or _one(_GLUED, words):
        return True
    return _one(_NUMBER, words) and _one(_SUBJECT, words)


def says_number(name: str) -> bool:
    """Whether a name says that the column numbers something, whatever it is."""
    return says_id(name) or _one(_NUMBER, _words(name))


def says_person(name: str) -> bool:
    """Whether a name says that the column holds names or addresses of persons.

    Examples
    --------
    >>> [says_person(n) for n in ("name", "Vorname", "home_phone", "town_name", "mobile brand")]
    [True, True, True, False, False]
    """
    words = _words(name)
    others = [word for word in words if not (_NAME.fullmatch(word) or _PERSON.fullmatch(word))]
    if says_name(name):
        return True
    return len(others) < len(words) and all(_WHOSE.fullmatch(word) for word in others)


def says_name(name: str) -> bool:
    """Whether a name says that the column holds first or last names of people.

    Examples
    --------
    >>> [says_name(n) for n in ("pat_vorname", "LNAME_2", "MotherFirstName", "fname", "town_name")]
    [True, True, True, True, False]
    """
    words = _words(name)
    glued = any(_PART_OF_NAME.search(word) for word in (*words, "".join(words)))
    return glued or _one(_SHORT_NAME, words)


def may_say_name(name: str) -> bool:
    """Whether a name may be that of names of people, as "first", "pat_last" and "name" may.

    Examples
    --------
    >>> [may_say_name(n) for n in ("first", "pat_last", "Name", "last_wave", "name_of_town")]
    [True, True, True, False, False]
    """
    words = _words(name)
    said = [w for w in words if _FIRST_OR_LAST.fullmatch(w) or _NAME.fullmatch(w)]
    others = [w for w in words if w not in said]
    return bool(said) and all(_SUBJECT.fullmatch(w) or _WHOSE.fullmatch(w) for w in others)


def says_birth(name: str) -> bool:
    """Whether a name says that the column is about birth.

    Examples
    --------
    >>> [says_birth(name) for name in ("date_of_birth", "Geburtsdatum", "gebäude", "ddn_naissance")]
    [True, True, False, True]
    """
    return any(_BIRTH.match(word) and not word.startswith("gebä") for word in _words(name))


def says_birthday(name: str) -> bool:
    """Whether a name says that the column holds days of birth: not years, weights or orders."""
    return says_birth(name) and _one(_DAY, _words(name))


def says_place(name: str) -> bool:
    """Whether a name says that the column is a coordinate."""
    return _one(_PLACE, _words(name))


def may_say_place(name: str) -> bool:
    """Whether a name may be that of a coordinate, among many other things."""
    return _one(_MAY_BE_PLACE, _words(name))


# -------------------------------------------------------------------------------------------------
# The values of a column that occur, as the judgement of identifying columns counts them.


# Shorter tables say nothing about the form of values: in six rows all is distinct.
LEAST_ROWS = 20
# More levels than this are many.
MANY = 20
# A value with more than this share of the rows, and more rows than that, says "none" or "unknown".
HEAP_SHARE, HEAP_ROWS = 0.05, 5
# Nearly every record has a value of its own: among numbers, among texts and dates.
NEARLY_ALL, HALF = 0.9, 0.5
# Keys of groups have at least this share of distinct values.
GROUP_SHARE = 0.1
# Levels that are looked at when there are very many.
LOOKED_AT = 2000


@dataclass(frozen=True)
class Values:
    """The values of a column that occur."""

    column: Column
    name: str
    __repr__ = without_values

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How often each level occurs that does."""
        counts = self.column.counts[: len(self.column.levels)]
        return counts[counts > 0]

    @cached_property
    def levels(self) -> NDArray[Any]:
        """The ordinary levels that occur."""
        used = self.column.counts[: len(self.column.levels)] > 0
        return self.column.levels if used.all() else self.column.levels[used]

    @property
    def rows(self) -> int:
        """Number of records that have a value."""
        return int(self.counts.sum())

    @cached_property
    def rest(self) -> NDArray[np.bool_]:
        """The levels that do not say "none", "unknown" or 0 for many records at once."""
        return self.counts <= max(HEAP_SHARE * self.rows, HEAP_ROWS)

    @cached_property
    def n(self) -> int:
        """How many such levels there are."""
        return int(self.rest.sum())

    @cached_property
    def rest_rows(self) -> int:
        """Number of records that have one of them."""
        return int(self.counts[self.rest].sum())

    def at_least(self, share: float) -> bool:
        """Whether the number of such levels is this share of their rows."""
        return self.n >= share * self.rest_rows

    @cached_property
    def some(self) -> NDArray[Any]:
        """Levels to look at: all, or evenly spread ones."""
        return self.levels[:: max(1, len(self.levels) // LOOKED_AT)]

    @property
    def different(self) -> str:
        """How many values differ, in words."""
        if self.n == self.rows:
            return f"all {self.rows:,} values are different"
        return f"{self.n:,} different values in {self.rest_rows:,} rows"


# -------------------------------------------------------------------------------------------------
# Texts and numbers that name a person, a place or a moment by their form alone.


MAIL = r"[^\s@]+@[^\s@]+\.[^\s@]+"
"""E-mail addresses: one of them is enough."""
ADDRESS = (
    rf"{MAIL}"
    r"|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"  # UUID
    r"|https?://\S+|^www\.\S+"
    r"|^(?:\+|00)\d[\d\s()/.-]{6,}\d$"  # telephone with the code of a country
    r"|^[A-Za-z]{2}\d{2}(?: ?[0-9A-Za-z]{4}){3,7}[0-9A-Za-z ]{0,4}$"  # IBAN
    r"|^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?::\d+)?$"  # IP
    r"|^(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}$"  # IP, version 6
    r"|^(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}$"  # network card
)
"""Texts that lead to one person, wherever they stand."""
TELEPHONE = (
    r"^\(?0\d{1,5}\)?[ /-]+\d[\d /-]{3,}\d$"  # with the zero of a country
    r"|^\(?\d{3}\)?[ .-]+\d{3}[ .-]\d{4}$"
)
"""Telephone numbers as they are written within a country; some dates look the same."""
HASH = r"^[0-9a-f]{8,}$|^[0-9A-F]{8,}$"
"""Keys that a machine made, if letters and digits are in them."""
PAIR_OF_DEGREES = (
    r"^[(\[]?[+-]?1?\d?\d\.\d+°?\s*[,;/ ]\s*[+-]?1?\d?\d\.\d+°?[)\]]?$"
    r"|^(?:SRID=\d+;)?POINT ?Z?\s*\("
    r"|^\d{1,3}°"
)
"""Coordinates of a place in one text."""
TIME_OF_DAY = r"^[0-2]?\d:[0-5]\d(?::[0-5]\d)?$"


def days_first(levels: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return the days that numbers such as 12041985 are, day or month first; None if they are none.

    Examples
    --------
    >>> days_first(np.array([1041985, 31121984]))
    array([5569, 5478])
    >>> days_first(np.array([1041985, 99121984])) is None
    True
    """
    year, one, two = levels % 10_000, levels // 10_000 % 100, levels // 1_000_000
    if not len(levels) or year.min() < YEARS[0] or year.max() >= YEARS[1]:
        return None
    for month, day in ((one, two), (two, one)):
        if month.max() <= 12 and day.max() <= 31 and min(month.min(), day.min()) >= 1:
            first = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
            days: NDArray[np.int64] = first.astype("datetime64[D]").astype(np.int64) + day - 1
            return days
    return None


# -------------------------------------------------------------------------------------------------
# Names of people, recognised by the words that a column holds.


FORM = r"^\p{L}[\p{L}\p{M}'’.,\- ]*$"
"""Letters, with what stands between the parts of a name; no digit."""
MOST_WORDS = 4

_FIRST = """
aaron abdul abdullah abigail abraham adam adele adrian agnes agnieszka ahmad ahmed aisha alain
alan albert alberto alejandra alejandro aleksander aleksandr aleksandra alessandra alessandro alex
alexander alexandra alexandre alexis alfred ali alice alicia alina allison alma alyssa amanda
amelia amelie amina amit amy ana anastasia anders andre andrea andreas andrei andrew andrzej
angela angelika angelo anita anja ann anna anne annette annie anthony antje antoine anton antonia
antonio arjun arne arnold arthur arturo ashley astrid audrey austin ava axel barbara barry beate
beatrice beatriz ben benedikt benjamin benoit bernard bernd bertha bettina betty beverly bianca
birgit bjorn bobby boris bradley brandon brenda brian brigitte brittany bruce bruno bryan camila
camille carl carla carlo carlos carmen carol carolin carolina caroline carolyn carsten caterina
catherine cathy cecilia celine chantal charles charlotte chen cheryl chiara chloe chris christa
christian christina christine christoph christophe christopher claire clara claude claudia claudio
claus clemens connor corinna cristina cynthia dagmar daniel daniela danielle darius david debbie
deborah debra denise dennis derek diana diane diego dieter dimitri dirk dmitri dolores dominik
dominique donald donna doris dorothea dorothy douglas dylan edith eduardo edward eileen elaine
eleanor elena elias elif elisa elisabeth elizabeth elke ella ellen elsa emil emilia emilie emily
emine emma emmanuel enrico enrique eric erica erich erik erika erin ernst esther ethan eugene eva
evelyn fabian fabio fatima fatma felipe felix fernando filip finn fiona florian frances francesca
francesco francis francisco francois frank franz franziska fred frederic frederick frederik
friedrich fritz gabriel gabriela gabriele gary gavin geoffrey georg george georges gerald gerard
gerd gerhard gertrud giovanni gisela giulia giuseppe gloria grace graham greg gregor gregory
guadalupe guillaume guillermo gunter gustav hannah hannes hans harald harold harry hassan heather
hector heidi heike heiko heinrich heinz helen helena helene helga helmut henrik henry herbert
hermann hilda hiroshi holger horst howard hubert hugo ian ibrahim ida igor ilse imran ines inge
ingeborg ingo ingrid irene irina iris irma isaac isabel isabella isabelle isla ivan jack jackson
jacob jacqueline jacques jakob jakub james jamie jan jana jane janet janice janina jasmin jasmine
jason javier jean jeanne jeff jeffrey jennifer jens jeremy jerome jerry jesse jessica jesus jill
jimmy joan joanna joanne joao joe joel johan johann johanna johannes john johnny jonas jonathan
jorg jorge jose josef joseph josephine joshua joyce juan juana judith judy jules julia julian
juliana julie julien jurgen justin kai karen karin karl karla katarzyna kate katharina katherine
kathleen kathrin kathryn kathy katja katrin keith kelly ken kenneth kerstin kevin khadija kim
klaus konstantin kristin kristina krystyna kurt kyle lars latoya laura lauren laurent lea leah
leila lena leo leon leonard leonie leticia liam lily lina linda lindsay lisa lise logan lorenzo
louis louise luca lucas lucia lucie lucy luigi luis luisa luka lukas lydia lynn madison magdalena
mahmoud maja manfred manuel manuela marc marcel marcin marco marcos marcus margaret margarete
margarita maria mariam marian marianne marie marilyn marina mario marion mark marko markus marlene
marta martha martin martina martine mary mason mateo mateusz mathias mathieu mathilde matteo
matthew matthias maurice max maximilian maya megan mehmet melanie melissa mia michael michaela
michal michel michele michelle miguel mikael mike mikhail mila milan miriam mohamed mohammad
mohammed molly monica monika monique muhammad mustafa nadia nadine nancy natalia natalie natasha
nathan neil nicholas nick nicolas nicole niels nikola nikolai nils nina noah noor nora norbert
norma olga oliver olivia omar oscar otto pablo pamela paola paolo pascal patricia patrick paul
paula pauline pawel pedro peggy peter petra philip philipp philippe phillip pierre piotr rachel
rafael rahul rainer ralf ralph ramon raphael raquel raul raymond rebecca regina reinhard renate
rene ricardo richard rita robert roberta roberto rodrigo roger roland rolf roman ronald rosa
rosemary ruben rudolf russell ruth ryan sabine sabrina salvatore sam samantha samuel sandra sandy
santiago sara sarah sascha scott sean sebastian sergei sergio sharon shirley sigrid silke silvia
simon simone sofia sofie sonia sonja sophia sophie stacy stefan stefanie stefano stella stephan
stephanie stephen steve steven stuart susan susana susanne suzanne svein sven svetlana sylvia
sylvie takashi tamara tanja tanya tara tatiana ted teresa terry theo theodor theresa therese thi
thomas thorsten tiffany tim timothy tina tobias todd tom tomasz tommy toni tony torsten tracy
travis tyler udo ulrich ulrike ursula ute uwe valentin valentina valeria valerie vanessa vera
veronica veronika victor victoria viktor vincent vincenzo virginia vladimir volker walter waltraud
wanda wayne wei wendy werner wilhelm william winfried wolfgang xavier yasmin yolanda youssef yusuf
yves yvonne zachary zoe
"""
_LAST = """
ackermann adams ahmed alvarez andersen anderson andersson barbieri bauer beck becker bergmann
bernard bianchi brooks campbell castillo castro chavez clark collins conti costa cruz davies davis
delgado diaz dietrich dubois dupont durand edwards engel esposito evans fernandez ferrari flores
fontaine fournier francois frank franke friedrich fuchs garcia garnier gauthier gimenez girard
gomez gonzales gonzalez greco griffin guerrero gunther gutierrez haas hahn hansen hansson harris
hartmann hartung heinrich henderson hernandez herrera herrmann hoffmann hofmann huber hughes
ivanov ivanova jackson jacobsen jansen janssen jansson jenkins jensen jimenez johansen johansson
johnson jones kaiser kaminski karlsson keller kelly khan kim koch kohler kovacs kowalska kowalski
kraus krause krueger kruger kuhn kumar lambert larsen larsson laurent lefebvre lehmann leroy
lewandowski lewis lindberg lombardi lopez lorenz ludwig maier marino martinez martinsson mayer
mccarthy mcdonald medina meier mendes mendoza mercier meyer miller mitchell molina morales moreau
moreno moretti morris muller murphy murray myers nelson neumann nguyen nielsen nilsson novak
novotny nowak obrien olsen olsson ortega ortiz patel pedersen pereira perez persson peters
petersen peterson petrov petrova pfeiffer pham phillips popov powell ramirez ramos reyes reynolds
ricci richardson rivera roberts robertson robinson rodrigues rodriguez rogers romano romero rossi
roth roussel ruiz russo ryan sanchez sanders santos sauer schafer scherer schmid schmidt schmitt
schmitz schneider scholz schroder schroeder schubert schulte schulz schulze schumacher schuster
seidel silva simon singh smirnov smith sorensen stevens stewart suarez sullivan svensson szabo
takahashi tanaka taylor thompson torres toth tran turner vargas vasquez vazquez vega vogel vogt
wagner walker wang watanabe weber werner williams wilson winkler wisniewski wojcik wright wu xu
yamamoto yilmaz zhang zhao ziegler zimmermann
"""
_PARTS = frozenset({*_FIRST.split(), *_LAST.split()})
_MARKS = {"ä": "a", "ö": "o", "ü": "u", "á": "a", "à": "a", "â": "a", "ã": "a", "å": "a", "é": "e",
          "è": "e", "ê": "e", "ë": "e", "í": "i", "ï": "i", "ó": "o", "ô": "o", "ø": "o", "ú": "u",
          "ñ": "n", "ç": "c", "ł": "l", "ß": "ss"}  # fmt: skip


def share_of_names(texts: pl.Series) -> float:
    """Return the share of texts that are written as names and hold a common one.

    Nothing is a name where more than a tenth of the texts have digits or many words.

    Examples
    --------
    >>> import polars as pl
    >>> share_of_names(pl.Series(["Anna", "Jürgen Xy", "Özil, Mehmet", "Qwert"]))
    0.75
    >>> share_of_names(pl.Series(["Anna 1", "Bob 2", "Carl 3"]))
    0.0
    """
    if not len(texts):
        return 0.0
    words = texts.str.to_lowercase().str.extract_all(r"[\p{L}\p{M}]+")
    written = texts.str.contains(FORM) & (words.list.len() <= MOST_WORDS)
    if int(written.sum()) < 0.9 * len(texts):
        return 0.0
    return sum(any(_bare(word) in _PARTS for word in each) for each in words) / len(texts)


def _bare(word: str) -> str:
    """Return a word without marks on its letters."""
    return word if word.isascii() else "".join(_MARKS.get(letter, letter) for letter in word)


# -------------------------------------------------------------------------------------------------
# Whether whole numbers were given out one after the other, and whether groups share them.


# Running numbers leave out at most every second number; short ones hardly any.
DENSE, DENSE_SHORT, SHORT = 2.0, 1.25, 50
# Numbers that were given have the same number of digits; with fewer than LONG they are also spread
# evenly: the largest distance to the even distribution. In a short table that may be chance, unless
# there are SURE digits.
DIGITS, LONG, SURE, EVEN, EVEN_GROUPS = 5, 7, 9, 0.25, 0.1
# A larger share of multiples of ten means that somebody rounded: an amount, no number of a record.
ROUNDED = 0.3
# Groups and other columns that are looked at when there are very many.
GROUPS_LOOKED_AT, OTHERS_LOOKED_AT = 2000, 200
# A column that is the same within all groups must hardly be so by chance (natural logarithm), and
# with few groups nobody can say whether it only follows their order.
CHANCE, LEAST_GROUPS = 10.0, 30
# What most groups have says nothing: the chance that two groups agree.
SAME = 0.8


def rounded(of: Values, levels: NDArray[np.int64]) -> bool:
    """Whether so many are multiples of ten that somebody rounded."""
    tens = of.counts[of.rest][levels % 10 == 0].sum()
    return bool(tens > ROUNDED * of.rest_rows)


def is_numbering(of: Values, levels: NDArray[np.int64]) -> bool:
    """Whether the numbers of nearly all records look given out."""
    steps = np.diff(levels)
    if of.n == of.rest_rows and len(steps) and steps.min() == steps.max():
        return True
    if rounded(of, levels):
        return False
    codes = of.column.codes[~of.column.is_missing].astype(np.int64)
    moves = np.diff(codes)
    in_order = bool(np.all(moves > 0) or np.all(moves < 0))
    even = unevenness(levels) < (EVEN if len(levels) >= SHORT else EVEN_GROUPS)
    return is_dense(levels) or (in_order and even) or have_same_digits(of, levels)


def is_dense(levels: NDArray[np.int64]) -> bool:
    """Whether hardly any number between the first and the last is left out."""
    span = float(levels[-1]) - float(levels[0]) + 1
    return span <= len(levels) * (DENSE if len(levels) >= SHORT else DENSE_SHORT)


def have_same_digits(of: Values, levels: NDArray[np.int64]) -> bool:
    """Whether the numbers are equally long and spread evenly."""
    digits, least = len(str(levels[-1])), len(str(levels[0]))
    if levels[0] <= 0 or digits < DIGITS or least < min(digits, SURE):
        return False
    if len(levels) < SHORT and digits < SURE:
        return False
    return not rounded(of, levels) and (digits >= LONG or unevenness(levels) < EVEN)


def unevenness(levels: NDArray[np.int64]) -> float:
    """Return the largest distance between the distribution of the levels and an even one."""
    n = len(levels)
    place = (levels - levels[0]) / max(float(levels[-1]) - float(levels[0]), 1.0)
    return float(np.abs(place - np.arange(n) / max(n - 1, 1)).max())


def stand_together(column: Column) -> bool:
    """Whether equal values stand in blocks, as members of a household do."""
    blocks = 1 + int((column.codes[1:] != column.codes[:-1]).sum())
    return blocks == int((column.counts > 0).sum())


def is_shared(of: Values, table: Table) -> bool:
    """Whether another column is the same within each group, as a household has one size.

    Groups of the values themselves, such as classes of ages, do not count: they follow the order.
    """
    column = of.column
    counts = column.counts[: len(column.levels)]
    several = np.flatnonzero((counts > 1) & (counts <= of.counts[of.rest].max()))
    chosen = np.zeros(column.n_levels, dtype=bool)
    chosen[several[:: max(1, len(several) // GROUPS_LOOKED_AT)]] = True
    rows = np.flatnonzero(chosen[column.codes])
    rows = rows[np.argsort(column.codes[rows], kind="stable")]
    first = np.append(True, np.diff(column.codes[rows].astype(np.int64)) != 0)
    start = np.flatnonzero(first)[np.cumsum(first) - 1]
    others = [other for name, other in table.columns.items() if name != of.name]
    return any(_is_same_within(other, rows, start, first) for other in others[:OTHERS_LOOKED_AT])


def _is_same_within(
    other: Column, rows: NDArray[np.int64], start: NDArray[np.int64], first: NDArray[np.bool_]
) -> bool:
    codes = other.codes[rows]
    if not np.array_equal(codes, codes[start]):
        return False
    per_group = codes[first]
    groups, used = len(per_group), np.bincount(per_group)
    equal = float(((used / max(groups, 1)) ** 2).sum())
    if groups < LEAST_GROUPS or equal > SAME or np.count_nonzero(used) > HALF * groups:
        return False
    runs = 1 + int((per_group[1:] != per_group[:-1]).sum())
    in_disorder = runs >= HALF * groups * (1 - equal)
    return in_disorder and (len(rows) - groups) * -np.log(equal) >= CHANCE


# -------------------------------------------------------------------------------------------------
# Coordinates among the columns of a table.


# Decimal places of degrees.
PLACES = (5, 8)
# So many of them use all their places: the last digit may be zero.
MOSTLY = 0.75
# Metres of a map are larger than this, and the largest less than so many times the smallest.
METRES, FAR = 10_000, 5
# Of three and more columns with so many places smaller ones are logarithms and rates, no degrees.
LOGARITHMS = 20


def find_coordinates(columns: Sequence[Values]) -> dict[str, str]:
    """Return the columns that are coordinates, with the reason: named so, or shaped as degrees."""
    numbers = [
        of
        for of in columns
        if of.column.kind in (Kind.NUMERIC, Kind.INTEGER) and of.rows >= LEAST_ROWS and of.n > MANY
    ]
    numbers = [of for of in numbers if of.at_least(GROUP_SHARE)]
    named = [
        of
        for of in numbers
        if says_place(of.name) or (may_say_place(of.name) and _is_far_from_origin(of))
    ]
    found = {}
    if len(named) > 1:
        found = {of.name: f"{of.different}, and the name says that it is a place" for of in named}
    place = {of.name: i for i, of in enumerate(columns)}
    free = [of for of in numbers if of.name not in found]
    like = [of for of in free if of.at_least(HALF) and _has_places(of)]
    for one, two in pairwise(like):
        adjacent = place[two.name] == place[one.name] + 1
        if adjacent and _is_on_earth(one, two, LOGARITHMS if len(like) > 2 else 0):
            for of in (one, two):
                found[of.name] = f"{of.different}, which read as degrees of a place on earth"
    return found


def _is_far_from_origin(of: Values) -> bool:
    """Whether numbers are metres of a map: large, and near each other for their size."""
    low, high = float(of.levels[0]), float(of.levels[-1])
    return low > METRES and high < FAR * low


def _has_places(of: Values) -> bool:
    """Whether numbers have as many decimal places as degrees are written with."""
    some = of.some.astype(np.float64)
    least, most = PLACES
    fine = np.round(some, least - 1) != some
    return bool(fine.mean() >= MOSTLY and np.array_equal(np.round(some, most), some))


def _is_on_earth(one: Values, two: Values, least: float) -> bool:
    """Whether two columns are degrees of a region: one far from zero for its size, and at least."""
    low = [float(np.abs(of.levels[[0, -1]]).min()) for of in (one, two)]
    span = [float(of.levels[-1] - of.levels[0]) for of in (one, two)]
    far = [float(np.abs(of.levels[[0, -1]]).max()) for of in (one, two)]
    tight = any(a > 2 * b for a, b in zip(low, span, strict=True))
    return tight and max(far) >= least and min(far) <= 90 and max(far) <= 180 and max(span) < 70
