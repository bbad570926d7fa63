"""Playback of audio and video: recordings of entries, each user's positions and queue."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from reedbed.domain.errors import Invalid
from reedbed.domain.feeds import Enclosure
from reedbed.domain.records import record
from reedbed.domain.times import MINUTE, Instant

Kind = Literal["audio", "video"]
QueuePlace = Literal["now", "next", "last"]
QUEUE_PLACES: tuple[QueuePlace, ...] = ("now", "next", "last")
Show = Literal["unplayed", "started", "played", "all"]
SHOWS: tuple[Show, ...] = ("unplayed", "started", "played", "all")

MAX_QUEUE = 500
MAX_SECONDS = 30 * 24 * 3600
REWIND_SECONDS = 3
"""Playback resumes this much before the stored position."""
CLOCK_TOLERANCE = 2 * MINUTE
"""A position whose time is further in the future comes from a wrong clock."""
MIN_SPEED, MAX_SPEED = 80, 250
"""In percent."""

_LAST_SECONDS = 60
_LONG_ENOUGH = 5 * _LAST_SECONDS
"""The last minute of a shorter recording is too large a part of it."""
_AUDIO_SUFFIXES = (".mp3", ".m4a", ".ogg", ".oga", ".opus", ".aac", ".flac", ".wav")
_VIDEO_SUFFIXES = (".mp4", ".m4v", ".webm", ".mov", ".ogv")


@record
class RecordingId:
    entry_id: int
    number: int = 0
    """Which of the recordings of the entry, from 0. It stays when the URL changes."""


@record
class Recording:
    """An audio or video file of an entry."""

    number: int
    kind: str
    url: str
    type: str | None = None
    seconds: int | None = None
    """The length, if the feed tells it."""
    length: int | None = None
    """Bytes."""


@record
class Chapter:
    start: float
    title: str


@record
class Cue:
    """A passage of a transcript."""

    start: float
    text: str
    speaker: str = ""


MAX_TRANSCRIPT = 200_000
"""Characters of a transcript that are searched, summarised and asked."""
_PARAGRAPH = 400
_SENTENCE_ENDS = (".", "!", "?", "…", "。", "！", "？")


def transcript_text(cues: Sequence[Cue]) -> str:
    """The words of a transcript, a paragraph per line: cues end anywhere, paragraphs with a sentence or a speaker."""
    paragraphs: list[str] = []
    words: list[str] = []
    length, speaker = 0, ""
    for cue in cues:
        has_ended = length >= _PARAGRAPH and words[-1].endswith(_SENTENCE_ENDS)
        if words and (cue.speaker != speaker or has_ended):
            paragraphs.append(" ".join(words))
            words, length = [], 0
        words.append(cue.text)
        length, speaker = length + len(cue.text), cue.speaker
    return "\n".join((*paragraphs, " ".join(words)))[:MAX_TRANSCRIPT]


@record
class Position:
    """Where a user is in a recording."""

    seconds: int
    total: int | None
    """The length of the file that was played; inserted advertisements may change it."""
    done: bool
    played_at: Instant
    changed_at: Instant
    """When the server stored it."""

    @property
    def resume_at(self) -> int:
        return 0 if self.done else max(0, self.seconds - REWIND_SECONDS)


@record
class PositionReport:
    """A position that a player reports."""

    seconds: int
    total: int | None = None
    started: int | None = None
    """Where this stretch of playing began."""
    done: bool | None = None
    """Set by the user, or because the recording has ended; None: decided by the position."""
    played_at: Instant | None = None
    """None: now."""


@record
class QueuedRecording:
    """A recording with all that a player shows, in the queue or a list."""

    id: RecordingId
    kind: str
    url: str
    type: str | None
    seconds: int | None
    title: str
    feed_id: int
    feed_title: str
    image: str | None
    sort_at: Instant
    subscription_id: int | None
    speed: int | None
    """The speed set for this feed, in percent."""
    position: Position | None = None


def recordings_of(enclosures: Sequence[Enclosure]) -> tuple[Recording, ...]:
    playable = [(kind, item) for item in enclosures if (kind := recording_kind(item)) is not None]
    return tuple(
        Recording(number, kind, item.url, item.type, item.duration, item.length)
        for number, (kind, item) in enumerate(playable)
    )


def recording_kind(enclosure: Enclosure) -> Kind | None:
    """Whether a browser can play it; by its type, else by the ending of its path."""
    main = (enclosure.type or "").partition("/")[0].strip().lower()
    if main in ("audio", "video"):
        return "audio" if main == "audio" else "video"
    if main and "octet-stream" not in (enclosure.type or ""):
        return None
    path = enclosure.url.partition("?")[0].partition("#")[0].lower()
    if path.endswith(_AUDIO_SUFFIXES):
        return "audio"
    return "video" if path.endswith(_VIDEO_SUFFIXES) else None


def play_url(entry_id: int, number: int, url: str) -> str:
    """What a page plays. It may not load media over plain http, so that goes through this server."""
    if not url.startswith("http:"):
        return url
    return f"/api/v1/playback/recordings/{entry_id}/media?number={number}"


# --- Positions


def next_position(current: Position | None, report: PositionReport, now: Instant) -> Position | None:
    """The position to store; None if the report does not count, because a newer one is known.

    A report from the future was timed by a wrong clock, so it may be older than what is stored: it counts
    only where nothing is.
    """
    played_at = now if report.played_at is None else report.played_at
    if played_at > now + CLOCK_TOLERANCE and current is not None:
        return None
    played_at = min(played_at, now)
    if current is not None and played_at < current.played_at:
        return None
    total = report.total or (current.total if current else None)
    done = is_done(report.seconds, total) if report.done is None else report.done
    return Position(report.seconds, total, done, played_at, now)


def is_done(seconds: int, total: int | None) -> bool:
    """More than 95 % was played, or all but the last minute of a long recording."""
    if not total:
        return False
    return seconds > 0.95 * total or (total >= _LONG_ENOUGH and total - seconds <= _LAST_SECONDS)


def check_report(report: PositionReport) -> PositionReport:
    for name, value in (("position", report.seconds), ("total", report.total), ("started", report.started)):
        if value is not None and not 0 <= value <= MAX_SECONDS:
            raise Invalid(
                "%(name)s must be a number of seconds, at most %(limit)s.", name, name=name, limit=MAX_SECONDS
            )
    return replace(report, total=report.total or None)


def check_speed(speed: int | None, field: str = "playback_speed") -> int | None:
    if speed is not None and not MIN_SPEED <= speed <= MAX_SPEED:
        raise Invalid("The speed must be between 80 and 250 percent.", field=field)
    return speed


# --- The queue: its first recording is the one that plays


def queue_with(queue: Sequence[RecordingId], added: RecordingId, place: QueuePlace) -> list[RecordingId]:
    """The queue with the recording at this place; it is in it only once."""
    others = [item for item in queue if item != added]
    match place:
        case "now":
            return [added, *others]
        case "next":
            # What is playing stays first, also when it is added again.
            return list(queue) if queue and queue[0] == added else [*others[:1], added, *others[1:]]
        case "last":
            return list(queue) if queue and queue[0] == added else [*others, added]


# --- Podcast apps that synchronise by the gpodder protocols

APP_LOGIN_TTL = 20 * MINUTE


@record
class PodcastChange:
    """A podcast that a user follows or has left."""

    subscription_id: int
    feed_id: int
    url: str
    asked_url: str
    subscribed_at: Instant
    unsubscribed_at: Instant | None
    title: str

    @property
    def shown_url(self) -> str:
        return podcast_url(self.url, self.asked_url)


@record
class EpisodeKey:
    """What an app may know an episode by."""

    entry_id: int
    number: int
    guid: str | None
    url: str


@record
class PlayedEpisode:
    id: RecordingId
    feed_url: str
    asked_url: str
    url: str
    guid: str | None
    started: int
    seconds: int
    total: int | None
    played_at: Instant
    done: bool

    @property
    def podcast_url(self) -> str:
        return podcast_url(self.feed_url, self.asked_url)


@record
class EpisodeAction:
    """What an app did with an episode; numbers are seconds, None where it does not know them."""

    podcast: str
    episode: str
    action: str
    guid: str | None = None
    played_at: Instant | None = None
    started: int | None = None
    position: int | None = None
    total: int | None = None

    def report(self) -> PositionReport | None:
        """None if it says nothing about the position."""
        match self.action.lower():
            case "play" if self.position is not None and 0 <= self.position <= MAX_SECONDS:
                total = self.total if self.total and 0 < self.total <= MAX_SECONDS else None
                started = self.started if self.started and 0 <= self.started <= MAX_SECONDS else 0
                done = True if total is not None and self.position >= total else None
                return PositionReport(self.position, total, started, done, self.played_at)
            case "new":
                return PositionReport(0, None, 0, done=False, played_at=self.played_at)
            case _:
                return None


def podcast_url(url: str, asked_url: str) -> str:
    """As the app wrote it, where that is the same feed: an app knows a podcast by its URL, letter by letter."""
    return asked_url if same_address(url, asked_url) else url


def same_address(first: str, second: str) -> bool:
    """Apart from the scheme, a final slash and the case of the host."""
    return bare_address(first) == bare_address(second)


def bare_address(url: str) -> str:
    rest = url.strip().partition("://")[2].partition("#")[0]
    host, slash, path = rest.partition("/")
    return f"{host.rpartition('@')[2].lower()}{slash}{path}".rstrip("/")


def find_episode(found: Sequence[EpisodeKey], action: EpisodeAction) -> RecordingId | None:
    """By guid first: the URLs of files change, with advertisements for example."""
    by_guid = (key for key in found if action.guid and key.guid == action.guid)
    by_url = (key for key in found if key.url == action.episode)
    wanted = bare_address(action.episode).partition("?")[0]
    by_path = (key for key in found if bare_address(key.url).partition("?")[0] == wanted)
    for matches in (by_guid, by_url, by_path):
        if (key := next(matches, None)) is not None:
            return RecordingId(key.entry_id, key.number)
    return None
