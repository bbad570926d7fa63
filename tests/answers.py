"""Whether the API answers what its OpenAPI document promises."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from starlette.types import Receive, Scope, Send

from reedbed.api.openapi import documented_model
from reedbed.http.responses import Json


@contextmanager
def compared_with_documentation() -> Iterator[None]:
    """Fails at the end if an answer was not of the model that its route documents, down to every field."""
    wrong: list[str] = []
    respond = Json.__call__

    async def compare(self: Json[Any], scope: Scope, receive: Receive, send: Send) -> None:
        if not is_a(self.model, documented_model(scope["endpoint"])):
            wrong.append(f"{scope['method']} {scope['path']} is documented otherwise: {self.model}")
        await respond(self, scope, receive, send)

    Json.__call__ = compare
    try:
        yield
    finally:
        Json.__call__ = respond
    assert not wrong, "\n".join(wrong)


def is_a(value: Any, hint: Any) -> bool:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin is Annotated:
        return is_a(value, inner[0])
    if origin in (Union, UnionType):
        return any(is_a(value, option) for option in inner)
    if origin is Literal:
        return value in inner
    if origin in (list, Sequence):
        return isinstance(value, list | tuple) and all(is_a(item, inner[0]) for item in value)
    if origin is tuple:
        return len(value) == len(inner) and all(map(is_a, value, inner))
    if origin in (dict, Mapping):
        return isinstance(value, Mapping) and all(is_a(k, inner[0]) and is_a(v, inner[1]) for k, v in value.items())
    if hint is str:
        return isinstance(value, str)
    if type(value) is not (origin or hint):
        return hint is float and type(value) is int
    return not is_dataclass(value) or _has_fields(value, inner)


def _has_fields(value: Any, parameters: tuple[Any, ...]) -> bool:
    hints = get_type_hints(type(value), include_extras=True)
    types = dict(zip(getattr(type(value), "__parameters__", ()), parameters, strict=False))
    for field in fields(value):
        hint = hints[field.name]
        generic = tuple(types.get(argument, argument) for argument in get_args(hint)) if types else ()
        if not is_a(
            getattr(value, field.name), Sequence[generic[0]] if get_origin(hint) is Sequence and generic else hint
        ):
            return False
    return True
