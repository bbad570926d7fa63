"""What operators, and only they, see when something is wrong."""

from reedbed.services.instance import check


async def test_operators_see_a_banner_and_the_list_and_readers_do_not(runtime, by_cookie, client):
    await check(runtime)  # no worker runs in a test
    operator, reader = await by_cookie("o@example.org", role="owner"), await by_cookie("r@example.org")
    page = (await operator.get("/settings", follow_redirects=True)).text
    assert "No worker runs" in page
    assert "No worker runs" not in (await reader.get("/settings", follow_redirects=True)).text
    shown = (await operator.get("/api/v1/status")).json()
    assert [(one["check"], one["alarm"]) for one in shown["problems"]] == [("workers", True)]
    assert shown["health_warning"] == shown["problems"][0]["text"]
    assert (await reader.get("/api/v1/status")).json()["problems"] is None
    assert 'health_problem{check="workers"} 1' in (await client.get("/metrics")).text
