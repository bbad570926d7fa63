"""The words of a headline and of the first sentences below it, weighted by how well they name an event."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from sys import intern

from reedbed.domain.records import record
from reedbed.domain.stopwords import SMALL
from reedbed.domain.stories.places import COUNTRIES
from reedbed.domain.text import fold, index_text, is_cjk

MAX_TITLE_WORDS = 24
MAX_LEAD_WORDS = 25
_MAX_TITLE_LENGTH = 300
_MAX_LEAD_LENGTH = 400
STEM_LENGTH = 6
_LONGEST_SMALL_PLACE = 5
"""A shorter word in small letters is no place: us, island."""
_MAX_TELLING_WORDS = 6

LEAD_WEIGHT = 0.54
NAME_WEIGHT = 1.36
FRAME_WEIGHT = 0.3
NUMBER_WEIGHT = 0.5
EVENT_WEIGHT = 0.75

_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*(?:['’][^\W\d_]+)?|[.!?:“\"]")
_SENTENCE_ENDS = frozenset('.!?:“"')
_STOPWORDS = frozenset(word for small in SMALL for word in fold(small).split())


def cut(word: str) -> str:
    """The beginning of a folded word, without the endings of English plurals and verbs, which the index compares."""
    if word.endswith("s") and len(word) > 3 and word[-2] not in "suioa":
        word = word[:-1]
    if word.endswith("ing") and len(word) > 6:
        word = word[:-3]
    elif word.endswith("ed") and len(word) > 4:
        word = word[:-2]
    if word.endswith("e") and len(word) > 4:
        word = word[:-1]
    return word[:STEM_LENGTH]


def _stems_of(words: str) -> frozenset[str]:
    return frozenset(cut(part) for part in fold(words).split())


# Two texts of a series differ by them, like by a number.
_DAYS = _stems_of(
    """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december
    montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag januar februar märz mai juni juli oktober
    dezember
    lundi mardi mercredi jeudi vendredi samedi dimanche janvier février mars avril juin juillet août septembre octobre
    novembre décembre
    lunes martes miércoles jueves viernes sábado domingo enero febrero marzo abril mayo junio julio agosto septiembre
    octubre noviembre diciembre
    """
)

# Words of the report, not of the event: they say when it was, or what kind of text it is.
_FRAME = _stems_of(
    """
    weekend today yesterday tomorrow morning evening night week weekly month monthly daily annual report reports review
    release released update updates news live watch video photo photos announce announces announced best top guide tips
    analysis opinion interview podcast episode newsletter issue volume part version links weeknotes
    wochenende heute gestern morgen abend nacht woche monat bericht test liveticker folge ausgabe überblick kommentar
    rezept uhr
    aujourd'hui hier demain matin soir nuit semaine mois direct vidéo analyse entretien épisode numéro lire suite
    hoy ayer mañana noche semana mes directo vídeo análisis entrevista episodio número receta
    """
)

# Capitalised, but no names: parts of the names of many institutions and places.
GENERIC = frozenset(
    cut(part)
    for part in fold(
        """
        bank national central federal reserve royal united minister prime president chancellor governor mayor council
        councillor court supreme high county city town state district police university institute association union
        party alliance congress parliament senate government company corp inc ltd group holdings chief executive
        director officer secretary general department ministry agency office commission committee board authority
        service services north south east west northern southern eastern western street road lake river island islands
        mount port great upper lower old airport station hospital school college museum church bridge league cup club
        championship games world international european american british english german french spanish
        banque nationale ministre président maire conseil tribunal police université institut gouvernement société
        banco nacional ministro presidente alcalde consejo universidad instituto gobierno provincia
        """
    ).split()
)


# Kinds of events that outlets and languages name by different words. Two strikes are still two stories, so each kind
# counts less than other words.
_EVENTS = (
    "earthquake earthquakes quake quakes tremor tremors beben erdbeben erdstoß séisme séismes tremblement "
    "terremoto sismo temblor",
    "strike strikes striking walkout walkouts streik streiks warnstreik warnstreiks streiken grève grèves "
    "huelga huelgas",
    "wildfire wildfires blaze fire fires waldbrand waldbrände brand feuer incendie incendies feu feux incendio "
    "incendios fuego",
    "flood floods flooding flooded hochwasser überschwemmung überschwemmungen inondation inondations crue "
    "crues inundación inundaciones",
    "theft robbery heist burglary steal steals stole stolen thieves thief diebstahl raub gestohlen diebe volé "
    "volés volée volées dérobé dérobés voleurs robo robado robados robadas ladrones",
    "resign resigns resigned resignation quits rücktritt zurückgetreten démission démissionne dimisión dimite",
    "outage outages blackout ausfall stromausfall panne pannes apagón avería",
    "collision collide collides collided crash crashes crashed unfall zusammenstoß choque accident accidente",
    "election elections wahl wahlen élection élections elección elecciones",
    "explosion explosions explodes exploded blast explosión explosiones",
    "recall recalls recalled rückruf rappel rappelle rappelés retirada retira",
    "storm storms hurricane typhoon cyclone orkan orkantief sturm sturmtief hurrikan taifun zyklon tempête "
    "ouragan typhon borrasca tormenta huracán tifón ciclón",
)
_SAME = {word: intern(cut(fold(group).split()[0])) for group in _EVENTS for word in fold(group).split()}
NAMED_EVENTS = frozenset(("storm",))
"""A name beside such a word is the name of an event, not of a place or a company."""


@record
class HeadlineWords:
    """A word has the length of a stem. Names and numbers are also in `weights`."""

    weights: Mapping[str, float]
    names: frozenset[str]
    numbers: frozenset[str]
    """Also the names of days and months."""
    title: frozenset[str]
    """The words of the title, without numbers."""
    has_lead: bool
    shows_names: bool
    """Its language sets names apart by capitals; German and Chinese do not."""


def headline_words(title: str, lead: str = "", language: str = "") -> HeadlineWords:
    reader = _Reader(shows_names=_shows_names(title, lead, language))
    reader.read_title(title[:_MAX_TITLE_LENGTH])
    title_words = frozenset(reader.weights) - reader.numbers
    reader.read_lead(lead[:_MAX_LEAD_LENGTH])
    reader.read_initials(title, lead[:_MAX_LEAD_LENGTH])
    return HeadlineWords(
        reader.weights, frozenset(reader.names), frozenset(reader.numbers), title_words, bool(lead), reader.shows_names
    )


def title_words(title: str) -> Mapping[str, float]:
    return headline_words(title).weights


def telling_words(title: str, lead: str, language: str) -> tuple[str, ...]:
    """The written words that say most about what the text is about: names first, then other words of the title."""
    words = headline_words(title, lead, language)
    written: dict[str, str] = {}
    for word in _WORD.findall(f"{title[:_MAX_TITLE_LENGTH]} {lead[:_MAX_LEAD_LENGTH]}"):
        stems, kind = _stems(word)
        if stems and kind == "word":
            written.setdefault(stems[0], word)
    candidates = [stem for stem in written if stem in words.names or stem in words.title]
    candidates.sort(key=lambda stem: (stem not in words.names, stem not in words.title, -len(written[stem])))
    return tuple(written[stem] for stem in candidates[:_MAX_TELLING_WORDS])


def is_roundup(title: str) -> bool:
    """Whether the title announces a text about many things: a briefing, links, the weather of a day."""
    return _ROUNDUP.match(fold(title)) is not None


# Of folded titles, in which each sign is a space.
_ROUNDUP = re.compile(
    r"(?:(?:the |your |our )?(?:morning|midday|evening|daily|weekly|monthly|news|weekend|sunday|friday) "
    r"(?:briefing|brief|round ?up|digest|recap|newsletter|links|headlines)"
    r"|(?:weather|wetter|meteo|el tiempo)  "
    r"|(?:this|the) (?:week|fortnight|month) in |(?:week|link) ?(?:notes|roll|dump)|links (?:for|of|from) "
    r"|(?:[a-z]+ ){0,2}fixtures\b|what to (?:watch|read|do) this |things to do "
    r"|das wichtigste (?:am|vom|des|der|in) |was (?:heute|diese woche|am [a-z]+tag) wichtig|(?:die|unsere) links der "
    r"|(?:morgen|abend|tages|wochen)(?:lage|ruckblick|briefing|uberblick)|termine\b"
    r"|l essentiel (?:de|du) |revue de presse|le (?:brief|recap|journal) (?:de|du) |ce qu il faut retenir (?:de|du) "
    r"|lo (?:mas )?(?:importante|esencial|destacado) (?:de|del) |resumen de (?:la|las) |agenda\b|boletin\b)"
)


def unit_vector(weights: Mapping[str, float]) -> Mapping[str, float]:
    length = math.hypot(*weights.values()) or 1.0
    return {word: weight / length for word, weight in weights.items()}


def evidence(shared: Iterable[str], besides: frozenset[str]) -> float:
    """How many words are shared. In CJK text two pairs of signs count as one word."""
    return sum(1.0 if word.isascii() or not is_cjk(word) else 0.5 for word in shared if word not in besides)


def is_specific(number: str) -> bool:
    """Two reports share it by chance only rarely: not a small number, and not a year."""
    return "." in number or (len(number) > 2 and number.isdecimal() and number[:2] not in ("19", "20"))


class _Reader:
    def __init__(self, *, shows_names: bool) -> None:
        self.shows_names = shows_names
        self.weights: dict[str, float] = {}
        self.names: set[str] = set()
        self.numbers: set[str] = set()

    def read_title(self, title: str) -> None:
        words = _WORD.findall(title)
        self._read(words, 1.0, MAX_TITLE_WORDS, capitals=self.shows_names and not _is_title_case(words))

    def read_lead(self, lead: str) -> None:
        self._read(_WORD.findall(lead), LEAD_WEIGHT, MAX_LEAD_WORDS, capitals=self.shows_names)

    def read_initials(self, title: str, lead: str) -> None:
        """The Bank of Japan is also the BOJ."""
        if self.shows_names:
            in_title = _LONG_NAME.findall(title)
            if in_title and _is_title_case(_WORD.findall(title)):
                in_title = []
            for runs, weight in ((in_title, 1.0), (_LONG_NAME.findall(lead), LEAD_WEIGHT)):
                for run in runs:
                    initials = "".join(word[0] for word in _NAME_PART.findall(run)).casefold()
                    if len(initials) >= _MIN_INITIALS:
                        self._add((intern(initials[:STEM_LENGTH]),), weight, "word", is_name=True)

    def _read(self, words: Iterable[str], weight: float, most: int, *, capitals: bool) -> None:
        is_start = True
        for word in words:
            if word in _SENTENCE_ENDS:
                is_start = True
                continue
            stems, kind = _stems(word)
            if stems:
                is_name = (
                    capitals
                    and not word.islower()  # as nearly all are, and quick to tell
                    and kind == "word"
                    and _has_capital(word)
                    and (not is_start or _is_acronym(word))
                )
                self._add(stems, weight, kind, is_name=is_name)
                most -= len(stems)
                if most <= 0:
                    return
            is_start = False

    def _add(self, stems: Iterable[str], weight: float, kind: str, *, is_name: bool) -> None:
        if kind in ("number", "day"):
            self.numbers.update(stems)
        if is_name:
            self.names.update(stems)
        weight *= NAME_WEIGHT if is_name else _KIND_WEIGHTS[kind]
        for stem in stems:
            known = self.weights.get(stem, 0.0)
            given = NAME_WEIGHT if is_name and known else weight
            if given > known:
                self.weights[stem] = given


_KIND_WEIGHTS = {
    "word": 1.0,
    "event": EVENT_WEIGHT,
    "generic": 1.0,
    "frame": FRAME_WEIGHT,
    "day": FRAME_WEIGHT,
    "number": NUMBER_WEIGHT,
    "sign": 1.0,
}


@lru_cache(maxsize=30_000)
def _stems(word: str) -> tuple[tuple[str, ...], str]:
    """The stems of a written word, and its kind. There are none, if it says nothing."""
    parts = index_text(word).split()
    if not parts:
        return (), ""
    if word[0].isdecimal():
        return (intern(".".join(parts)[:STEM_LENGTH]),), "number"
    if is_cjk(parts[0]):
        return tuple(intern(part) for part in parts if len(part) > 1), "sign"
    # "l'accord" and "d'Agnès" are two words, "Valdoria's" is one.
    part = parts[-1] if len(parts[0]) == 1 else parts[0]
    if len(part) < 2 or part in _STOPWORDS:
        return (), ""
    part = COUNTRIES.get(part, part) if word[0].isupper() or len(part) > _LONGEST_SMALL_PLACE else part
    if part in _SAME:
        return (_SAME[part],), "word" if _SAME[part] in NAMED_EVENTS else "event"
    stem = intern(cut(part))
    if stem in _DAYS:
        return (stem,), "day"
    return (stem,), "frame" if stem in _FRAME else "generic" if stem in GENERIC else "word"


def _has_capital(word: str) -> bool:
    return (word[2:3] if word[1] in "'’" else word[0]).isupper() if len(word) > 1 else word.isupper()


def _is_acronym(word: str) -> bool:
    return word.isupper() and 1 < len(word) < 6


# The letter stands before the check of its place: the engine skips to letters, but would try the check everywhere.
_LONG_NAME = re.compile(
    r"[A-ZÀ-Ý](?<=\b[A-ZÀ-Ý])[a-zà-ÿ]+(?: (?:(?:of|for|de|du|der|des|del|la) (?:the )?)?[A-ZÀ-Ý][a-zà-ÿ]+){1,4}\b"
)
_NAME_PART = re.compile(r"\b(?:[A-ZÀ-Ý]|of\b|for\b)")
_MIN_INITIALS = 3


def _is_title_case(words: Sequence[str]) -> bool:
    """Whether nearly all long words have a capital, so that capitals mark no names."""
    capitals = [word[0].isupper() for word in words if len(word) > 3 and word[0].isalpha()]
    return len(capitals) >= 3 and sum(capitals) >= 0.7 * len(capitals)


def _shows_names(title: str, lead: str, language: str) -> bool:
    if language[:2].lower() in _WITHOUT_NAMES:
        return False
    text = f"{title} {lead}"
    if not language and len(_GERMAN.findall(text)) >= 2:
        return False
    return any(char.isupper() for char in text)


_WITHOUT_NAMES = frozenset(("de", "lb", "zh", "ja", "ko", "th", "ar", "he", "fa", "hi", "ur"))
_GERMAN = re.compile(r"\b(?:der|das|und|ist|im|den|dem|ein|eine|von|mit|für|auf|nicht|nach|wird)\b")
