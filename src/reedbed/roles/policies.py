"""The policies of a `Runtime`, and the models and providers they name, from the settings."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reedbed import __version__
from reedbed.ai.model import MockModel, Model
from reedbed.domain import retention
from reedbed.domain.ai import MILLIONTHS, BreakerPolicy, Budget, Price
from reedbed.domain.instance import BackupPolicy
from reedbed.domain.newsletters import MailIntake, MailPolicy
from reedbed.domain.retention import RetentionPolicy
from reedbed.domain.sign_in import Provider, SigningKey
from reedbed.domain.times import DAY, MINUTE, SECOND, Instant
from reedbed.domain.users import Allowance, RateLimits, per_minute
from reedbed.domain.websub import why_unreachable
from reedbed.ingest.images import ImageCache
from reedbed.ingest.plugins import Plugins
from reedbed.services.runtime import (
    AccountPolicy,
    AiPolicy,
    FetchPolicy,
    HttpPolicy,
    HubPolicy,
    ImagePolicy,
    ProxyLogin,
    SignInPolicy,
    SpeechPolicy,
)
from reedbed.settings import Settings
from reedbed.store.engine.connect import sqlite_path

if TYPE_CHECKING:
    from reedbed.ai.speech import Speaker

GOOGLE = "https://accounts.google.com"
APPLE = "https://appleid.apple.com"
FACEBOOK = "https://www.facebook.com"
FACEBOOK_GRAPH = "https://graph.facebook.com/v23.0/me"
PATIENCE = 10.0
CHARS_PER_TOKEN = 4
DEEPL, DEEPL_FREE = "https://api.deepl.com", "https://api-free.deepl.com"


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


def http_policy(settings: Settings) -> HttpPolicy:
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


def fetch_policy(settings: Settings) -> FetchPolicy:
    return FetchPolicy(
        interval=settings.fetch_interval * SECOND,
        max_backoff=settings.fetch_max_backoff * SECOND,
        max_failures=settings.fetch_max_failures,
        concurrency=settings.fetch_concurrency,
        host_delay=int(settings.host_delay * SECOND),
        host_concurrency=settings.host_concurrency,
        in_flight=int(2 * settings.fetch_timeout * SECOND) + MINUTE,
    )


def image_policy(settings: Settings) -> ImagePolicy:
    max_bytes = settings.image_cache_mb * 1024 * 1024
    folder = settings.data_dir / "cache" / "images"
    return ImagePolicy(
        mode=settings.image_proxy,
        timeout=settings.proxy_timeout_seconds,
        max_bytes=settings.proxy_max_size_bytes,
        cache=ImageCache(folder, max_bytes=max_bytes) if max_bytes else None,
    )


def hub_policy(settings: Settings) -> HubPolicy:
    match settings.websub:
        case "on":
            return HubPolicy(off=None)
        case "off":
            return HubPolicy()
        case _:
            return HubPolicy(off=why_unreachable(settings.address))


def retention_policy(settings: Settings) -> RetentionPolicy:
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


def backup_policy(settings: Settings) -> BackupPolicy | None:
    if not settings.backups_kept or not settings.database.startswith("sqlite:"):
        return None
    file = Path(sqlite_path(settings.database))
    folder = settings.backup_dir or file.parent / "backups"
    return BackupPolicy(str(file), str(folder), settings.backups_kept)


def volume(settings: Settings) -> str:
    if not settings.database.startswith("sqlite:"):
        return ""
    return str(Path(sqlite_path(settings.database)).absolute().parent)


def account_policy(settings: Settings) -> AccountPolicy:
    return AccountPolicy(
        registration=settings.registration,
        session_life=settings.session_days * DAY,
        session_idle=settings.session_idle_days * DAY,
        base_url=settings.address,
    )


def ai_policy(settings: Settings, plugins: Plugins | None = None) -> AiPolicy:
    first, second = _models(settings, plugins or Plugins())
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


def _models(settings: Settings, plugins: Plugins) -> tuple[Model | None, Model | None]:
    if settings.ai_provider == "mock":
        return MockModel(), None
    if settings.ai_provider == "extractive":
        return None, None
    if settings.ai_provider == "plugin":
        return _plugin_model(settings.ai_model, plugins), None
    names = [name for name in (settings.ai_model, settings.ai_fallback_model) if name]
    first, *others = (_open_model(settings, name) for name in names)
    return first, next(iter(others), None)


def _plugin_model(name: str, plugins: Plugins) -> Model:
    from reedbed.ai.model import PluginModel, checked_answer

    async def ask(request: Mapping[str, Any]) -> str:
        return await plugins.call(name, "ask_model", lambda hook: checked_answer(hook(request)))

    return PluginModel(name, ask)


def speech_policy(settings: Settings) -> SpeechPolicy:
    return SpeechPolicy(
        _speaker(settings),
        settings.speech_max_characters,
        settings.speech_daily_characters,
        price=settings.speech_price,
    )


def _speaker(settings: Settings) -> "Speaker | None":
    if not (settings.speech_url or settings.speech_command):
        return None
    from reedbed.ai.speech import SpeechEndpoint, SpeechProgram

    key, timeout = settings.speech_key.get_secret_value(), settings.speech_timeout
    if settings.speech_url:
        return SpeechEndpoint(settings.speech_model, base_url=settings.speech_url, api_key=key, timeout=timeout)
    return SpeechProgram(settings.speech_command, timeout=timeout)


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


def mail_policy(settings: Settings) -> MailPolicy:
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


def limits(settings: Settings) -> RateLimits:
    return RateLimits(
        login=per_minute(settings.login_rate_limit),
        requests=Allowance(settings.api_rate_burst, settings.api_rate_per_second),
        search=Allowance(settings.search_rate_burst, settings.search_rate_per_second),
        refresh=per_minute(settings.feeds_refresh_rate_limit),
        deframer=Allowance(settings.deframer_rate_burst, settings.deframer_rate_per_second),
        streams=settings.max_streams_per_user,
    )
