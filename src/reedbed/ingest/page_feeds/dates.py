"""Parse dates as people write them on pages, in many languages. A text without a clear date gives None."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Literal

from reedbed.domain.records import record
from reedbed.domain.times import Instant, from_datetime, to_datetime
from reedbed.ingest.parse.dates import instant

DayOrder = Literal["dmy", "mdy"]

MAX_TEXT = 120
_EARLIEST_YEAR, _YEARS_AHEAD = 1990, 5

# Beginnings of month names; a word is compared with its first five letters, then four, then three.
_MONTH_STEMS = (
    "jan gen ene sty led янв січ ينا oca ocak ιαν ינו jän ian яну जनव",
    "feb fév fev fév lut úno únor фев лют فبر şub φεβ פבר helm febr फ़रव फरव",
    "mar mär mrz maa maart břez бере март мар مار μαρ מרץ maal márc मार्",
    "apr avr abr kwi dub апр квіт أبر ابر nis απρ אפר huht ápr अप्र",
    "may mai mag maj mei květ мая май трав ماي μαϊ μάι מאי touk máj",
    "jun juin jui giu cze červn июн черв يون haz ιουν יונ kesä jún iun юни जून",
    "jul juil lug lip červen июл лип يول tem ιουλ יול hein júl iul юли जुल",
    "aug aoû aou ago sie srp авг серп أغس اغس ağu αυγ אוג elo augu agu अगस",
    "sep set wrz září сен вер سبت eyl σεπ ספט syys szep सित",
    "oct okt ott out paź říj окт жовт أكت اكت eki οκτ אוק loka अक्",
    "nov lis list ноя лист نوف kas νοε נוב marra noi ное nop नवं",
    "dec dez déc dic gru pros дек груд ديس ara δεκ דצמ joul des दिस",
)
_MONTHS = {stem: number for number, stems in enumerate(_MONTH_STEMS, 1) for stem in stems.split()}
# Words for another month than their first letters say.
_EXACT = {
    "listopada": 11, "listopad": 11, "červenec": 7, "července": 7, "červen": 6, "června": 6, "juillet": 7, "juil": 7,
    "juin": 6, "maggio": 5, "marraskuuta": 11, "maaliskuuta": 3, "mayo": 5, "maio": 5, "mayıs": 5, "mart": 3,
    "listopadu": 11, "липня": 7, "липень": 7, "лютого": 2, "листопада": 11,
}  # fmt: skip
# In Latin and Cyrillic letters many other words begin like a month: “Marka 1”, “Julia 7”.
_MONTH_NAMES = (
    "january february march april may june july august september october november december januar jänner februar",
    "feber märz mai juni juli oktober dezember janvier février mars avril juin juillet août septembre octobre",
    "novembre décembre enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre noviembre",
    "diciembre gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre janeiro fevereiro março",
    "maio junho julho setembro outubro novembro dezembro januari februari maart mei augustus augusti styczeń",
    "stycznia luty lutego marzec marca kwiecień kwietnia maj maja czerwiec czerwca lipiec lipca sierpień sierpnia",
    "wrzesień września październik października listopad grudzień grudnia leden ledna únor února březen března",
    "duben dubna květen května červen června červenec července srpen srpna září říjen října prosinec prosince",
    "marts desember tammikuu helmikuu maaliskuu huhtikuu toukokuu kesäkuu heinäkuu elokuu syyskuu lokakuu",
    "marraskuu joulukuu január február március április május június július augusztus szeptember október ocak",
    "şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık ianuarie februarie martie iunie iulie",
    "septembrie octombrie noiembrie decembrie gener febrer març maig juny juliol agost desembre maret agustus",
    "января февраля марта апреля мая июня июля августа сентября октября ноября декабря январь февраль апрель май",
    "июнь июль сентябрь октябрь ноябрь декабрь март август січня січень лютого лютий березня березень квітня",
    "квітень травня травень червня червень липня липень серпня серпень вересня вересень жовтня жовтень листопада",
    "листопад грудня грудень януари февруари април юни юли септември октомври ноември декември",
)
_NAMES = frozenset(name for names in _MONTH_NAMES for name in names.split())
_NAME_STARTS = frozenset(name[:length] for name in _NAMES for length in range(3, len(name) + 1)) - {"list"}
_LONG_NAMES = tuple(name for name in _NAMES if len(name) > 5)
_CASE_ENDING = 4
"""Letters that a long name may have more: `marraskuussa`."""
_LATIN_CYRILLIC = re.compile("[a-z\u00df-\u024f\u0400-\u052f]")
_DIGITS = str.maketrans("٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹０１２３４５６７８９०१२३४५६७८९๐๑๒๓๔๕๖๗๘๙", "0123456789" * 5)

_YEAR_FIRST = re.compile(r"(?<!\d)(\d{4})\s?[-/.年년]\s?(\d{1,2})\s?[-/.月월]\s?(\d{1,2})(?!\d)")
_ERA = re.compile(r"(令和|平成)\s?(\d{1,2}|元)年\s?(\d{1,2})月\s?(\d{1,2})日")
_ERA_STARTS = {"令和": 2018, "平成": 1988}
_DAY_AND_MONTH = re.compile(
    r"(\d{1,2})日? ((?:19|20)\d\d)[-/.年](\d{1,2})月?|((?:19|20)\d\d)[-/.年](\d{1,2})月? (\d{1,2})日?"
)
"""A day in large figures beside its month: `18 2026-11`."""
_DAY_FIRST = re.compile(r"(?<![\d.,])(\d{1,2})([./-])\s?(\d{1,2})\2\s?(\d{4}|\d{2})(?!\d)")
_YEAR_FIRST_LANGUAGES = frozenset(("ko", "ja", "zh", "hu"))
"""Languages that write `26.11.17` for 17 November 2026."""
_NAME = r"((?:[^\W\d_]|[\u0900-\u0963]){2,14})"
_MONTH_DAY_CJK = re.compile(r"(?<!\d)(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日일]")
_DAY_MONTH = re.compile(
    r"(?<![\d:.,/])(\d{1,2})(?:st|nd|rd|th|er|\.|º|ª|°)?(?:\s+|-)(?:de |of |d[’'])?" + _NAME + r"\.?"
    r"(?:,?[\s-]+(?:de |del )?['’]?(\d{4}))?(?![\w:])",
    re.IGNORECASE,
)
_MONTH_DAY = re.compile(
    r"(?<!\w)" + _NAME + r"\.?\s+(\d{1,2})(?:st|nd|rd|th)?(?![\d:.])(?:,?\s+(\d{4}))?(?![\w:])", re.IGNORECASE
)
_YEAR_MONTH_DAY = re.compile(r"(?<!\d)(\d{4})[.,]?\s+([^\W\d_]{3,14})\.?\s+(\d{1,2})(?![\d:])")
_VIETNAMESE = re.compile(r"(?<!\d)(\d{1,2})\s+tháng\s+(\d{1,2})(?:,|\s+năm)?\s+(\d{4})", re.IGNORECASE)
_THAI_MONTHS = (
    "ม.ค. มกราคม", "ก.พ. กุมภาพันธ์", "มี.ค. มีนาคม", "เม.ย. เมษายน", "พ.ค. พฤษภาคม", "มิ.ย. มิถุนายน",
    "ก.ค. กรกฎาคม", "ส.ค. สิงหาคม", "ก.ย. กันยายน", "ต.ค. ตุลาคม", "พ.ย. พฤศจิกายน", "ธ.ค. ธันวาคม",
)  # fmt: skip
_THAI_MONTH = {name: number for number, names in enumerate(_THAI_MONTHS, 1) for name in names.split()}
_THAI = re.compile(r"(?<!\d)(\d{1,2})\s*([\u0e00-\u0e3a\u0e40-\u0e4f.]{4,12})\s*(25\d\d|20\d\d)")
_BUDDHIST_YEARS = 543
_URL_DATE = re.compile(
    r"(?<!\d)((?:19|20)\d\d)[/_-](0?[1-9]|1[0-2])[/_-](0?[1-9]|[12]\d|3[01])(?!\d)"
    r"|[/_t-]((?:19|20)\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=[/_.\-]|$)"
    r"|(?<!\d)((?:19|20)\d\d)[/-]((?:0[1-9]|1[0-2]))(0[1-9]|[12]\d|3[01])(?=/)"
)
_URL_MONTH = re.compile(r"/((?:19|20)\d\d)/([a-z]{3,9})/(\d{1,2})/", re.IGNORECASE)
_DEADLINE = re.compile(
    r"deadline|clos(?:es|ing)|apply by|expires|until|due|bewerbungsschluss|bewerbungsfrist|frist|bis (?:zum)?|"
    r"date limite|jusqu|hasta|plazo|scadenza|fino al|prazo|до\s|termin|締切|まで|截止|마감",
    re.IGNORECASE,
)

_TITLE_LETTERS = 10
"""So many letters beside a date are a title with a date in it."""
_DATE_LABEL = re.compile(
    r"publi\w*|posted|updated?|modified|released?|submitted|created?|added|last|dated?|written|until|since|"
    r"veröffentlicht|erschienen|aktualisiert|stand|datum|eingestellt|geändert|fecha|actualizado|pubblicato|aggiornato|"
    r"mis|modifié|dodano|opublikowano|data|geplaatst|gepubliceerd|опубликовано|обновлено|добавлено|نشر|تاريخ|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|"
    r"(?:lun|mar|mercre|jeu|vendre|same)di|dimanche|lunes|martes|miércoles|jueves|viernes|sábado|domingo",
    re.IGNORECASE,
)

_UNITS = {
    "minute": "min minute minutes mins minuten minuta minutos minuti minut minuty minut minuten dakika минут минуту "
    "минуты хвилин دقيقة دقائق 分 分钟 分鐘 분 m",
    "hour": "h hr hrs hour hours stunde stunden std heure heures hora horas ora ore uur uren godz godzin godzinę "
    "godziny hodin saat час часа часов годин ساعة ساعات 時間 小时 小時 시간 timmar timer",
    "day": "d day days tag tage tagen jour jours día días dia dias giorno giorni dag dagen dni dzień gün день дня дней "
    "днів يوم أيام 日 天 일",
    "week": "w week weeks woche wochen semaine semaines semana semanas settimana settimane weken tygodnie tydzień "
    "tygodni hafta неделю недели недель أسبوع أسابيع 週間 周 주",
}  # fmt: skip
_UNIT_SPANS = {
    "minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7)
}  # fmt: skip
_UNIT_OF = {word: unit for unit, words in _UNITS.items() for word in words.split()}
_AGO = re.compile(
    r"(?<![\d\w])(\d{1,3}|an?|one)\s?([^\W\d_]{1,9})\.?\s+"
    r"(?:ago|geleden|fa|atrás|temu|назад|önce|тому|sedan|siden|sitten|zpět)\b"
    r"|\b(?:vor|il y a|hace|há|منذ|před|πριν)\s+(\d{1,3}|eine[rm]|une?|una|uma?)\s?([^\W\d_]{1,9})"
    r"|(\d{1,3})\s?(分|分钟|分鐘|時間|小时|小時|日|天|週間|周|분|시간|일|주)\s?(?:前|전)",
    re.IGNORECASE,
)
_NOW = re.compile(
    r"just now|gerade eben|à l[’']instant|ahora mismo|agora mesmo|только что|刚刚|たった今|방금", re.IGNORECASE
)
_BEFORE_WORDS = {
    0: "today heute aujourd’hui aujourd'hui hoy oggi hoje vandaag dzisiaj dziś сегодня bugün اليوم 今日 今天 오늘 idag",
    1: "yesterday gestern hier ayer ieri ontem gisteren wczoraj вчера dün أمس 昨日 昨天 어제 igår",
    2: "vorgestern anteayer anteontem eergisteren przedwczoraj позавчера 前天 一昨日 그저께",
}
_DAYS_BEFORE = {word: days for days, words in _BEFORE_WORDS.items() for word in words.split()}
_CLOCK = re.compile(r"\d{1,2} ?(?:[:.h時点시] ?\d\d(?:[:.]\d\d)?|uhr|h|am|pm|時|点|시)", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+(?:[’'][^\W\d_]+)*")
_SLASHES = re.compile(r"(?<!\d)(\d{1,2})[/-](\d{1,2})[/-](?:\d{4}|\d{2})(?!\d)")
_YEAR = re.compile(r"(?:19|20)\d\d")


@record
class FoundDate:
    time: Instant
    has_year: bool = True
    month: int = 0
    day: int = 0

    def in_year(self, year: int) -> Instant:
        return _at(year, self.month, self.day) or self.time


@record
class DateReader:
    """Reads dates of one page: `now` for relative ones, `order` for 4/11/2026."""

    now: Instant
    order: DayOrder | None
    language: str = ""

    def machine(self, text: str) -> Instant | None:
        """A value for programs: ISO 8601, RFC 822, or seconds or milliseconds since 1970."""
        text = text.strip()
        if text.isdigit() and len(text) in (10, 13):
            return int(text) * (1000 if len(text) == 10 else 1)
        if len(text) < 8:
            return None
        if _DAY_FIRST.match(text):  # a day as people write it, which a parser for programs would read as a month
            found = self._complete(text)
            return found.time if found is not None and self._plausible(found.time) else None
        time = instant(text)
        return time if time is not None and self._plausible(time) else None

    def written(self, text: str) -> FoundDate | None:
        """A date in a short text."""
        return _written(self, text) if text and len(text) <= MAX_TEXT else None

    def read(self, text: str) -> FoundDate | None:
        line = " ".join(text.translate(_DIGITS).split())
        found = self._complete(line) or self._with_month_name(line) or self._relative(line)
        return found if found is not None and self._plausible(found.time) else None

    def is_only_date(self, text: str) -> bool:
        """Whether a text says when and nothing else: “Posted 3 May”, not “Minutes of 3 May”."""
        if self.written(text) is None:
            return False
        words = [word for word in _WORD.findall(text.lower()) if not _is_date_word(word)]
        return sum(map(len, words)) < _TITLE_LETTERS

    def in_url(self, url: str) -> Instant | None:
        path = url.partition("?")[0].partition("//")[2]
        if match := _URL_DATE.search(path):
            year, month, day = (int(part) for part in match.groups() if part)
        elif (match := _URL_MONTH.search(path)) and (number := month_number(match[2])) is not None:
            year, month, day = int(match[1]), number, int(match[3])
        else:
            return None
        time = _at(year, month, day)
        return time if time is not None and self._plausible(time) and time <= self.now + 86_400_000 else None

    def _plausible(self, time: Instant) -> bool:
        year = to_datetime(time).year
        return _EARLIEST_YEAR <= year <= to_datetime(self.now).year + _YEARS_AHEAD

    def _complete(self, line: str) -> FoundDate | None:
        if match := _ERA.search(line):
            year = _ERA_STARTS[match[1]] + (1 if match[2] == "元" else int(match[2]))
            return _found(year, int(match[3]), int(match[4]), line, match.start())
        if match := _YEAR_FIRST.search(line):
            return _found(int(match[1]), int(match[2]), int(match[3]), line, match.start())
        if match := _DAY_AND_MONTH.fullmatch(line):
            day, year, month = match.group(1, 2, 3) if match[1] else match.group(6, 4, 5)
            return _found(int(year), int(month), int(day), line, 0)
        if match := _DAY_FIRST.search(line):
            first, mark, second = int(match[1]), match[2], int(match[3])
            if mark == "." and len(match[4]) == 2 and self.language[:2] in _YEAR_FIRST_LANGUAGES:
                return _found(2000 + first, second, int(match[4]), line, match.start())
            order = "dmy" if mark == "." or first > 12 else "mdy" if second > 12 else self.order
            if order is None:
                return None
            day, month = (first, second) if order == "dmy" else (second, first)
            year = int(match[4]) + (2000 if len(match[4]) == 2 else 0)
            return _found(year, month, day, line, match.start())
        return None

    def _with_month_name(self, line: str) -> FoundDate | None:
        if match := _VIETNAMESE.search(line):
            return _found(int(match[3]), int(match[2]), int(match[1]), line, match.start())
        if (match := _THAI.search(line)) and match[2] in _THAI_MONTH:
            year = int(match[3]) - (_BUDDHIST_YEARS if int(match[3]) > 2500 else 0)
            return _found(year, _THAI_MONTH[match[2]], int(match[1]), line, match.start())
        if (match := _YEAR_MONTH_DAY.search(line)) and (month := month_number(match[2])) is not None:
            return _found(int(match[1]), month, int(match[3]), line, match.start())
        if match := _MONTH_DAY_CJK.search(line):
            return self._dated(None, int(match[1]), int(match[2]), line, match.start())
        best: FoundDate | None = None
        for pattern, day_at, month_at in ((_DAY_MONTH, 1, 2), (_MONTH_DAY, 2, 1)):
            for match in pattern.finditer(line):
                month = month_number(match[month_at])
                if month is None:
                    continue
                found = self._dated(match[3], month, int(match[day_at]), line, match.start())
                if found is not None and found.has_year:
                    return found
                best = best or found
        return best

    def _dated(self, year: str | None, month: int, day: int, line: str, start: int) -> FoundDate | None:
        if year is not None:
            return _found(int(year), month, day, line, start)
        # Without a year it is the latest such day that is not in the future.
        this_year = to_datetime(self.now).year
        for candidate in (this_year, this_year - 1):
            found = _found(candidate, month, day, line, start)
            if found is not None and found.time <= self.now + 86_400_000:
                return FoundDate(found.time, False, month, day)
        return None

    def _relative(self, line: str) -> FoundDate | None:
        if len(line) > 60:
            return None
        now = to_datetime(self.now)
        if match := _AGO.search(line):
            count, unit = next((n, u) for n, u in (match.group(1, 2), match.group(3, 4), match.group(5, 6)) if n)
            name = _UNIT_OF.get(unit.lower()) or _UNIT_OF.get(unit.lower().rstrip("s"))
            if name is None:
                return None
            span = now - (int(count) if count.isdigit() else 1) * _UNIT_SPANS[name]
            exact = span if name in ("minute", "hour") else span.replace(hour=0, minute=0)
            return FoundDate(from_datetime(exact.replace(second=0, microsecond=0)))
        if _NOW.search(line):
            return FoundDate(from_datetime(now.replace(second=0, microsecond=0)))
        if any(map(str.isdigit, _CLOCK.sub("", line))):
            return None  # “20 stars today”
        for word in _WORD.findall(line.lower()):
            if word in _DAYS_BEFORE and (word != "hier" or self.language.startswith("fr")):  # German for “here”
                day = now - timedelta(days=_DAYS_BEFORE[word])
                return FoundDate(from_datetime(datetime(day.year, day.month, day.day, tzinfo=UTC)))
        return None


@lru_cache(maxsize=4_000)
def _written(dates: DateReader, text: str) -> FoundDate | None:
    """Each list reads the same texts again."""
    return dates.read(text)


def _is_date_word(word: str) -> bool:
    known = word in _UNIT_OF or word in _DAYS_BEFORE or _DATE_LABEL.fullmatch(word) is not None
    return known or month_number(word) is not None


def may_be_date(char: str) -> bool:
    """Whether a text with this character may be a date."""
    return char.isdigit() or char in "今昨前어오"


def is_named_day(text: str) -> bool:
    """Whether a text is nothing but “Yesterday” or “Posted today”."""
    words = _WORD.findall(text.lower()) if len(text) < 40 else []
    return any(word in _DAYS_BEFORE for word in words) and all(map(_is_date_word, words))


@lru_cache(maxsize=4_000)
def month_number(word: str) -> int | None:
    lowered = word.lower().rstrip(".")
    if lowered in _EXACT:
        return _EXACT[lowered]
    if lowered.startswith("ב") and len(lowered) > 4:  # Hebrew for “in”
        lowered = lowered[1:]
    if _LATIN_CYRILLIC.match(lowered) and not _is_month(lowered):
        return None
    return next((_MONTHS[lowered[:length]] for length in (6, 5, 4, 3) if lowered[:length] in _MONTHS), None)


def _is_month(word: str) -> bool:
    if word in _NAME_STARTS or word in _MONTHS:
        return True
    return any(word.startswith(name) and len(word) <= len(name) + _CASE_ENDING for name in _LONG_NAMES)


def year_of(text: str) -> int | None:
    """The year, if the text is nothing else."""
    return int(text) if _YEAR.fullmatch(text.strip()) else None


def year_number(time: Instant) -> int:
    return to_datetime(time).year


def day_order(texts: Iterable[str], language: str | None) -> DayOrder | None:
    """How dates like 4/11/2026 are meant: what one of them proves, else what the language says."""
    for text in texts:
        for first, second in _SLASHES.findall(text.translate(_DIGITS)):
            if int(first) > 12 >= int(second):
                return "dmy"
            if int(second) > 12 >= int(first):
                return "mdy"
    lowered = (language or "").lower().replace("_", "-")
    if lowered in ("en-us", "fil", "en-ph"):
        return "mdy"
    # Plain English is written in both orders.
    return None if lowered in ("", "en") else "dmy"


def _found(year: int, month: int, day: int, line: str, start: int) -> FoundDate | None:
    time = _at(year, month, day)
    # The day until which one can apply is not the day on which it was published.
    if time is None or _DEADLINE.search(line[max(0, start - 30) : start]):
        return None
    return FoundDate(time, True, month, day)


def _at(year: int, month: int, day: int) -> Instant | None:
    try:
        return from_datetime(datetime(year, month, day, tzinfo=UTC))
    except ValueError:
        return None
