"""Which requests a replica may answer: plain lists, asked for by someone who changed nothing lately."""

import re

from fastapi import Request

from reedbed.domain.accounts import Caller
from reedbed.services.runtime import Runtime
from reedbed.store.replica import let_reads_lag

LISTS = re.compile(
    r"/api/v1/(?:entries|counts|tags)"
    r"|/(?:unread|all|starred|later|history|search)"
    r"|/(?:folder|feed|tag|saved)/[^/]+"
    r"|(?:/api/greader\.php)?/reader/api/0/(?:stream/.+|unread-count)"
)


def choose_source(request: Request, runtime: Runtime, caller: Caller | None) -> None:
    if caller is None:
        return
    if request.method not in ("GET", "HEAD"):
        runtime.recent_changes.note(caller.user_id)
    elif LISTS.fullmatch(request.url.path) and not runtime.recent_changes.of(caller.user_id):
        let_reads_lag(allowed=True)
