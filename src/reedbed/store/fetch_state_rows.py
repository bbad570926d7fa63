"""Between rows and values: a feed that is due, and the state that is written after its check."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

import orjson

from reedbed.domain.checks import FetchState
from reedbed.domain.due import About, DueFeed
from reedbed.domain.feeds import Rhythm
from reedbed.store.database import Row
from reedbed.store.vault import Vault

STATE_NAMES = tuple(field.name for field in fields(FetchState))
ABOUT_NAMES = tuple(field.name for field in fields(About))

_OWN = 15
_ENCRYPTED = ((4, "feeds.proxy"), (7, "feeds.password"))
_STATE_FROM = _OWN + len(ABOUT_NAMES)
_STATE_TO = _STATE_FROM + len(STATE_NAMES)
_RHYTHM = STATE_NAMES.index("rhythm")
_NO_RHYTHM = Rhythm()
_values_of = attrgetter(*STATE_NAMES)


def due_feed(row: Row, vault: Vault) -> DueFeed:
    """From a row of fifteen own columns, then those of `About`, then those of `FetchState`."""
    values: list[Any] = list(row)
    lost = False
    for place, purpose in _ENCRYPTED:
        if values[place] is not None:
            values[place] = vault.decrypt(purpose, values[place])
            lost = lost or values[place] is None
    return DueFeed(
        *values[:_OWN],
        secrets_lost=lost,
        about=_about(values[_OWN:_STATE_FROM]),
        state=fetch_state(values[_STATE_FROM:_STATE_TO]),
    )


def fetch_state(columns: Iterable[Any]) -> FetchState:
    values: list[Any] = list(columns)
    values[_RHYTHM] = _rhythm(values[_RHYTHM])
    return FetchState(*values)


def state_params(feed_id: int, holder: str, after: FetchState) -> Mapping[str, Any]:
    params: dict[str, Any] = dict(zip(STATE_NAMES, _values_of(after), strict=True))
    params["rhythm"] = _rhythm_text(after.rhythm)
    params["id"] = feed_id
    params["holder"] = holder
    return params


def _about(values: Sequence[Any]) -> About:
    return About(*values[:-2], guid_unreliable=bool(values[-2]), guid_collisions=values[-1])


def _rhythm(text: str | None) -> Rhythm:
    if not text:
        return _NO_RHYTHM
    said = orjson.loads(text)
    return Rhythm(said.get("interval"), frozenset(said.get("hours", ())), frozenset(said.get("days", ())))


def _rhythm_text(rhythm: Rhythm) -> str | None:
    if rhythm == _NO_RHYTHM:
        return None
    said = {
        "interval": rhythm.interval,
        "hours": sorted(rhythm.skip_hours),
        "days": sorted(rhythm.skip_days),
    }
    return orjson.dumps(said).decode()
