"""Players and frames become links, with the picture of the film where its address gives one away."""

import re
from html import escape
from urllib.parse import parse_qs, urlsplit

from reedbed.ingest.clean.markup import NAME_ENDS, find_tag_end, read_attributes
from reedbed.ingest.clean.urls import web_address

_EMBED = re.compile(rf"<(/?)(iframe|embed|object|amp-youtube){NAME_ENDS}", re.IGNORECASE)
_ADDRESS_NAMES = ("src", "data-src", "data-lazy-src", "data-litespeed-src", "data")
_FILM_ID = re.compile(r"[A-Za-z0-9_\-]{6,20}\Z")
_NUMBER = re.compile(r"[0-9]{4,15}\Z")
_YOUTUBE_HOSTS = ("youtube.com", "youtube-nocookie.com", "youtu.be")
# Frames that show nothing to read: advertising, counting, consent, share buttons.
_SILENT_HOST = re.compile(
    r"(?:^|\.)(?:doubleclick\.net|googlesyndication\.com|googletagmanager\.com|google-analytics\.com|"
    r"amazon-adsystem\.com|facebook\.com|addthis\.com|sharethis\.com|recaptcha\.net|disqus\.com|outbrain\.com|"
    r"taboola\.com)\Z"
)


def embeds_to_links(html: str, base: str | None) -> str:
    seen: set[str] = set()
    kept: list[str] = []
    end = 0
    while embed := _EMBED.search(html, end):
        tag_end = find_tag_end(html, embed.end())
        if tag_end == -1:
            break
        kept.append(html[end : embed.start()])
        end = tag_end + 1
        closing, name = embed.groups()
        if closing:
            continue
        address = _embedded_address(name.lower(), read_attributes(html[embed.end() : tag_end]), base)
        if address and address not in seen:
            seen.add(address)
            kept.append(_link(address))
    return "".join(kept) + html[end:]


def _embedded_address(name: str, attributes: dict[str, str], base: str | None) -> str | None:
    if name == "amp-youtube":
        film = attributes.get("data-videoid", "")
        return f"https://www.youtube.com/watch?v={film}" if _FILM_ID.match(film) else None
    for key in _ADDRESS_NAMES:
        if (value := attributes.get(key)) and (address := web_address(value, base)):
            return address
    return None


def _link(address: str) -> str:
    host, path, query = _parts(address)
    if not host or _SILENT_HOST.search(host):
        return ""
    if film := _youtube_film(host, path, query):
        page, picture = (
            f"https://www.youtube.com/watch?v={film}",
            f"https://i.ytimg.com/vi/{film}/hqdefault.jpg",
        )
        return _anchor(page, "YouTube", picture)
    if film := _dailymotion_film(host, path):
        page = f"https://www.dailymotion.com/video/{film}"
        return _anchor(page, "Dailymotion", f"https://www.dailymotion.com/thumbnail/video/{film}")
    if host.endswith("vimeo.com") and _NUMBER.match(film := path.rsplit("/", 1)[-1]):
        return _anchor(f"https://vimeo.com/{film}", "Vimeo", f"https://vumbnail.com/{film}.jpg")
    return _anchor(address, host, None)


def _parts(address: str) -> tuple[str, str, str]:
    try:
        parts = urlsplit(address)
        return (parts.hostname or "").removeprefix("www."), parts.path, parts.query
    except ValueError:
        return "", "", ""


def _youtube_film(host: str, path: str, query: str) -> str | None:
    if not host.endswith(_YOUTUBE_HOSTS):
        return None
    named = parse_qs(query[:2_000], max_num_fields=None).get("v", [""])[0]
    film = named or path.rstrip("/").rsplit("/", 1)[-1]
    return film if _FILM_ID.match(film) and film != "videoseries" else None


def _dailymotion_film(host: str, path: str) -> str | None:
    film = path.rsplit("/", 1)[-1].split("_", 1)[0]
    return film if host.endswith("dailymotion.com") and "/video/" in path and film.isalnum() else None


def _anchor(page: str, label: str, picture: str | None) -> str:
    image = f'<img src="{escape(picture)}" alt=""> ' if picture else ""
    return f'<a href="{escape(page)}">{image}▶ {escape(label)}</a>'
