"""Every table, once. Migrations are written by hand and compared with this in a test.

`feeds` and `entries` are shared by all users; what has a `user_id` belongs to one.
"""

from reedbed.store.tables.articles import article_selectors
from reedbed.store.tables.columns import Id, metadata
from reedbed.store.tables.entries import audience_members, audiences, entries, entry_bodies, entry_versions
from reedbed.store.tables.feeds import blobs, feed_fetch_state, feed_history, feeds, former_addresses
from reedbed.store.tables.framing import (
    analyses,
    entry_analyses,
    feed_framing,
    framed_documents,
    framing_wishes,
)
from reedbed.store.tables.identities import identities, identity_sessions, sign_ins
from reedbed.store.tables.keeping import cleanup_notices, cleanups, imported_reads, removed_keys
from reedbed.store.tables.kept import bookmarks, highlights, published_feeds, rules, searches
from reedbed.store.tables.mail import (
    mail_addresses,
    mail_boxes,
    mail_confirmations,
    mail_deliveries,
    mail_images,
    mail_senders,
)
from reedbed.store.tables.outgoing import share_targets, webhook_deliveries, webhooks
from reedbed.store.tables.people import event_log, mail_links, sessions, tokens, users
from reedbed.store.tables.processes import processes
from reedbed.store.tables.program import app_settings, job_pieces, jobs, leases
from reedbed.store.tables.pushes import push_devices
from reedbed.store.tables.reading import (
    entry_tags,
    folders,
    later,
    muted,
    parked_unread,
    read_history,
    starred,
    subscriptions,
    tags,
    undo_rows,
    undo_steps,
    unread,
)
from reedbed.store.tables.stories import stories, story_entries, story_splits
from reedbed.store.tables.websub import websub_deliveries, websub_subscriptions
from reedbed.store.tables.written import (
    ai_models,
    ai_usage,
    ai_user_usage,
    digest_schedules,
    digests,
    entry_summaries,
    questions,
    summaries,
    summary_failures,
    summary_queue,
)

__all__ = [
    "Id",
    "ai_models",
    "ai_usage",
    "ai_user_usage",
    "analyses",
    "app_settings",
    "article_selectors",
    "audience_members",
    "audiences",
    "blobs",
    "bookmarks",
    "cleanup_notices",
    "cleanups",
    "digest_schedules",
    "digests",
    "entries",
    "entry_analyses",
    "entry_bodies",
    "entry_summaries",
    "entry_tags",
    "entry_versions",
    "event_log",
    "feed_fetch_state",
    "feed_framing",
    "feed_history",
    "feeds",
    "folders",
    "former_addresses",
    "framed_documents",
    "framing_wishes",
    "highlights",
    "identities",
    "identity_sessions",
    "imported_reads",
    "job_pieces",
    "jobs",
    "later",
    "leases",
    "mail_addresses",
    "mail_boxes",
    "mail_confirmations",
    "mail_deliveries",
    "mail_images",
    "mail_links",
    "mail_senders",
    "metadata",
    "muted",
    "parked_unread",
    "processes",
    "published_feeds",
    "push_devices",
    "questions",
    "read_history",
    "removed_keys",
    "rules",
    "searches",
    "sessions",
    "share_targets",
    "sign_ins",
    "starred",
    "stories",
    "story_entries",
    "story_splits",
    "subscriptions",
    "summaries",
    "summary_failures",
    "summary_queue",
    "tags",
    "tokens",
    "undo_rows",
    "undo_steps",
    "unread",
    "users",
    "webhook_deliveries",
    "webhooks",
    "websub_deliveries",
    "websub_subscriptions",
]
