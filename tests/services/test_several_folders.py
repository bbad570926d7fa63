"""A feed can lie in several folders, and its entries are counted once in the folder around them."""

import pytest

from reedbed.domain.entries import Counts, ViewQuery
from reedbed.domain.errors import NotFound
from reedbed.domain.records import record
from reedbed.domain.subscriptions import Subscription
from reedbed.services.folders import create_folder, delete_folder, mute_folder
from reedbed.services.rules.match import rule_subject
from reedbed.services.subscriptions.manage import (
    SubscribeOptions,
    SubscriptionChange,
    change_subscription,
    subscribe,
    unsubscribe,
)
from reedbed.services.transfer.opml import export_opml, import_opml
from reedbed.store import folders, sidebar, subscriptions
from reedbed.store.entries import lists
from reedbed.store.entries.read import visible_texts
from reedbed.store.read_state import counts
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness


@record
class Filed:
    """A feed with three unread entries, in the folders `a` and `b` of `outer`."""

    harness: RuntimeHarness
    user: int
    outer: int
    a: int
    b: int
    id: int

    async def now(self) -> Subscription:
        async with self.harness.runtime.db.read() as tx:
            current = await subscriptions.get(tx, self.user, self.id)
        assert current is not None
        return current

    async def counts(self) -> Counts:
        async with self.harness.runtime.db.read() as tx:
            counted = await counts.counts(tx, self.user)
            summed, feeds = await counts.totals(tx, self.user, await folders.of_user(tx, self.user))
        assert (summed.unread, summed.folders, feeds) == (counted.unread, counted.folders, 1)
        return counted

    async def listed(self, folder_id: int) -> list[str]:
        async with self.harness.runtime.db.read() as tx:
            page = await lists.page(tx, self.user, ViewQuery("unread", folder_id=folder_id), None, 50)
        assert page is not None
        return sorted(row.title for row in page.rows)


@pytest.fixture
async def filed(harness: RuntimeHarness, site: FeedSite) -> Filed:
    user = await harness.person()
    outer = (await create_folder(harness.runtime, user, "Outer")).id
    a = (await create_folder(harness.runtime, user, "A", outer)).id
    b = (await create_folder(harness.runtime, user, "B", outer)).id
    for title in ("One", "Three", "Two"):
        site.publish(title, key=title)
    made = await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url(), folder_ids=(a, b)))
    return Filed(harness, user, outer, a, b, made.id)


async def test_each_folder_lists_it_and_the_one_around_counts_it_once(filed: Filed) -> None:
    counted = await filed.counts()
    assert counted.folders == {filed.outer: 3, filed.a: 3, filed.b: 3}
    assert counted.unread == 3
    for folder_id in (filed.outer, filed.a, filed.b):
        assert await filed.listed(folder_id) == ["One", "Three", "Two"]
    async with filed.harness.runtime.db.read() as tx:
        (feed,) = await sidebar.sidebar_feeds(tx, filed.user)
    assert feed.folder_ids == (filed.a, filed.b)


async def test_the_first_folder_changes_alone_and_none_takes_it_out_of_all(filed: Filed) -> None:
    runtime, user = filed.harness.runtime, filed.user
    other = (await create_folder(runtime, user, "Other")).id
    changed = await change_subscription(runtime, user, filed.id, SubscriptionChange(folder_id=other))
    assert changed.folder_ids == (other, filed.b)
    changed = await change_subscription(runtime, user, filed.id, SubscriptionChange(folder_id=filed.b))
    assert changed.folder_ids == (filed.b,)
    changed = await change_subscription(runtime, user, filed.id, SubscriptionChange(folder_ids=(filed.a, other)))
    assert changed.folder_ids == (filed.a, other)
    changed = await change_subscription(runtime, user, filed.id, SubscriptionChange(folder_id=None))
    assert (changed.folder_id, changed.folder_ids) == (None, ())


async def test_a_folder_of_somebody_else_is_refused(filed: Filed) -> None:
    stranger = await filed.harness.person()
    theirs = (await create_folder(filed.harness.runtime, stranger, "Theirs")).id
    with pytest.raises(NotFound):
        await change_subscription(
            filed.harness.runtime, filed.user, filed.id, SubscriptionChange(folder_ids=(filed.a, theirs))
        )
    assert (await filed.now()).folder_ids == (filed.a, filed.b)


async def test_deleting_its_first_folder_leaves_it_in_the_others(filed: Filed) -> None:
    await delete_folder(filed.harness.runtime, filed.user, filed.a)
    assert set((await filed.now()).folder_ids) == {filed.outer, filed.b}
    await delete_folder(filed.harness.runtime, filed.user, filed.outer)
    assert (await filed.now()).folder_ids == (filed.b,)
    await delete_folder(filed.harness.runtime, filed.user, filed.b)
    assert (await filed.now()).folder_ids == ()


async def test_muting_any_of_its_folders_mutes_it(filed: Filed) -> None:
    await mute_folder(filed.harness.runtime, filed.user, filed.b, filed.harness.runtime.now() + 1_000_000)
    assert (await filed.now()).muted_until is not None
    assert (await filed.counts()).unread == 0


async def test_rules_know_every_folder_of_an_entry(filed: Filed) -> None:
    async with filed.harness.runtime.db.read() as tx:
        page = await lists.page(tx, filed.user, ViewQuery("unread"), None, 1)
        assert page is not None
        (text,) = await visible_texts(tx, filed.user, [page.rows[0].id])
        subject = rule_subject(text, await folders.of_user(tx, filed.user))
    assert {name for _, name in subject.folders} == {"A", "B", "Outer"}


async def test_it_comes_back_into_its_folders_at_another_address(filed: Filed, site: FeedSite) -> None:
    runtime, user = filed.harness.runtime, filed.user
    moved = await change_subscription(runtime, user, filed.id, SubscriptionChange(url=site.feed_url("other")))
    assert (moved.id, moved.folder_ids) == (filed.id, (filed.a, filed.b))
    await unsubscribe(runtime, user, filed.id)
    again = await subscribe(
        runtime, user, SubscribeOptions(site.feed_url("other"), looked=True, folder_ids=(filed.b, filed.outer))
    )
    assert set(again.folder_ids) == {filed.b, filed.outer}


async def test_opml_lists_it_in_each_folder_and_takes_it_back(filed: Filed) -> None:
    runtime = filed.harness.runtime
    document = await export_opml(runtime, filed.user)
    assert document.count(b"xmlUrl=") == 2
    another = await filed.harness.person()
    report = await import_opml(runtime, another, document)
    assert (report.imported, report.skipped, report.errors) == (1, 0, ())
    async with runtime.db.read() as tx:
        (followed,) = await subscriptions.every(tx, another)
        names = {row.id: row.name for row in await folders.of_user(tx, another)}
    assert [names[id_] for id_ in followed.folder_ids] == ["A", "B"]
    again = await import_opml(runtime, another, document)
    assert (again.imported, [line.status for line in again.lines]) == (0, ["followed"])
