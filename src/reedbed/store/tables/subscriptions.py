"""What a user follows, and what is set up on it: folders, lists, searches, rules, published feeds, newsletters."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Table, Text, UniqueConstraint

from reedbed.store.tables.columns import Id, flag, id_column, metadata, moment, number, owner, partial_index

folders = Table(
    "folders",
    metadata,
    id_column(),
    owner(),
    Column("parent_id", Id, ForeignKey("folders.id", ondelete="SET NULL")),
    Column("name", Text, nullable=False),
    number("position"),
    Column("summary_words", Integer),  # as in `subscriptions`; NULL: as the parent folder
    moment("created_at"),
    flag("in_unread", on=True),  # as in `subscriptions`, for all feeds in it
    Index("ix_folders_user_id", "user_id"),
    sqlite_autoincrement=True,
)

subscriptions = Table(
    "subscriptions",
    metadata,
    id_column(),
    owner(),
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), nullable=False),
    Column("folder_id", Id, ForeignKey("folders.id", ondelete="SET NULL")),
    Column("title", Text),  # the user's own title; NULL: the feed's
    Column("asked_url", Text, nullable=False, server_default=""),  # the URL as the user entered it
    number("position"),
    flag("paused"),
    Column("interval", BigInteger),
    Column("full_text", Text, nullable=False, server_default="auto"),  # auto, always, never
    flag("notify"),
    # retention set by the user; NULL: the server's limit, 0: no limit
    Column("keep_entries", Integer),
    Column("keep_days", Integer),
    Column("keep_unread_days", Integer),
    # summarise new entries with at least this many words; -1: never; NULL: as the folder
    Column("summary_words", Integer),
    flag("local_only"),  # do not send its texts to external models
    moment("muted_until", null=True),  # hidden from the lists of several feeds and their counts; NULL: not muted
    Column("unread_display", Text, nullable=False, server_default="number"),  # number, dot, none
    Column("playback_speed", Integer),  # percent; NULL: the user's own speed
    flag("without_shorts"),  # short videos of a channel are muted
    flag("in_unread", on=True),  # shown in the list of everything unread, and counted there
    Column("unread_limit", Integer),  # only so many of its newest entries stay unread; NULL: all
    Column("opml", Text),  # JSON: unknown OPML attributes, written back on export
    number("since_id"),  # entries up to this id are not visible
    number("read_to"),  # the read marker: unread rows up to this id count as read, unless `kept`
    number("newest_id"),  # newest entry delivered to this user
    number("unread"),
    moment("subscribed_at"),
    moment("unsubscribed_at", null=True),
    UniqueConstraint("user_id", "feed_id"),
    Index("ix_subscriptions_feed_id", "feed_id"),
    partial_index("ix_subscriptions_wish", "feed_id", "interval", where="interval IS NOT NULL"),
    partial_index("ix_subscriptions_muted", "user_id", where="muted_until IS NOT NULL"),
    sqlite_autoincrement=True,
)

subscription_folders = Table(  # the folders of a feed besides `subscriptions.folder_id`, which is the first
    "subscription_folders",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column(
        "subscription_id",
        Id,
        ForeignKey("subscriptions.id", ondelete="CASCADE", onupdate="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("folder_id", Id, ForeignKey("folders.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Index("ix_subscription_folders_subscription_id", "subscription_id"),
    Index("ix_subscription_folders_folder_id", "folder_id"),
    sqlite_with_rowid=False,
)

list_settings = Table(  # how a user wants to see a list; empty: as every other list
    "list_settings",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("list", Text, primary_key=True),  # everything, later, feed:3, folder:3, tag:walk; * for every list
    Column("show", Text, nullable=False, server_default=""),
    Column("order", Text, nullable=False, server_default=""),
    Column("layout", Text, nullable=False, server_default=""),
    Column("days", Text, nullable=False, server_default=""),  # grouped or together
    sqlite_with_rowid=False,
)

searches = Table(
    "searches",
    metadata,
    id_column(),
    owner(),
    Column("name", Text, nullable=False),
    Column("query", Text, nullable=False),
    number("position"),
    moment("created_at"),
    UniqueConstraint("user_id", "name"),
)

rules = Table(
    "rules",
    metadata,
    id_column(),
    owner(),
    Column("name", Text, nullable=False),
    Column("conditions", Text, nullable=False),
    Column("actions", Text, nullable=False),
    flag("enabled", on=True),
    number("position"),
    number("matched"),
    moment("created_at"),
    Index("ix_rules_user_id", "user_id", "position"),
)

published_feeds = Table(
    "published_feeds",
    metadata,
    id_column(),
    owner(),
    Column("name", Text, nullable=False),
    Column("token_hash", Text, nullable=False, unique=True),
    Column("view", Text, nullable=False),  # JSON of the view it shows
    moment("created_at"),
    moment("last_used_at", null=True),
    Index("ix_published_feeds_user_id", "user_id"),
)

shared_stories = Table(  # public copies of stories
    "shared_stories",
    metadata,
    id_column(),
    owner(),
    Column("title", Text, nullable=False),
    Column("token_hash", Text, nullable=False, unique=True),
    Column("content", Text, nullable=False),  # JSON of the copy
    moment("created_at"),
    moment("last_used_at", null=True),
    Index("ix_shared_stories_user_id", "user_id"),
)


# --- Newsletters


mail_addresses = Table(
    "mail_addresses",
    metadata,
    id_column(),
    owner(),
    Column("name", Text, nullable=False),
    Column("local", Text, nullable=False, unique=True),  # before the @, random
    number("received"),
    moment("created_at"),
    moment("last_used_at", null=True),
    moment("revoked_at", null=True),
    Index("ix_mail_addresses_user_id", "user_id", "id"),
)

mail_senders = Table(
    "mail_senders",
    metadata,
    id_column(),
    owner(),
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE")),  # NULL: blocked before its first email
    Column("address", Text, nullable=False),  # normalised: see `domain.senders`
    Column("name", Text, nullable=False, server_default=""),
    Column("ways_out", Text, nullable=False, server_default="{}"),  # JSON of the newest List-Unsubscribe
    Column("verdicts", Text, nullable=False, server_default="{}"),  # JSON of the newest SPF, DKIM, DMARC
    Column("leaving", Text, nullable=False, server_default=""),  # the result of unsubscribing
    number("received"),
    number("refused"),  # emails rejected since it was blocked or unsubscribed
    moment("last_mail_at", null=True),
    moment("blocked_at", null=True),
    moment("left_at", null=True),
    moment("created_at"),
    UniqueConstraint("user_id", "address"),
    Index("ix_mail_senders_feed_id", "feed_id"),
)

mail_confirmations = Table(
    "mail_confirmations",
    metadata,
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    owner(),
    Column("url", Text, nullable=False),
    Column("label", Text, nullable=False),
    moment("created_at"),
    moment("dismissed_at", null=True),
    Index("ix_mail_confirmations_user_id", "user_id", "entry_id"),
)

mail_images = Table(
    "mail_images",
    metadata,
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("blob_id", Id, ForeignKey("blobs.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Index("ix_mail_images_blob_id", "blob_id"),
    sqlite_with_rowid=False,
)

mail_boxes = Table(
    "mail_boxes",
    metadata,
    id_column(),
    owner(),
    Column("host", Text, nullable=False),
    Column("port", Integer, nullable=False),
    Column("security", Text, nullable=False),  # tls, starttls, none
    Column("username", Text, nullable=False),
    Column("password", Text, nullable=False),
    Column("folder", Text, nullable=False),
    Column("uid_validity", BigInteger),
    number("last_uid"),
    number("received"),
    number("failures"),  # in a row
    Column("last_error", Text),
    moment("next_check_at"),
    moment("last_checked_at", null=True),
    moment("created_at"),
    UniqueConstraint("user_id", "host", "username", "folder"),
    Index("ix_mail_boxes_next_check_at", "next_check_at"),
)

mail_deliveries = Table(
    "mail_deliveries",
    metadata,
    Column("key", Text, primary_key=True),  # of the channel; a second message with the same key is a replay
    moment("at"),
    Index("ix_mail_deliveries_at", "at"),
)
