"""The counters of one process. They are named as dashboards know them."""

from reedbed.domain.metrics import COUNTS, Counter, Histogram


class Meters:
    def __init__(self) -> None:
        self.fetches = Counter("feed_fetch_total", "Checks of feeds, by how they ended.", ("status",))
        self.fetch_seconds = Histogram("feed_fetch_duration_seconds", "How long a check took.")
        self.fetch_entries = Histogram(
            "feed_fetch_entries_count", "New entries of a check that brought a document.", bounds=COUNTS
        )
        self.entries = Counter("entries_fetched_total", "New entries of all feeds.")
        self.requests = Counter("http_request_total", "Answered requests.", ("method", "path", "status"))
        self.request_seconds = Histogram(
            "http_request_duration_seconds", "Time to the last byte, streams left out.", ("method", "path")
        )
        self.jobs = Counter("job_total", "Ended jobs.", ("type", "status"))
        self.job_seconds = Histogram("job_duration_seconds", "How long a job ran.", ("type",))
        self.hints = Counter("sse_events_sent_total", "Events written to live streams.", ("type",))
        self.ai_calls = Counter(
            "ai_request_total", "Calls of a model, by how they ended.", ("model", "status")
        )
        self.ai_tokens = Counter(
            "ai_tokens_total", "Tokens as the model counted them.", ("model", "direction")
        )
        self.subscriptions = Counter("subscriptions_created_total", "Feeds that somebody began to follow.")
        self.open_streams = 0
        self.streams_by_user: dict[int, int] = {}
        self.being_answered = 0
        """Requests that somebody waits for just now, streams left out."""

    def counted(self) -> list[Counter | Histogram]:
        return [value for value in vars(self).values() if isinstance(value, Counter | Histogram)]
