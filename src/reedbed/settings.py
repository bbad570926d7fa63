"""All settings, from the environment, `.env` and flags. Only `roles` and `cli` read them.

Each field is documented in `docs/settings.md`; a test fails otherwise.
"""

import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator

from reedbed.domain.errors import CannotStart

Network = IPv4Network | IPv6Network

_PREFIX = "REEDBED_"
ENV_FILE = ".env"


class Settings(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, validate_default=True)

    # paths and addresses
    data_dir: Path = Path("data")
    plugins: tuple[str, ...] = ()
    database_url: str = ""
    redis_url: str = ""
    host: str = "127.0.0.1"
    port: int = Field(8080, ge=1, le=65535)
    base_url: str = ""
    database_pool: int = Field(10, ge=1, le=200)
    database_read_url: str = ""

    # users
    owner_email: str = ""
    owner_password: SecretStr = SecretStr("")
    registration: Literal["closed", "invite", "open"] = "closed"
    session_days: int = Field(30, ge=1, le=3650)
    session_idle_days: int = Field(14, ge=1, le=3650)
    secret_key: SecretStr = SecretStr("")
    secret_key_previous: SecretStr = SecretStr("")
    trusted_proxies: tuple[Network, ...] = ()
    cors_origins: tuple[str, ...] = ()
    proxy_login_header: str = ""
    proxy_login_create: bool = False
    proxy_login_groups_header: str = ""
    proxy_login_admins: str = ""
    proxy_logout_url: str = ""

    # sign-in providers
    oidc_issuer: str = ""
    oidc_client_id: str = ""
    oidc_client_secret: SecretStr = SecretStr("")
    oidc_name: str = "single sign-on"
    oidc_scopes: str = "openid email profile"
    google_client_id: str = ""
    google_client_secret: SecretStr = SecretStr("")
    apple_client_id: str = ""
    apple_team_id: str = ""
    apple_key_id: str = ""
    apple_private_key: SecretStr = SecretStr("")
    facebook_client_id: str = ""
    facebook_client_secret: SecretStr = SecretStr("")

    # rate limits
    login_rate_limit: int = Field(5, ge=1)
    api_rate_burst: int = Field(100, ge=1)
    api_rate_per_second: float = Field(10, gt=0)
    search_rate_burst: int = Field(10, ge=1)
    search_rate_per_second: float = Field(1, gt=0)
    feeds_refresh_rate_limit: int = Field(10, ge=1)
    deframer_rate_burst: int = Field(60, ge=1)
    deframer_rate_per_second: float = Field(2, gt=0)
    max_connections: int = Field(4096, ge=16)
    max_connections_per_address: int = Field(256, ge=1)
    max_streams_per_user: int = Field(50, ge=1)

    # fetching
    allow_networks: tuple[Network, ...] = ()
    fetch_concurrency: int = Field(10, ge=1, le=1000)
    fetch_interval: int = Field(1800, ge=60)
    fetch_timeout: float = Field(30, gt=0, le=600)
    fetch_max_backoff: int = Field(172_800, ge=60)
    fetch_max_failures: int = Field(10, ge=1)
    fetch_max_bytes: int = Field(10 * 1024 * 1024, ge=1024)
    host_delay: float = Field(1.0, ge=0, le=3600)
    host_concurrency: int = Field(2, ge=1, le=1000)
    contact_url: str = ""

    # image proxy and WebSub
    image_proxy: Literal["off", "http", "all"] = "http"
    image_cache_mb: int = Field(200, ge=0)
    proxy_timeout_seconds: float = Field(10, gt=0, le=120)
    proxy_max_size_bytes: int = Field(5 * 1024 * 1024, ge=1024)
    websub: Literal["auto", "on", "off"] = "auto"

    # retention and backups
    max_posts_per_feed: int = Field(500, ge=0, le=1_000_000)
    max_post_age_days: int = Field(365, ge=0, le=36_500)
    max_unread_days: int = Field(90, ge=0, le=36_500)
    max_db_size_mb: int = Field(1024, ge=0)
    unfollowed_days: int = Field(90, ge=0, le=36_500)
    cleanup_hour: int = Field(3, ge=0, le=23)
    backups_kept: int = Field(7, ge=0, le=1000)
    backup_dir: Path | None = None

    # outgoing mail
    smtp_host: str = ""
    smtp_port: int = Field(587, ge=1, le=65535)
    smtp_username: str = ""
    smtp_password: SecretStr = SecretStr("")
    smtp_tls: Literal["starttls", "tls", "none"] = "starttls"
    smtp_from: str = ""

    # incoming newsletters
    mail_domain: str = ""
    mail_host: str = "0.0.0.0"  # noqa: S104  nothing listens before a port is set
    mail_port: int = Field(0, ge=0, le=65535)
    mail_protocol: Literal["smtp", "lmtp"] = "smtp"
    mail_tls_cert: str = ""
    mail_tls_key: str = ""
    mail_max_bytes: int = Field(15 * 1024 * 1024, ge=10_000, le=50 * 1024 * 1024)
    mail_rate_limit: int = Field(60, ge=1)
    mail_authserv_id: str = ""
    mail_webhook_token: SecretStr = SecretStr("")
    mail_mailgun_key: SecretStr = SecretStr("")
    mail_ses_topics: tuple[str, ...] = ()

    # summaries and digests
    ai_provider: Literal["extractive", "openai", "plugin", "mock"] = "extractive"
    ai_base_url: str = ""
    ai_api_key: SecretStr = SecretStr("")
    ai_model: str = ""
    ai_fallback_model: str = ""
    ai_max_rpm: int = Field(20, ge=1, le=100_000)
    ai_timeout: float = Field(30, gt=0, le=240)
    ai_daily_tokens: int | None = Field(None, ge=0)
    ai_daily_cost: float | None = Field(None, ge=0)
    ai_monthly_tokens: int | None = Field(None, ge=0)
    ai_monthly_cost: float | None = Field(None, ge=0)
    ai_user_daily_tokens: int | None = Field(None, ge=0)
    ai_user_daily_cost: float | None = Field(None, ge=0)
    ai_price_input: float = Field(0, ge=0)
    ai_price_output: float = Field(0, ge=0)
    ai_failure_threshold: int = Field(5, ge=1)
    ai_recovery_timeout_seconds: int = Field(300, ge=1)
    ai_half_open_max_requests: int = Field(3, ge=1)
    summary_lock_timeout_seconds: int = Field(300, ge=60, le=86_400)
    summary_language: str = ""

    # translation
    translate_provider: Literal["auto", "off", "model", "libretranslate", "deepl"] = "auto"
    translate_url: str = ""
    translate_key: SecretStr = SecretStr("")
    translate_timeout: float = Field(30, gt=0, le=240)
    translate_price: float = Field(0, ge=0)

    # reading aloud
    speech_command: str = ""
    speech_url: str = ""
    speech_key: SecretStr = SecretStr("")
    speech_model: str = "tts-1"
    speech_timeout: float = Field(120, gt=0, le=600)
    speech_price: float = Field(0, ge=0)
    speech_max_characters: int = Field(60_000, ge=500, le=500_000)
    speech_daily_characters: int = Field(200_000, ge=500)

    # framing
    deframer_items: int = Field(50, ge=1, le=500)

    # logs, metrics and traces
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["auto", "text", "json"] = "auto"
    log_file: Path | None = None
    metrics_token: SecretStr = SecretStr("")
    metrics_port: int = Field(0, ge=0, le=65535)
    drain_seconds: int = Field(0, ge=0, le=60)
    otel_endpoint: str = ""
    otel_headers: SecretStr = SecretStr("")
    otel_sample: float = Field(1.0, ge=0, le=1)
    sentry_dsn: SecretStr = SecretStr("")
    sentry_environment: str = "production"

    @field_validator("trusted_proxies", "allow_networks", mode="before")
    @classmethod
    def _networks(cls, value: Any) -> Any:
        return tuple(ip_network(part, strict=False) for part in _parts(value))

    @field_validator("cors_origins", mode="before")
    @classmethod
    def _origins(cls, value: Any) -> Any:
        return tuple(part.rstrip("/") for part in _parts(value))

    @field_validator("plugins", "mail_ses_topics", mode="before")
    @classmethod
    def _topics(cls, value: Any) -> Any:
        return tuple(_parts(value))

    @field_validator("metrics_token")
    @classmethod
    def _no_short_token(cls, value: SecretStr) -> SecretStr:
        if value.get_secret_value() and len(value.get_secret_value()) < 20:
            raise ValueError("needs at least 20 characters: whoever knows it can read the metrics")
        return value

    @field_validator("mail_webhook_token")
    @classmethod
    def _hard_to_guess(cls, value: SecretStr) -> SecretStr:
        if value.get_secret_value() and len(value.get_secret_value()) < 20:
            raise ValueError("needs at least 20 characters: whoever knows it can send mail in")
        return value

    @field_validator("log_level", mode="before")
    @classmethod
    def _lower(cls, value: Any) -> Any:
        return value.lower() if isinstance(value, str) else value

    @field_validator("oidc_issuer")
    @classmethod
    def _issuer_address(cls, value: str) -> str:
        if value and urlsplit(value).scheme not in ("http", "https"):
            raise ValueError("must start with https:// (or http:// within your own network)")
        return value

    @field_validator("otel_headers")
    @classmethod
    def _named_headers(cls, value: SecretStr) -> SecretStr:
        given = value.get_secret_value()
        if given and not all("=" in pair for pair in given.split(",")):
            raise ValueError("must be name=value, or several of them with commas between")
        return value

    @field_validator("base_url", "otel_endpoint", "translate_url", "speech_url")
    @classmethod
    def _web_address(cls, value: str) -> str:
        if value and urlsplit(value).scheme not in ("http", "https"):
            raise ValueError("must start with http:// or https://")
        return value.rstrip("/")

    @field_validator("ai_base_url")
    @classmethod
    def _known_endpoint(cls, value: str) -> str:
        presets = ("cerebras", "openrouter", "openai", "ollama", "vllm")
        if value and value not in presets and urlsplit(value).scheme not in ("http", "https"):
            raise ValueError(f"must start with http:// or https://, or be one of {', '.join(presets)}")
        return value

    @field_validator("mail_domain")
    @classmethod
    def _domain_name(cls, value: str) -> str:
        if value and not re.fullmatch(r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*", value):
            raise ValueError("must be the name of a domain alone, such as in.example.org")
        return value

    @field_validator("mail_ses_topics")
    @classmethod
    def _topic_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(re.fullmatch(r"arn:aws[\w-]*:sns:[\w-]+:\d+:[\w.-]+", topic) for topic in value):
            raise ValueError("must be ARNs of topics, such as arn:aws:sns:eu-west-1:123456789012:mail")
        return value

    @field_validator("summary_language")
    @classmethod
    def _language_code(cls, value: str) -> str:
        if value and not re.fullmatch(r"[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*", value):
            raise ValueError("must be the code of a language, such as en or pt-BR")
        return value

    @field_validator("database_url")
    @classmethod
    def _known_engine(cls, value: str) -> str:
        if value and not value.startswith(("sqlite:///", "postgresql://", "postgres://")):
            raise ValueError("must start with sqlite:/// or postgresql://")
        return value

    @field_validator("database_read_url")
    @classmethod
    def _replica_address(cls, value: str) -> str:
        if value and not value.startswith(("postgresql://", "postgres://")):
            raise ValueError("must start with postgresql://; only PostgreSQL has replicas")
        return value

    @field_validator("redis_url")
    @classmethod
    def _redis_address(cls, value: str) -> str:
        if value and not value.startswith(("redis://", "rediss://", "unix://")):
            raise ValueError("must start with redis://, rediss:// or unix://")
        return value

    @field_validator("secret_key")
    @classmethod
    def _long_enough(cls, value: SecretStr) -> SecretStr:
        if value.get_secret_value() and len(value.get_secret_value()) < 32:
            raise ValueError("needs at least 32 characters; leave it out and one is made and kept")
        return value

    @model_validator(mode="after")
    def _possible_together(self) -> Self:
        if bool(self.owner_email) != bool(self.owner_password.get_secret_value()):
            raise ValueError("REEDBED_OWNER_EMAIL and REEDBED_OWNER_PASSWORD go together: set both or neither")
        if bool(self.oidc_issuer) != bool(self.oidc_client_id):
            raise ValueError("REEDBED_OIDC_ISSUER and REEDBED_OIDC_CLIENT_ID go together: set both or neither")
        if self.apple_client_id and not (
            self.apple_team_id and self.apple_key_id and self.apple_private_key.get_secret_value()
        ):
            raise ValueError(
                "REEDBED_APPLE_CLIENT_ID needs REEDBED_APPLE_TEAM_ID, REEDBED_APPLE_KEY_ID and "
                "REEDBED_APPLE_PRIVATE_KEY"
            )
        for name in ("google", "facebook"):
            secret: SecretStr = getattr(self, f"{name}_client_secret")
            if bool(getattr(self, f"{name}_client_id")) != bool(secret.get_secret_value()):
                raise ValueError(
                    f"REEDBED_{name.upper()}_CLIENT_ID and REEDBED_{name.upper()}_CLIENT_SECRET go together: "
                    "set both or neither"
                )
        if self.database_read_url and not self.database_url.startswith("postgres"):
            raise ValueError("REEDBED_DATABASE_READ_URL needs a PostgreSQL in REEDBED_DATABASE_URL to follow")
        if self.smtp_host and not self.smtp_from:
            raise ValueError("REEDBED_SMTP_HOST needs REEDBED_SMTP_FROM, the address mail is sent from")
        if self.mail_port and not self.mail_domain:
            raise ValueError("REEDBED_MAIL_PORT needs REEDBED_MAIL_DOMAIN, the domain mail is taken for")
        if bool(self.mail_tls_cert) != bool(self.mail_tls_key):
            raise ValueError("REEDBED_MAIL_TLS_CERT and REEDBED_MAIL_TLS_KEY go together: set both or neither")
        if self.ai_provider == "openai" and not (self.ai_base_url and self.ai_model):
            raise ValueError("REEDBED_AI_PROVIDER=openai needs REEDBED_AI_BASE_URL and REEDBED_AI_MODEL")
        if self.ai_provider == "plugin" and self.ai_model not in self.plugins:
            raise ValueError("REEDBED_AI_PROVIDER=plugin needs REEDBED_AI_MODEL, one of the names in REEDBED_PLUGINS")
        if self.summary_lock_timeout_seconds <= self.ai_timeout:
            raise ValueError(
                "REEDBED_SUMMARY_LOCK_TIMEOUT_SECONDS must be longer than REEDBED_AI_TIMEOUT: another worker "
                "would take over what is being written"
            )
        if self.fetch_max_backoff < self.fetch_interval:
            raise ValueError("REEDBED_FETCH_MAX_BACKOFF must not be shorter than REEDBED_FETCH_INTERVAL")
        return self

    @model_validator(mode="after")
    def _proxy_that_is_known(self) -> Self:
        if self.proxy_login_header and not self.trusted_proxies:
            raise ValueError(
                "REEDBED_PROXY_LOGIN_HEADER needs REEDBED_TRUSTED_PROXIES, the only peers that the header is taken from"
            )
        if bool(self.proxy_login_admins) != bool(self.proxy_login_groups_header):
            raise ValueError(
                "REEDBED_PROXY_LOGIN_ADMINS and REEDBED_PROXY_LOGIN_GROUPS_HEADER go together: set both or neither"
            )
        return self

    @model_validator(mode="after")
    def _known_translator(self) -> Self:
        if self.translate_provider == "libretranslate" and not self.translate_url:
            raise ValueError("REEDBED_TRANSLATE_PROVIDER=libretranslate needs REEDBED_TRANSLATE_URL")
        if self.translate_provider == "deepl" and not self.translate_key.get_secret_value():
            raise ValueError("REEDBED_TRANSLATE_PROVIDER=deepl needs REEDBED_TRANSLATE_KEY")
        if self.translate_provider == "model" and self.ai_provider == "extractive":
            raise ValueError("REEDBED_TRANSLATE_PROVIDER=model needs REEDBED_AI_PROVIDER")
        return self

    @model_validator(mode="after")
    def _budgets_in_money_bite(self) -> Self:
        for name in ("daily_cost", "monthly_cost", "user_daily_cost"):
            if getattr(self, f"ai_{name}") is not None and not (self.ai_price_input or self.ai_price_output):
                raise ValueError(
                    f"REEDBED_AI_{name.upper()} needs REEDBED_AI_PRICE_INPUT and REEDBED_AI_PRICE_OUTPUT: "
                    "without prices nothing costs anything, and the limit would never be reached"
                )
        return self

    @property
    def key_file(self) -> Path:
        """Beside the SQLite file; for PostgreSQL in the data directory."""
        if self.database.startswith("sqlite:"):
            return Path(self.database.removeprefix("sqlite:///")).parent / "secret.key"
        return self.data_dir / "secret.key"

    @property
    def database(self) -> str:
        """The database URL in use: the configured one, or the SQLite file in the data directory."""
        return self.database_url or f"sqlite:///{self.data_dir / 'reedbed.db'}"

    @property
    def address(self) -> str:
        """The public URL of this server."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.base_url or f"http://{host}:{self.port}"


def load(overrides: Mapping[str, Any] | None = None) -> Settings:
    """Read and check all settings. Raises `CannotStart` with one sentence per invalid setting."""
    given: dict[str, Any] = {name: value for name, value in (overrides or {}).items() if value is not None}
    try:
        return Settings.model_validate(_named() | given)
    except ValidationError as error:
        raise CannotStart("\n".join(_explain(problem) for problem in error.errors())) from None


def unknown_settings() -> list[str]:
    """One sentence for each variable in the environment or `.env` that looks like a setting but is not."""
    known = [_PREFIX + name.upper() for name in Settings.model_fields]
    given = {_PREFIX + name.upper() for name in _named()}
    return [_explain_unknown(name, known) for name in sorted(given.difference(known))]


def _named() -> dict[str, str]:
    """The variables of the environment and of `.env` that begin with the prefix, without it; the environment wins.

    Names may be in small letters.
    """
    found: dict[str, str | None] = {}
    if Path(ENV_FILE).is_file():
        from dotenv import dotenv_values  # imported late: a container has no such file

        found.update(dotenv_values(ENV_FILE, encoding="utf-8"))
    found.update(os.environ)
    upper = {name.upper(): value for name, value in found.items() if value is not None}
    return {name.removeprefix(_PREFIX).lower(): value for name, value in upper.items() if name.startswith(_PREFIX)}


def _explain_unknown(name: str, known: list[str]) -> str:
    # Without the prefix, which would make all names look alike.
    bare_names = [full_name.removeprefix(_PREFIX) for full_name in known]
    nearest = get_close_matches(name.removeprefix(_PREFIX), bare_names, n=1, cutoff=0.75)
    hint = f"Did you mean {_PREFIX}{nearest[0]}?" if nearest else "See docs/settings.md for the names."
    return f"{name} is not a setting and is ignored. {hint}"


def _explain(problem: Any) -> str:
    message = str(problem["msg"]).removeprefix("Value error, ")
    if not problem["loc"]:
        return f"{message}."
    name = _PREFIX + str(problem["loc"][0]).upper()
    return f"{name} is wrong: {message[0].lower()}{message[1:]}. Change it in the environment or in .env."


def _parts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [part for part in value.replace(",", " ").split() if part]
    return [str(part) for part in value]
