"""The OpenAPI document, with security schemes and the error responses of every route.

Errors are added to the finished document. Declared on each route, they would create hundreds of validators
at every start.
"""

import asyncio
from collections.abc import Callable
from typing import Any, get_args, get_origin

import orjson
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.routing import iter_route_contexts
from pydantic import Field, TypeAdapter
from pydantic.json_schema import JsonSchemaMode

from reedbed.http.auth import SESSION_COOKIE
from reedbed.http.models import ApiModel
from reedbed.http.responses import Json


class ErrorDetails(ApiModel):
    field: str | None = Field(None, description="The invalid field, if there is one.", examples=["email"])


class ErrorBody(ApiModel):
    code: str = Field(examples=["not_found"])
    message: str = Field(examples=["There is nothing with this id."])
    details: ErrorDetails


class ErrorResponse(ApiModel):
    error: ErrorBody


_DESCRIPTIONS = {
    "400": "The request is invalid; the message says why.",
    "401": "Not logged in.",
    "403": "Logged in, but not allowed.",
    "404": "It does not exist or is not yours.",
    "409": "It already exists or conflicts with the current state.",
    "413": "The request body is too large.",
    "429": "Too many requests; `Retry-After` says how many seconds to wait.",
    "503": "A service that is needed does not respond; try again later.",
    "default": "Unexpected error.",
}
_RETRY = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}}
_CONTENT = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorOut"}}}

ERROR_RESPONSES: dict[str, dict[str, Any]] = {
    f"Error{status}": {
        "description": description,
        "content": _CONTENT,
        **({"headers": _RETRY} if status in ("429", "503") else {}),
    }
    for status, description in _DESCRIPTIONS.items()
}
REFERENCES = {status: {"$ref": f"#/components/responses/Error{status}"} for status in _DESCRIPTIONS}


REFERENCE = "#/components/schemas/{model}"


def error_schemas() -> dict[str, Any]:
    schema = ErrorResponse.model_json_schema(ref_template=REFERENCE)
    return {**schema.pop("$defs"), "ErrorOut": schema}


ADDRESS = "/api/v1/openapi.json"

SCHEMES = {
    "token": {"type": "http", "scheme": "bearer", "description": "The token of a login, or an API token with scopes."},
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": SESSION_COOKIE,
        "description": "For the web pages; changes must come from the same origin or send X-CSRF-Token.",
    },
}


router = APIRouter()


@router.get(ADDRESS, include_in_schema=False)
async def respond(request: Request) -> Response:
    """The document is built once, in a thread: it takes a second of CPU time and would block the event loop."""
    app: FastAPI = request.app
    if not hasattr(app.state, "openapi_content"):
        app.state.openapi_content = asyncio.ensure_future(_build(app))
    return Response(await asyncio.shield(app.state.openapi_content), media_type="application/json")


async def _build(app: FastAPI) -> bytes:
    await app.state.include_programs()
    return await asyncio.to_thread(lambda: orjson.dumps(describe(app)))


def describe(app: FastAPI) -> dict[str, Any]:
    """The document of an application whose routers are all included."""
    document = app.openapi()
    if "security" not in document:
        _add_response_models(document, app)
        _add_security_and_errors(document)
    return document


def documented_model(endpoint: Callable[..., Any]) -> Any:
    """The model that a handler is annotated to return; None for other responses, such as files."""
    returned = endpoint.__annotations__.get("return")
    return get_args(returned)[0] if get_origin(returned) is Json else None


def _add_response_models(document: dict[str, Any], app: FastAPI) -> None:
    contents: dict[str, dict[str, Any]] = {}
    adapters: list[tuple[str, JsonSchemaMode, TypeAdapter[Any]]] = []
    for route in iter_route_contexts(app.routes):
        if route.endpoint is None or not route.include_in_schema or documented_model(route.endpoint) is None:
            continue
        for method in route.methods or ():
            operation = document["paths"][route.path_format][method.lower()]
            response = operation["responses"][str(route.status_code or 200)]
            content = response["content"]["application/json"]
            if not content["schema"]:  # not documented by `responses` of the route
                key = f"{method} {route.path_format}"
                contents[key] = content
                adapters.append((key, "serialization", TypeAdapter[Any](documented_model(route.endpoint))))
    schemas, definitions = TypeAdapter.json_schemas(adapters, ref_template=REFERENCE)
    for (key, _), schema in schemas.items():
        contents[key]["schema"] = schema
    document["components"]["schemas"] |= definitions["$defs"]


def _add_security_and_errors(document: dict[str, Any]) -> None:
    document["security"] = [{"token": []}, {"session": []}]
    components = document["components"]
    components["securitySchemes"] = SCHEMES
    components["responses"] = ERROR_RESPONSES
    components["schemas"].update(error_schemas())
    for name in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(name, None)
    for operations in document["paths"].values():
        for operation in operations.values():
            # FastAPI documents 422 for malformed requests; we return 400.
            operation["responses"].pop("422", None)
            operation["responses"] = {**REFERENCES, **operation["responses"]}
