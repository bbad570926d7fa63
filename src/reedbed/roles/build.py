"""Build the `Runtime` from the settings: database, clients, policies, sign-in providers, models and mail."""

import asyncio
import gc
import os
import secrets
import socket
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import structlog

from reedbed import __version__
from reedbed.domain.errors import CannotStart, Conflict, ReedbedError, Unavailable
from reedbed.domain.languages import Texts
from reedbed.domain.times import MINUTE, Instant
from reedbed.events.bus import Bus, MemoryBus
from reedbed.events.limits import FileHostThrottle, HostThrottle, Limiter, MemoryHostThrottle, MemoryLimiter
from reedbed.ingest.http.client import Fetcher
from reedbed.ingest.http.guard import Guard
from reedbed.ingest.plugins import PluginFailed, Plugins, SourceFetcher, checked_recipe, load_plugins
from reedbed.ingest.recipes import RecipeFolder
from reedbed.roles.observability import open_tracer
from reedbed.roles.policies import (
    account_policy,
    ai_policy,
    backup_policy,
    fetch_policy,
    http_policy,
    hub_policy,
    image_policy,
    limits,
    mail_policy,
    retention_policy,
    sign_in_policy,
    speech_policy,
    volume,
)
from reedbed.services import users
from reedbed.services.auth import watch_revocations
from reedbed.services.refresh.check import DatabaseHostThrottle
from reedbed.services.runtime import FramingPolicy, Runtime, watch_changes
from reedbed.settings import Settings
from reedbed.store import instance
from reedbed.store.engine.connect import open_database, open_with_replica, sqlite_path
from reedbed.store.engine.database import Database, Tx
from reedbed.store.engine.encryption import PREFIX, Vault, key_from_setting, make_key_file
from reedbed.store.jobs import list_processes
from reedbed.store.migrations import migrate_apart
from reedbed.store.secrets import INSTANCE_SECRET
from reedbed.store.startup import prepare

if TYPE_CHECKING:
    from reedbed.ingest.smtp import Mailer


# --- Runtime

log = structlog.get_logger()

PROJECT_URL = "https://github.com/reedbed/reedbed"


def system_clock() -> Instant:
    return time.time_ns() // 1_000_000


@asynccontextmanager
async def running(settings: Settings, *, may_migrate: bool) -> AsyncGenerator[Runtime]:
    """Open everything a runtime needs, and close it at the end in reverse order."""
    async with AsyncExitStack() as stack:
        db = await _database(settings, may_migrate=may_migrate)
        stack.push_async_callback(db.close)
        bus, limiter, host_throttle = await _open_shared_services(settings, db, stack)
        plugins = await asyncio.to_thread(load_plugins, settings.plugins)
        fetcher = _fetcher(settings, plugins)
        stack.push_async_callback(fetcher.close)
        ai, speech = ai_policy(settings, plugins), speech_policy(settings)
        sign_in = sign_in_policy(settings, system_clock)
        for client in dict.fromkeys((speech.speaker, ai.model, ai.fallback, ai.translator, sign_in.client)):
            if client is not None:
                stack.push_async_callback(client.close)
        name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(2)}"
        runtime = Runtime(
            db=db,
            bus=bus,
            fetcher=fetcher,
            host_throttle=host_throttle,
            limiter=limiter,
            clock=system_clock,
            secret=await _secret(settings, db, runs_everything=may_migrate),
            name=name,
            fetching=fetch_policy(settings),
            accounts=account_policy(settings),
            limits=limits(settings),
            http=http_policy(settings),
            ai=ai,
            speech=speech,
            framing=FramingPolicy(settings.deframer_items),
            hubs=hub_policy(settings),
            sign_in=sign_in,
            mailer=_mailer(settings),
            mail=mail_policy(settings),
            images=image_policy(settings),
            keeping=retention_policy(settings),
            backups=backup_policy(settings),
            recipes=await _recipes(settings, plugins),
            plugins=plugins,
            volume=volume(settings),
            tracer=open_tracer(settings, name, stack),
            texts=_texts_in,
        )
        await _owner_from_settings(settings, runtime)
        stack.push_async_callback(ended, asyncio.create_task(watch_revocations(runtime)))
        if settings.database_read_url:
            stack.push_async_callback(ended, asyncio.create_task(watch_changes(bus, runtime.recent_changes)))
        yield runtime


def _texts_in(language: str) -> Texts:
    from reedbed.web.i18n import texts_in  # imported late: the catalogues come with the first page or mail

    return texts_in(language)


async def _recipes(settings: Settings, plugins: Plugins) -> RecipeFolder:
    added: list[tuple[str, str]] = []
    for name in plugins.names("connector"):
        with suppress(PluginFailed):
            added.append((name, await plugins.call(name, "connector", lambda hook: checked_recipe(hook()))))
    recipes = RecipeFolder(settings.data_dir / "recipes", added)
    await asyncio.to_thread(recipes.look)
    return recipes


async def _database(settings: Settings, *, may_migrate: bool) -> Database:
    await prepare(settings.database, may_migrate=may_migrate, migrate=migrate_apart)
    vault = open_vault(settings)
    try:
        if settings.database_read_url:
            return await open_with_replica(
                settings.database, settings.database_read_url, pool_size=settings.database_pool, vault=vault
            )
        return await open_database(settings.database, pool_size=settings.database_pool, vault=vault)
    except Unavailable as error:
        raise CannotStart(error.message) from error


def open_vault(settings: Settings) -> Vault:
    """With SQLite everything is on one machine, so a missing key file is created at any start.

    With PostgreSQL the processes may share no folder: the key file is created by the first start with a new
    database, by the second start of `serve` with one of version 0.1 (see `_secret`), and by 'reedbed admin
    secrets rotate'.
    """
    current, former = (
        [key_from_setting(text)] if (text := setting.get_secret_value()) else []
        for setting in (settings.secret_key, settings.secret_key_previous)
    )
    if not current and settings.database.startswith("sqlite:"):
        try:
            make_key_file(settings.key_file)
        except OSError as error:
            log.warning("no key file can be made", file=str(settings.key_file), error=error.strerror)
    return Vault(current[0] if current else None, former=former, file=settings.key_file)


async def _open_shared_services(
    settings: Settings, db: Database, stack: AsyncExitStack
) -> tuple[Bus, Limiter, HostThrottle]:
    if not settings.redis_url:
        host_throttle = _file_throttle(settings, stack) if db.engine == "sqlite" else DatabaseHostThrottle(db)
        return MemoryBus(), MemoryLimiter(), host_throttle
    # Imported late: the Redis client takes a tenth of the start-up time.
    from reedbed.events.redis import RedisAvailability, RedisBus, RedisHostThrottle, RedisLimiter, connect

    try:
        client = await connect(settings.redis_url)
    except Unavailable as error:
        raise CannotStart(f"{error.message} Check REEDBED_REDIS_URL, or leave it out to run without Redis.") from error
    stack.push_async_callback(client.aclose)
    availability = RedisAvailability()
    bus = RedisBus(client, availability)
    stack.push_async_callback(bus.close)
    return bus, RedisLimiter(client, availability), RedisHostThrottle(client, availability)


def _file_throttle(settings: Settings, stack: AsyncExitStack) -> HostThrottle:
    """Usually one process uses a SQLite file, but nothing forbids a second one, on the same machine."""
    try:
        throttle = FileHostThrottle(Path(sqlite_path(settings.database)).parent / "hosts.lock")
    except OSError:
        return MemoryHostThrottle()
    stack.callback(throttle.close)
    return throttle


def _fetcher(settings: Settings, plugins: Plugins) -> Fetcher:
    contact = settings.contact_url or settings.base_url or PROJECT_URL
    fetcher = SourceFetcher(
        Guard(settings.allow_networks),
        user_agent=f"Reedbed/{__version__} (+{contact})",
        timeout=settings.fetch_timeout,
        max_bytes=settings.fetch_max_bytes,
    )
    fetcher.plugins = plugins
    return fetcher


def _mailer(settings: Settings) -> "Mailer | None":
    if not settings.smtp_host:
        return None
    from reedbed.ingest.smtp import Mailer, MailServer

    server = MailServer(
        host=settings.smtp_host,
        port=settings.smtp_port,
        sender=settings.smtp_from,
        tls=settings.smtp_tls,
        username=settings.smtp_username,
        password=settings.smtp_password.get_secret_value(),
    )
    return Mailer(server)


async def ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def _secret(settings: Settings, db: Database, *, runs_everything: bool) -> bytes:
    configured = settings.secret_key.get_secret_value()
    if configured:
        return configured.encode()
    if (known := await _known_secret(db)) is not None:
        return known.encode()
    made = False
    try:
        async with db.write() as tx:
            if tx.vault.current is None:
                known = await instance.get_setting(tx, "secret_key")
                if known is None:
                    made = _make_first_key(settings)
                elif runs_everything and not known.startswith(PREFIX):
                    made = await _use_waiting_key(settings, tx)
            stored = await instance.add_secret(
                tx, "secret_key", secrets.token_urlsafe(48), system_clock(), replace_unreadable=not made
            )
    except Unavailable as error:
        if made:  # a process with another folder was quicker, and its key is the one to share
            settings.key_file.unlink(missing_ok=True)
        raise CannotStart(error.message) from error
    return stored.encode()


async def _use_waiting_key(settings: Settings, tx: Tx) -> bool:
    """Give a PostgreSQL of version 0.1 its key at the second start.

    In a container without a volume, a key that is made at a start is gone at the next, and with it all passwords.
    So the first start only leaves the key in the data directory, and the next start uses it if it is still there.
    While processes run on other machines nothing changes, because they could not read the passwords any more.
    """
    waiting = settings.key_file.with_name("secret.key.next")
    here = f"{socket.gethostname()}:"
    running_now = [process for process in await list_processes(tx) if process.silent_for < MINUTE]
    if settings.key_file.exists() or any(not process.name.startswith(here) for process in running_now):
        return False
    try:
        if not waiting.exists():
            settings.key_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            make_key_file(waiting)
            return False
        waiting.rename(settings.key_file)
    except OSError as error:
        log.warning("no key file can be made", file=str(settings.key_file), error=error.strerror)
        return False
    if not await instance.encrypt_secret(tx, "secret_key", system_clock()):
        settings.key_file.unlink(missing_ok=True)
        raise Unavailable(instance.NO_KEY)
    return True


async def _known_secret(db: Database) -> str | None:
    async with db.read() as tx:
        stored, vault = await instance.get_setting(tx, "secret_key"), tx.vault
    if stored is None or not stored.startswith(PREFIX):
        return None
    return await vault.decrypt_apart(INSTANCE_SECRET.purpose, stored)


def _make_first_key(settings: Settings) -> bool:
    """A new database never holds a password in clear. One of version 0.1 gets its key later."""
    try:
        settings.key_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return make_key_file(settings.key_file)
    except OSError as error:
        raise CannotStart(
            f"There is no key to encrypt passwords with, and {settings.key_file} cannot be written: "
            f"{error.strerror}. Set the same REEDBED_SECRET_KEY for all processes ('openssl rand -base64 32')."
        ) from error


async def _owner_from_settings(settings: Settings, runtime: Runtime) -> None:
    if not settings.owner_email or not await users.needs_owner(runtime):
        return
    try:
        await users.create_owner(runtime, settings.owner_email, settings.owner_password.get_secret_value())
    except Conflict:
        return  # another process was quicker
    except ReedbedError as error:
        raise CannotStart(
            f"The owner could not be created from REEDBED_OWNER_EMAIL and REEDBED_OWNER_PASSWORD: {error.message}"
        ) from error


# --- Imports

Loaded = TypeVar("Loaded")

_import_lock = threading.Lock()


async def load_in_thread(load: Callable[[], Loaded]) -> Loaded:
    """Import modules in a thread, which keeps the event loop free, but one at a time.

    Two importing threads only wait for each other. With a faked clock (a container with a shifted clock, a
    test) they wait hundreds of times as long.
    """
    return await asyncio.to_thread(_load_exclusively, load)


def _load_exclusively(load: Callable[[], Loaded]) -> Loaded:
    with _import_lock:
        loaded = load()
        # What loading left over: 2 MB after the routes of the first page and of the API. Quick only in a server,
        # where `_freeze_loaded_objects` has left little to look at.
        if gc.get_freeze_count():
            gc.collect()
            trim_heap()
        return loaded


def trim_heap() -> None:
    """Return what is free between blocks that are in use: 9 MB after the first fetch of 150 feeds."""
    with suppress(ImportError, OSError, AttributeError):
        from ctypes import CDLL

        CDLL(None).malloc_trim(0)
