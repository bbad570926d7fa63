"""Twenty-odd newsletters, each with a trouble of its own."""

from base64 import b64encode
from collections.abc import Callable
from email.message import EmailMessage
from urllib.parse import quote

from tests.sample_mail import Sample, built, head_of, one_part

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8cfc00000030101"
    "00c9fe92ef0000000049454e44ae426082"
)
GIF = bytes.fromhex("47494638396101000100800000ffffff00000021f90401000000002c00000000010001000002024401003b")
LOREM = "The reeds stand in the water and let the light through. "


def samples() -> list[Sample]:
    return [make() for make in _MAKERS]


_MAKERS: list[Callable[[], Sample]] = []


def _sample(make: Callable[[], Sample]) -> Callable[[], Sample]:
    _MAKERS.append(make)
    return make


@_sample
def plain() -> Sample:
    text = "Good morning.\n\nRead more at https://example.org/story?id=1&utm_source=letter.\nBye\n"
    return one_part(
        "plain",
        "text/plain; charset=us-ascii",
        text.encode(),
        text=text,
        says='<a href="https://example.org/story?id=1"',
    )


@_sample
def eight_bit() -> Sample:
    text = "Grüße aus Zürich – heute ohne Umwege.\n"
    return one_part("eight-bit", "text/plain; charset=utf-8", text.encode(), text=text, says="Grüße aus Zürich –")


@_sample
def quoted_printable() -> Sample:
    html = "<html><body><h1>Café</h1><p>" + LOREM * 5 + "</p></body></html>\n"
    body = html.replace("é", "=C3=A9").replace("light through. ", "light through. =\r\n").encode()
    return one_part(
        "quoted-printable",
        "text/html; charset=utf-8",
        body,
        encoding="quoted-printable",
        html=html,
        says="<h1>Café</h1>",
    )


@_sample
def alternative() -> Sample:
    message = EmailMessage()
    text, html = "The plain one.\n", "<p>The <b>rich</b> one.</p>\n"
    message.set_content(text)
    message.add_alternative(html, subtype="html")
    return built(
        "alternative",
        message,
        sender="alt@letters.example.org",
        sender_name="Alt Press",
        subject="Two faces",
        text=text,
        html=html,
        says="<p>The <b>rich</b> one.</p>",
    )


@_sample
def inline_picture() -> Sample:
    message = EmailMessage()
    text, html = "A picture.\n", '<p>Look: <img src="cid:dot@1" alt="A dot" width="40" height="40"></p>\n'
    message.set_content(text)
    message.add_alternative(html, subtype="html")
    message.get_payload()[1].add_related(PNG, "image", "png", cid="<dot@1>")
    return built(
        "inline-picture",
        message,
        sender="pics@letters.example.org",
        subject="With a picture",
        text=text,
        html=html,
        pictures=(("dot@1", PNG),),
        says='src="/newsletters/images/',
    )


@_sample
def attachment_and_pictures() -> Sample:
    message = EmailMessage()
    text, html = ("Both.\n", '<p><img src="cid:a" alt="one"> and <img src="cid:b" alt="two"> Both are here.</p>\n')
    message.set_content(text)
    message.add_alternative(html, subtype="html")
    rich = message.get_payload()[1]
    rich.add_related(PNG, "image", "png", cid="<a>")
    rich.add_related(GIF, "image", "gif", cid="<b>")
    message.add_attachment(b"%PDF-1.4 nothing", maintype="application", subtype="pdf", filename="paper.pdf")
    return built(
        "attachment",
        message,
        sender="papers@letters.example.org",
        subject="Papers",
        text=text,
        html=html,
        pictures=(("a", PNG), ("b", GIF)),
        says="Both are here.",
    )


@_sample
def latin_1() -> Sample:
    html = "<p>Déjà vu à la télé</p>\n"
    return one_part(
        "latin-1", "text/html; charset=iso-8859-1", html.encode("latin-1"), html=html, says="Déjà vu à la télé"
    )


@_sample
def windows_quotes() -> Sample:
    html = "<p>\u201cCurly\u201d \u2013 and said to be Latin</p>\n"
    return one_part(
        "curly", "text/html; charset=iso-8859-1", html.encode("cp1252"), html=html, says="\u201cCurly\u201d \u2013"
    )


@_sample
def said_to_be_ascii() -> Sample:
    text = "Ünïcödé, whatever the header says.\n"
    return one_part("not-ascii", "text/plain; charset=us-ascii", text.encode(), text=text, says="Ünïcödé, whatever")


@_sample
def unknown_charset() -> Sample:
    text = "Nobody knows this charset: żółw.\n"
    return one_part("no-charset", "text/plain; charset=x-nobody-knows", text.encode(), text=text, says="żółw")


@_sample
def japanese() -> Sample:
    html = "<p>今週のニュースをお届けします。葦の原から。</p>\n"
    body = b64encode(html.encode("shift_jis"))
    return one_part("japanese", 'text/html; charset="Shift_JIS"', body, encoding="base64", html=html, says="葦の原から")


@_sample
def russian() -> Sample:
    text = "Новости недели: камыш шумит.\n"
    body = "".join(f"={byte:02X}" for byte in text.strip().encode("koi8-r")).encode()
    lines = b"=\r\n".join(body[at : at + 60] for at in range(0, len(body), 60)) + b"\r\n"
    return one_part(
        "russian", "text/plain; charset=koi8-r", lines, encoding="quoted-printable", text=text, says="камыш шумит"
    )


@_sample
def chinese() -> Sample:
    html = "<p>芦苇荡里的一周新闻。</p>\n"
    return one_part("chinese", "text/html; charset=gb2312", html.encode("gb2312"), html=html, says="芦苇荡")


@_sample
def huge() -> Sample:
    paragraphs = "".join(f"<p>{number}. {LOREM}</p>\n" for number in range(4_000))
    html = f"<div>{paragraphs}</div>\n"
    return one_part("huge", "text/html; charset=utf-8", html.encode(), html=html, says="<p>3999. The reeds")


@_sample
def confirmation() -> Sample:
    message = EmailMessage()
    link = "https://lists.example.org/confirm/8f3a91"
    text = f"Please confirm your subscription: {link}\n"
    html = (
        "<p>You are almost there.</p>"
        f'<p><a href="{link}">Yes, confirm my subscription</a></p>'
        '<p><a href="https://lists.example.org/unsubscribe/8f3a91">Unsubscribe</a></p>\n'
    )
    message.set_content(text)
    message.add_alternative(html, subtype="html")
    return built(
        "confirmation",
        message,
        sender="hello@lists.example.org",
        sender_name="The List",
        subject="Please confirm your subscription",
        text=text,
        html=html,
        says="You are almost there.",
        extra={"confirm": link},
    )


@_sample
def encoded_headers() -> Sample:
    text = "Only the headers are strange.\n"
    subject = (
        "=?utf-8?B?" + b64encode("Wöchentliches, ".encode()).decode() + "?=\r\n =?utf-8?Q?Sch=C3=B6nes_f=C3=BCr_alle?="
    )
    sender = "=?iso-8859-1?Q?Z=F6e_=22Z=22_M=FCller?= <Zoe.Mueller@Letters.Example.ORG>"
    return one_part(
        "headers",
        "text/plain; charset=utf-8",
        text.encode(),
        sender=sender,
        subject=subject,
        text=text,
        says="Only the headers",
        address="zoe.mueller@letters.example.org",
        sender_name='Zöe "Z" Müller',
        title="Wöchentliches, Schönes für alle",
    )


@_sample
def without_message_id() -> Sample:
    text = "Nobody gave this one a name.\n"
    head = head_of(
        "", "nameless@letters.example.org", "Nameless", "Content-Type: text/plain; charset=utf-8", message_id=False
    )
    return Sample(
        "nameless",
        f"{head}\r\n\r\n{text}".encode(),
        "nameless@letters.example.org",
        "Nameless",
        "Nobody gave this one",
        text=text,
    )


@_sample
def broken_date() -> Sample:
    text = "When was that?\n"
    head = head_of("broken-date", "when@letters.example.org", "When", "Content-Type: text/plain", date="sometime soon")
    return Sample(
        "broken-date",
        f"{head}\r\n\r\n{text}".encode(),
        "when@letters.example.org",
        "When",
        "When was that",
        text=text,
        message_id="broken-date@letters.example.org",
        date="sometime soon",
    )


@_sample
def tracked() -> Sample:
    target = "https://example.org/long-read?page=2"
    counted = f"https://click.letters.example.org/CL0/{quote(target, safe='')}/1/0100/abc"
    html = (
        '<div style="display:none;max-height:0">Hidden teaser</div>'
        '<table role="presentation"><tr><td><table><tr><td><p>A story.</p>'
        f'<a href="{counted}">Read on</a>'
        ' <a href="https://letters.example.org/web/77">View this email in your browser</a>'
        '<img src="https://track.letters.example.org/open.gif?id=7" width="1" height="1">'
        "</td></tr></table></td></tr></table>\n"
    )
    return one_part(
        "tracked",
        "text/html; charset=utf-8",
        html.encode(),
        html=html,
        says=f'<a href="{target}"',
        extra={"hides": ("Hidden teaser", "open.gif", "<table", "click.letters")},
    )


@_sample
def broken_off() -> Sample:
    html = "<p>The boundary never closes</p>\n"
    head = head_of(
        "broken-off", "torn@letters.example.org", "Torn", 'Content-Type: multipart/alternative; boundary="b1"'
    )
    body = (
        "preamble\r\n--b1\r\nContent-Type: text/plain\r\n\r\nTorn.\r\n"
        f"--b1\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{html}"
    )
    return Sample(
        "broken-off",
        f"{head}\r\n\r\n{body}".encode(),
        "torn@letters.example.org",
        "Torn",
        "The boundary never closes",
        html=html,
        text="Torn.",
        message_id="broken-off@letters.example.org",
    )


@_sample
def leaving() -> Sample:
    text = "You can leave with one click.\n"
    headers = (
        ("List-Unsubscribe", "<mailto:leave@lists.example.org?subject=leave%207>, <https://lists.example.org/u/7>"),
        ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"),
    )
    more = [f"{name}: {value}" for name, value in headers]
    return one_part(
        "leaving",
        "text/plain; charset=utf-8",
        text.encode(),
        text=text,
        says="leave with one click",
        more=more,
        headers=headers,
    )


@_sample
def nested() -> Sample:
    html = "<p>Six levels down \U0001f33e</p>\n"
    inner = f"Content-Type: text/html; charset=utf-8\r\n\r\n{html}"
    for level in range(6):
        head = f'Content-Type: multipart/mixed; boundary="n{level}"'
        inner = f"{head}\r\n\r\n--n{level}\r\n{inner}\r\n--n{level}--\r\n"
    head = head_of("nested", "deep@letters.example.org", "Deep")
    return Sample(
        "nested",
        f"{head}\r\n{inner}".encode(),
        "deep@letters.example.org",
        "Deep",
        "Six levels down \U0001f33e",
        html=html,
        message_id="nested@letters.example.org",
    )
