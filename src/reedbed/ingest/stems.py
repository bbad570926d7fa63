"""The stems of words in fifteen languages: those of Snowball, and where it misses forms, further ones.

Words come folded, without accents. Each may have several stems; two words are forms of one another if they share one.
"""

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from Stemmer import Stemmer

_ALGORITHMS = {
    "da": "danish",
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "tr": "turkish",
}


def stems(language: str, word: str) -> set[str]:
    stem = _stemmer(language).stemWord
    found = {stem(word)}
    if more := _MORE.get(language):
        found.update(map(stem, more(word)))
    base = _irregular(language).get(word)
    if base is not None:
        found.add(stem(base))
    if language == "ru":
        found.update(_russian_stems(word))
    return found


@cache
def _stemmer(language: str) -> "Stemmer":
    from Stemmer import Stemmer

    # Without a cache of words: the vocabulary is written once, and a query asks for a handful.
    return Stemmer(_ALGORITHMS[language], 0)


def _french(word: str) -> Iterator[str]:
    if word.endswith(("s", "x")):
        yield word[:-1]
    if word.endswith("ees"):
        yield word[:-2]
    elif word.endswith("ee"):
        yield word[:-1]
    if word.endswith("aux"):
        yield f"{word[:-3]}al"
    if word.endswith("eux"):
        yield f"{word[:-1]}se"


def _spanish(word: str) -> Iterator[str]:
    if word.endswith("ces"):
        yield f"{word[:-3]}z"
    elif word.endswith("es") and len(word) > 4:
        yield word[:-2]
    if word.endswith("io") and len(word) > 5:
        yield word[:-2]


def _german(word: str) -> Iterator[str]:
    body = word
    if word.startswith("ge") and word.endswith(("t", "en")) and len(word) > 6:
        body = word[2:]
        yield body
        if body.endswith("t"):
            yield f"{body[:-1]}en"
    for ending in ("te", "ten", "tet", "test"):
        if body.endswith(ending) and len(body) > len(ending) + 3:
            yield f"{body.removesuffix(ending)}en"


def _portuguese(word: str) -> Iterator[str]:
    for plural, singular in (("oes", "ao"), ("aes", "ao"), ("ais", "al"), ("eis", "el"), ("ois", "ol"), ("ns", "m")):
        if word.endswith(plural):
            yield f"{word.removesuffix(plural)}{singular}"


_MORE = {"pt": _portuguese, "fr": _french, "es": _spanish, "de": _german}


def _russian_stems(word: str) -> Iterator[str]:
    """Of masculine nouns without an ending, which may look as if they had one, and of `ребёнок`, whose vowel comes and
    goes."""
    if word[-1] not in "аеиоуыэюяь":
        yield word
        if len(word) > 4 and word[-2] in "ое" and word[-1] in "кцлн":
            yield f"{word[:-2]}{word[-1]}"
    if word.endswith(("еи", "аи", "ои", "ии")):
        yield word[:-1]


# --- Irregular words: each line has the base form first

_ENGLISH = """
be am is are was were been being
have has had having
do does did done doing
go goes went gone going
say says said
get gets got gotten getting
make makes made making
know knew known
think thought
take took taken
see saw seen
come came
find found
give gave given
tell told
become became
leave left
feel felt
bring brought
begin began begun beginning
keep kept
hold held
write wrote written
stand stood
hear heard
mean meant
meet met meeting
run ran running
pay paid
sit sat
speak spoke spoken
lead led
grow grew grown
lose lost
fall fell fallen
send sent
build built
understand understood
draw drew drawn
break broke broken
spend spent
rise rose risen
drive drove driven
buy bought
wear wore worn
choose chose chosen
seek sought
throw threw thrown
catch caught
deal dealt
win won winning
forget forgot forgotten
sell sold
fight fought
teach taught
eat ate eaten
sing sang sung
strike struck stricken
hang hung
shake shook shaken
ride rode ridden
feed fed
shoot shot
drink drank drunk
hide hid hidden
steal stole stolen
swim swam swum
fly flew flown
freeze froze frozen
blow blew blown
sink sank sunk
lend lent
bind bound
withdraw withdrew withdrawn
swear swore sworn
tear tore torn
wake woke woken
sleep slept
sweep swept
dig dug
burn burnt
learn learnt
man men
woman women
child children
person people
foot feet
tooth teeth
mouse mice
goose geese
wolf wolves
knife knives
life lives
wife wives
leaf leaves
half halves
thief thieves
shelf shelves
loaf loaves
calf calves
self selves
criterion criteria
phenomenon phenomena
datum data
medium media
analysis analyses
crisis crises
basis bases
thesis theses
hypothesis hypotheses
virus viruses
bacterium bacteria
index indices
matrix matrices
vertex vertices
appendix appendices
good better best
bad worse worst
"""
_GERMAN = """
sein ist sind war waren gewesen
haben hat hatte hatten gehabt
werden wird wurde wurden geworden
gehen geht ging gingen gegangen
kommen kommt kam kamen gekommen
sehen sieht sah sahen gesehen
geben gibt gab gaben gegeben
nehmen nimmt nahm nahmen genommen
finden findet fand fanden gefunden
bleiben bleibt blieb blieben geblieben
stehen steht stand standen gestanden
liegen liegt lag lagen gelegen
sprechen spricht sprach sprachen gesprochen
schreiben schreibt schrieb schrieben geschrieben
fahren fahrt fuhr fuhren gefahren
fallen fallt fiel fielen gefallen
halten halt hielt hielten gehalten
lassen lasst liess liessen gelassen
laufen lauft lief liefen gelaufen
schlafen schlaft schlief schliefen geschlafen
lesen liest las lasen gelesen
essen isst ass assen gegessen
trinken trinkt trank tranken getrunken
singen singt sang sangen gesungen
springen springt sprang sprangen gesprungen
sinken sinkt sank sanken gesunken
steigen steigt stieg stiegen gestiegen
schliessen schliesst schloss schlossen geschlossen
ziehen zieht zog zogen gezogen
fliegen fliegt flog flogen geflogen
verlieren verliert verlor verloren
gewinnen gewinnt gewann gewannen gewonnen
beginnen beginnt begann begannen begonnen
brechen bricht brach brachen gebrochen
treffen trifft traf trafen getroffen
helfen hilft half halfen geholfen
sterben stirbt starb starben gestorben
werfen wirft warf warfen geworfen
treten tritt trat traten getreten
tragen tragt trug trugen getragen
schlagen schlagt schlug schlugen geschlagen
wachsen wachst wuchs wuchsen gewachsen
waschen wascht wusch wuschen gewaschen
raten rat riet rieten geraten
rufen ruft rief riefen gerufen
heissen heisst hiess hiessen geheissen
bieten bietet bot boten geboten
schneiden schneidet schnitt schnitten geschnitten
streiten streitet stritt stritten gestritten
leiden leidet litt litten gelitten
reissen reisst riss rissen gerissen
bringen bringt brachte brachten gebracht
denken denkt dachte dachten gedacht
kennen kennt kannte kannten gekannt
nennen nennt nannte nannten genannt
brennen brennt brannte brannten gebrannt
wissen weiss wusste wussten gewusst
stehlen stiehlt stahl stahlen gestohlen
befehlen befiehlt befahl befahlen befohlen
messen misst mass massen gemessen
vergessen vergisst vergass vergassen
graben grabt grub gruben gegraben
laden ladt lud luden geladen
"""
_IRREGULAR = {"en": _ENGLISH, "de": _GERMAN}


@cache
def _irregular(language: str) -> dict[str, str]:
    """The base form of each irregular word."""
    lines = (line.split() for line in _IRREGULAR.get(language, "").splitlines())
    return {form: words[0] for words in lines for form in words[1:]}
