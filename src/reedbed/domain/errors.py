"""The error tree. It knows nothing of HTTP: each surface has a table from error to response.

ReedbedError
├── Refused            the request is not possible
│   ├── Invalid        a field is wrong; `field` names it
│   ├── NotFound       does not exist, or belongs to another user: the two look the same
│   ├── Conflict       exists already, or a newer change conflicts
│   ├── Unauthorized   not authenticated
│   │   └── CodeRequired   the password was right; a one-time code is missing
│   ├── Forbidden      authenticated, but not allowed
│   │   └── ConfirmationRequired   the session must show first that it is still the same person
│   ├── TooMany        rate limited; `retry_after` says how long
│   └── TooLarge       more bytes than the endpoint accepts
├── Unavailable        a required component does not answer; try again later
│   └── TooSlow        it took too long, and would again
└── CannotStart        the program does not start; the message says how to fix it
"""

from reedbed.domain.failures import Failure, Param, refused


class ReedbedError(Exception):
    """`text` is the English message, with placeholders such as `%(limit)s` for `values`, or a failure.

    A text must be a literal or a constant of its module: `scripts/texts.py` collects them for translation.
    """

    code = "error"

    def __init__(self, text: str | Failure, /, **values: Param) -> None:
        self.failure = refused(text, values) if isinstance(text, str) else text
        super().__init__(self.message)

    @property
    def message(self) -> str:
        return self.failure.message


class Refused(ReedbedError):
    code = "refused"


class Invalid(Refused):
    code = "invalid"

    def __init__(self, text: str | Failure, /, field: str | None = None, **values: Param) -> None:
        super().__init__(text, **values)
        self.field = field


class NotFound(Refused):
    code = "not_found"


class Conflict(Refused):
    code = "conflict"

    def __init__(self, text: str | Failure, /, field: str | None = None, **values: Param) -> None:
        super().__init__(text, **values)
        self.field = field


class Unauthorized(Refused):
    code = "unauthorized"


class AppPasswordRequired(Unauthorized):
    """For programs that send a name and a password only once they are asked for them."""


class CodeRequired(Unauthorized):
    code = "code_required"


class Forbidden(Refused):
    code = "forbidden"


class ConfirmationRequired(Forbidden):
    code = "confirmation_required"


class TooMany(Refused):
    code = "too_many_requests"

    def __init__(self, text: str | Failure, /, retry_after: int, **values: Param) -> None:
        super().__init__(text, **values)
        self.retry_after = retry_after


class TooLarge(Refused):
    code = "too_large"


class Unavailable(ReedbedError):
    code = "unavailable"


class TooSlow(Unavailable):
    """Nothing is broken: a job with this error fails instead of being retried."""


class CannotStart(ReedbedError):
    code = "cannot_start"
