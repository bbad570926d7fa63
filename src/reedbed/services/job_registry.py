"""The handler of every kind of job, imported when the first job of its kind runs."""

from collections.abc import Iterator, Mapping
from importlib import import_module

from reedbed.services.jobs import Handler

_NAMES = {
    "mail": "email:send_email_job",
    "import": "transfer.jobs:run_import",
    "newsletter_leaving": "newsletters.senders:run_list_unsubscribe",
    "refresh": "refresh.write:report_progress",
    "feed_stopped": "refresh.notify:report_stopped",
    "broken_feeds": "refresh.notify:mail_broken_feeds",
    "articles": "articles:fetch_articles",
    "rules": "rules.manage:run_rules",
    "book": "books.work:make_book",
    "book_mail": "books.mail:send_book",
    "cleanup": "retention:run_cleanup",
    "notify": "rules.notify:send_notice",
    "digest": "digests:write_digest",
    "digest_mail": "digests:mail_digest",
    "listening": "listening.work:read_aloud",
    "framing": "framing.manage:read_feed",
    "push_news": "push:report_new_entries",
    "push": "push:send_note",
    "question": "questions:answer_question",
    "saved_page": "articles:read_saved_page",
    "share": "sharing:send_link",
    "webhook": "webhooks:call_webhook",
}
"""By the kind that is stored with a job: module and function below `reedbed.services`."""


class _Handlers(Mapping[str, Handler]):
    def __getitem__(self, kind: str) -> Handler:
        module, _, name = _NAMES[kind].partition(":")
        return getattr(import_module(f"reedbed.services.{module}"), name)

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


HANDLERS: Mapping[str, Handler] = _Handlers()
