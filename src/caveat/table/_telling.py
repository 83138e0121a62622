"""What the names of columns tell, in several languages.

A name is never enough: it only adds to what the values look like.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = [
    "may_say_name",
    "may_say_place",
    "says_birth",
    "says_birthday",
    "says_id",
    "says_name",
    "says_number",
    "says_person",
    "says_place",
]

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
