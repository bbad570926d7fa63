"""Why something did not work: a code and the values that its text needs.

Failures are stored and passed on as values. The surfaces make the text: `Failure.message` is the English one,
for the API, the command line, logs and mails; `web/i18n.py` translates it for the pages.
"""

import json
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, Self, cast

from reedbed.domain.records import record

Param = str | int


class FailureCode(StrEnum):
    """Each code with its English text. In the text, a cause is filled in without its full stop."""

    _value_: str
    text: str

    def __new__(cls, code: str, text: str) -> Self:
        member = str.__new__(cls, code)
        member._value_ = code
        member.text = text
        return member

    UNTRANSLATED = "untranslated", "%(message)s"
    """A sentence as it was stored before there were codes, or as another program wrote it."""
    REFUSED = "refused", "%(template)s"
    """An error of `domain/errors.py`; its English text is the parameter `template`."""
    UNEXPECTED = "unexpected", "Something went wrong. Try again."

    # Addresses
    ADDRESS_INVALID = "address_invalid", "The address is not valid."
    ADDRESS_TOO_LONG = "address_too_long", "The address is too long."
    ADDRESS_UNREADABLE = "address_unreadable", "The address could not be understood."
    SCHEME_NOT_SUPPORTED = "scheme_not_supported", "Only addresses with http:// or https:// can be fetched."
    NOT_A_URL = "not_a_url", "This is not the address of a page or feed."
    PRIVATE_NETWORK = (
        "private_network",
        "The address points to a private network (%(network)s). An operator can allow it with REEDBED_ALLOW_NETWORKS.",
    )
    PORT_BLOCKED = "port_blocked", "Port %(port)s is not used for web pages and is not contacted."

    DATABASE_TOO_LARGE = (
        "database_too_large",
        "The database is larger than REEDBED_MAX_DB_SIZE_MB, although everything that may be deleted is deleted. "
        "Raise the limit, or keep less.",
    )
    PLUGIN_FAILED = "plugin_failed", "The plugin %(name)s failed. %(error)s"

    # Connections
    CERTIFICATE_INVALID = "certificate_invalid", "The certificate of %(host)s is not valid: %(cause)s."
    CERTIFICATE_EXPIRED = "certificate_expired", "expired"
    CERTIFICATE_NOT_YET_VALID = "certificate_not_yet_valid", "not valid yet"
    CERTIFICATE_REVOKED = "certificate_revoked", "revoked"
    CERTIFICATE_SELF_SIGNED = "certificate_self_signed", "self-signed"
    CERTIFICATE_UNTRUSTED = "certificate_untrusted", "it cannot be trusted"
    CERTIFICATE_UNKNOWN_ISSUER = "certificate_unknown_issuer", "issued by an authority that this server does not trust"
    CERTIFICATE_WRONG_ADDRESS = "certificate_wrong_address", "issued for another address"
    CERTIFICATE_WRONG_NAME = "certificate_wrong_name", "issued for another name"
    CONNECTION_CLOSED = "connection_closed", "%(host)s closed the connection without an answer."
    CONNECTION_FAILED = "connection_failed", "No connection to %(host)s could be made."
    CONNECTION_REFUSED = "connection_refused", "%(host)s refuses connections."
    CONNECTION_RESET = "connection_reset", "%(host)s broke the connection off."
    CONNECTION_NOT_SECURE = "connection_not_secure", "No secure connection to %(host)s could be made."
    DNS_NOT_FOUND = "dns_not_found", "The name %(host)s could not be found."
    DNS_NAME_UNKNOWN = "dns_name_unknown", "The name is not known."
    DNS_UNAVAILABLE = "dns_unavailable", "The name %(host)s could not be looked up just now."
    EXCHANGE_FAILED = "exchange_failed", "The exchange with %(host)s failed."
    HOST_UNREACHABLE = "host_unreachable", "%(host)s cannot be reached."
    NO_ANSWER = "no_answer", "%(host)s does not answer."
    NO_ANSWER_IN_TIME = "no_answer_in_time", "%(host)s did not answer within %(seconds)s seconds."
    PROXY_ADDRESS_INVALID = "proxy_address_invalid", "The proxy's address is not valid."
    PROXY_AUTHENTICATION_REQUIRED = "proxy_authentication_required", "The proxy asks for authentication."
    PROXY_STATUS = "proxy_status", "The proxy answered %(status)s."
    PROXY_UNREACHABLE = "proxy_unreachable", "The proxy could not be reached."
    PROXY_UNUSABLE = "proxy_unusable", "The proxy cannot be used. %(cause)s."
    SERVER_TIMEOUT = "server_timeout", "The server did not answer within %(seconds)s seconds."

    # HTTP
    AUTHENTICATION_REQUIRED = "authentication_required", "Authentication required"
    DOCUMENT_TIMEOUT = "document_timeout", "The document was not complete within %(seconds)s seconds."
    EMPTY_DOCUMENT = "empty_document", "The server answered with an empty document."
    FEED_NOT_FOUND = "feed_not_found", "Feed no longer available"
    FEED_TOO_LARGE = "feed_too_large", "The feed is larger than %(size)s."
    HEADERS_TOO_LARGE = "headers_too_large", "The headers that %(host)s sends are too large."
    HTTP_INVALID = "http_invalid", "%(host)s does not answer in proper HTTP."
    HTTP_STATUS = "http_status", "The server answered %(status)s."
    INVALID_REQUEST = "invalid_request", "Invalid request"
    NO_CONTENT = "no_content", "The server answered that there is no content (%(status)s)."
    PARTIAL_CONTENT = "partial_content", "The server sent only a part of the document (206)."
    RATE_LIMITED = "rate_limited", "Rate limited"
    REDIRECT_LOOP = "redirect_loop", "The address redirects in a circle."
    REDIRECT_TARGET_INVALID = (
        "redirect_target_invalid",
        "The server redirects to an address that cannot be used. %(cause)s.",
    )
    REDIRECT_WITHOUT_TARGET = "redirect_without_target", "The server redirects without saying where to."
    RESPONSE_CUT_OFF = "response_cut_off", "The connection broke off before the document was complete."
    RESPONSE_UNREADABLE = "response_unreadable", "The answer could not be read."
    TOO_MANY_REDIRECTS = "too_many_redirects", "The address redirects more than %(limit)s times."
    UNEXPECTED_NOT_MODIFIED = (
        "unexpected_not_modified",
        "The server answered that nothing has changed (304), although it was not asked for changes.",
    )

    # Compressed responses
    DECOMPRESSION_FAILED = "decompression_failed", "The answer could not be unpacked. %(cause)s."
    COMPRESSION_CUT_OFF = "compression_cut_off", "The compressed data broke off."
    COMPRESSION_DAMAGED = "compression_damaged", "The compressed data is damaged."
    COMPRESSION_LAYERS = "compression_layers", "It is compressed too many times."
    COMPRESSION_PARTS = "compression_parts", "It consists of too many compressed parts."
    COMPRESSION_UNKNOWN = "compression_unknown", "It is compressed in a way that was not asked for."

    # Documents
    DOCUMENT_EMPTY = "document_empty", "The address answered with nothing."
    DOCUMENT_BINARY = "document_binary", "The address answered with something that is not text."
    DOCUMENT_PLAIN_TEXT = "document_plain_text", "The address answered with plain text, not with a feed."
    DOCUMENT_HTML = "document_html", "The address answered with a web page, not with a feed."
    DOCUMENT_OTHER_XML = "document_other_xml", "The address answered with XML, but it is not a feed."
    DOCUMENT_XML_DAMAGED = "document_xml_damaged", "The address answered with XML that is too damaged to read."
    DOCUMENT_JSON_DAMAGED = "document_json_damaged", "The address answered with JSON that breaks off or is damaged."
    DOCUMENT_OTHER_JSON = "document_other_json", "The address answered with JSON, but it is not a JSON Feed."
    DOCUMENT_DAMAGED_AND_LARGE = (
        "document_damaged_and_large",
        "The document is not read, because it is damaged and too large to be repaired.",
    )
    DOCUMENT_TOO_DEEP = "document_too_deep", "The document is not read, because its elements are nested too deeply."
    DOCUMENT_TOO_EXPENSIVE = (
        "document_too_expensive",
        "The document could not be read within the time and memory allowed for one feed.",
    )
    DOCUMENT_TOO_MANY_ATTRIBUTES = (
        "document_too_many_attributes",
        "The document is not read, because one of its elements has too many attributes.",
    )
    DOCUMENT_TOO_MANY_ELEMENTS = (
        "document_too_many_elements",
        "The document is not read, because it has too many elements.",
    )
    ENTITIES_TOO_MANY = "entities_too_many", "The document defines too many entities, so it is not read."
    ENTITIES_NESTED = "entities_nested", "The document defines entities within entities, so it is not read."
    ENTITIES_TOO_LARGE = "entities_too_large", "The document's entities would make it far too large, so it is not read."
    FILE_UNREADABLE = "file_unreadable", "The file cannot be read: %(reason)s."
    UNCHANGED = "unchanged", "The server answered that nothing has changed."

    # Feeds
    FEED_DAMAGED = "feed_damaged", "The feed is damaged. Some of its entries may be missing."
    FEED_GONE = "feed_gone", "The site says that this feed is gone for good (410 Gone)."
    FEED_UNREADABLE = "feed_unreadable", "The feed is damaged, and none of its entries could be read."
    FEED_NOT_STORED = "feed_not_stored", "The feed could not be stored because of an error in Reedbed."
    SECRETS_LOST = (
        "secrets_lost",
        "The password has to be entered again: it is encrypted with a key that this server does not have.",
    )
    STOPPED_AFTER_FAILURES = (
        "stopped_after_failures",
        "Stopped after %(count)s failures in a row. The last one: %(cause)s.",
    )
    STOPPED_AFTER_FIRST = "stopped_after_first", "Stopped after the first failure. The last one: %(cause)s."

    # Looking for a feed
    NO_FEED_FOUND = "no_feed_found", "No feed was found at this address."
    NOTHING_AT_ADDRESS = (
        "nothing_at_address",
        "There is nothing at this address: the site answered %(status)s. Check it for a typing error.",
    )
    SITE_NEEDS_LOGIN = (
        "site_needs_login",
        "The site requires a name and password. "
        "If you have them, write them into the address: https://name:password@example.org.",
    )
    SITE_REFUSED_LOGIN = "site_refused_login", "The site refused this name and password."
    SITE_THROTTLED = "site_throttled", "The site is limiting requests. Try again in a few minutes."
    SITE_TIMEOUT = "site_timeout", "The site took too long to answer."
    MINIFLUX_UNREACHABLE = "miniflux_unreachable", "Miniflux could not be reached. %(cause)s."

    # Articles
    ARTICLE_COOLDOWN = (
        "article_cooldown",
        "The article could not be read from the site. The next try is possible in %(hours)s h.",
    )
    ARTICLE_NEEDS_CONSENT = "article_needs_consent", "The site asks for consent first."
    ARTICLE_NEEDS_LOGIN = "article_needs_login", "The site asks to log in first."
    ARTICLE_NO_ADDRESS = "article_no_address", "This entry has no address to read the article from."
    ARTICLE_NO_TEXT = "article_no_text", "The page contains no article text."
    ARTICLE_PAYWALL = "article_paywall", "The article is behind a paywall."
    ARTICLE_SHORTER = "article_shorter", "The site's page contains less of this text than the feed."
    ARTICLE_TIMEOUT = "article_timeout", "The article could not be read in time."
    PAGE_IS_ERROR = "page_is_error", "The site answered with an error page."
    PAGE_NOT_HTML = "page_not_html", "The page could not be read as HTML."
    PAGE_TOO_LARGE = "page_too_large", "The page is too large to read as an article."
    SELECTORS_TOO_SLOW = "selectors_too_slow", "The feed's selectors took too long on this page."

    # Requested checks
    REFRESH_NOT_FETCHED = "refresh_not_fetched", "This feed is not fetched: its entries arrive in other ways."
    REFRESH_FEED_OFF = "refresh_feed_off", "The operator of this server has turned this feed off."
    REFRESH_SITE_PAUSE = "refresh_site_pause", "The site has asked for a pause."

    # WebSub hubs
    HUBS_OFF = "hubs_off", "The operator has turned hubs off (REEDBED_WEBSUB)."
    HUB_CALLBACK_PRIVATE = (
        "hub_callback_private",
        "This server has no public address that a hub could call. Set REEDBED_BASE_URL to one.",
    )
    HUB_NO_ANSWER = "hub_no_answer", "The hub does not answer."
    HUB_REFUSED = "hub_refused", "The hub refused."
    HUB_REFUSED_BECAUSE = "hub_refused_because", "The hub refused: %(reason)s"
    HUB_STATUS = "hub_status", "The hub answered %(status)s."
    HUB_TOO_MANY_REDIRECTS = "hub_too_many_redirects", "The hub redirects more than %(limit)s times."
    HUB_UNCONFIRMED = "hub_unconfirmed", "The hub accepted the request but never confirmed it."

    # AI models and what they write
    BUDGET_EXCEEDED = "budget_exceeded", "The budget is used up (%(cause)s)."
    BUDGET_DAILY_TOKENS = "budget_daily_tokens", "daily tokens"
    BUDGET_DAILY_COST = "budget_daily_cost", "daily cost"
    BUDGET_MONTHLY_TOKENS = "budget_monthly_tokens", "monthly tokens"
    BUDGET_MONTHLY_COST = "budget_monthly_cost", "monthly cost"
    BUDGET_USER_DAILY_TOKENS = "budget_user_daily_tokens", "your daily tokens"
    BUDGET_USER_DAILY_COST = "budget_user_daily_cost", "your daily cost"
    BUDGET_SPENT = "budget_spent", "The budget is used up."
    MODEL_BUSY = "model_busy", "The model is busy."
    MODEL_EMPTY_ANSWER = "model_empty_answer", "The model returned no text."
    MODEL_KEY_REFUSED = "model_key_refused", "The model does not accept the key (HTTP %(status)s)."
    MODEL_MISSING = "model_missing", "There is no model."
    MODEL_NO_ANSWER = "model_no_answer", "The model does not answer."
    MODEL_PAUSED = "model_paused", "Summaries are paused."
    MODEL_RATE_LIMITED = "model_rate_limited", "The model is limiting requests."
    MODEL_REQUEST_REFUSED = "model_request_refused", "The model does not accept the request (HTTP %(status)s)."
    MODEL_STATUS = "model_status", "The model answered with HTTP %(status)s."
    MODEL_TIMEOUT = "model_timeout", "The model did not answer within %(seconds)s s."
    MODEL_UNREACHABLE = "model_unreachable", "The model could not be reached: %(error)s."
    MODEL_UNREADABLE_ANSWER = "model_unreadable_answer", "The model's answer could not be read."
    MODEL_WRONG_ANSWER = "model_wrong_answer", "The model's answer does not have the requested form."
    BOOK_FAILED = "book_failed", "The book could not be made. Try again."
    BOOK_TOO_LARGE = "book_too_large", "The book is larger than mails can be."
    DIGEST_FAILED = "digest_failed", "Failed to generate summary. Please try again later."
    NOTHING_TRANSLATED = "nothing_translated", "The translator returned no usable translation."
    SPEECH_FAILED = "speech_failed", "It could not be read aloud: %(reason)s."
    SUMMARY_NOT_NEEDED = "summary_not_needed", "A summary of this entry would not save any reading."
    FRAMING_NEEDS_MODEL = "framing_needs_model", "There is no model to read this entry."
    NOTHING_TO_SUMMARISE = "nothing_to_summarise", "There is nothing in this entry to summarise."
    QUESTION_FAILED = "question_failed", "The question could not be answered. Ask again later."
    TEXT_FAILED = "text_failed", "This text could not be processed."
    WORKER_STOPPED = "worker_stopped", "The worker stopped before it was finished."

    # Imports
    ALREADY_FOLLOWED = "already_followed", "You follow this feed already."
    ALREADY_FOLLOWED_AND_MOVED = "already_followed_and_moved", "You follow this feed already. It is now in %(folder)s."
    FILE_CUT_OFF = (
        "file_cut_off",
        "The file ends in its middle, so feeds may be missing. Export it again from your other reader and "
        "import it: what you follow already stays as it is.",
    )
    LINE_WITHOUT_ADDRESS = "line_without_address", "Feed URL is required"
    LINE_WITHOUT_FEEDS = "line_without_feeds", "This line has no feed address and no feeds inside it."
    LISTED_TWICE = "listed_twice", "The file lists this feed more than once. Its first line was used."

    # Newsletters and mailboxes
    MAILBOX_DISCONNECTED = (
        "mailbox_disconnected",
        "The mail server closed the connection. Check the port and the encryption.",
    )
    MAILBOX_FOLDER_REFUSED = "mailbox_folder_refused", "The folder could not be opened: %(reason)s"
    MAILBOX_REFUSED = "mailbox_refused", "The mail server refused: %(reason)s"
    MAIL_UNREADABLE = "mail_unreadable", "A mail in it could not be read."
    MAILBOX_UNREACHABLE = "mailbox_unreachable", "The mail server could not be reached: %(reason)s"
    MAILBOX_UNREADABLE = "mailbox_unreadable", "The mail server's answer could not be understood."
    UNSUBSCRIBE_ACCEPTED = "unsubscribe_accepted", "The mailing list accepted the request."
    UNSUBSCRIBE_BY_HAND = (
        "unsubscribe_by_hand",
        "Open the page of the mailing list to unsubscribe. Mail that still arrives is not shown.",
    )
    UNSUBSCRIBE_IMPOSSIBLE = (
        "unsubscribe_impossible",
        "The mailing list offers no way to unsubscribe. Mail that still arrives is not shown.",
    )
    UNSUBSCRIBE_MAILED = "unsubscribe_mailed", "The mailing list was asked by mail."
    UNSUBSCRIBE_NEEDS_MAIL = (
        "unsubscribe_needs_mail",
        "The mailing list expects a mail, and this server cannot send any.",
    )
    UNSUBSCRIBE_PENDING = "unsubscribe_pending", "The mailing list is being asked."
    UNSUBSCRIBE_REFUSED = (
        "unsubscribe_refused",
        "The mailing list did not accept the request. Mail that still arrives is not shown.",
    )

    # Calls to other services
    PUSH_STATUS = "push_status", "The push service answered with status %(status)s."
    PUSH_TOO_MANY = "push_too_many", "There were too many notifications."
    SHARE_LOGIN_REFUSED = "share_login_refused", "%(service)s did not accept the login."
    SHARE_REFUSED = "share_refused", "%(service)s refused the link (status %(status)s)."
    SHARE_STATUS = "share_status", "%(service)s answered with status %(status)s."
    SHARE_ANSWERED = "share_answered", "%(service)s answered with status %(status)s: %(answer)s"
    SHARE_ADDRESS_MOVED = (
        "share_address_moved",
        "%(service)s redirects to %(url)s. Enter this address for the service.",
    )
    CONNECTOR_MISSING = "connector_missing", "The operator has removed what %(service)s needs, or it is faulty."
    WEBHOOK_NOTHING_LEFT = "webhook_nothing_left", "The entries of this call do not exist any more."
    WEBHOOK_STATUS = "webhook_status", "It answered with status %(status)s."
    WEBHOOK_SWITCHED_OFF = "webhook_switched_off", "The webhook was switched off."
    WEBHOOK_KEY_LOST = (
        "webhook_key_lost",
        "Its secret cannot be read: the server lost the key. Make a new secret for it.",
    )

    # Lists on pages
    LIST_NEEDS_SCRIPTS = "list_needs_scripts", "The page is empty until its scripts run in a browser."
    LIST_NOT_FOUND = "list_not_found", "No list of entries was found on this page."
    LIST_PAGE_TOO_EXPENSIVE = (
        "list_page_too_expensive",
        "The page could not be read within the time and memory allowed.",
    )
    LIST_PAGE_TOO_LARGE = "list_page_too_large", "The page is too large: it has more than %(size)s MB."
    LIST_SELECTORS_MATCH_NOTHING = (
        "list_selectors_match_nothing",
        "The selectors match no entry with a title and a link on this page.",
    )
    LIST_TOO_LONG = "list_too_long", "The list on this page is too long: it has more than %(limit)s entries."
    WATCHED_TEXT_NOT_FOUND = "watched_text_not_found", "No element with text fits the selector on this page."


@record
class Failure:
    code: FailureCode
    params: Mapping[str, Param] = field(default_factory=dict[str, Param])
    cause: "Failure | None" = None

    def __hash__(self) -> int:
        return hash((self.code, frozenset(self.params.items()), self.cause))

    @property
    def template(self) -> str:
        """The English text before the values are filled in: the key of its translations."""
        if self.code is FailureCode.REFUSED:
            return str(self.params["template"])
        return self.code.text

    @property
    def values(self) -> Mapping[str, Param]:
        """What the template's placeholders stand for, but for the cause."""
        return {name: value for name, value in self.params.items() if name != "template"}

    @property
    def message(self) -> str:
        """The English text."""
        return fill(self.template, self.values, None if self.cause is None else self.cause.message)

    def dump(self) -> str:
        return json.dumps(self._as_json(), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def load(cls, stored: str) -> "Failure":
        """Anything that `dump` has not written is a sentence that an earlier version stored."""
        try:
            failure = _read(json.loads(stored))
            _ = failure.message
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return cls(FailureCode.UNTRANSLATED, {"message": stored})
        return failure

    def _as_json(self) -> dict[str, Any]:
        cause = {} if self.cause is None else {"cause": self.cause._as_json()}
        return {"code": self.code.value, "params": dict(self.params), **cause}


def refused(template: str, params: Mapping[str, Param]) -> Failure:
    """The failure behind an error whose English text is `template`."""
    return Failure(FailureCode.REFUSED, {"template": template, **params})


def untranslated(message: str) -> Failure:
    return Failure(FailureCode.UNTRANSLATED, {"message": message})


def fill(template: str, params: Mapping[str, Param], cause: str | None = None) -> str:
    """Fill in the values. A template without values may contain a plain percent sign."""
    values = {**params} if cause is None else {**params, "cause": cause.removesuffix(".").removesuffix("。")}
    return template % values if values else template


def dump_failure(failure: Failure | None) -> str | None:
    return None if failure is None else failure.dump()


def load_failure(stored: str | None) -> Failure | None:
    return Failure.load(stored) if stored else None


def failure_message(failure: Failure | None) -> str | None:
    return None if failure is None else failure.message


def failure_sentence(failure: Failure | None) -> str:
    return failure.message if failure is not None else ""


def failure_code(failure: Failure | None) -> str | None:
    return None if failure is None else failure.code.value


def _read(value: Any) -> Failure:
    params = cast("dict[str, Any]", value["params"])
    if not all(isinstance(param, str | int) for param in params.values()):
        raise ValueError("not a parameter")
    cause = value.get("cause")
    return Failure(FailureCode(value["code"]), params, None if cause is None else _read(cause))
