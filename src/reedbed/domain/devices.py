"""A device in plain words, from the User-Agent it sends: `Firefox on Linux`."""

# In this order: most browsers also claim to be the ones they descend from.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Vivaldi", "Vivaldi"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chromium", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
    ("python", "A Python program"),
    ("okhttp", "An Android app"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
)
_LONGEST = 60


def device_name(user_agent: str | None) -> str:
    if not user_agent or not user_agent.strip():
        return "Unknown device"
    browser = _first(_BROWSERS, user_agent)
    system = _first(_SYSTEMS, user_agent)
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or _product(user_agent)


def is_phone(user_agent: str | None) -> bool:
    return any(word in (user_agent or "") for word in ("iPhone", "Android", "Mobile"))


def _first(names: tuple[tuple[str, str], ...], user_agent: str) -> str | None:
    return next((name for mark, name in names if mark in user_agent), None)


def _product(user_agent: str) -> str:
    """`NetNewsWire/6.1 (…)` names itself in its first word."""
    name = user_agent.split("(")[0].split("/")[0].strip()
    return name[:_LONGEST] or "Unknown device"
