"""The page and the API are two applications: every door has to be behind the right one."""

from collections.abc import Iterator

import pytest
from fastapi import APIRouter, FastAPI
from starlette.routing import Route

from reedbed.http.errors import PROGRAM_PATHS
from reedbed.roles.app import Application, create_app
from reedbed.services.runtime import Runtime
from tests.clients import Client


@pytest.fixture
def app(runtime: Runtime) -> Application:
    return create_app(runtime)


def test_every_door_of_the_api_is_found(app: Application) -> None:
    paths = list(_paths(app.programs))
    assert {"/accounts", "/api/v1/entries"} <= {*paths}
    assert not [path for path in paths if not path.startswith(PROGRAM_PATHS)]


def test_no_page_hides_behind_the_api(app: Application) -> None:
    paths = list(_paths(app.pages))
    assert "/login" in paths
    assert not [path for path in paths if path.startswith(PROGRAM_PATHS)]


async def test_a_half_is_put_together_when_it_is_asked_for(app: Application, client: Client) -> None:
    assert (await client.get("/api/v1/users/me")).status_code == 401
    assert "programs" in vars(app)
    assert "pages" not in vars(app)
    await app.load()
    assert "pages" in vars(app)


async def test_who_asks_first_waits_for_little(app: Application, client: Client) -> None:
    assert (await client.get("/readyz")).status_code == 200
    assert (await client.get("/setup")).status_code == 200
    assert not {"pages", "programs"} & vars(app).keys()
    assert (await client.post("/readyz")).status_code == 405
    assert "programs" in vars(app)


@pytest.mark.parametrize("half", ["pages", "programs"])
def test_what_is_there_sooner_is_a_part_of_the_whole(app: Application, half: str) -> None:
    sooner = {*_paths(getattr(app, f"first_{half}"))}
    assert sooner
    assert sooner <= {*_paths(getattr(app, half))}


def _paths(half: FastAPI | APIRouter) -> Iterator[str]:
    for part in half.routes:
        if isinstance(part, Route):
            yield part.path
        elif (included := getattr(part, "original_router", None)) is not None:
            yield from _paths(included)
