"""Every answer is guarded: headers, sizes, failures."""

from tests.clients import Client, SignIn


async def test_a_stranger_is_told_to_log_in(client: Client) -> None:
    answer = await client.get("/api/v1/folders")

    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "unauthorized"


async def test_a_bearer_token_opens_the_api(signed_in: SignIn) -> None:
    reader = await signed_in("reader@example.org")

    answer = await reader.get("/api/v1/folders")

    assert answer.status_code == 200
