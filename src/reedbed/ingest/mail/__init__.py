"""Mail that comes in: read within bounds, from bytes or from what a provider made of them.

`read_mail` is the door for bytes from the network.
"""

from reedbed.ingest.mail.sandbox import read_mail

__all__ = ["read_mail"]
