"""Logins of Google Reader apps: an app password opens the door once, a token made from it from then on.

Neither kind of token is stored. The login token is signed over the app password it came from and dies with
it; the edit token lives half an hour, as Google's did.
"""

import hmac
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256

from reedbed.domain.entries import Selection, StateChange
from reedbed.domain.errors import Conflict, Invalid, NotFound, TooMany
from reedbed.domain.reader_apps import FeedStream, Labels, TagEdit, labels_of
from reedbed.domain.records import record
from reedbed.domain.subscriptions import Followed
from reedbed.domain.times import MINUTE, SECOND, Instant
from reedbed.domain.unset import UNSET, Unset
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
    AlreadyFollowed,
    SubscribeOptions,
    SubscriptionChange,
    change_subscription,
    subscribe,
    unsubscribe,
)
from reedbed.store import auth, folders, subscriptions, tags
from reedbed.store.read_state import stars as history
from reedbed.store.read_state import undo

RECENTLY = 15 * MINUTE


async def edit_entries(runtime: Runtime, user_id: int, entry_ids: list[int], edit: TagEdit) -> None:
    """Set, never toggle; the same again changes nothing. What the user cannot see is left out."""
    change = StateChange(read=edit.read, starred=edit.starred, tags=edit.labels_on or None)
    if change != StateChange():
        await change_entries(runtime, user_id, entry_ids, change)
    if edit.labels_off:
        await untag_entries(runtime, user_id, entry_ids, edit.labels_off)
    if edit.read and len(entry_ids) == 1:
        async with runtime.db.write() as tx:
            await history.record_reads(tx, user_id, entry_ids, runtime.now())


async def mark_arrived(
    runtime: Runtime, user_id: int, selections: Iterable[Selection], until: Instant | None
) -> None:
    """Mark read what had arrived by `until`; None means by now."""
    up_to = None if until is None else await _newest_if_all_by(runtime, user_id, until)
    for selection in selections:
        if until is not None:
            bounded = replace(selection, up_to=up_to) if up_to else replace(selection, arrived_by=until)
            await mark(runtime, user_id, bounded)
        else:
            await mark(runtime, user_id, selection)


async def unread_recent(runtime: Runtime, user_id: int) -> None:
    """Take back what was read in the last minutes, the bulk act as well as the single entries."""
    since = runtime.now() - RECENTLY
    async with runtime.db.write() as tx:
        step = await undo.latest(tx, user_id, since)
        if step is not None and step.kind != "unread":
            await undo.apply_undo(tx, step)
        ids = await history.read_since(tx, user_id, since)
    if ids:
        await change_entries(runtime, user_id, ids, StateChange(read=False))
    else:
        await publish_states(runtime, user_id, (), StateChange(read=False))


@record
class Placing:
    """What an app wants of a subscription: a name, and labels it goes into or leaves."""

    title: str = ""
    labels_on: tuple[str, ...] = ()
    labels_off: tuple[str, ...] = ()


async def follow(runtime: Runtime, user_id: int, url: str, placing: Placing) -> Followed:
    """Follow, or arrange what is followed already: apps ask twice."""
    title = placing.title.strip()[:MAX_NAME] or None
    try:
        made = await subscribe(
            runtime, user_id, SubscribeOptions(url, title=title, only_found=True, asked_as=_as_asked(url))
        )
    except AlreadyFollowed as conflict:
        known = await _followed(runtime, user_id, conflict.subscription_id)
        await arrange(runtime, user_id, known, placing)
        return known
    # Only now: a folder for a feed that does not exist would stay empty.
    folder_id = await _folder_for(runtime, user_id, placing)
    if folder_id is not UNSET:
        await change_subscription(runtime, user_id, made.id, SubscriptionChange(folder_id=folder_id))
    return await _followed(runtime, user_id, made.id)


async def arrange(runtime: Runtime, user_id: int, known: Followed, placing: Placing) -> None:
    """Rename, and move to the label that was added, or out of the one that was removed."""
    folder_id = await _folder_for(runtime, user_id, placing)
    if isinstance(folder_id, Unset) and await _leaves(runtime, user_id, known, placing.labels_off):
        folder_id = None
    title = placing.title.strip()[:MAX_NAME] or UNSET
    if title is not UNSET or folder_id is not UNSET:
        await change_subscription(
            runtime, user_id, known.subscription_id, SubscriptionChange(title=title, folder_id=folder_id)
        )


async def leave(runtime: Runtime, user_id: int, stream: FeedStream) -> None:
    """What is not followed needs no leaving."""
    async with runtime.db.read() as tx:
        known = next(
            (one for one in await subscriptions.list_followed(tx, user_id) if _is(one, stream)), None
        )
    if known is not None:
        await unsubscribe(runtime, user_id, known.subscription_id)


async def left_feed(runtime: Runtime, user_id: int, feed_id: int | None) -> str:
    """The address of a feed this user followed once; empty for any other."""
    if feed_id is None:
        return ""
    async with runtime.db.read() as tx:
        return await subscriptions.left_address(tx, user_id, feed_id) or ""


async def rename_label(runtime: Runtime, user_id: int, old: str, new: str) -> None:
    """The folder and the tag of this name. A folder keeps its place in the tree."""
    labels = await _labels(runtime, user_id)
    inside, tag = labels.folder_ids(old), labels.tag(old)
    if not inside and tag is None:
        raise Invalid("There is no such label.", field="s")
    for folder_id in inside:
        await _rename_folder(runtime, user_id, labels, folder_id, new)
    if tag is not None:
        await _rename_tag(runtime, user_id, tag, new)


async def remove_labels(runtime: Runtime, user_id: int, names: Sequence[str]) -> None:
    """Feeds of a folder move up, never away; entries only lose the tag."""
    for name in names:
        labels = await _labels(runtime, user_id)
        for folder_id in labels.folder_ids(name):
            await delete_folder(runtime, user_id, folder_id)
        tag_id = await _tag_id(runtime, user_id, labels.tag(name))
        if tag_id is not None:
            await delete_tag(runtime, user_id, tag_id)


async def _newest_if_all_by(runtime: Runtime, user_id: int, until: Instant) -> int | None:
    """The newest entry, when nothing arrived after `until`: then a mark does it without touching rows."""
    async with runtime.db.read() as tx:
        newest = (await subscriptions.newest_arrivals(tx, user_id)).values()
    if not newest or any(arrived > until for _, arrived in newest):
        return None
    return max(entry_id for entry_id, _ in newest)


async def _folder_for(runtime: Runtime, user_id: int, placing: Placing) -> int | Unset:
    """The folder of the first label; made when there is none."""
    if not placing.labels_on:
        return UNSET
    label = placing.labels_on[0]
    known = (await _labels(runtime, user_id)).folder_ids(label)
    return known[0] if known else (await create_folder(runtime, user_id, label)).id


async def _leaves(runtime: Runtime, user_id: int, known: Followed, labels_off: Sequence[str]) -> bool:
    if known.folder_id is None or not labels_off:
        return False
    labels = await _labels(runtime, user_id)
    return any(known.folder_id in labels.folder_ids(name) for name in labels_off)


async def _rename_folder(runtime: Runtime, user_id: int, labels: Labels, folder_id: int, new: str) -> None:
    above = labels.folders[folder_id].removesuffix(labels.names[folder_id])
    try:
        await change_folder(runtime, user_id, folder_id, name=new.removeprefix(above))
    except Conflict:
        await _move_feeds(runtime, user_id, folder_id, labels.folder_ids(new))


async def _move_feeds(runtime: Runtime, user_id: int, folder_id: int, targets: Sequence[int]) -> None:
    """To the folder that has the wanted name already; the empty one goes."""
    if not targets or targets[0] == folder_id:
        return
    async with runtime.db.read() as tx:
        inside = [one for one in await subscriptions.list_followed(tx, user_id) if one.folder_id == folder_id]
    for one in inside:
        await change_subscription(
            runtime, user_id, one.subscription_id, SubscriptionChange(folder_id=targets[0])
        )
    await delete_folder(runtime, user_id, folder_id)


async def _rename_tag(runtime: Runtime, user_id: int, tag: str, new: str) -> None:
    """To what another is called already: the two become one, as with folders."""
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


def _as_asked(url: str) -> str | None:
    return url.strip() if "@" not in url else None


async def _followed(runtime: Runtime, user_id: int, subscription_id: int) -> Followed:
    async with runtime.db.read() as tx:
        every = await subscriptions.list_followed(tx, user_id)
    found = next((one for one in every if one.subscription_id == subscription_id), None)
    if found is None:
        raise NotFound("Feed not found")
    return found


def _is(one: Followed, stream: FeedStream) -> bool:
    return one.feed_id == stream.feed_id if stream.feed_id is not None else one.is_at(stream.url)


FAILURES = Allowance(60, 1)
"""App passwords cannot be guessed, so this only bounds noise; a phone with an old password asks often."""

EDIT_TOKEN_LIFE = 30 * MINUTE
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
        found = await auth.get_token(tx, "app_password", caller.token_id)
    return _login_token(runtime, caller.token_id, found[2]) if found else None


async def by_fever_key(runtime: Runtime, api_key: str, *, ip: str | None) -> Caller | None:
    """Fever's word for a wrong key is a good answer, so that a phone with an old one may ask for a while."""
    hashed = token_hash(f"fever {api_key.strip().lower()}")
    caller = runtime.callers.get(hashed)
    if caller is not None:
        return caller
    look = runtime.callers.look()
    try:
        caller = await fever_login(runtime, api_key, ip=ip)
    except TooMany:
        caller = None
    if caller is None:
        await spend(runtime, f"reader-login:{network_of(ip)}", FAILURES)
        return None
    runtime.callers.remember(hashed, caller, look)
    return caller


async def by_login_token(runtime: Runtime, token: str) -> Caller | None:
    """Who holds this token: of an app, or an API token or session of ours."""
    if not _LOGIN_TOKEN.fullmatch(token):
        return await identify(runtime, token)
    hashed = token_hash(f"reader {token}")
    caller = runtime.callers.get(hashed)
    if caller is None:
        look = runtime.callers.look()
        caller = await _look_up(runtime, int(token.partition("-")[0]), token)
        if caller is not None:
            runtime.callers.remember(hashed, caller, look)
    return caller


def new_edit_token(runtime: Runtime, caller: Caller) -> str:
    return _edit_token(runtime, caller, runtime.now() // SECOND)


def edit_token_is_good(runtime: Runtime, caller: Caller, token: str) -> bool:
    """Blank and `x` pass: the header has told who asks, and there is no cookie a foreign page could use."""
    given = token.strip()
    if given in ("", "x"):
        return True
    made_at = _made_at(given)
    if made_at is None:
        return False
    age = runtime.now() - made_at
    good = _edit_token(runtime, caller, made_at // SECOND)
    return hmac.compare_digest(given.encode(), good.encode()) and -_LEEWAY <= age <= EDIT_TOKEN_LIFE


async def _look_up(runtime: Runtime, token_id: int, token: str) -> Caller | None:
    async with runtime.db.read() as tx:
        found = await auth.get_token(tx, "app_password", token_id)
    if found is None:
        return None
    caller, last_used, secret_hash = found
    good = _login_token(runtime, token_id, secret_hash)
    if not hmac.compare_digest(token.encode(), good.encode()):
        return None
    await touch(runtime, caller, last_used)
    return caller


def _login_token(runtime: Runtime, token_id: int, secret_hash: str) -> str:
    """Digits, a hyphen and letters: no sign in it that an app could cut at or would have to escape."""
    return f"{token_id}-{_sign(runtime, f'login {token_id} {secret_hash}')[:40]}"


def _edit_token(runtime: Runtime, caller: Caller, second: int) -> str:
    """57 signs, as Google's."""
    signature = _sign(runtime, f"edit {caller.user_id} {second}")[:_SIGNATURE_DIGITS]
    return f"{second:0{_TIME_DIGITS}x}{signature}"


def _made_at(token: str) -> Instant | None:
    if len(token) != _TIME_DIGITS + _SIGNATURE_DIGITS:
        return None
    try:
        return int(token[:_TIME_DIGITS], 16) * SECOND
    except ValueError:
        return None


def _sign(runtime: Runtime, words: str) -> str:
    return hmac.new(runtime.secret, b"reader\0" + words.encode(), sha256).hexdigest()
