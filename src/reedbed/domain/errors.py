"""The one error tree. No HTTP in it: each surface has a table from error to answer.

ReedbedError
├── Refused            the caller did something that cannot be done
│   ├── Invalid        a field is wrong; `field` names it
│   ├── NotFound       it is not there, or not yours: the two look the same
│   ├── Conflict       it is there already, or something newer stands in the way
│   ├── Unauthorized   who are you?
│   ├── Forbidden      known, and not allowed
│   ├── TooMany        slow down; `retry_after` says how long
│   └── TooLarge       more bytes than the door takes
├── Unavailable        a part the program needs does not answer; try again later
│   └── TooSlow        it took longer than anybody waits, and would again
└── CannotStart        the program refuses to start and says the way out
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
    """Nothing is broken: a job that meets it fails instead of coming back."""


class CannotStart(ReedbedError):
    code = "cannot_start"
