"""Response models: what a handler returns is what is documented, and how its fields are written."""

from typing import Any

import pytest
from fastapi.routing import iter_route_contexts

from reedbed.api.folders import FolderResponse
from reedbed.api.openapi import documented_model
from reedbed.api.subscriptions import RefusedResponse
from reedbed.domain.failures import Failure, FailureCode
from reedbed.http.models import ListPage, to_json
from reedbed.roles.app import Application
from tests.answers import is_a

FOLDER = FolderResponse(7, None, "News", 0, None, in_unread=True)


def test_every_json_answer_is_documented_by_what_its_handler_returns(app: Application) -> None:
    paths = app.openapi()["paths"]
    undocumented: list[str] = []
    documented = 0
    for route in iter_route_contexts(app.programs.routes):
        for method in route.methods if getattr(route, "include_in_schema", False) else ():
            answers = paths[route.path_format][method.lower()]["responses"]
            success = [answer for status, answer in answers.items() if status.startswith("2") and status != "204"]
            as_json = [answer for answer in success if "application/json" in answer.get("content", {})]
            if any(answer["content"]["application/json"]["schema"] for answer in as_json):
                documented += 1
                if documented_model(route.endpoint) is None:
                    undocumented.append(f"{method} {route.path_format}")
    assert not undocumented
    assert documented > 100


def test_annotations_decide_how_fields_are_written() -> None:
    pause = Failure(FailureCode.REFRESH_SITE_PAUSE)
    assert to_json(RefusedResponse(4, pause, pause, 1_763_199_000_000)) == (
        b'{"id":"4","reason":"The site has asked for a pause.","reason_code":"refresh_site_pause",'
        b'"retry_at":"2025-11-15T09:30:00Z"}'
    )
    assert to_json(ListPage([FOLDER])) == (
        b'{"items":[{"id":"7","parent_id":null,"name":"News","position":0,"summary_words":null,"in_unread":true}],"next_cursor":null}'
    )


@pytest.mark.parametrize("hint", [ListPage[RefusedResponse], RefusedResponse, ListPage[FolderResponse] | None])
def test_another_model_is_noticed(hint: Any) -> None:
    assert is_a(ListPage([FOLDER]), hint) is (hint == ListPage[FolderResponse] | None)


def test_a_field_of_another_type_is_noticed() -> None:
    assert is_a(FOLDER, FolderResponse)
    assert not is_a(FolderResponse(7, None, "News", None, None, in_unread=True), FolderResponse)
