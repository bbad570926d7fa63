"""What is typed into each app, so that it finds this server: one card for each."""

from reedbed.domain.records import record
from reedbed.web.speech import translate
from reedbed.web.views.settings import SetupCard

FRESHRSS, GOOGLE_READER, FEVER = "FreshRSS", "Google Reader API", "Fever"
APPLE, ANDROID, DESK = "iPhone, iPad, Mac", "Android", "Windows, Mac, Linux"


@record
class App:
    name: str
    runs_on: str
    service: str = FRESHRSS
    """What it calls the kind of account that we are."""
    path: str = "/api/greader.php"


APPS = (
    App("NetNewsWire", APPLE),
    App("Reeder", APPLE),
    App("Unread", APPLE),
    App("Read You", ANDROID),
    App("Capy Reader", ANDROID),
    App("FeedMe", ANDROID),
    App("FocusReader", ANDROID),
    App("Fluent Reader", DESK, GOOGLE_READER, ""),
    App("RSS Guard", DESK, f"{GOOGLE_READER}, {FRESHRSS}"),
    App("NewsFlash", "Linux"),
    App("Fiery Feeds, ReadKit", APPLE, FEVER, "/fever/"),
)


def setup_cards(base: str, user: str) -> tuple[SetupCard, ...]:
    return (*(_card(app, base, user) for app in APPS), _newsboat(base, user), _assistants(base))


def _card(app: App, base: str, user: str) -> SetupCard:
    hint = translate("%(devices)s. Choose %(service)s.", devices=app.runs_on, service=app.service)
    return SetupCard(app.name, hint, base + app.path, translate("an app password"), user)


def _newsboat(base: str, user: str) -> SetupCard:
    address, password = f"{base}/api/greader.php", translate("an app password")
    lines = (
        'urls-source "freshrss"',
        f'freshrss-url "{address}"',
        f'freshrss-login "{user}"',
        f'freshrss-password "{password}"',
        'freshrss-flag-star "s"',
    )
    hint = translate("Terminal. Write this into its file config.")
    return SetupCard("newsboat", hint, address, password, user, "\n".join(lines))


def _assistants(base: str) -> SetupCard:
    return SetupCard(
        translate("Assistants"),
        translate("In programs that speak the Model Context Protocol: add a server over HTTP."),
        f"{base}/mcp",
        translate("an API token, as Bearer; it only reads unless you allow more"),
    )
