"""Pictures in what apps show: at whole addresses that open without a login, wherever the app found us."""

import re
from dataclasses import replace

from reedbed.roles.app import Application
from reedbed.services.newsletters.receive import MailDelivery, Received, receive
from reedbed.services.runtime import ImagePolicy
from tests.clients import Client, new_client
from tests.http.reader_apps.account import AppAccount
from tests.newsletters import PNG, samples

LETTER = next(sample for sample in samples() if sample.name == "inline-picture")
SOURCE = re.compile(r'src="([^"]+)"')
AT_HOME = "http://192.168.1.5:8080"


async def test_a_picture_inside_a_newsletter_opens_without_a_cookie(account: AppAccount) -> None:
    runtime, user_id = account.harness.runtime, account.page.user_id
    assert await receive(runtime, MailDelivery("imap", user_id=user_id), LETTER.raw) == Received(new=1)
    app = await account.open_app()
    (item,) = (await app.read("stream/contents/", n=1))["items"]
    (address,) = SOURCE.findall(item["summary"]["content"])
    assert address.startswith("http://127.0.0.1:8080/images/")
    answer = await account.app.get(address)
    assert (answer.content, answer.headers["content-type"]) == (PNG, "image/png")
    (fever,) = (await account.fever(f"items&with_ids={int(item['id'][-16:], 16)}"))["items"]
    assert address in fever["html"]


async def test_nobody_else_can_make_the_address_of_such_a_picture(account: AppAccount) -> None:
    runtime, user_id = account.harness.runtime, account.page.user_id
    await receive(runtime, MailDelivery("imap", user_id=user_id), LETTER.raw)
    app = await account.open_app()
    (item,) = (await app.read("stream/contents/", n=1))["items"]
    (address,) = SOURCE.findall(item["summary"]["content"])
    place, _, name = address.rpartition("/")
    assert (await account.app.get(f"{place[:-1]}_/{name}")).status_code == 404
    await account.harness.change("DELETE FROM mail_images")
    await account.harness.change("DELETE FROM blobs WHERE hash LIKE 'mail:%'")
    assert (await account.app.get(address)).status_code == 404


async def test_addresses_lead_to_where_the_app_came(account: AppAccount, app: Application) -> None:
    await _publish_picture(account)
    headers = await account.log_in()
    async with new_client(app) as phone:
        phone.base_url = AT_HOME
        assert await _first_source(phone, headers) == [f"{AT_HOME}/images/"]


async def test_with_pictures_left_alone_an_app_gets_their_own_address(account: AppAccount, app: Application) -> None:
    await _publish_picture(account)
    app.state.runtime = replace(account.harness.runtime, images=ImagePolicy(mode="off"))
    assert await _first_source(account.app, await account.log_in()) == [f"{account.site.url}/"]


async def _publish_picture(account: AppAccount) -> None:
    await account.publish("Seen", content=f'<p>Look</p><img src="{account.site.url}/a.png" alt="">')


async def _first_source(client: Client, headers: dict[str, str]) -> list[str]:
    answer = await client.get("/reader/api/0/stream/contents/", params={"n": "1"}, headers=headers)
    content = answer.json()["items"][0]["summary"]["content"]
    return [re.sub(r"(?<=/)(?:[\w-]{22}/[\w-]+|a\.png)$", "", found) for found in SOURCE.findall(content)]
