"""The tests lie as the modules do: who changes a module finds its tests by its name."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "caveat"
# Tests of published numbers, of damaged input and of what must not move are about the whole.
WHOLE = ("golden", "fuzz", "frozen", "corpus", ".")
# Tests about several modules of their room: what all of them must do, and how they work together.
SEVERAL = {
    "app": "browser ways",
    "attack": "calibration",
    "attack/ordinary": "copy_and_fresh every_attack",
    "cli": "exits outputs start starter terminal whole_specification wrong_file",
    "expressions": "hostile",
    "findings": "survey_files wide",
    "release": "pairs weights_and_wrong_files guarded verdicts whole_groups",
    "report": "browser markers",
    "risk": "common properties wrong_file",
    "spec": "new_entry",
    "synthesis": "parity guarded",
    "synthesis/methods": "conformance in_a_table tables",
    "table": "formulas",
    "tree": "bad_input reference",
    "tree/guarded": "engine",
    "utility": "common reference",
}
# Modules without a file of tests: those of the modules that use them reach them. A new module has
# its own; the list only becomes shorter.
ELSEWHERE = {
    ".": "intervals progress",
    "attack": "_lookups adjacent candidates entry figures generator strong worlds",
    "attack/ordinary": "common prediction_measures",
    "charts": "style",
    "cli": "attack commands measures ordinary reading tune",
    "compiling": "announcement intrinsics",
    "datasets": "buyer_beware",
    "expressions": "formula parser tokens",
    "findings": "arithmetic catalogue codes_and_kinds identity",
    "generators/drivers": "arfpy datasynthesizer harness metasyn mostlyai sdv syndiffix synthcity "
    "synthpop",  # in environments of their own
    "nearest": "ties",
    "protect": "_space record values",
    "release": "at_risk collect_audit collect_groups collect_map collect_ordinary "
    "collect_utility collected",
    "report": "account analyst attacker blocks disagreement map reading",
    "risk": "attribute cap_unmatched exclusions gtcap identity measure "
    "pair prepare render result rows scenario",
    "spec": "_kinds against_data analyses answers attackers document question scenarios settings "
    "schema tuning",
    "studies": "_charts attribute_baseline",
    "synthesis": "_plan_checks archive cells column_model derived dictionary fitting "
    "leaving_out predictors public "
    "model rules",
    "synthesis/linked": "stages",
    "synthesis/methods": "_checks _crosstab _linear base cart ipf logistic lookup multinomial "
    "_halving "
    "nested normrank ordinal sample saturated stratified",
    "table": "_columnar _expand _forms _labelled _labelled_write _notes _numberings numbers "
    "_places _same_missing _scan _telling _text _text_types _text_write "
    "_values cells column decode encode weights",
    "tree": "_all_subsets _classes _control _forest _growing _leaves _many _numbers _orders "
    "_partition _predictors _regrow _rehearsals _response _sorting _storage _threads "
    "_update _walk _workspace adjacent",
    "tuning": "_chart map everyone",
    "utility": "associations bars combining compare detection distances edits features fitting "
    "grouping logistic measures pair reference_pairs result stacked tstr",
    "utility/entries": "analyses associations general structure tables variables",
    "tree/guarded": "_grow _share_changes _structure_changes adjacent candidates hierarchy "
    "ranking tree",
}


def rooms(root: Path, pattern: str) -> dict[str, set[str]]:
    """Return the names of Python files by the folder they lie in."""
    found: dict[str, set[str]] = {}
    for path in root.rglob(pattern):
        if path.name != "__init__.py":
            room = path.parent.relative_to(root).as_posix()
            found.setdefault(room, set()).add(path.stem.removeprefix("test_").lstrip("_"))
    return found


def is_about(test: str, module: str) -> bool:
    """Whether a file of tests is about a module, or about a side of it: files_text of files."""
    return test == module or test.startswith(f"{module}_")


def test_every_test_has_the_name_of_its_module() -> None:
    modules = rooms(SOURCE, "*.py")
    for room, tests in rooms(TESTS, "test_*.py").items():
        if room not in WHOLE:
            alone = {t for t in tests if not any(is_about(t, m) for m in modules.get(room, ()))}
            assert alone == set(SEVERAL.get(room, "").split()), room


def test_every_module_has_its_tests() -> None:
    tests = rooms(TESTS, "test_*.py")
    for room, modules in rooms(SOURCE, "*.py").items():
        missing = {m for m in modules if not any(is_about(t, m) for t in tests.get(room, ()))}
        known = {name.lstrip("_") for name in ELSEWHERE.get(room, "").split()}
        assert missing == known, room
