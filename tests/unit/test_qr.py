"""QR codes, compared with what the library segno draws."""

from hashlib import sha256

from reedbed.web.qr import qr_matrix, qr_svg

FULL = (14, 26, 42, 62, 84, 106, 122, 152, 180, 213)
"""Bytes that fill versions 1 to 10, where segno pads as we do."""
SAME_AS_SEGNO = "4be3178e1dde8816ac06eb27036e5e92cdddd203944ccae511b931b51d776f28"


def test_every_version_is_drawn_as_by_another_program() -> None:
    drawn = sha256()
    for size in FULL:
        text = ("otpauth://totp/Reedbed:reader%40example.org?secret=" + "ABCDEFGH234567" * 20)[:size]
        for row in qr_matrix(text):
            drawn.update(bytes(row))
    assert drawn.hexdigest() == SAME_AS_SEGNO


def test_a_text_that_is_too_long_has_no_drawing() -> None:
    assert qr_svg("x" * 213).startswith("<svg") and qr_svg("x" * 214) == ""
