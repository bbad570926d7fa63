"""Why something did not work: a code and the values that its text needs.

Failures are stored and passed on as values. The surfaces make the text: `Failure.message` is the English one,
for the API, the command line, logs and mails; `web/i18n.py` translates it for the pages.
"""

import json
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, cast

from reedbed.domain.records import record

Param = str | int


class FailureCode(StrEnum):
    UNTRANSLATED = "untranslated"
    """A sentence as it was stored before there were codes, or as another program wrote it."""
    REFUSED = "refused"
    """An error of `domain/errors.py`; its English text is the parameter `template`."""
    UNEXPECTED = "unexpected"

    # Addresses
    ADDRESS_INVALID = "address_invalid"
    ADDRESS_TOO_LONG = "address_too_long"
    ADDRESS_UNREADABLE = "address_unreadable"
    SCHEME_NOT_SUPPORTED = "scheme_not_supported"
    NOT_A_URL = "not_a_url"
    PRIVATE_NETWORK = "private_network"
    PORT_BLOCKED = "port_blocked"

    # Connections
    CERTIFICATE_INVALID = "certificate_invalid"
    CERTIFICATE_EXPIRED = "certificate_expired"
    CERTIFICATE_NOT_YET_VALID = "certificate_not_yet_valid"
    CERTIFICATE_REVOKED = "certificate_revoked"
    CERTIFICATE_SELF_SIGNED = "certificate_self_signed"
    CERTIFICATE_UNTRUSTED = "certificate_untrusted"
    CERTIFICATE_UNKNOWN_ISSUER = "certificate_unknown_issuer"
    CERTIFICATE_WRONG_ADDRESS = "certificate_wrong_address"
    CERTIFICATE_WRONG_NAME = "certificate_wrong_name"
    CONNECTION_CLOSED = "connection_closed"
    CONNECTION_FAILED = "connection_failed"
    CONNECTION_REFUSED = "connection_refused"
    CONNECTION_RESET = "connection_reset"
    CONNECTION_NOT_SECURE = "connection_not_secure"
    DNS_NOT_FOUND = "dns_not_found"
    DNS_NAME_UNKNOWN = "dns_name_unknown"
    DNS_UNAVAILABLE = "dns_unavailable"
    EXCHANGE_FAILED = "exchange_failed"
    HOST_UNREACHABLE = "host_unreachable"
    NO_ANSWER = "no_answer"
    NO_ANSWER_IN_TIME = "no_answer_in_time"
    PROXY_ADDRESS_INVALID = "proxy_address_invalid"
    PROXY_AUTHENTICATION_REQUIRED = "proxy_authentication_required"
    PROXY_STATUS = "proxy_status"
    PROXY_UNREACHABLE = "proxy_unreachable"
    PROXY_UNUSABLE = "proxy_unusable"
    SERVER_TIMEOUT = "server_timeout"

    # HTTP
    AUTHENTICATION_REQUIRED = "authentication_required"
    DOCUMENT_TIMEOUT = "document_timeout"
    EMPTY_DOCUMENT = "empty_document"
    FEED_NOT_FOUND = "feed_not_found"
    FEED_TOO_LARGE = "feed_too_large"
    HTTP_INVALID = "http_invalid"
    HTTP_STATUS = "http_status"
    INVALID_REQUEST = "invalid_request"
    NO_CONTENT = "no_content"
    PARTIAL_CONTENT = "partial_content"
    RATE_LIMITED = "rate_limited"
    REDIRECT_LOOP = "redirect_loop"
    REDIRECT_TARGET_INVALID = "redirect_target_invalid"
    REDIRECT_WITHOUT_TARGET = "redirect_without_target"
    RESPONSE_CUT_OFF = "response_cut_off"
    RESPONSE_UNREADABLE = "response_unreadable"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    UNEXPECTED_NOT_MODIFIED = "unexpected_not_modified"

    # Compressed responses
    DECOMPRESSION_FAILED = "decompression_failed"
    COMPRESSION_CUT_OFF = "compression_cut_off"
    COMPRESSION_DAMAGED = "compression_damaged"
    COMPRESSION_LAYERS = "compression_layers"
    COMPRESSION_PARTS = "compression_parts"
    COMPRESSION_UNKNOWN = "compression_unknown"

    # Documents
    DOCUMENT_EMPTY = "document_empty"
    DOCUMENT_BINARY = "document_binary"
    DOCUMENT_PLAIN_TEXT = "document_plain_text"
    DOCUMENT_HTML = "document_html"
    DOCUMENT_OTHER_XML = "document_other_xml"
    DOCUMENT_XML_DAMAGED = "document_xml_damaged"
    DOCUMENT_JSON_DAMAGED = "document_json_damaged"
    DOCUMENT_OTHER_JSON = "document_other_json"
    DOCUMENT_DAMAGED_AND_LARGE = "document_damaged_and_large"
    DOCUMENT_TOO_DEEP = "document_too_deep"
    DOCUMENT_TOO_EXPENSIVE = "document_too_expensive"
    DOCUMENT_TOO_MANY_ATTRIBUTES = "document_too_many_attributes"
    DOCUMENT_TOO_MANY_ELEMENTS = "document_too_many_elements"
    ENTITIES_TOO_MANY = "entities_too_many"
    ENTITIES_NESTED = "entities_nested"
    ENTITIES_TOO_LARGE = "entities_too_large"
    FILE_UNREADABLE = "file_unreadable"
    UNCHANGED = "unchanged"

    # Feeds
    FEED_DAMAGED = "feed_damaged"
    FEED_GONE = "feed_gone"
    FEED_UNREADABLE = "feed_unreadable"
    FEED_NOT_STORED = "feed_not_stored"
    SECRETS_LOST = "secrets_lost"
    STOPPED_AFTER_FAILURES = "stopped_after_failures"
    STOPPED_AFTER_FIRST = "stopped_after_first"

    # Looking for a feed
    NO_FEED_FOUND = "no_feed_found"
    NOTHING_AT_ADDRESS = "nothing_at_address"
    SITE_NEEDS_LOGIN = "site_needs_login"
    SITE_THROTTLED = "site_throttled"
    SITE_TIMEOUT = "site_timeout"
    MINIFLUX_UNREACHABLE = "miniflux_unreachable"

    # Articles
    ARTICLE_COOLDOWN = "article_cooldown"
    ARTICLE_NEEDS_CONSENT = "article_needs_consent"
    ARTICLE_NEEDS_LOGIN = "article_needs_login"
    ARTICLE_NO_ADDRESS = "article_no_address"
    ARTICLE_NO_TEXT = "article_no_text"
    ARTICLE_PAYWALL = "article_paywall"
    ARTICLE_SHORTER = "article_shorter"
    ARTICLE_TIMEOUT = "article_timeout"
    PAGE_IS_ERROR = "page_is_error"
    PAGE_NOT_HTML = "page_not_html"
    PAGE_TOO_LARGE = "page_too_large"
    SELECTORS_TOO_SLOW = "selectors_too_slow"

    # Requested checks
    REFRESH_NOT_FETCHED = "refresh_not_fetched"
    REFRESH_FEED_OFF = "refresh_feed_off"
    REFRESH_SITE_PAUSE = "refresh_site_pause"

    # WebSub hubs
    HUBS_OFF = "hubs_off"
    HUB_CALLBACK_PRIVATE = "hub_callback_private"
    HUB_NO_ANSWER = "hub_no_answer"
    HUB_REFUSED = "hub_refused"
    HUB_REFUSED_BECAUSE = "hub_refused_because"
    HUB_STATUS = "hub_status"
    HUB_TOO_MANY_REDIRECTS = "hub_too_many_redirects"
    HUB_UNCONFIRMED = "hub_unconfirmed"

    # AI models and what they write
    BUDGET_EXCEEDED = "budget_exceeded"
    BUDGET_DAILY_TOKENS = "budget_daily_tokens"
    BUDGET_DAILY_COST = "budget_daily_cost"
    BUDGET_MONTHLY_TOKENS = "budget_monthly_tokens"
    BUDGET_MONTHLY_COST = "budget_monthly_cost"
    BUDGET_USER_DAILY_TOKENS = "budget_user_daily_tokens"
    BUDGET_USER_DAILY_COST = "budget_user_daily_cost"
    BUDGET_SPENT = "budget_spent"
    MODEL_BUSY = "model_busy"
    MODEL_EMPTY_ANSWER = "model_empty_answer"
    MODEL_KEY_REFUSED = "model_key_refused"
    MODEL_MISSING = "model_missing"
    MODEL_NO_ANSWER = "model_no_answer"
    MODEL_PAUSED = "model_paused"
    MODEL_RATE_LIMITED = "model_rate_limited"
    MODEL_REQUEST_REFUSED = "model_request_refused"
    MODEL_STATUS = "model_status"
    MODEL_TIMEOUT = "model_timeout"
    MODEL_UNREACHABLE = "model_unreachable"
    MODEL_UNREADABLE_ANSWER = "model_unreadable_answer"
    MODEL_WRONG_ANSWER = "model_wrong_answer"
    DIGEST_FAILED = "digest_failed"
    SUMMARY_NOT_NEEDED = "summary_not_needed"
    FRAMING_NEEDS_MODEL = "framing_needs_model"
    NOTHING_TO_SUMMARISE = "nothing_to_summarise"
    QUESTION_FAILED = "question_failed"
    TEXT_FAILED = "text_failed"
    WORKER_STOPPED = "worker_stopped"

    # Imports
    ALREADY_FOLLOWED = "already_followed"
    ALREADY_FOLLOWED_AND_MOVED = "already_followed_and_moved"
    FILE_CUT_OFF = "file_cut_off"
    LINE_WITHOUT_ADDRESS = "line_without_address"
    LINE_WITHOUT_FEEDS = "line_without_feeds"
    LISTED_TWICE = "listed_twice"

    # Newsletters and mailboxes
    MAILBOX_DISCONNECTED = "mailbox_disconnected"
    MAILBOX_FOLDER_REFUSED = "mailbox_folder_refused"
    MAILBOX_REFUSED = "mailbox_refused"
    MAIL_UNREADABLE = "mail_unreadable"
    MAILBOX_UNREACHABLE = "mailbox_unreachable"
    MAILBOX_UNREADABLE = "mailbox_unreadable"
    UNSUBSCRIBE_ACCEPTED = "unsubscribe_accepted"
    UNSUBSCRIBE_BY_HAND = "unsubscribe_by_hand"
    UNSUBSCRIBE_IMPOSSIBLE = "unsubscribe_impossible"
    UNSUBSCRIBE_MAILED = "unsubscribe_mailed"
    UNSUBSCRIBE_NEEDS_MAIL = "unsubscribe_needs_mail"
    UNSUBSCRIBE_PENDING = "unsubscribe_pending"
    UNSUBSCRIBE_REFUSED = "unsubscribe_refused"

    # Calls to other services
    PUSH_STATUS = "push_status"
    PUSH_TOO_MANY = "push_too_many"
    SHARE_LOGIN_REFUSED = "share_login_refused"
    SHARE_REFUSED = "share_refused"
    SHARE_STATUS = "share_status"
    WEBHOOK_NOTHING_LEFT = "webhook_nothing_left"
    WEBHOOK_STATUS = "webhook_status"
    WEBHOOK_SWITCHED_OFF = "webhook_switched_off"
    WEBHOOK_KEY_LOST = "webhook_key_lost"

    # Lists on pages
    LIST_NEEDS_SCRIPTS = "list_needs_scripts"
    LIST_NOT_FOUND = "list_not_found"
    LIST_PAGE_TOO_EXPENSIVE = "list_page_too_expensive"
    LIST_PAGE_TOO_LARGE = "list_page_too_large"
    LIST_SELECTORS_MATCH_NOTHING = "list_selectors_match_nothing"
    LIST_TOO_LONG = "list_too_long"
    WATCHED_TEXT_NOT_FOUND = "watched_text_not_found"


MESSAGES: Mapping[FailureCode, str] = {
    FailureCode.UNTRANSLATED: "%(message)s",
    FailureCode.REFUSED: "%(template)s",
    FailureCode.UNEXPECTED: "Something went wrong. Try again.",
    FailureCode.ADDRESS_INVALID: "The address is not valid.",
    FailureCode.ADDRESS_TOO_LONG: "The address is too long.",
    FailureCode.ADDRESS_UNREADABLE: "The address could not be understood.",
    FailureCode.SCHEME_NOT_SUPPORTED: "Only addresses with http:// or https:// can be fetched.",
    FailureCode.NOT_A_URL: "This is not the address of a page or feed.",
    FailureCode.PRIVATE_NETWORK: (
        "The address points to a private network (%(network)s). An operator can allow it with REEDBED_ALLOW_NETWORKS."
    ),
    FailureCode.PORT_BLOCKED: "Port %(port)s is not used for web pages and is not contacted.",
    FailureCode.CERTIFICATE_INVALID: "The certificate of %(host)s is not valid: %(cause)s.",
    FailureCode.CERTIFICATE_EXPIRED: "expired",
    FailureCode.CERTIFICATE_NOT_YET_VALID: "not valid yet",
    FailureCode.CERTIFICATE_REVOKED: "revoked",
    FailureCode.CERTIFICATE_SELF_SIGNED: "self-signed",
    FailureCode.CERTIFICATE_UNTRUSTED: "it cannot be trusted",
    FailureCode.CERTIFICATE_UNKNOWN_ISSUER: "issued by an authority that this server does not trust",
    FailureCode.CERTIFICATE_WRONG_ADDRESS: "issued for another address",
    FailureCode.CERTIFICATE_WRONG_NAME: "issued for another name",
    FailureCode.CONNECTION_CLOSED: "%(host)s closed the connection without an answer.",
    FailureCode.CONNECTION_FAILED: "No connection to %(host)s could be made.",
    FailureCode.CONNECTION_REFUSED: "%(host)s refuses connections.",
    FailureCode.CONNECTION_RESET: "%(host)s broke the connection off.",
    FailureCode.CONNECTION_NOT_SECURE: "No secure connection to %(host)s could be made.",
    FailureCode.DNS_NOT_FOUND: "The name %(host)s could not be found.",
    FailureCode.DNS_NAME_UNKNOWN: "The name is not known.",
    FailureCode.DNS_UNAVAILABLE: "The name %(host)s could not be looked up just now.",
    FailureCode.EXCHANGE_FAILED: "The exchange with %(host)s failed.",
    FailureCode.HOST_UNREACHABLE: "%(host)s cannot be reached.",
    FailureCode.NO_ANSWER: "%(host)s does not answer.",
    FailureCode.NO_ANSWER_IN_TIME: "%(host)s did not answer within %(seconds)s seconds.",
    FailureCode.PROXY_ADDRESS_INVALID: "The proxy's address is not valid.",
    FailureCode.PROXY_AUTHENTICATION_REQUIRED: "The proxy asks for authentication.",
    FailureCode.PROXY_STATUS: "The proxy answered %(status)s.",
    FailureCode.PROXY_UNREACHABLE: "The proxy could not be reached.",
    FailureCode.PROXY_UNUSABLE: "The proxy cannot be used. %(cause)s.",
    FailureCode.SERVER_TIMEOUT: "The server did not answer within %(seconds)s seconds.",
    FailureCode.AUTHENTICATION_REQUIRED: "Authentication required",
    FailureCode.DOCUMENT_TIMEOUT: "The document was not complete within %(seconds)s seconds.",
    FailureCode.EMPTY_DOCUMENT: "The server answered with an empty document.",
    FailureCode.FEED_NOT_FOUND: "Feed no longer available",
    FailureCode.FEED_TOO_LARGE: "The feed is larger than %(size)s.",
    FailureCode.HTTP_INVALID: "%(host)s does not answer in proper HTTP.",
    FailureCode.HTTP_STATUS: "The server answered %(status)s.",
    FailureCode.INVALID_REQUEST: "Invalid request",
    FailureCode.NO_CONTENT: "The server answered that there is no content (%(status)s).",
    FailureCode.PARTIAL_CONTENT: "The server sent only a part of the document (206).",
    FailureCode.RATE_LIMITED: "Rate limited",
    FailureCode.REDIRECT_LOOP: "The address redirects in a circle.",
    FailureCode.REDIRECT_TARGET_INVALID: "The server redirects to an address that cannot be used. %(cause)s.",
    FailureCode.REDIRECT_WITHOUT_TARGET: "The server redirects without saying where to.",
    FailureCode.RESPONSE_CUT_OFF: "The connection broke off before the document was complete.",
    FailureCode.RESPONSE_UNREADABLE: "The answer could not be read.",
    FailureCode.TOO_MANY_REDIRECTS: "The address redirects more than %(limit)s times.",
    FailureCode.UNEXPECTED_NOT_MODIFIED: (
        "The server answered that nothing has changed (304), although it was not asked for changes."
    ),
    FailureCode.DECOMPRESSION_FAILED: "The answer could not be unpacked. %(cause)s.",
    FailureCode.COMPRESSION_CUT_OFF: "The compressed data broke off.",
    FailureCode.COMPRESSION_DAMAGED: "The compressed data is damaged.",
    FailureCode.COMPRESSION_LAYERS: "It is compressed too many times.",
    FailureCode.COMPRESSION_PARTS: "It consists of too many compressed parts.",
    FailureCode.COMPRESSION_UNKNOWN: "It is compressed in a way that was not asked for.",
    FailureCode.DOCUMENT_EMPTY: "The address answered with nothing.",
    FailureCode.DOCUMENT_BINARY: "The address answered with something that is not text.",
    FailureCode.DOCUMENT_PLAIN_TEXT: "The address answered with plain text, not with a feed.",
    FailureCode.DOCUMENT_HTML: "The address answered with a web page, not with a feed.",
    FailureCode.DOCUMENT_OTHER_XML: "The address answered with XML, but it is not a feed.",
    FailureCode.DOCUMENT_XML_DAMAGED: "The address answered with XML that is too damaged to read.",
    FailureCode.DOCUMENT_JSON_DAMAGED: "The address answered with JSON that breaks off or is damaged.",
    FailureCode.DOCUMENT_OTHER_JSON: "The address answered with JSON, but it is not a JSON Feed.",
    FailureCode.DOCUMENT_TOO_EXPENSIVE: (
        "The document could not be read within the time and memory allowed for one feed."
    ),
    FailureCode.DOCUMENT_TOO_MANY_ATTRIBUTES: (
        "The document is not read, because one of its elements has too many attributes."
    ),
    FailureCode.DOCUMENT_DAMAGED_AND_LARGE: (
        "The document is not read, because it is damaged and too large to be repaired."
    ),
    FailureCode.DOCUMENT_TOO_DEEP: "The document is not read, because its elements are nested too deeply.",
    FailureCode.DOCUMENT_TOO_MANY_ELEMENTS: "The document is not read, because it has too many elements.",
    FailureCode.ENTITIES_TOO_MANY: "The document defines too many entities, so it is not read.",
    FailureCode.ENTITIES_NESTED: "The document defines entities within entities, so it is not read.",
    FailureCode.ENTITIES_TOO_LARGE: "The document's entities would make it far too large, so it is not read.",
    FailureCode.FILE_UNREADABLE: "The file cannot be read: %(reason)s.",
    FailureCode.UNCHANGED: "The server answered that nothing has changed.",
    FailureCode.FEED_DAMAGED: "The feed is damaged. Some of its entries may be missing.",
    FailureCode.FEED_GONE: "The site says that this feed is gone for good (410 Gone).",
    FailureCode.FEED_UNREADABLE: "The feed is damaged, and none of its entries could be read.",
    FailureCode.FEED_NOT_STORED: "The feed could not be stored because of an error in Reedbed.",
    FailureCode.SECRETS_LOST: (
        "The password has to be entered again: it is encrypted with a key that this server does not have."
    ),
    FailureCode.STOPPED_AFTER_FAILURES: "Stopped after %(count)s failures in a row. The last one: %(cause)s.",
    FailureCode.STOPPED_AFTER_FIRST: "Stopped after the first failure. The last one: %(cause)s.",
    FailureCode.NO_FEED_FOUND: "No feed was found at this address.",
    FailureCode.NOTHING_AT_ADDRESS: (
        "There is nothing at this address: the site answered %(status)s. Check it for a typing error."
    ),
    FailureCode.SITE_NEEDS_LOGIN: (
        "The site requires a name and password. "
        "If you have them, write them into the address: https://name:password@example.org."
    ),
    FailureCode.SITE_THROTTLED: "The site is limiting requests. Try again in a few minutes.",
    FailureCode.SITE_TIMEOUT: "The site took too long to answer.",
    FailureCode.MINIFLUX_UNREACHABLE: "Miniflux could not be reached. %(cause)s.",
    FailureCode.ARTICLE_COOLDOWN: (
        "The article could not be read from the site. The next try is possible in %(hours)s h."
    ),
    FailureCode.ARTICLE_NEEDS_CONSENT: "The site asks for consent first.",
    FailureCode.ARTICLE_NEEDS_LOGIN: "The site asks to log in first.",
    FailureCode.ARTICLE_NO_ADDRESS: "This entry has no address to read the article from.",
    FailureCode.ARTICLE_NO_TEXT: "The page contains no article text.",
    FailureCode.ARTICLE_PAYWALL: "The article is behind a paywall.",
    FailureCode.ARTICLE_SHORTER: "The site's page contains less of this text than the feed.",
    FailureCode.ARTICLE_TIMEOUT: "The article could not be read in time.",
    FailureCode.PAGE_IS_ERROR: "The site answered with an error page.",
    FailureCode.PAGE_NOT_HTML: "The page could not be read as HTML.",
    FailureCode.PAGE_TOO_LARGE: "The page is too large to read as an article.",
    FailureCode.SELECTORS_TOO_SLOW: "The feed's selectors took too long on this page.",
    FailureCode.REFRESH_NOT_FETCHED: "This feed is not fetched: its entries arrive in other ways.",
    FailureCode.REFRESH_FEED_OFF: "The operator of this server has turned this feed off.",
    FailureCode.REFRESH_SITE_PAUSE: "The site has asked for a pause.",
    FailureCode.HUBS_OFF: "The operator has turned hubs off (REEDBED_WEBSUB).",
    FailureCode.HUB_CALLBACK_PRIVATE: (
        "This server has no public address that a hub could call. Set REEDBED_BASE_URL to one."
    ),
    FailureCode.HUB_NO_ANSWER: "The hub does not answer.",
    FailureCode.HUB_REFUSED: "The hub refused.",
    FailureCode.HUB_REFUSED_BECAUSE: "The hub refused: %(reason)s",
    FailureCode.HUB_STATUS: "The hub answered %(status)s.",
    FailureCode.HUB_TOO_MANY_REDIRECTS: "The hub redirects more than %(limit)s times.",
    FailureCode.HUB_UNCONFIRMED: "The hub accepted the request but never confirmed it.",
    FailureCode.BUDGET_EXCEEDED: "The budget is used up (%(cause)s).",
    FailureCode.BUDGET_DAILY_TOKENS: "daily tokens",
    FailureCode.BUDGET_DAILY_COST: "daily cost",
    FailureCode.BUDGET_MONTHLY_TOKENS: "monthly tokens",
    FailureCode.BUDGET_MONTHLY_COST: "monthly cost",
    FailureCode.BUDGET_USER_DAILY_TOKENS: "your daily tokens",
    FailureCode.BUDGET_USER_DAILY_COST: "your daily cost",
    FailureCode.BUDGET_SPENT: "The budget is used up.",
    FailureCode.MODEL_BUSY: "The model is busy.",
    FailureCode.MODEL_EMPTY_ANSWER: "The model returned no text.",
    FailureCode.MODEL_KEY_REFUSED: "The model does not accept the key (HTTP %(status)s).",
    FailureCode.MODEL_MISSING: "There is no model.",
    FailureCode.MODEL_NO_ANSWER: "The model does not answer.",
    FailureCode.MODEL_PAUSED: "Summaries are paused.",
    FailureCode.MODEL_RATE_LIMITED: "The model is limiting requests.",
    FailureCode.MODEL_REQUEST_REFUSED: "The model does not accept the request (HTTP %(status)s).",
    FailureCode.MODEL_STATUS: "The model answered with HTTP %(status)s.",
    FailureCode.MODEL_TIMEOUT: "The model did not answer within %(seconds)s s.",
    FailureCode.MODEL_UNREACHABLE: "The model could not be reached: %(error)s.",
    FailureCode.MODEL_UNREADABLE_ANSWER: "The model's answer could not be read.",
    FailureCode.MODEL_WRONG_ANSWER: "The model's answer does not have the requested form.",
    FailureCode.SUMMARY_NOT_NEEDED: "A summary of this entry would save no reading.",
    FailureCode.DIGEST_FAILED: "Failed to generate summary. Please try again later.",
    FailureCode.FRAMING_NEEDS_MODEL: "There is no model to read this entry.",
    FailureCode.NOTHING_TO_SUMMARISE: "There is nothing in this entry to summarise.",
    FailureCode.QUESTION_FAILED: "The question could not be answered. Ask again later.",
    FailureCode.TEXT_FAILED: "This text could not be processed.",
    FailureCode.WORKER_STOPPED: "The worker stopped before it was done.",
    FailureCode.ALREADY_FOLLOWED: "You follow this feed already.",
    FailureCode.ALREADY_FOLLOWED_AND_MOVED: "You follow this feed already. It is now in %(folder)s.",
    FailureCode.FILE_CUT_OFF: (
        "The file ends in its middle, so feeds may be missing. Export it again from your other reader and "
        "import it: what you follow already stays as it is."
    ),
    FailureCode.LINE_WITHOUT_ADDRESS: "Feed URL is required",
    FailureCode.LINE_WITHOUT_FEEDS: "This line has no feed address and no feeds inside it.",
    FailureCode.LISTED_TWICE: "The file lists this feed more than once. Its first line was used.",
    FailureCode.MAILBOX_DISCONNECTED: "The mail server closed the connection. Check the port and the encryption.",
    FailureCode.MAILBOX_FOLDER_REFUSED: "The folder could not be opened: %(reason)s",
    FailureCode.MAILBOX_REFUSED: "The mail server refused: %(reason)s",
    FailureCode.MAIL_UNREADABLE: "A mail in it could not be read.",
    FailureCode.MAILBOX_UNREACHABLE: "The mail server could not be reached: %(reason)s",
    FailureCode.MAILBOX_UNREADABLE: "The mail server's answer could not be understood.",
    FailureCode.UNSUBSCRIBE_ACCEPTED: "The mailing list accepted the request.",
    FailureCode.UNSUBSCRIBE_BY_HAND: (
        "Open the page of the mailing list to unsubscribe. Mail that still arrives is not shown."
    ),
    FailureCode.UNSUBSCRIBE_IMPOSSIBLE: (
        "The mailing list offers no way to unsubscribe. Mail that still arrives is not shown."
    ),
    FailureCode.UNSUBSCRIBE_MAILED: "The mailing list was asked by mail.",
    FailureCode.UNSUBSCRIBE_NEEDS_MAIL: "The mailing list expects a mail, and this server cannot send any.",
    FailureCode.UNSUBSCRIBE_PENDING: "The mailing list is being asked.",
    FailureCode.UNSUBSCRIBE_REFUSED: (
        "The mailing list did not accept the request. Mail that still arrives is not shown."
    ),
    FailureCode.PUSH_STATUS: "The push service answered with status %(status)s.",
    FailureCode.PUSH_TOO_MANY: "There were too many notifications.",
    FailureCode.SHARE_LOGIN_REFUSED: "%(service)s did not accept the login.",
    FailureCode.SHARE_REFUSED: "%(service)s refused the link (status %(status)s).",
    FailureCode.SHARE_STATUS: "%(service)s answered with status %(status)s.",
    FailureCode.WEBHOOK_NOTHING_LEFT: "The entries of this call do not exist any more.",
    FailureCode.WEBHOOK_STATUS: "It answered with status %(status)s.",
    FailureCode.WEBHOOK_SWITCHED_OFF: "The webhook was switched off.",
    FailureCode.WEBHOOK_KEY_LOST: "Its secret cannot be read: the server lost the key. Make a new secret for it.",
    FailureCode.LIST_NEEDS_SCRIPTS: "The page is empty until its scripts run in a browser.",
    FailureCode.LIST_NOT_FOUND: "No list of entries was found on this page.",
    FailureCode.LIST_PAGE_TOO_EXPENSIVE: "The page could not be read within the time and memory allowed.",
    FailureCode.LIST_PAGE_TOO_LARGE: "The page is too large: it has more than %(size)s MB.",
    FailureCode.LIST_SELECTORS_MATCH_NOTHING: "The selectors match no entry with a title and a link on this page.",
    FailureCode.LIST_TOO_LONG: "The list on this page is too long: it has more than %(limit)s entries.",
    FailureCode.WATCHED_TEXT_NOT_FOUND: "No element with text fits the selector on this page.",
}
"""The English texts. A cause is filled in without its full stop."""


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
        return MESSAGES[self.code]

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
    values = {**params} if cause is None else {**params, "cause": cause.removesuffix(".")}
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
