"""Sentences of a plain text in any script: one line for each block goes in, whole sentences come out."""

import re
from collections.abc import Iterator

# A quotation may end inside the sentence that quotes it: 「…。」と言った。
_WIDE_END = re.compile(
    r"(?<=[。！？｡])(?![」』”’）)】》〉。！？])|(?<=[。！？][」』”’）)】》〉])(?!と|って|など)"
)
_END = re.compile(r"[.!?…؟۔।]+[\"'”’»›)\]]*\s+(?=[\"'“‘«‹(\[¿¡„–—-]*\s?[^\W_])")
_LAST_WORD = re.compile(r"([^\s(\[\"'“‘«„]+)$")
_NEXT_SIGN = re.compile(r"[^\W_]")
_SHORT_FORMS = """
mr mrs ms dr prof sr jr st vs etc e.g i.e cf al no nos vol fig approx dept est inc ltd co corp gen col sen rep
gov lt sgt capt rev hon jan feb mar apr jun jul aug sept sep oct nov dec u.s u.k u.n a.m p.m
z.b d.h u.a s.o bzw ca usw evtl ggf inkl nr str mio mrd tel abs art bd vgl sog jh hl hrsg
mm mme mlle env p.ex av boul sra sres ud uds ee.uu pág núm exmo dna sig sigg dott dr.ssa ing avv ecc
bijv o.a d.w.z blz bl.a t.ex osv m.m s.k dvs f.eks mv kl ul np tzw m.in tj г гг т.е т.д др стр ул им
"""
_ABBREVIATIONS = frozenset(_SHORT_FORMS.split())
_MONTH = re.compile(r"(?:Jan|Feb|Mär|Mar|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|Jahrhundert|Platz)")


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Each sentence with the number of its block."""
    for number, line in enumerate(text.split("\n")):
        for part in _WIDE_END.split(line.strip()):
            for sentence in _narrow(part):
                if sentence:
                    yield number, sentence


def _narrow(line: str) -> Iterator[str]:
    """Scripts that end a sentence with a dot and a blank: a dot may also end an abbreviation or a number."""
    start = 0
    for end in _END.finditer(line):
        if _is_end(line, end.start(), end.end(), end.group()):
            yield line[start : end.end()].strip()
            start = end.end()
    yield line[start:].strip()


def _is_end(line: str, dot: int, after: int, signs: str) -> bool:
    following = _NEXT_SIGN.search(line, after)
    starts_small = following is not None and following.group().islower()
    if starts_small:
        return False
    if signs[0] != "." or signs.startswith(".."):
        return True
    word = _LAST_WORD.search(line, max(0, dot - 40), dot)
    if word is None:
        return True
    last = word.group(1)
    # "3. Mai", "J. Smith", "Dr. Who", "U.S. Senate"
    is_ordinal = bool(last.isdigit() and len(last) <= 2 and _MONTH.match(line, after))
    is_initial = len(last) == 1 and last.isalpha() and last.isupper()
    return not (is_ordinal or is_initial or last.lower() in _ABBREVIATIONS)
