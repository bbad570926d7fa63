"""Build the `Runtime` from the settings: database, clients, policies, sign-in providers, models and mail."""

import asyncio
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
from reedbed.ai.model import MockModel, Model
from reedbed.domain import retention
from reedbed.domain.ai import MILLIONTHS, BreakerPolicy, Budget, Price
from reedbed.domain.errors import CannotStart, Conflict, ReedbedError, Unavailable
from reedbed.domain.instance import BackupPolicy
from reedbed.domain.newsletters import MailIntake, MailPolicy
from reedbed.domain.retention import RetentionPolicy
from reedbed.domain.sign_in import Provider, SigningKey
from reedbed.domain.times import DAY, MINUTE, SECOND, Instant
from reedbed.domain.users import Allowance, RateLimits, per_minute
from reedbed.domain.websub import why_unreachable
from reedbed.events.bus import Bus, MemoryBus
from reedbed.events.limits import FileHostThrottle, HostThrottle, Limiter, MemoryHostThrottle, MemoryLimiter
from reedbed.ingest.http.client import Fetcher
from reedbed.ingest.http.guard import Guard
from reedbed.ingest.images import ImageCache
from reedbed.roles.observability import open_tracer
from reedbed.services import users
from reedbed.services.auth import watch_revocations
from reedbed.services.refresh.check import DatabaseHostThrottle
from reedbed.services.runtime import (
    AccountPolicy,
    AiPolicy,
    FetchPolicy,
    FramingPolicy,
    HttpPolicy,
    HubPolicy,
    ImagePolicy,
    ProxyLogin,
    Runtime,
    SignInPolicy,
    SpeechPolicy,
    watch_changes,
)
from reedbed.settings import Settings
from reedbed.store import instance
from reedbed.store.engine.connect import open_database, open_with_replica, sqlite_path
from reedbed.store.engine.database import Database
from reedbed.store.engine.encryption import Vault, key_from_setting, make_key_file
from reedbed.store.migrations import migrate_apart
from reedbed.store.startup import prepare

if TYPE_CHECKING:
    from reedbed.ai.speech import Speaker
    from reedbed.ingest.smtp import Mailer

GOOGLE = "https://accounts.google.com"
APPLE = "https://appleid.apple.com"
FACEBOOK = "https://www.facebook.com"
FACEBOOK_GRAPH = "https://graph.facebook.com/v23.0/me"
PATIENCE = 10.0


def sign_in_policy(settings: Settings, clock: Callable[[], Instant]) -> SignInPolicy:
    providers = {provider.key: provider for provider in _providers(settings)}
    if not providers:
        return SignInPolicy()
    from reedbed.ingest.http.requests import HttpCaller  # imported late, like the mailer and the model: few have them
    from reedbed.ingest.oidc import OidcClient

    # The operator's own issuer may be on a private network; the other providers are on the internet.
    issuers = [settings.oidc_issuer] if settings.oidc_issuer else []
    caller = HttpCaller(issuers, settings.allow_networks, user_agent=f"Reedbed/{__version__}", timeout=PATIENCE)
    return SignInPolicy(providers, OidcClient(caller, clock))


def _providers(settings: Settings) -> list[Provider]:
    providers: list[Provider] = []
    if settings.oidc_issuer:
        providers.append(
            Provider(
                "oidc",
                settings.oidc_name,
                settings.oidc_issuer,
                settings.oidc_client_id,
                settings.oidc_client_secret.get_secret_value(),
                settings.oidc_scopes,
            )
        )
    if settings.google_client_id:
        secret = settings.google_client_secret.get_secret_value()
        providers.append(Provider("google", "Google", GOOGLE, settings.google_client_id, secret))
    if settings.apple_client_id:
        providers.append(_apple(settings))
    if settings.facebook_client_id:
        providers.append(
            Provider(
                "facebook",
                "Facebook",
                FACEBOOK,
                settings.facebook_client_id,
                settings.facebook_client_secret.get_secret_value(),
                scopes="email",
                graph=FACEBOOK_GRAPH,
            )
        )
    return providers


def _apple(settings: Settings) -> Provider:
    # In an environment variable, line breaks of the key are written as \n.
    private = settings.apple_private_key.get_secret_value().replace("\\n", "\n")
    return Provider(
        "apple",
        "Apple",
        APPLE,
        settings.apple_client_id,
        scopes="openid email",
        form_post=True,
        signing_key=SigningKey(settings.apple_team_id, settings.apple_key_id, private),
    )


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
        fetcher = _fetcher(settings)
        stack.push_async_callback(fetcher.close)
        ai = _ai_policy(settings)
        speech = _speech_policy(settings)
        if speech.speaker is not None:
            stack.push_async_callback(speech.speaker.close)
        for model in dict.fromkeys((ai.model, ai.fallback, ai.translator)):
            if model is not None:
                stack.push_async_callback(model.close)
        sign_in = sign_in_policy(settings, system_clock)
        if sign_in.client is not None:
            stack.push_async_callback(sign_in.client.close)
        name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(2)}"
        runtime = Runtime(
            db=db,
            bus=bus,
            fetcher=fetcher,
            host_throttle=host_throttle,
            limiter=limiter,
            clock=system_clock,
            secret=await _secret(settings, db),
            name=name,
            fetching=_fetch_policy(settings),
            accounts=_account_policy(settings),
            limits=_limits(settings),
            http=_http_policy(settings),
            ai=ai,
            speech=speech,
            framing=FramingPolicy(settings.deframer_items),
            hubs=_hub_policy(settings),
            sign_in=sign_in,
            mailer=_mailer(settings),
            mail=_mail_policy(settings),
            images=_image_policy(settings),
            keeping=_retention_policy(settings),
            backups=_backup_policy(settings),
            volume=_volume(settings),
            tracer=open_tracer(settings, name, stack),
        )
        await _owner_from_settings(settings, runtime)
        stack.push_async_callback(ended, asyncio.create_task(watch_revocations(runtime)))
        if settings.database_read_url:
            watching = asyncio.create_task(watch_changes(bus, runtime.recent_changes))
            stack.push_async_callback(ended, watching)
        yield runtime


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
    database (see `_secret`) and by 'reedbed admin secrets rotate' only.
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


def _fetcher(settings: Settings) -> Fetcher:
    contact = settings.contact_url or settings.base_url or PROJECT_URL
    return Fetcher(
        Guard(settings.allow_networks),
        user_agent=f"Reedbed/{__version__} (+{contact})",
        timeout=settings.fetch_timeout,
        max_bytes=settings.fetch_max_bytes,
    )


def _http_policy(settings: Settings) -> HttpPolicy:
    token = settings.metrics_token.get_secret_value()
    return HttpPolicy(settings.trusted_proxies, settings.cors_origins, token, _proxy_login(settings))


def _proxy_login(settings: Settings) -> ProxyLogin | None:
    if not settings.proxy_login_header:
        return None
    return ProxyLogin(
        header=settings.proxy_login_header,
        create=settings.proxy_login_create,
        groups_header=settings.proxy_login_groups_header,
        admins=settings.proxy_login_admins,
        logout_url=settings.proxy_logout_url,
    )


def _fetch_policy(settings: Settings) -> FetchPolicy:
    return FetchPolicy(
        interval=settings.fetch_interval * SECOND,
        max_backoff=settings.fetch_max_backoff * SECOND,
        max_failures=settings.fetch_max_failures,
        concurrency=settings.fetch_concurrency,
        host_delay=int(settings.host_delay * SECOND),
        host_concurrency=settings.host_concurrency,
        in_flight=int(2 * settings.fetch_timeout * SECOND) + MINUTE,
    )


def _image_policy(settings: Settings) -> ImagePolicy:
    max_bytes = settings.image_cache_mb * 1024 * 1024
    folder = settings.data_dir / "cache" / "images"
    return ImagePolicy(
        mode=settings.image_proxy,
        timeout=settings.proxy_timeout_seconds,
        max_bytes=settings.proxy_max_size_bytes,
        cache=ImageCache(folder, max_bytes=max_bytes) if max_bytes else None,
    )


def _hub_policy(settings: Settings) -> HubPolicy:
    match settings.websub:
        case "on":
            return HubPolicy(off=None)
        case "off":
            return HubPolicy()
        case _:
            return HubPolicy(off=why_unreachable(settings.address))


def _retention_policy(settings: Settings) -> RetentionPolicy:
    """Zero means no limit."""
    return RetentionPolicy(
        limits=retention.RetentionLimits(
            entries=settings.max_posts_per_feed or None,
            age=settings.max_post_age_days * DAY or None,
            unread_age=settings.max_unread_days * DAY or None,
        ),
        size=settings.max_db_size_mb * 1024 * 1024 or None,
        hour=settings.cleanup_hour,
        unfollowed=settings.unfollowed_days * DAY or None,
    )


def _backup_policy(settings: Settings) -> BackupPolicy | None:
    if not settings.backups_kept or not settings.database.startswith("sqlite:"):
        return None
    file = Path(sqlite_path(settings.database))
    folder = settings.backup_dir or file.parent / "backups"
    return BackupPolicy(str(file), str(folder), settings.backups_kept)


def _volume(settings: Settings) -> str:
    if not settings.database.startswith("sqlite:"):
        return ""
    return str(Path(sqlite_path(settings.database)).absolute().parent)


def _account_policy(settings: Settings) -> AccountPolicy:
    return AccountPolicy(
        registration=settings.registration,
        session_life=settings.session_days * DAY,
        session_idle=settings.session_idle_days * DAY,
        base_url=settings.address,
    )


def _ai_policy(settings: Settings) -> AiPolicy:
    first, second = _models(settings)
    return AiPolicy(
        model=first,
        fallback=second,
        translator=_translator(settings, first),
        translator_price=Price(input=settings.translate_price * CHARS_PER_TOKEN),
        language=settings.summary_language,
        breaker=BreakerPolicy(
            failure_threshold=settings.ai_failure_threshold,
            recovery=settings.ai_recovery_timeout_seconds * SECOND,
            half_open_successes=settings.ai_half_open_max_requests,
            min_interval=MINUTE // settings.ai_max_rpm if settings.ai_provider != "mock" else 0,
        ),
        budget=Budget(
            daily_tokens=settings.ai_daily_tokens,
            daily_cost=_millionths(settings.ai_daily_cost),
            monthly_tokens=settings.ai_monthly_tokens,
            monthly_cost=_millionths(settings.ai_monthly_cost),
            user_daily_tokens=settings.ai_user_daily_tokens,
            user_daily_cost=_millionths(settings.ai_user_daily_cost),
        ),
        price=Price(settings.ai_price_input, settings.ai_price_output),
        lease=settings.summary_lock_timeout_seconds * SECOND,
    )


def _models(settings: Settings) -> tuple[Model | None, Model | None]:
    if settings.ai_provider == "mock":
        return MockModel(), None
    if settings.ai_provider == "extractive":
        return None, None
    names = [name for name in (settings.ai_model, settings.ai_fallback_model) if name]
    first, *others = (_open_model(settings, name) for name in names)
    return first, next(iter(others), None)


def _speech_policy(settings: Settings) -> SpeechPolicy:
    return SpeechPolicy(_speaker(settings), settings.speech_max_characters, settings.speech_daily_characters)


def _speaker(settings: Settings) -> "Speaker | None":
    if not (settings.speech_url or settings.speech_command):
        return None
    from reedbed.ai.speech import SpeechEndpoint, SpeechProgram

    key, timeout = settings.speech_key.get_secret_value(), settings.speech_timeout
    if settings.speech_url:
        return SpeechEndpoint(settings.speech_model, base_url=settings.speech_url, api_key=key, timeout=timeout)
    return SpeechProgram(settings.speech_command, timeout=timeout)


CHARS_PER_TOKEN = 4
DEEPL, DEEPL_FREE = "https://api.deepl.com", "https://api-free.deepl.com"


def _translator(settings: Settings, model: Model | None) -> Model | None:
    key = settings.translate_key.get_secret_value()
    match settings.translate_provider:
        case "off":
            return None
        case "auto" | "model":
            return model
        case "libretranslate":
            from reedbed.ai.translators import LibreTranslate

            url, timeout = settings.translate_url, settings.translate_timeout
            return LibreTranslate("libretranslate", base_url=url, api_key=key, timeout=timeout)
        case "deepl":
            from reedbed.ai.translators import DeepL

            # Keys of the free offer end with ":fx", and have a server of their own.
            url = settings.translate_url or (DEEPL_FREE if key.endswith(":fx") else DEEPL)
            return DeepL("deepl", base_url=url, api_key=key, timeout=settings.translate_timeout)


def _open_model(settings: Settings, name: str) -> Model:
    from reedbed.ai.openai import OpenAiModel

    return OpenAiModel(
        name, base_url=settings.ai_base_url, api_key=settings.ai_api_key.get_secret_value(), timeout=settings.ai_timeout
    )


def _millionths(amount: float | None) -> int | None:
    return None if amount is None else round(amount * MILLIONTHS)


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


def _mail_policy(settings: Settings) -> MailPolicy:
    intake = MailIntake(
        host=settings.mail_host,
        port=settings.mail_port,
        protocol=settings.mail_protocol,
        certificate=settings.mail_tls_cert,
        key=settings.mail_tls_key,
        per_minute=settings.mail_rate_limit,
    )
    return MailPolicy(
        domain=settings.mail_domain.lower(),
        intake=intake if settings.mail_port else None,
        max_bytes=settings.mail_max_bytes,
        authserv_id=settings.mail_authserv_id.lower(),
        webhook_token=settings.mail_webhook_token.get_secret_value(),
        mailgun_key=settings.mail_mailgun_key.get_secret_value(),
        ses_topics=settings.mail_ses_topics,
    )


def _limits(settings: Settings) -> RateLimits:
    return RateLimits(
        login=per_minute(settings.login_rate_limit),
        requests=Allowance(settings.api_rate_burst, settings.api_rate_per_second),
        search=Allowance(settings.search_rate_burst, settings.search_rate_per_second),
        refresh=per_minute(settings.feeds_refresh_rate_limit),
        deframer=Allowance(settings.deframer_rate_burst, settings.deframer_rate_per_second),
        streams=settings.max_streams_per_user,
    )


async def ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def _secret(settings: Settings, db: Database) -> bytes:
    configured = settings.secret_key.get_secret_value()
    if configured:
        return configured.encode()
    made = False
    try:
        async with db.write() as tx:
            if tx.vault.current is None and await instance.get_setting(tx, "secret_key") is None:
                made = _make_first_key(settings)
            stored = await instance.add_secret(
                tx, "secret_key", secrets.token_urlsafe(48), system_clock(), replace_unreadable=not made
            )
    except Unavailable as error:
        if made:  # a process with another folder was quicker, and its key is the one to share
            settings.key_file.unlink(missing_ok=True)
        raise CannotStart(error.message) from error
    return stored.encode()


def _make_first_key(settings: Settings) -> bool:
    """A new database never holds a password in clear. One of version 0.1 has its secret already, and goes on."""
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
        return load()
