"""JSON v1."""

from fastapi import FastAPI


def register(app: FastAPI) -> None:
    """Put the API's doors on the application."""
