"""Small landscapes of water and reeds, for articles that nobody photographed."""

import math
from dataclasses import dataclass
from io import BytesIO
from random import Random

from PIL import Image, ImageDraw, ImageFilter

WIDTH, HEIGHT = 1200, 540
Colour = tuple[int, int, int]
LIGHT: dict[str, tuple[Colour, Colour, Colour, Colour]] = {
    "dawn": ((176, 196, 206), (247, 222, 196), (120, 146, 150), (255, 240, 214)),
    "noon": ((130, 178, 204), (222, 234, 230), (94, 140, 150), (255, 252, 236)),
    "dusk": ((70, 84, 122), (240, 164, 118), (66, 76, 98), (255, 214, 150)),
    "night": ((18, 26, 48), (54, 78, 104), (16, 26, 42), (226, 232, 240)),
}
"""The sky above, the sky at the horizon, the water, the sun or moon."""


@dataclass(frozen=True)
class Landscape:
    light: str
    sun: float
    """How far to the right it stands."""
    reeds: int = 16


def draw(scene: Landscape) -> bytes:
    above, horizon, water, sun = LIGHT[scene.light]
    line = int(HEIGHT * 0.58)
    picture = Image.new("RGB", (WIDTH, HEIGHT))
    pen = ImageDraw.Draw(picture)
    for y in range(HEIGHT):
        up = y < line
        share = y / line if up else (y - line) / (HEIGHT - line)
        pen.line((0, y, WIDTH, y), _mixed(above, horizon, share) if up else _mixed(horizon, water, share))
    _put_sun(picture, scene, sun, line)
    _put_hills(pen, _mixed(above, water, 0.6), line)
    _put_reeds(pen, scene, tuple(part // 3 for part in water))
    written = BytesIO()
    picture.save(written, "PNG", optimize=True)
    return written.getvalue()


def _mixed(one: Colour, other: Colour, share: float) -> Colour:
    share = min(1.0, math.sqrt(share))
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def _put_sun(picture: Image.Image, scene: Landscape, colour: Colour, line: int) -> None:
    x, size = int(WIDTH * scene.sun), 54
    glow = Image.new("L", (WIDTH, HEIGHT))
    pen = ImageDraw.Draw(glow)
    pen.ellipse((x - size, line - 150 - size, x + size, line - 150 + size), fill=235)
    for step in range(14):
        y, half = line + 14 + step * 17, 46 - 2 * step + (step % 3) * 9
        pen.rounded_rectangle((x - half, y, x + half, y + 5), 3, fill=150 - 8 * step)
    picture.paste(colour, mask=glow.filter(ImageFilter.GaussianBlur(3)))


def _put_hills(pen: ImageDraw.ImageDraw, colour: Colour, line: int) -> None:
    ridge = [(x, line - 34 - 26 * math.sin(x / 170) - 12 * math.sin(x / 61)) for x in range(0, WIDTH + 1, 8)]
    pen.polygon([(0, line), *ridge, (WIDTH, line)], fill=colour)


def _put_reeds(pen: ImageDraw.ImageDraw, scene: Landscape, colour: tuple[int, ...]) -> None:
    chance = Random(f"{scene.light}{scene.sun}{scene.reeds}")
    for _ in range(scene.reeds):
        x = chance.choice((chance.uniform(0, 0.34), chance.uniform(0.8, 1))) * WIDTH
        top, lean = HEIGHT * chance.uniform(0.3, 0.66), chance.uniform(-26, 26)
        stem = (x, HEIGHT, x + lean / 3, (top + HEIGHT) / 2, x + lean, top)
        pen.line(stem, fill=colour, width=4, joint="curve")
        pen.rounded_rectangle((x + lean - 6, top - 52, x + lean + 6, top + 6), 6, fill=colour)
