"""One call of a reader app: who asks, and with what."""

from fastapi import Request

from reedbed.api.compat.params import Params
from reedbed.domain.accounts import Caller
from reedbed.domain.records import record
from reedbed.http.places import place_of
from reedbed.services.images import Pictures, pictures_for_programs
from reedbed.services.runtime import Runtime


@record
class Call:
    request: Request
    runtime: Runtime
    caller: Caller
    params: Params

    @property
    def pictures(self) -> Pictures:
        return pictures_for_programs(self.runtime, place_of(self.request, self.runtime))

    @property
    def user_id(self) -> int:
        return self.caller.user_id
