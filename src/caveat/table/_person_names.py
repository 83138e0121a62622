"""Names of people, recognised by the words that a column holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from caveat.late import Late

if TYPE_CHECKING:
    import polars as pl
else:
    pl = Late("polars")

__all__ = ["FORM", "share_of_names"]

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
