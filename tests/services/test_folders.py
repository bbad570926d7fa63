"""Folders keep a tree, whatever is asked."""

import pytest

from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.services.folders import change_folder, create_folder, delete_folder, reorder_folders
from reedbed.services.subscriptions.manage import SubscribeOptions, subscribe
from reedbed.store import folders, subscriptions
from tests.crawling import Crawl


async def test_deleting_a_folder_moves_its_feeds_and_folders_up(crawl: Crawl) -> None:
    user = await crawl.person()
    outer = await create_folder(crawl.runtime, user, "Outer")
    middle = await create_folder(crawl.runtime, user, "Middle", outer.id)
    inner = await create_folder(crawl.runtime, user, "Inner", middle.id)
    made = await subscribe(
        crawl.runtime, user, SubscribeOptions("http://127.0.0.1:9/feed", middle.id, looked=True)
    )
    await delete_folder(crawl.runtime, user, middle.id)
    async with crawl.runtime.db.read() as tx:
        rows = {row.id: row.parent_id for row in await folders.of_user(tx, user)}
        followed = await subscriptions.get(tx, user, made.id)
    assert rows == {outer.id: None, inner.id: outer.id}
    assert followed is not None
    assert followed.folder_id == outer.id


async def test_a_folder_cannot_lie_inside_itself(crawl: Crawl) -> None:
    user = await crawl.person()
    outer = await create_folder(crawl.runtime, user, "Outer")
    inner = await create_folder(crawl.runtime, user, "Inner", outer.id)
    with pytest.raises(Invalid, match="inside itself"):
        await change_folder(crawl.runtime, user, outer.id, parent=inner.id)


async def test_renaming_keeps_the_place_and_moving_keeps_the_name(crawl: Crawl) -> None:
    user = await crawl.person()
    outer = await create_folder(crawl.runtime, user, "Outer")
    inner = await create_folder(crawl.runtime, user, "Inner", outer.id)
    renamed = await change_folder(crawl.runtime, user, inner.id, name="Core")
    moved = await change_folder(crawl.runtime, user, inner.id, parent=None)
    assert (renamed.name, renamed.parent_id) == ("Core", outer.id)
    assert (moved.name, moved.parent_id) == ("Core", None)


async def test_the_order_is_what_was_asked(crawl: Crawl) -> None:
    user = await crawl.person()
    made = [await create_folder(crawl.runtime, user, name) for name in ("A", "B", "C")]
    await reorder_folders(crawl.runtime, user, None, [made[2].id, made[0].id, made[1].id])
    async with crawl.runtime.db.read() as tx:
        assert [row.name for row in await folders.of_user(tx, user)] == ["C", "A", "B"]
    with pytest.raises(Invalid, match="every folder"):
        await reorder_folders(crawl.runtime, user, None, [made[0].id])


async def test_two_folders_of_one_name_on_one_level_are_refused(crawl: Crawl) -> None:
    user = await crawl.person()
    await create_folder(crawl.runtime, user, "News")
    with pytest.raises(Conflict):
        await create_folder(crawl.runtime, user, " News ")


async def test_another_s_folder_does_not_exist(crawl: Crawl) -> None:
    mine, theirs = await crawl.person(), await crawl.person()
    folder = await create_folder(crawl.runtime, theirs, "Theirs")
    with pytest.raises(NotFound):
        await change_folder(crawl.runtime, mine, folder.id, name="Mine")
    with pytest.raises(NotFound):
        await delete_folder(crawl.runtime, mine, folder.id)
    with pytest.raises(NotFound):
        await create_folder(crawl.runtime, mine, "Inside", folder.id)
