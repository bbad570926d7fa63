"""Rate limits at the door: so many requests of one user, fewer of the costly ones."""

from typing import Annotated

from fastapi import Depends

from reedbed.domain.accounts import Caller
from reedbed.http.caller import CallerOf, MaybeCaller, RuntimeOf
from reedbed.services.limits import spend
from reedbed.services.runtime import Runtime

MANY_REQUESTS = "Too many requests. Wait a moment and go on."
MANY_SEARCHES = "Too many searches at once. Wait a moment and search again."
MANY_REFRESHES = "You asked for many refreshes at once. Wait a little; feeds are also checked by themselves."


async def spend_request(runtime: Runtime, caller: Caller) -> None:
    await spend(runtime, f"requests:{caller.user_id}", runtime.limits.requests, MANY_REQUESTS)


async def spend_search(runtime: Runtime, caller: Caller) -> None:
    await spend(runtime, f"search:{caller.user_id}", runtime.limits.search, MANY_SEARCHES)


async def spend_refresh(runtime: Runtime, caller: Caller) -> None:
    await spend(runtime, f"refresh:{caller.user_id}", runtime.limits.refresh, MANY_REFRESHES)


async def _request(runtime: RuntimeOf, caller: MaybeCaller) -> None:
    if caller is not None:
        await spend_request(runtime, caller)


async def _search(runtime: RuntimeOf, caller: CallerOf) -> None:
    await spend_search(runtime, caller)


async def _refresh(runtime: RuntimeOf, caller: CallerOf) -> None:
    await spend_refresh(runtime, caller)


count_request = Depends(_request)
"""On every router of the API."""

SearchLimit = Annotated[None, Depends(_search)]
RefreshLimit = Annotated[None, Depends(_refresh)]
