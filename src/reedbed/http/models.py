"""Models of the API: pydantic reads requests; responses are plain records, which orjson writes.

A field that is written differently from its value says so in its annotation, like `JsonId` and `Timestamp`.
The same annotation documents it.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cache
from types import UnionType
from typing import Annotated, Any, Generic, Self, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema

from reedbed.domain.failures import Failure, failure_code, failure_message, failure_sentence
from reedbed.domain.records import record
from reedbed.domain.times import Instant, rfc3339

T_co = TypeVar("T_co", covariant=True)


class ApiModel(BaseModel):
    """A request. Its validator is built on first use: most processes never use most of the models."""

    model_config = ConfigDict(defer_build=True)


MAX_SAFE_INTEGER = 2**53 - 1
ID_SCHEMA = WithJsonSchema({"type": "string", "pattern": "^[1-9][0-9]{0,15}$", "examples": ["42"]}, mode="validation")


def parse_id(value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 16:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= MAX_SAFE_INTEGER:
        raise ValueError("must be an id: a string of digits")
    return value


JsonId = Annotated[int, BeforeValidator(parse_id), PlainSerializer(str, return_type=str), ID_SCHEMA]
Timestamp = Annotated[Instant, PlainSerializer(rfc3339, return_type=str)]
FailureText = Annotated[Failure | None, PlainSerializer(failure_message, return_type=str | None)]
"""The English sentence."""
FailureName = Annotated[Failure | None, PlainSerializer(failure_code, return_type=str | None)]
"""The code, in a field named like the one with the sentence and `_code`."""
FailureSentence = Annotated[Failure | None, PlainSerializer(failure_sentence, return_type=str)]
"""Like `FailureText`, but empty without a failure."""


class ResponseModel:
    """Base of the records that the API answers with."""

    __slots__ = ()

    @classmethod
    def of(cls, *sources: object, **given: Any) -> Self:
        """Take the fields that are not given from attributes of the same names, of the first source that has one."""
        for name, attribute in _attributes(cls).items():
            if name not in given:
                given[name] = next(getattr(source, attribute) for source in sources if hasattr(source, attribute))
        return cls(**given)


def _remove_default(schema: dict[str, Any]) -> None:
    del schema["default"]


@record
class ListPage(ResponseModel, Generic[T_co]):
    __pydantic_config__ = ConfigDict(json_schema_serialization_defaults_required=True)

    items: Sequence[T_co]
    # It is always written, so the default is not documented.
    next_cursor: Annotated[str | None, Field(json_schema_extra=_remove_default)] = None


@record
class JobResponse(ResponseModel):
    job_id: JsonId


def to_json(value: object) -> bytes:
    return orjson.dumps(value, _write_fields, orjson.OPT_PASSTHROUGH_DATACLASS)


@cache
def _field_names(model: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cast(Any, model)))


@cache
def _attributes(model: type) -> dict[str, str]:
    """By the name of each field, the attribute that it is taken from."""
    hints = get_type_hints(model, include_extras=True)
    return {name: name.removesuffix("_code") if hints[name] == FailureName else name for name in _field_names(model)}


def _write_fields(value: object) -> dict[str, Any]:
    return _writer(type(value))(value)


@cache
def _writer(model: type) -> Callable[[object], dict[str, Any]]:
    """Compile a function that copies the fields of a record into a dictionary. orjson writes what is in them."""
    hints = get_type_hints(model, include_extras=True)
    functions: dict[str, Any] = {}
    items = [f"{name!r}: {_expression(hints[name], f'model.{name}', functions)}" for name in _field_names(model)]
    return eval(f"lambda model: {{{', '.join(items)}}}", functions)  # noqa: S307 - only names of our own fields


def _expression(hint: Any, value: str, functions: dict[str, Any]) -> str:
    """Return the expression that converts `value`, or `value` itself."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        for metadata in hint.__metadata__:
            if isinstance(metadata, PlainSerializer):
                functions[name := metadata.func.__name__] = metadata.func
                return f"{name}({value})"
        return _expression(inner[0], value, functions)
    if origin in (Union, UnionType) and len(inner) == 2 and inner[1] is type(None):
        converted = _expression(inner[0], value, functions)
        return value if converted == value else f"None if {value} is None else {converted}"
    if origin in (list, Sequence):
        converted = _expression(inner[0], "item", functions)
        return value if converted == "item" else f"[{converted} for item in {value}]"
    return value
