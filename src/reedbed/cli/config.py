"""`reedbed config`: the settings in force."""

from typing import cast

import click
from pydantic import SecretStr

from reedbed.settings import load, unknown_settings


@click.command()
def config() -> None:
    """Print every setting in force, secrets masked; unknown ones are named on stderr."""
    settings = load()
    for name in type(settings).model_fields:
        click.echo(f"REEDBED_{name.upper()}={_shown(name, getattr(settings, name))}")
    for sentence in unknown_settings():
        click.echo(sentence, err=True)


def _shown(name: str, value: object) -> str:
    if isinstance(value, SecretStr):
        return "********" if value.get_secret_value() else ""
    if isinstance(value, tuple):
        return ",".join(map(str, cast(tuple[object, ...], value)))
    return _mask_password(str(value)) if name.endswith("_url") else str(value)


def _mask_password(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    credentials, at, host = rest.rpartition("@")
    user, colon, _ = credentials.partition(":")
    return f"{scheme}{separator}{user}{':********' if colon else ''}{at}{host}"
