"""Services that an entry can be sent to: to keep its link, or to show a message about it."""
