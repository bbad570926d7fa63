"""An account that has one of everything, so that the pages of a walk are those that readers see.

Names are Cyrillic, so that Latin letters on a page are texts of the page.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from reedbed.domain.codes import STEP, code_of, secret_bytes
from reedbed.domain.digests import DigestScope, DigestText, Paragraph, Sentence, Source
from reedbed.ingest.plugins import Plugin, Plugins
from reedbed.services.digests import unsubscribe_link
from reedbed.services.email import make_link
from reedbed.services.stories import StoryGrouper
from reedbed.store import digests
from tests.clients import Client
from tests.feedsite import FeedSite
from tests.services.writing import Desk
from tests.smtp_server import SmtpServer, words_of, work_off
from tests.unit.domain.test_recipes import CONNECTOR, SITE, THEME

RULE = {
    "name": "Правило",
    "match": "all",
    "conditions": [{"field": "title", "operator": "contains", "value": "цапля"}],
    "actions": [{"action": "tag", "value": "птицы"}, {"action": "star"}],
}
OUTLETS = {
    "вести": ("Совет закрыл разводной мост для машин", "Автобусам оставили одну полосу над водой."),
    "почта": ("СКАНДАЛ: совет НАГЛО закрыл разводной мост", "Источники шепчут о грузовиках порта."),
    "киоск": ("Разводной мост закрыт советом для машин", "Паромы ходят каждые десять минут до зимы."),
}
SHARED = "Совет голосами 31 против 28 решил закрыть разводной мост для машин с сентября."
"""What three outlets tell about one event."""
QUOTE = "Серая цапля"


async def write_everything(
    desk: Desk, owner: Client, mails: SmtpServer, site: FeedSite, folder: Path
) -> Mapping[str, object]:
    """What stands for each parameter of an address."""
    await _sent(owner, "/api/v1/users/me", {"preferences": {"mail_language": "ru"}}, method="PATCH")
    known = await _write_feeds(desk, owner)
    known |= await _write_stories(desk, owner, site)
    await _read(owner)
    known |= await _keep(owner, str(known["entry_id"]))
    known |= await _make(desk, owner, int(str(known["entry_id"])))
    await _secure(desk, owner)
    _add_recipes(desk, folder)
    return known | await _send_links(desk, owner, mails)


async def _sent(client: Client, path: str, body: object = None, *, method: str = "POST", **form: Any) -> Any:
    """The answer to JSON or to a form, which has to be a good one."""
    answer = await client.request(method, path, **({"data": form} if form else {"json": body}))
    assert answer.status_code < 400, f"{path}: {answer.text[:2000]}"
    return answer.json() if answer.headers.get("content-type", "").startswith("application/json") else None


async def _write_feeds(desk: Desk, owner: Client) -> dict[str, object]:
    entry = await desk.entry(f"{QUOTE} свила гнездо. " * 30, title="Цапля " * 14, more="")
    folder = (await _sent(owner, "/api/v1/folders", {"name": "Утро"}))["id"]
    (first,) = (await owner.get("/api/v1/subscriptions")).json()["items"]
    path = f"/api/v1/subscriptions/{first['id']}"
    await _sent(owner, path, {"title": "Лента", "folder_id": folder}, method="PATCH")
    return {
        "entry_id": entry,
        "feed_id": first["feed"]["id"],
        "subscription_id": first["id"],
        "/folder/": folder,
        "/feed/": first["id"],
        "name": "птицы",
    }


async def _write_stories(desk: Desk, owner: Client, site: FeedSite) -> dict[str, object]:
    site.feed("звук", title="Звуки")
    site.publish_episode("Голос болота", feed="звук", author="Анна", tags=("птицы",))
    for name, (title, own) in OUTLETS.items():
        site.feed(name, title=name.title())
        site.publish(title, key="a", feed=name, content=f"<p>{SHARED} {own}</p>", author="Пётр")
    for name in ("звук", *OUTLETS):
        await desk.harness.follow(site.feed_url(name), user_id=desk.user.id)
    await desk.harness.check()
    await StoryGrouper().group_new(desk.runtime)
    (story,) = (await owner.get("/api/v1/stories")).json()["items"]
    shared = await _sent(owner, "/api/v1/shared-stories", {"story_id": story["id"]})
    return {"story_id": story["id"], "/shared/": shared["url"].rpartition("/")[2]}


async def _read(owner: Client) -> None:
    """Acts of a reader, so that there is something to believe, and an episode that was begun."""
    await _sent(owner, "/interest", on="true", marks="true")
    items = (await owner.get("/api/v1/entries?limit=50")).json()["items"]
    for item in items:
        await _sent(owner, "/api/v1/interest/seen", {"read": [item["id"]], "passed": []})
        liked = {"starred": item["author"] != "Пётр", "tags": ["птицы"], "later": True}
        await _sent(owner, f"/api/v1/entries/{item['id']}", liked, method="PATCH")
    episode = next(item["id"] for item in items if "Голос" in item["title"])
    await _sent(owner, "/api/v1/playback/queue", {"entry_id": episode})
    await _sent(owner, f"/api/v1/playback/positions/{episode}", {"position": 61, "total": 1800}, method="PUT")


async def _keep(owner: Client, entry: str) -> dict[str, object]:
    """What a reader sets up, a row of each."""
    await _sent(owner, "/api/v1/highlights", {"entry_id": entry, "quote": QUOTE, "note": "Заметка"})
    await _sent(owner, "/api/v1/rules", RULE)
    await _sent(owner, "/settings/sharing", kind="linkding", name="Ссылки", url="https://127.0.0.1/", token="т")
    await _sent(owner, "/api/v1/published-feeds", {"name": "Птицы"})
    await _sent(owner, "/api/v1/books/plans", {"view": "starred", "time": "06:30", "weekday": 5})
    await _sent(owner, "/api/v1/books", {"view": "all"})
    await _sent(owner, "/api/v1/users/me/tokens", {"name": "Книга", "kind": "app_password"})
    search = await _sent(owner, "/api/v1/searches", {"name": "Гнездо", "query": "гнездо"})
    hook = await _sent(owner, "/api/v1/webhooks", {"name": "Хук", "url": "https://127.0.0.1/", "events": ["digest"]})
    await _sent(owner, f"/api/v1/webhooks/{hook['id']}/test")
    await _sent(owner, f"/entry/{entry}/bookmark", value="true")
    (bookmark,) = (await owner.get("/api/v1/bookmarks")).json()["items"]
    return {"search_id": search["id"], "bookmark_id": bookmark["id"], "webhook_id": hook["id"]}


async def _make(desk: Desk, owner: Client, entry: int) -> dict[str, object]:
    """A digest, an answer, an import of which a line failed, and whatever else waits for the worker."""
    text = DigestText(
        (Paragraph("Птицы", (Sentence("Цапля.", (entry,)),), "folder"),), (Source(entry, "Цапля", "Лента", 1),)
    )
    async with desk.runtime.db.write() as tx:
        digest = await digests.add(tx, desk.user.id, DigestScope(), model="extract", language="ru", since=1, now=2)
        await digests.finish(tx, digest, text, model="extract", language="ru", entries=1, now=2)
    question = await _sent(owner, "/api/v1/questions", {"question": "Кто свил гнездо?"})
    kept = {"items": [{"title": "Камыш", "canonicalUrl": "https://x.example.org/1"}, {"title": "Без адреса"}]}
    begun = await owner.post("/api/v1/import", content=json.dumps(kept).encode())
    assert begun.status_code == 202, begun.text
    await work_off(desk.runtime)
    return {"digest_id": digest, "question_id": question["id"], "import_id": begun.json()["id"]}


async def _secure(desk: Desk, owner: Client) -> None:
    """One-time codes that are on, a passkey of another address, an invitation, a second member."""
    begun = await _sent(owner, "/api/v1/users/me/codes")
    code = code_of(secret_bytes(begun["secret"]), desk.runtime.now() // STEP)
    await _sent(owner, "/api/v1/users/me/codes/enable", {"code": code})
    await desk.harness.change(
        "INSERT INTO passkeys (user_id, name, credential_id, public_key, user_handle, sign_count, backup_eligible, "
        "backed_up, rp_id, created_at) VALUES (:user, 'Ключ', 'c', 'k', 'h', 0, false, false, 'example.org', 1) "
        "RETURNING id",
        user=desk.user.id,
    )
    await desk.harness.person()
    await _sent(owner, "/admin/people/invites", email="guest@example.org")


def _add_recipes(desk: Desk, folder: Path) -> None:
    """One of each kind, one of them wrong."""
    theme, connector = THEME.replace("Night", "Ночь"), CONNECTOR.replace('"Box"', '"Ящик"')
    for name, text in (("night", theme), ("box", connector), ("courier", SITE.replace("keep", "kep"))):
        (folder / f"{name}.toml").write_text(text)
    desk.runtime.recipes.path = folder
    desk.runtime.recipes.look()


def failing_plugins() -> Plugins:
    """One that is off, and one that could not be loaded."""
    plugin = Plugin("приливы", "приливы 1.0", SimpleNamespace(connector=str))
    plugin.note_fault("connector", "Ошибка", fatal=True)
    return Plugins([plugin, Plugin("нет", fault="Нет.")])


async def _send_links(desk: Desk, owner: Client, mails: SmtpServer) -> dict[str, object]:
    """The secret ends of addresses that are sent by mail or handed to apps."""
    runtime, email = desk.runtime, desk.user.email
    await _sent(owner, "/books/address", address="reader@example.org")
    await work_off(runtime)
    words = " ".join(words_of(letter) for letter in mails.letters).split()
    app = await _sent(owner, "/index.php/login/v2")
    links = {
        "/books/confirm/": next(word for word in words if "/books/confirm/" in word),
        "/connect/": app["login"],
        "/digests/unsubscribe/": unsubscribe_link(runtime, desk.user.id),
        "/reset/": await make_link(runtime, "reset", email, desk.user.id),
        "/verify/": await make_link(runtime, "verify", email, desk.user.id),
    }
    return {start: link.rpartition("/")[2] for start, link in links.items()}
