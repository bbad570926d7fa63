"""The page."""

from fastapi import FastAPI


def register(app: FastAPI) -> None:
    """Put the page's doors on the application."""
