"""Books: request, make, mail, list and plan them."""
