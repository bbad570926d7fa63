"""Rate limits at the door."""

import math
from typing import Annotated

from fastapi import Depends

from reedbed.domain.errors import TooMany
from reedbed.domain.limits import Allowance
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.services.runtime import Runtime


async def spend(runtime: Runtime, key: str, allowance: Allowance, message: str) -> None:
    wait = await runtime.limiter.wait_for(key, allowance)
    if wait > 0:
        raise TooMany(message, math.ceil(wait))


async def _refresh(runtime: RuntimeOf, caller: CallerOf) -> None:
    await spend(
        runtime,
        f"refresh:{caller.user_id}",
        runtime.limits.refresh,
        "You asked for many refreshes at once. Wait a little; feeds are also checked by themselves.",
    )


RefreshLimit = Annotated[None, Depends(_refresh)]
