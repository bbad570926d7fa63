"""Read one `item` or `entry` element of an XML feed."""

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from reedbed.domain.feeds import Author, Enclosure, ParsedEntry, RecordingTexts, TranscriptLink
from reedbed.domain.times import Instant
from reedbed.ingest.parse.attachments import (
    EntryImage,
    distinct_enclosures,
    enclosure,
    is_image_element,
    media_parts,
    picture,
    seconds,
)
from reedbed.ingest.parse.dates import instant
from reedbed.ingest.parse.markup import (
    Context,
    is_absolute,
    language_of,
    markup_of,
    may_contain_relative_urls,
    normalize_language_tag,
    one_line,
    resolve_markup_urls,
    text_of,
    text_of_html,
    title_of,
)
from reedbed.ingest.parse.xml import MAX_CONTENT, MAX_GUID, MAX_LIST, MAX_NAME, MAX_TITLE, Element

# --- Authors

_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")


def person(element: Element, context: Context) -> Author | None:
    """Read an Atom person with child elements, or a line of text such as `mark@example.com (Mark)`."""
    if not len(element):
        return parse_person_text(element.text or "")
    parts: dict[str, str] = {}
    for part in element:
        parts.setdefault(context.names.of(part).rpartition(":")[2], text_of(part))
    name = one_line(parts.get("name", ""))
    email = parts.get("email") or None
    url = context.address(parts.get("uri") or parts.get("url") or parts.get("homepage"), element)
    if not parts:
        return parse_person_text(text_of(element))
    return _author(name or email or "", url, email)


def parse_person_text(text: str) -> Author | None:
    text = text_of_html(text)[: MAX_NAME * 2]
    email = _EMAIL.search(text) if "@" in text else None
    if not email:
        return Author(text[:MAX_NAME]) if text else None
    remaining = (text[: email.start()] + text[email.end() :]).replace("mailto:", "")
    name = remaining.replace("()", "").replace("<>", "").strip(" \t()<>,;")
    return _author(name or email[0], None, email[0])


def distinct(authors: Iterable[Author]) -> tuple[Author, ...]:
    """Keep one author per name, preferring the one with a URL or email address."""
    by_name: dict[str, Author] = {}
    for author in authors:
        previous = by_name.get(author.name)
        if previous is None or (previous.url is None and previous.email is None):
            by_name[author.name] = author
    return tuple(by_name.values())[:MAX_LIST]


def _author(name: str, url: str | None, email: str | None) -> Author | None:
    name = name[:MAX_NAME]
    return Author(name, url, email) if name else None


# --- Entries

_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"
_HTML_LINK_TYPES = (None, "", "text/html", "application/xhtml+xml", "html", "xhtml")


@dataclass(slots=True)
class EntryDraft:
    """An entry while its children are being read."""

    context: Context
    element: Element
    guid: str | None = None
    guid_is_link: bool = False
    link: str | None = None
    title: str = ""
    media_title: str = ""
    content: str = ""
    content_element: Element | None = None
    description: str = ""
    teaser: str = ""
    """iTunes summary or media description: a second description, often the longer one."""
    published: Instant | None = None
    updated: Instant | None = None
    stamped: Instant | None = None
    """`dc:date`, which may be the publication or the update time."""
    created: Instant | None = None
    authors: tuple[Author, ...] = ()
    categories: tuple[str, ...] = ()
    pictures: tuple[EntryImage, ...] = ()
    enclosures: tuple[Enclosure, ...] = ()
    duration: int | None = None
    language: str | None = None
    comments_url: str | None = None
    texts: RecordingTexts | None = None


def read_entry(element: Element, context: Context) -> ParsedEntry:
    draft = EntryDraft(context, element)
    if element.attrib:
        _on_attributes(draft, element)
    names, add_name = context.names.known.get, context.names.learnt
    handlers = _HANDLERS.get
    for child in element:
        handler = handlers(names(child.tag) or add_name(child))
        if handler is not None:
            handler(draft, child)
    return _finished(draft)


def _finished(draft: EntryDraft) -> ParsedEntry:
    url = draft.link or _guid_as_link(draft)
    content, summary = _content_and_summary(draft)
    return ParsedEntry(
        guid=draft.guid,
        url=url,
        title=(draft.title or draft.media_title)[:MAX_TITLE],
        content=_with_absolute_links(draft, content, url),
        summary=_with_absolute_links(draft, summary, url) if summary else None,
        published=_publication_time(draft),
        updated=draft.updated,
        authors=distinct(draft.authors) if len(draft.authors) > 1 else draft.authors,
        categories=draft.categories,
        image=_lead_image(draft),
        language=draft.language,
        enclosures=distinct_enclosures(draft.enclosures, draft.duration) if draft.enclosures else (),
        comments_url=draft.comments_url,
        texts=draft.texts if draft.enclosures else None,
    )


def _with_absolute_links(draft: EntryDraft, markup: str, url: str | None) -> str:
    """Resolve relative URLs against `xml:base`, else the entry's own page, else the feed."""
    if "<" in markup and may_contain_relative_urls(markup):
        context = draft.context
        own = context.own_base(draft.element if draft.content_element is None else draft.content_element)
        markup = resolve_markup_urls(markup, own or (url if url and is_absolute(url) else context.base))
    return markup[:MAX_CONTENT]


def _guid_as_link(draft: EntryDraft) -> str | None:
    if not draft.guid_is_link or not draft.guid:
        return None
    return draft.guid if is_absolute(draft.guid) else None


def _content_and_summary(draft: EntryDraft) -> tuple[str, str | None]:
    if draft.content:
        summary = draft.description or draft.teaser
        return draft.content, summary if summary != draft.content else None
    description, teaser = draft.description, draft.teaser
    if not teaser or not description:
        return description or teaser, None
    return (teaser, description) if _is_longer(teaser, description) else (description, None)


def _is_longer(teaser: str, description: str) -> bool:
    return len(text_of_html(teaser)) > len(text_of_html(description))


def _publication_time(draft: EntryDraft) -> Instant | None:
    if draft.published is not None:
        return draft.published
    stamped = draft.created if draft.stamped is None else draft.stamped
    # Atom requires `updated` only, and many feeds have nothing else.
    return draft.updated if stamped is None else stamped


def _lead_image(draft: EntryDraft) -> str | None:
    if draft.pictures:
        return max(draft.pictures, key=lambda image: image.width).url
    for item in draft.enclosures:
        if item.type and item.type.startswith("image/"):
            return item.url
    return None


def _on_attributes(draft: EntryDraft, element: Element) -> None:
    """RDF identifies items by an attribute; CDF has the link and the date in attributes."""
    about = element.get(_ABOUT) or element.get("rdf:about")
    if about:
        draft.guid = _entry_guid(about)
    draft.language = language_of(element)
    for key in ("href", "HREF"):
        draft.link = draft.link or draft.context.address(element.get(key), element)
    draft.updated = instant(element.get("lastmod") or element.get("LASTMOD"))


def _entry_guid(text: str) -> str | None:
    """Replace over-long ids by their hash: truncated, two different ids could become equal."""
    text = text.strip()
    if len(text) > MAX_GUID:
        return "sha256:" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    return text or None


def _on_guid(draft: EntryDraft, element: Element) -> None:
    text = (element.text or "").strip()
    permalink = element.get("isPermaLink") or element.get("ispermalink")
    draft.guid_is_link = permalink is None or permalink.lower() == "true"
    if text and draft.guid_is_link and ":" not in text and draft.context.own_base(element):
        text = draft.context.address(text, element) or text
    draft.guid = _entry_guid(text) or draft.guid


def _on_id(draft: EntryDraft, element: Element) -> None:
    """Atom compares ids character by character, so they are not resolved against `xml:base`."""
    draft.guid_is_link = True
    draft.guid = _entry_guid(element.text or "") or draft.guid


def _on_link(draft: EntryDraft, element: Element) -> None:
    href = element.get("href")
    if href is None:
        text = (element.text or "").strip()
        if "&amp;" in text:
            text = text.replace("&amp;", "&")
        draft.link = draft.context.address(text, element) or draft.link
        return
    rel = (element.get("rel") or "alternate").lower()
    if rel == "alternate":
        if element.get("type") in _HTML_LINK_TYPES:
            draft.link = draft.context.address(href, element) or draft.link
    elif rel == "enclosure":
        _add_enclosure(draft, element, "href")
    elif rel == "replies" and draft.comments_url is None and element.get("type") in _HTML_LINK_TYPES:
        draft.comments_url = draft.context.address(href, element)


def _on_title(draft: EntryDraft, element: Element) -> None:
    if not draft.title:
        draft.title = title_of(element, strict=draft.context.atom)


def _on_media_title(draft: EntryDraft, element: Element) -> None:
    if not draft.media_title:
        draft.media_title = title_of(element, strict=False)


def _on_encoded(draft: EntryDraft, element: Element) -> None:
    if not draft.content:
        draft.content_element = element
        draft.content = markup_of(element, default="html")


def _on_content(draft: EntryDraft, element: Element) -> None:
    """Atom content: inline, or at the URL in `src`."""
    source = element.get("src")
    if source:
        _on_remote_content(draft, element)
    elif not draft.content:
        draft.content_element = element
        draft.content = markup_of(element, default="text")


def _on_remote_content(draft: EntryDraft, element: Element) -> None:
    if (element.get("type") or "").startswith(("audio/", "video/", "image/")):
        _add_enclosure(draft, element, "src")
    elif draft.link is None:
        draft.link = draft.context.address(element.get("src"), element)


def _on_description(draft: EntryDraft, element: Element) -> None:
    if not draft.description:
        draft.description = markup_of(element, default="html")


def _on_summary(draft: EntryDraft, element: Element) -> None:
    if not draft.description:
        draft.description = markup_of(element, default="text")


def _on_teaser(draft: EntryDraft, element: Element) -> None:
    if not draft.teaser:
        draft.teaser = markup_of(element, default="text")


def _on_published(draft: EntryDraft, element: Element) -> None:
    if (time := instant(element.text)) is not None:
        draft.published = time


def _on_updated(draft: EntryDraft, element: Element) -> None:
    if (time := instant(element.text)) is not None:
        draft.updated = time


def _on_dc_date(draft: EntryDraft, element: Element) -> None:
    if (time := instant(element.text)) is not None:
        draft.stamped = time


def _on_created(draft: EntryDraft, element: Element) -> None:
    if (time := instant(element.text)) is not None:
        draft.created = time


def _on_author(draft: EntryDraft, element: Element) -> None:
    author = person(element, draft.context)
    if author is not None and len(draft.authors) < MAX_LIST:
        draft.authors += (author,)


def _on_itunes_author(draft: EntryDraft, element: Element) -> None:
    if not draft.authors:
        _on_author(draft, element)


def _on_category(draft: EntryDraft, element: Element) -> None:
    _add_category(draft, element.get("label") or element.get("term") or text_of(element))


def _on_keywords(draft: EntryDraft, element: Element) -> None:
    for word in text_of(element).split(",")[:MAX_LIST]:
        _add_category(draft, word)


def _add_category(draft: EntryDraft, text: str) -> None:
    name = text_of_html(text)[:MAX_NAME]
    if name and len(draft.categories) < MAX_LIST and name not in draft.categories:
        draft.categories += (name,)


def _on_enclosure(draft: EntryDraft, element: Element) -> None:
    _add_enclosure(draft, element, "url" if element.get("url") else "href")


def _add_enclosure(draft: EntryDraft, element: Element, attribute: str) -> None:
    item = enclosure(element, draft.context, attribute)
    if item is not None and len(draft.enclosures) < MAX_LIST:
        draft.enclosures += (item,)


def _on_media(draft: EntryDraft, element: Element) -> None:
    """Read `media:content` itself, then its children."""
    _on_group_content(draft, element)
    _on_media_group(draft, element)


def _on_media_group(draft: EntryDraft, element: Element) -> None:
    if not len(element):
        return
    for name, part in media_parts(element, draft.context):
        handler = _MEDIA_HANDLERS.get(name)
        if handler is not None:
            handler(draft, part)


def _on_group_content(draft: EntryDraft, element: Element) -> None:
    url = element.get("url")
    if url and is_image_element(element, url):
        _add_image(draft, element)
    elif url:
        _add_enclosure(draft, element, "url")


def _add_image(draft: EntryDraft, element: Element) -> None:
    image = picture(element, draft.context)
    if image is not None and len(draft.pictures) < MAX_LIST:
        draft.pictures += (image,)


def _on_image(draft: EntryDraft, element: Element) -> None:
    """Read `<image>` in an item: a URL, or an RSS image with a `url` child."""
    inner = next((child for child in element if draft.context.names.of(child) == "url"), element)
    _add_image(draft, inner)


def _on_duration(draft: EntryDraft, element: Element) -> None:
    draft.duration = seconds(text_of(element))


def _on_language(draft: EntryDraft, element: Element) -> None:
    draft.language = normalize_language_tag(one_line(text_of(element))) or draft.language


def _on_comments(draft: EntryDraft, element: Element) -> None:
    draft.comments_url = draft.context.address(text_of(element), element)


def _on_chapters(draft: EntryDraft, element: Element) -> None:
    """`podcast:chapters` links to a file; `psc:chapters` holds the chapters themselves."""
    texts = draft.texts or RecordingTexts()
    inline = tuple(
        (part.get("start") or "", (part.get("title") or "")[:MAX_NAME]) for part in element if part.get("start")
    )
    url = draft.context.address(element.get("url"), element)
    draft.texts = replace(texts, chapters=inline[:MAX_LIST] or texts.chapters, chapters_url=url or texts.chapters_url)


def _on_transcript(draft: EntryDraft, element: Element) -> None:
    texts = draft.texts or RecordingTexts()
    url = draft.context.address(element.get("url"), element)
    if url is not None and len(texts.transcripts) < MAX_LIST:
        link = TranscriptLink(url, (element.get("type") or "").lower()[:100], element.get("language"))
        draft.texts = replace(texts, transcripts=(*texts.transcripts, link))


_MEDIA_HANDLERS: dict[str, Callable[[EntryDraft, Element], None]] = {
    "media:content": _on_group_content,
    "media:thumbnail": _add_image,
    "media:title": _on_media_title,
    "media:description": _on_teaser,
    "media:keywords": _on_keywords,
}
_HANDLERS: dict[str, Callable[[EntryDraft, Element], None]] = _MEDIA_HANDLERS | {
    "media:content": _on_media,
    "media:group": _on_media_group,
    "guid": _on_guid,
    "id": _on_id,
    "link": _on_link,
    "title": _on_title,
    "dc:title": _on_title,
    "content:encoded": _on_encoded,
    "fullitem": _on_encoded,
    "body": _on_encoded,
    "xhtml:body": _on_encoded,
    "content": _on_content,
    "description": _on_description,
    "dc:description": _on_description,
    "abstract": _on_description,
    "summary": _on_summary,
    "itunes:summary": _on_teaser,
    "pubdate": _on_published,
    "published": _on_published,
    "issued": _on_published,
    "dcterms:issued": _on_published,
    "updated": _on_updated,
    "modified": _on_updated,
    "lastbuilddate": _on_updated,
    "dcterms:modified": _on_updated,
    "dc:date": _on_dc_date,
    "created": _on_created,
    "dcterms:created": _on_created,
    "author": _on_author,
    "dc:creator": _on_author,
    "dc:author": _on_author,
    "itunes:author": _on_itunes_author,
    "category": _on_category,
    "dc:subject": _on_category,
    "keywords": _on_keywords,
    "itunes:keywords": _on_keywords,
    "tags": _on_keywords,
    "enclosure": _on_enclosure,
    "image": _on_image,
    "itunes:image": _add_image,
    "itunes:duration": _on_duration,
    "dc:language": _on_language,
    "language": _on_language,
    "comments": _on_comments,
    "podcast:chapters": _on_chapters,
    "psc:chapters": _on_chapters,
    "podcast:transcript": _on_transcript,
}
