"""Where the stream of a page begins: nothing falls between what it shows and what it is told."""

import re
from dataclasses import dataclass, replace
from typing import Any

from reedbed.domain.live import ChangeEvent
from reedbed.events.bus import new_event_id
from reedbed.roles.app import Application
from reedbed.services.runtime import Runtime
from tests.clients import SignIn


@dataclass
class Arriving:
    """A database in which something arrives right after each look."""

    runtime: Runtime

    def read(self) -> Any:
        self.runtime.bus.deliver(ChangeEvent("new_entry", id=new_event_id()))
        return self.runtime.db.read()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.runtime.db, name)


async def test_what_arrives_while_a_page_is_made_is_told_by_its_stream(
    app: Application, by_cookie: SignIn, runtime: Runtime
) -> None:
    page = await by_cookie()
    app.state.runtime = replace(runtime, db=Arriving(runtime))
    place = re.search(r'data-newest="([^"]+)"', (await page.get("/unread")).text)
    assert place is not None
    told = runtime.bus.since(place[1])
    assert told and {hint.topic for hint in told} == {"new_entry"}
