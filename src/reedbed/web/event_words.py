"""What the event log holds, in words; it keeps short names that programs can look for."""

from reedbed.web.speech import marked, translate

WORDS = {
    "assistant_call": marked("An assistant asked for something"),
    "cleanup_asked": marked("Asked to tidy up"),
    "digest_generated": marked("A digest was written"),
    "digest_mail_ended": marked("Digests by mail ended"),
    "email_verified": marked("Address confirmed"),
    "feed_added": marked("Feed added"),
    "identity_linked": marked("Another way to log in linked"),
    "identity_unlinked": marked("Another way to log in unlinked"),
    "library_imported": marked("Collection imported"),
    "login_failed": marked("Login failed"),
    "opml_imported": marked("OPML imported"),
    "password_changed": marked("Password changed"),
    "register_again": marked("Registered again with a known address"),
    "reset_link_made": marked("Link for a new password made"),
    "role_changed": marked("Role changed"),
    "selectors_changed": marked("Choice of a feed's article parts changed"),
    "session_revoked": marked("A device logged out"),
    "sessions_revoked": marked("Other devices logged out"),
    "share_target_added": marked("Place to share to added"),
    "token_created": marked("Token made"),
    "token_revoked": marked("Token taken back"),
    "user_deleted": marked("Account deleted"),
    "user_disabled": marked("Account switched off"),
    "user_enabled": marked("Account switched on"),
    "user_invited": marked("Invited"),
    "user_login": marked("Logged in"),
    "user_registered": marked("Registered"),
    "webhook_created": marked("Webhook made"),
    "webhook_deleted": marked("Webhook deleted"),
    "webhook_switched_off": marked("Webhook switched off after failing for long"),
}


def event_words(kind: str) -> str:
    return translate(WORDS[kind]) if kind in WORDS else kind.replace("_", " ")
