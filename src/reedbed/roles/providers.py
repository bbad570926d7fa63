"""Who else may vouch for people: from settings to providers."""

from collections.abc import Callable

from reedbed import __version__
from reedbed.domain.identities import Provider, SigningKey
from reedbed.domain.times import Instant
from reedbed.ingest.exchange import Exchanger
from reedbed.ingest.oidc import OidcClient
from reedbed.services.runtime import SignInPolicy
from reedbed.settings import Settings

GOOGLE = "https://accounts.google.com"
APPLE = "https://appleid.apple.com"
FACEBOOK = "https://www.facebook.com"
FACEBOOK_GRAPH = "https://graph.facebook.com/v23.0/me"
PATIENCE = 10.0


def sign_in_policy(settings: Settings, clock: Callable[[], Instant]) -> SignInPolicy:
    providers = {each.key: each for each in _providers(settings)}
    if not providers:
        return SignInPolicy()
    # What the operator names is trusted wherever it stands; the others are on the internet.
    named = [settings.oidc_issuer] if settings.oidc_issuer else []
    exchanger = Exchanger(
        named, settings.allow_networks, user_agent=f"Reedbed/{__version__}", timeout=PATIENCE
    )
    return SignInPolicy(providers, OidcClient(exchanger, clock))


def _providers(settings: Settings) -> list[Provider]:
    found: list[Provider] = []
    if settings.oidc_issuer:
        found.append(
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
        found.append(Provider("google", "Google", GOOGLE, settings.google_client_id, secret))
    if settings.apple_client_id:
        found.append(_apple(settings))
    if settings.facebook_client_id:
        found.append(
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
    return found


def _apple(settings: Settings) -> Provider:
    # In a line of the environment the line breaks of the key are written as \n.
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
