"""The language of an entry: declared by its feed, otherwise detected from its text.

Our own detector instead of a model: the script identifies most languages outside the Latin alphabet, and
common short words the others. It needs little memory, no download, and a few microseconds.
"""

import re

_LANGUAGE_TAG = re.compile(r"([A-Za-z]{2,3})(?:[-_]([A-Za-z0-9]{2,8}))*\Z")
_PUNCTUATION = " .,;:!?\"'()[]«»„“”‘’–—…¿¡"
_BEYOND_LATIN = re.compile(r"[\u0370-\U0010ffff]")
_SAMPLE_CHARS = 800
_WORD_SCORE = 12

_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("zh", re.compile(r"[\u3400-\u9fff]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
    ("bn", re.compile(r"[\u0980-\u09ff]")),
    ("ta", re.compile(r"[\u0b80-\u0bff]")),
    ("te", re.compile(r"[\u0c00-\u0c7f]")),
    ("ka", re.compile(r"[\u10a0-\u10ff]")),
    ("hy", re.compile(r"[\u0530-\u058f]")),
)
_ARABIC = re.compile(r"[\u0600-\u06ff]")
_PERSIAN = re.compile(r"[پچژگکی]")
_URDU = re.compile(r"[ٹڈڑںےہھ]")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_ALPHABETIC = re.compile(r"[^\W\d_]")

_STOPWORDS = {
    "en": (
        "new how why what says after will has its an i my your the and of to in is that for it "
        "with as was on are be this by have from at not but they you which we his her"
    ),
    "de": (
        "noch neue neues neuer zur zum sind wird bei nach wie vom wir ich der die und in den von "
        "zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat"
    ),
    "fr": (
        "nous vous ont été après son ses de la le et les des en un une du est que dans pour qui "
        "sur au pas plus par il avec ce sont ne se aux cette"
    ),
    "es": (
        "no ha y es son está muy hay nuevo nueva sobre entre de la que el en y los se del las por "
        "un para con una su al lo como más pero sus le ya este sí porque esta"
    ),
    "pt": (
        "foi ser está novo nova pela pelo de a o que e do da em um para com não uma os no se na "
        "por mais as dos como mas ao ele das à seu sua ou são"
    ),
    "it": (
        "nella delle tra dopo di che e la il un a per in una sono non è con del si da le dei nel "
        "alla più anche come i della gli ha al"
    ),
    "nl": ("de het een en van in is dat op te zijn met voor niet aan er om ook als maar door over bij naar uit wordt"),
    "sv": ("och i att det som en på är av för med till den har de inte om ett men var sig så från kan vid när också"),
    "da": ("og i at det er en til af på for med den har de ikke som et der var sig men om fra kan blev hun efter også"),
    "no": ("og i det er en til på for av med som har ikke at de den et var seg men om fra kan ble hun etter også være"),
    "fi": ("ja on ei se että oli joka mutta ovat kun niin myös tai hän sen ole mukaan sekä vain jos ollut kuin jo"),
    "pl": ("i w na z do że się nie to jest o jak za od po ale przez dla są tym przy tego może jego był oraz które"),
    "cs": ("a v na se že je s z do o i to jako za by ale pro jsou jeho byl které podle od při také než nebo k však"),
    "hu": ("a az és hogy nem is egy volt meg csak már ez még de mint van el vagy azt ki kell lehet után pedig ha"),
    "ro": ("și de în a la cu nu pe care că este un o din pentru au mai sunt o să ce fost sau după prin dar ca fi"),
    "tr": "ve bir bu için da de ile olarak çok daha en olan gibi kadar sonra ne ama var her o ise değil göre",
    "id": ("yang dan di dengan untuk dari ini dalam pada tidak itu akan adalah juga ke oleh telah bisa sebagai"),
    "vi": "và của là có được trong cho không với các một những người khi đã này để về từ đến như ra cũng",
    "ca": ("de la que i el en a els les per un amb una és del no al més com però seva també dels aquest va han"),
    "hr": "i u je na se da su za od s koji a kao što nije iz to ali će po o bio kako ili još samo",
}
_CYRILLIC_STOPWORDS = {
    "ru": "и в не на что он с как это по но из за от для его было все так же о только если бы или был",
    "uk": "і в не на що з як це та до але від для його було у є про за також які який якщо він або",
    "bg": "и на да в се за не от е с че по са ще това като но до при един най които или след",
    "sr": "и у је на се да су за од који а као што није из то али ће по о са био",
}


def _languages_by_word(lists: dict[str, str]) -> dict[str, tuple[str, ...]]:
    languages: dict[str, tuple[str, ...]] = {}
    for language, words in lists.items():
        for word in words.split():
            languages[word] = (*languages.get(word, ()), language)
    return languages


_LATIN_WORDS = _languages_by_word(_STOPWORDS)
_CYRILLIC_WORDS = _languages_by_word(_CYRILLIC_STOPWORDS)


def entry_language(declared: str | None, text: str) -> str | None:
    return declared_language(declared) or detect_language(text)


def declared_language(tag: str | None) -> str | None:
    """Normalize `pt_br` to `pt-BR`; None if it is not a language tag."""
    tag = (tag or "").strip().replace("_", "-")
    if not _LANGUAGE_TAG.match(tag) or len(tag) > 20:
        return None
    first, *subtags = tag.split("-")
    return "-".join((first.lower(), *(part.upper() if len(part) == 2 else part for part in subtags)))


def detect_language(text: str) -> str | None:
    """A two-letter code, or None if the text is too short or not recognized."""
    sample = text[:_SAMPLE_CHARS]
    if not sample.isascii() and _BEYOND_LATIN.search(sample) and (language := _by_script(sample)):
        return language
    return _by_stopwords(sample, _LATIN_WORDS)


def _by_script(sample: str) -> str | None:
    alphabetic = len(_ALPHABETIC.findall(sample))
    if len(_CYRILLIC.findall(sample)) * 2 > alphabetic:
        return _by_stopwords(sample, _CYRILLIC_WORDS) or "ru"
    if len(_ARABIC.findall(sample)) * 2 > alphabetic:
        return "ur" if _URDU.search(sample) else "fa" if _PERSIAN.search(sample) else "ar"
    for language, script in _SCRIPTS:
        # Japanese mixes kana with Chinese characters: a tenth of kana is enough.
        share = 10 if language == "ja" else 3
        if len(script.findall(sample)) * share > alphabetic:
            return language
    return None


def _by_stopwords(sample: str, languages_by_word: dict[str, tuple[str, ...]]) -> str | None:
    scores: dict[str, int] = {}
    for word in sample.lower().split():
        languages = languages_by_word.get(word)
        if languages is None:
            if word.isalpha():
                continue
            languages = languages_by_word.get(word.strip(_PUNCTUATION), ())
        # A word that occurs in many languages scores less for each.
        for language in languages:
            scores[language] = scores.get(language, 0) + _WORD_SCORE // len(languages)
    if not scores:
        return None
    best = max(scores, key=lambda language: scores[language])
    rivals = [score for language, score in scores.items() if language != best]
    return best if scores[best] >= _WORD_SCORE and scores[best] > max(rivals, default=0) else None
