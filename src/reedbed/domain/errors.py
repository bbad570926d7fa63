"""The error tree. It knows nothing of HTTP: each surface has a table from error to response.

ReedbedError
├── Refused            the request is not possible
│   ├── Invalid        a field is wrong; `field` names it
│   ├── NotFound       does not exist, or belongs to another user: the two look the same
│   ├── Conflict       exists already, or a newer change conflicts
│   ├── Unauthorized   not authenticated
│   ├── Forbidden      authenticated, but not allowed
│   ├── TooMany        rate limited; `retry_after` says how long
│   └── TooLarge       more bytes than the endpoint accepts
├── Unavailable        a required component does not answer; try again later
│   └── TooSlow        it took too long, and would again
└── CannotStart        the program does not start; the message says how to fix it
"""


class ReedbedError(Exception):
    code = "error"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Refused(ReedbedError):
    code = "refused"


class Invalid(Refused):
    code = "invalid"

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class NotFound(Refused):
    code = "not_found"


class Conflict(Refused):
    code = "conflict"

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class Unauthorized(Refused):
    code = "unauthorized"


class Forbidden(Refused):
    code = "forbidden"


class TooMany(Refused):
    code = "too_many_requests"

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TooLarge(Refused):
    code = "too_large"


class Unavailable(ReedbedError):
    code = "unavailable"


class TooSlow(Unavailable):
    """Nothing is broken: a job with this error fails instead of being retried."""


class CannotStart(ReedbedError):
    code = "cannot_start"
