"""Folders keep a tree, whatever is asked."""

import pytest

from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.services.folders import change_folder, create_folder, delete_folder, reorder_folders
from reedbed.services.subscriptions.manage import SubscribeOptions, subscribe
from reedbed.store import folders, subscriptions
from tests.harness import RuntimeHarness


async def test_deleting_a_folder_moves_its_feeds_and_folders_up(harness: RuntimeHarness) -> None:
    user = await harness.person()
    outer = await create_folder(harness.runtime, user, "Outer")
    middle = await create_folder(harness.runtime, user, "Middle", outer.id)
    inner = await create_folder(harness.runtime, user, "Inner", middle.id)
    made = await subscribe(harness.runtime, user, SubscribeOptions("http://127.0.0.1:9/feed", middle.id, looked=True))
    await delete_folder(harness.runtime, user, middle.id)
    async with harness.runtime.db.read() as tx:
        rows = {row.id: row.parent_id for row in await folders.of_user(tx, user)}
        followed = await subscriptions.get(tx, user, made.id)
    assert rows == {outer.id: None, inner.id: outer.id}
    assert followed is not None
    assert followed.folder_id == outer.id


async def test_a_folder_cannot_lie_inside_itself(harness: RuntimeHarness) -> None:
    user = await harness.person()
    outer = await create_folder(harness.runtime, user, "Outer")
    inner = await create_folder(harness.runtime, user, "Inner", outer.id)
    with pytest.raises(Invalid, match="inside itself"):
        await change_folder(harness.runtime, user, outer.id, parent=inner.id)


async def test_renaming_keeps_the_place_and_moving_keeps_the_name(harness: RuntimeHarness) -> None:
    user = await harness.person()
    outer = await create_folder(harness.runtime, user, "Outer")
    inner = await create_folder(harness.runtime, user, "Inner", outer.id)
    renamed = await change_folder(harness.runtime, user, inner.id, name="Core")
    moved = await change_folder(harness.runtime, user, inner.id, parent=None)
    assert (renamed.name, renamed.parent_id) == ("Core", outer.id)
    assert (moved.name, moved.parent_id) == ("Core", None)


async def test_the_order_is_what_was_asked(harness: RuntimeHarness) -> None:
    user = await harness.person()
    made = [await create_folder(harness.runtime, user, name) for name in ("A", "B", "C")]
    await reorder_folders(harness.runtime, user, None, [made[2].id, made[0].id, made[1].id])
    async with harness.runtime.db.read() as tx:
        assert [row.name for row in await folders.of_user(tx, user)] == ["C", "A", "B"]
    with pytest.raises(Invalid, match="every folder"):
        await reorder_folders(harness.runtime, user, None, [made[0].id])


async def test_two_folders_of_one_name_on_one_level_are_refused(harness: RuntimeHarness) -> None:
    user = await harness.person()
    await create_folder(harness.runtime, user, "News")
    with pytest.raises(Conflict):
        await create_folder(harness.runtime, user, " News ")


async def test_another_s_folder_does_not_exist(harness: RuntimeHarness) -> None:
    mine, theirs = await harness.person(), await harness.person()
    folder = await create_folder(harness.runtime, theirs, "Theirs")
    with pytest.raises(NotFound):
        await change_folder(harness.runtime, mine, folder.id, name="Mine")
    with pytest.raises(NotFound):
        await delete_folder(harness.runtime, mine, folder.id)
    with pytest.raises(NotFound):
        await create_folder(harness.runtime, mine, "Inside", folder.id)
