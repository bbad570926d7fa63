"""Incoming mail: SMTP, IMAP, webhooks of mail providers, and the parsing of messages.

`read_mail` is the entry point for bytes from the network.
"""

from reedbed.ingest.mail.sandbox import read_mail

__all__ = ["read_mail"]
