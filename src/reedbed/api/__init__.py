"""JSON v1: everything the page can do, for programs."""
