"""Google Reader and Fever apps: their edits, subscriptions and labels, and their logins.

A Google Reader app logs in once with an app password and then uses a login token. Neither kind of token is
stored. The login token is signed over the app password and is revoked with it; the edit token is valid for
half an hour, as Google's was.
"""

import hmac
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256

from reedbed.domain.entries import Selection, StateChange
from reedbed.domain.errors import Conflict, Invalid, NotFound, TooMany
from reedbed.domain.reader_apps import FeedStream, Labels, TagEdit, labels_of
from reedbed.domain.records import UNSET, record
from reedbed.domain.subscriptions import Followed
from reedbed.domain.times import MINUTE, SECOND, Instant
from reedbed.domain.urls import MAX_NAME
from reedbed.domain.users import Allowance, Caller
from reedbed.services.auth import app_password_login, fever_login, identify, touch
from reedbed.services.entries import delete_tag, merge_tag, rename_tag
from reedbed.services.folders import change_folder, create_folder, delete_folder
from reedbed.services.live import publish_states
from reedbed.services.read_state import change_entries, mark, untag_entries
from reedbed.services.runtime import Runtime
from reedbed.services.security import network_of, spend, token_hash
from reedbed.services.subscriptions.manage import (
    AlreadySubscribed,
    SubscribeOptions,
    SubscriptionChange,
    change_subscription,
    subscribe,
    unsubscribe,
)
from reedbed.store import auth, folders, reader_apps, tags
from reedbed.store.read_state import stars, undo

RECENTLY = 15 * MINUTE


async def edit_entries(runtime: Runtime, user_id: int, entry_ids: list[int], edit: TagEdit) -> None:
    """Idempotent: states are set, never toggled. Entries the user cannot see are ignored."""
    change = StateChange(read=edit.read, starred=edit.starred, tags=edit.labels_on or None)
    if change != StateChange():
        await change_entries(runtime, user_id, entry_ids, change, by_app=True)
    if edit.labels_off:
        await untag_entries(runtime, user_id, entry_ids, edit.labels_off)
    if edit.read and len(entry_ids) == 1:
        async with runtime.db.write() as tx:
            await stars.record_reads(tx, user_id, entry_ids, runtime.now())


async def mark_read_until(
    runtime: Runtime, user_id: int, selections: Iterable[Selection], until: Instant | None
) -> None:
    """Mark entries read that arrived until `until`; None means now."""
    up_to = None if until is None else await _newest_if_none_after(runtime, user_id, until)
    for selection in selections:
        if until is not None:
            bounded = replace(selection, up_to=up_to) if up_to else replace(selection, arrived_by=until)
            await mark(runtime, user_id, bounded)
        else:
            await mark(runtime, user_id, selection)


async def unread_recent(runtime: Runtime, user_id: int) -> None:
    """Undo what was marked read in the last 15 minutes, in bulk or one by one."""
    since = runtime.now() - RECENTLY
    async with runtime.db.write() as tx:
        step = await undo.latest(tx, user_id, since)
        if step is not None and step.kind != "unread":
            await undo.apply_undo(tx, step)
        ids = await stars.read_since(tx, user_id, since)
    if ids:
        await change_entries(runtime, user_id, ids, StateChange(read=False))
    else:
        await publish_states(runtime, user_id, (), StateChange(read=False))


@record
class SubscriptionEdit:
    """An app's changes to a subscription: its title, and labels to add or remove."""

    title: str = ""
    labels_on: tuple[str, ...] = ()
    labels_off: tuple[str, ...] = ()


async def follow(runtime: Runtime, user_id: int, url: str, placing: SubscriptionEdit) -> Followed:
    """Subscribe, or update an existing subscription: apps send the request twice."""
    title = placing.title.strip()[:MAX_NAME] or None
    try:
        subscription = await subscribe(
            runtime, user_id, SubscribeOptions(url, title=title, only_found=True, asked_as=_requested_url(url))
        )
    except AlreadySubscribed as conflict:
        existing = await _get_subscription(runtime, user_id, conflict.subscription_id)
        await arrange(runtime, user_id, existing, placing)
        return existing
    # Only now, because a folder for a feed that does not exist would stay empty.
    folder_ids = await _folders_after(runtime, user_id, (), placing)
    if folder_ids:
        await change_subscription(runtime, user_id, subscription.id, SubscriptionChange(folder_ids=folder_ids))
    return await _get_subscription(runtime, user_id, subscription.id)


async def arrange(runtime: Runtime, user_id: int, subscription: Followed, placing: SubscriptionEdit) -> None:
    """Rename it, put it into the folders of the added labels and take it out of those of the removed ones."""
    folder_ids = await _folders_after(runtime, user_id, subscription.folder_ids, placing)
    change = SubscriptionChange(
        title=placing.title.strip()[:MAX_NAME] or UNSET,
        folder_ids=UNSET if folder_ids == subscription.folder_ids else folder_ids,
    )
    if change != SubscriptionChange():
        await change_subscription(runtime, user_id, subscription.subscription_id, change)


async def leave(runtime: Runtime, user_id: int, stream: FeedStream) -> None:
    """Unsubscribe; does nothing if the user does not follow the feed."""
    async with runtime.db.read() as tx:
        subscription = next(
            (followed for followed in await reader_apps.list_followed(tx, user_id) if _matches(followed, stream)), None
        )
    if subscription is not None:
        await unsubscribe(runtime, user_id, subscription.subscription_id)


async def unsubscribed_feed_url(runtime: Runtime, user_id: int, feed_id: int | None) -> str:
    """The URL of a feed this user has unsubscribed from; empty for any other."""
    if feed_id is None:
        return ""
    async with runtime.db.read() as tx:
        return await reader_apps.unsubscribed_url(tx, user_id, feed_id) or ""


async def rename_label(runtime: Runtime, user_id: int, old: str, new: str) -> None:
    """Rename the folder and the tag with this name. A folder stays where it is in the tree."""
    labels = await _labels(runtime, user_id)
    inside, tag = labels.folder_ids(old), labels.tag(old)
    if not inside and tag is None:
        raise Invalid("There is no such label.", field="s")
    for folder_id in inside:
        await _rename_folder(runtime, user_id, labels, folder_id, new)
    if tag is not None:
        await _rename_tag(runtime, user_id, tag, new)


async def remove_labels(runtime: Runtime, user_id: int, names: Sequence[str]) -> None:
    """Delete folders and tags. The feeds of a folder move to its parent; entries only lose the tag."""
    for name in names:
        labels = await _labels(runtime, user_id)
        for folder_id in labels.folder_ids(name):
            await delete_folder(runtime, user_id, folder_id)
        tag_id = await _tag_id(runtime, user_id, labels.tag(name))
        if tag_id is not None:
            await delete_tag(runtime, user_id, tag_id)


async def _newest_if_none_after(runtime: Runtime, user_id: int, until: Instant) -> int | None:
    """The newest entry if none arrived after `until`: then a read marker is enough and no rows change."""
    async with runtime.db.read() as tx:
        newest = (await reader_apps.newest_arrivals(tx, user_id)).values()
    if not newest or any(arrived > until for _, arrived in newest):
        return None
    return max(entry_id for entry_id, _ in newest)


async def _folders_after(
    runtime: Runtime, user_id: int, before: Sequence[int], placing: SubscriptionEdit
) -> tuple[int, ...]:
    """The folders of a feed with the added labels, which are created if missing, and without the removed ones."""
    if not placing.labels_on and not placing.labels_off:
        return tuple(before)
    labels = await _labels(runtime, user_id)
    removed = {id_ for name in placing.labels_off for id_ in labels.folder_ids(name)}
    after = [id_ for id_ in before if id_ not in removed]
    for label in placing.labels_on:
        known = labels.folder_ids(label)
        after.append(known[0] if known else (await create_folder(runtime, user_id, label)).id)
    return tuple(dict.fromkeys(after))


async def _rename_folder(runtime: Runtime, user_id: int, labels: Labels, folder_id: int, new: str) -> None:
    above = labels.folders[folder_id].removesuffix(labels.names[folder_id])
    try:
        await change_folder(runtime, user_id, folder_id, name=new.removeprefix(above))
    except Conflict:
        await _move_feeds(runtime, user_id, folder_id, labels.folder_ids(new))


async def _move_feeds(runtime: Runtime, user_id: int, folder_id: int, targets: Sequence[int]) -> None:
    """Move the feeds to the folder that already has the new name, and delete the emptied folder."""
    if not targets or targets[0] == folder_id:
        return
    async with runtime.db.read() as tx:
        inside = [
            followed for followed in await reader_apps.list_followed(tx, user_id) if folder_id in followed.folder_ids
        ]
    for followed in inside:
        moved = tuple(targets[0] if id_ == folder_id else id_ for id_ in followed.folder_ids)
        await change_subscription(runtime, user_id, followed.subscription_id, SubscriptionChange(folder_ids=moved))
    await delete_folder(runtime, user_id, folder_id)


async def _rename_tag(runtime: Runtime, user_id: int, tag: str, new: str) -> None:
    """A tag with the new name is merged with this one, as with folders."""
    tag_id = await _tag_id(runtime, user_id, tag)
    if tag_id is None:
        return
    try:
        await rename_tag(runtime, user_id, tag_id, new)
    except Conflict:
        await merge_tag(runtime, user_id, tag_id, new)


async def _labels(runtime: Runtime, user_id: int) -> Labels:
    async with runtime.db.read() as tx:
        return labels_of(await folders.of_user(tx, user_id), await tags.names(tx, user_id))


async def _tag_id(runtime: Runtime, user_id: int, name: str | None) -> int | None:
    if name is None:
        return None
    async with runtime.db.read() as tx:
        return await tags.id_of(tx, user_id, name)


def _requested_url(url: str) -> str | None:
    return url.strip() if "@" not in url else None


async def _get_subscription(runtime: Runtime, user_id: int, subscription_id: int) -> Followed:
    async with runtime.db.read() as tx:
        followed_feeds = await reader_apps.list_followed(tx, user_id)
    subscription = next((followed for followed in followed_feeds if followed.subscription_id == subscription_id), None)
    if subscription is None:
        raise NotFound("Feed not found")
    return subscription


def _matches(followed: Followed, stream: FeedStream) -> bool:
    return followed.feed_id == stream.feed_id if stream.feed_id is not None else followed.is_at(stream.url)


# --- Logins and tokens

FAILURES = Allowance(60, 1)
"""App passwords cannot be guessed, so this only limits noise: a phone with an old password retries often."""

EDIT_TOKEN_TTL = 30 * MINUTE
_LOGIN_TOKEN = re.compile(r"[1-9][0-9]{0,17}-[0-9a-f]{40}")
_TIME_DIGITS, _SIGNATURE_DIGITS = 9, 48
_LEEWAY = MINUTE
_MAX_EMAIL_LENGTH = 320


async def log_in(runtime: Runtime, email: str, password: str, *, ip: str | None) -> str | None:
    """A login token for this account, or None."""
    try:
        caller = await app_password_login(runtime, email, password, ip=ip)
    except TooMany:
        caller = None
    if caller is None or caller.token_id is None:
        account = token_hash(email[:_MAX_EMAIL_LENGTH].strip().lower())[:16]
        await spend(runtime, f"reader-login:{network_of(ip)}", FAILURES)
        await spend(runtime, f"reader-account:{account}", FAILURES)
        return None
    async with runtime.db.read() as tx:
        token = await auth.get_token(tx, "app_password", caller.token_id)
    return _login_token(runtime, caller.token_id, token[2]) if token else None


async def caller_by_fever_key(runtime: Runtime, api_key: str, *, ip: str | None) -> Caller | None:
    """Fever answers a wrong key with status 200, so a phone with an old key keeps asking for a while."""
    hashed = token_hash(f"fever {api_key.strip().lower()}")
    caller = runtime.callers.get(hashed)
    if caller is not None:
        return caller
    reading = runtime.callers.look()
    try:
        caller = await fever_login(runtime, api_key, ip=ip)
    except TooMany:
        caller = None
    if caller is None:
        await spend(runtime, f"reader-login:{network_of(ip)}", FAILURES)
        return None
    runtime.callers.remember(hashed, caller, reading)
    return caller


async def caller_by_login_token(runtime: Runtime, token: str) -> Caller | None:
    """The user of a login token, an API token or a session."""
    if not _LOGIN_TOKEN.fullmatch(token):
        return await identify(runtime, token)
    hashed = token_hash(f"reader {token}")
    caller = runtime.callers.get(hashed)
    if caller is None:
        reading = runtime.callers.look()
        caller = await _find_caller(runtime, int(token.partition("-")[0]), token)
        if caller is not None:
            runtime.callers.remember(hashed, caller, reading)
    return caller


def new_edit_token(runtime: Runtime, caller: Caller) -> str:
    return _edit_token(runtime, caller, runtime.now() // SECOND)


def is_valid_edit_token(runtime: Runtime, caller: Caller, token: str) -> bool:
    """Blank and `x` pass: the header authenticates the app, and there is no cookie for CSRF to use."""
    value = token.strip()
    if value in ("", "x"):
        return True
    made_at = _token_time(value)
    if made_at is None:
        return False
    age = runtime.now() - made_at
    expected = _edit_token(runtime, caller, made_at // SECOND)
    return hmac.compare_digest(value.encode(), expected.encode()) and -_LEEWAY <= age <= EDIT_TOKEN_TTL


async def _find_caller(runtime: Runtime, token_id: int, token: str) -> Caller | None:
    async with runtime.db.read() as tx:
        row = await auth.get_token(tx, "app_password", token_id)
    if row is None:
        return None
    caller, last_used, secret_hash = row
    expected = _login_token(runtime, token_id, secret_hash)
    if not hmac.compare_digest(token.encode(), expected.encode()):
        return None
    await touch(runtime, caller, last_used)
    return caller


def _login_token(runtime: Runtime, token_id: int, secret_hash: str) -> str:
    """Only digits, a hyphen and letters: apps need not escape it and do not cut it off."""
    return f"{token_id}-{_sign(runtime, f'login {token_id} {secret_hash}')[:40]}"


def _edit_token(runtime: Runtime, caller: Caller, second: int) -> str:
    """57 characters, like Google's."""
    signature = _sign(runtime, f"edit {caller.user_id} {second}")[:_SIGNATURE_DIGITS]
    return f"{second:0{_TIME_DIGITS}x}{signature}"


def _token_time(token: str) -> Instant | None:
    if len(token) != _TIME_DIGITS + _SIGNATURE_DIGITS:
        return None
    try:
        return int(token[:_TIME_DIGITS], 16) * SECOND
    except ValueError:
        return None


def _sign(runtime: Runtime, text: str) -> str:
    return hmac.new(runtime.secret, b"reader\0" + text.encode(), sha256).hexdigest()
