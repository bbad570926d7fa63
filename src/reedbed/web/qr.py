"""QR codes (ISO/IEC 18004) as SVG: byte mode, error correction M, up to version 10, which is enough for an address.

Written here because it is short: a library for it would be loaded for one page that people open once.
"""

from collections.abc import Callable, Iterator

_ECC_PER_BLOCK = (10, 16, 26, 18, 24, 16, 18, 22, 22, 26)
_BLOCKS = (1, 1, 1, 2, 2, 4, 4, 4, 5, 5)
_ALIGNMENT = ((), (6, 18), (6, 22), (6, 26), (6, 30), (6, 34), (6, 22, 38), (6, 24, 42), (6, 26, 46), (6, 28, 50))
_QUIET = 4
"""Light modules around the code."""

Matrix = list[list[bool]]


def qr_svg(text: str) -> str:
    """Empty if the text is too long. Only attributes: the content policy forbids styles in the page."""
    matrix = qr_matrix(text)
    if not matrix:
        return ""
    size = len(matrix) + 2 * _QUIET
    path = "".join(
        f"M{x + _QUIET} {y + _QUIET}h1v1h-1z" for y, row in enumerate(matrix) for x, dark in enumerate(row) if dark
    )
    return (
        f'<svg class="qr" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" width="{4 * size}"'
        f' height="{4 * size}" aria-hidden="true"><rect width="{size}" height="{size}" fill="#fff"/>'
        f'<path fill="#000" d="{path}"/></svg>'
    )


def qr_matrix(text: str) -> Matrix:
    data = text.encode()
    version = next((version for version in range(1, 11) if _capacity(version) >= len(data)), 0)
    return _Drawing(version, _codewords(data, version)).best() if version else []


def _raw_codewords(version: int) -> int:
    bits = (16 * version + 128) * version + 64
    if version >= 2:
        alignments = version // 7 + 2
        bits -= (25 * alignments - 10) * alignments - 55
        bits -= 36 if version >= 7 else 0
    return bits // 8


def _data_codewords(version: int) -> int:
    return _raw_codewords(version) - _ECC_PER_BLOCK[version - 1] * _BLOCKS[version - 1]


def _capacity(version: int) -> int:
    return _data_codewords(version) - (3 if version >= 10 else 2)


def _codewords(data: bytes, version: int) -> bytes:
    bits = f"0100{len(data):0{16 if version >= 10 else 8}b}" + "".join(f"{byte:08b}" for byte in data)
    capacity = 8 * _data_codewords(version)
    bits += "0" * min(4, capacity - len(bits))
    bits += "0" * (-len(bits) % 8)
    filled = bytes(int(bits[start : start + 8], 2) for start in range(0, len(bits), 8))
    padding = (b"\xec\x11" * (capacity // 8))[: capacity // 8 - len(filled)]
    return _interleaved(filled + padding, version)


def _interleaved(data: bytes, version: int) -> bytes:
    blocks, ecc_length = _BLOCKS[version - 1], _ECC_PER_BLOCK[version - 1]
    short, longer = divmod(len(data), blocks)
    parts: list[bytes] = []
    start = 0
    for number in range(blocks):
        end = start + short + (number >= blocks - longer)
        parts.append(data[start:end])
        start = end
    checks = [_remainder(part, _divisor(ecc_length)) for part in parts]
    columns = [bytes(part[i] for part in parts if i < len(part)) for i in range(short + 1)]
    return b"".join(columns) + b"".join(bytes(check[i] for check in checks) for i in range(ecc_length))


def _multiply(x: int, y: int) -> int:
    """In the field of 256 elements with the polynomial 0x11d."""
    product = 0
    for bit in range(7, -1, -1):
        product = (product << 1) ^ ((product >> 7) * 0x11D)
        product ^= ((y >> bit) & 1) * x
    return product


def _divisor(degree: int) -> list[int]:
    result = [0] * (degree - 1) + [1]
    root = 1
    for _ in range(degree):
        for i in range(degree):
            result[i] = _multiply(result[i], root) ^ (result[i + 1] if i + 1 < degree else 0)
        root = _multiply(root, 2)
    return result


def _remainder(data: bytes, divisor: list[int]) -> bytes:
    result = [0] * len(divisor)
    for byte in data:
        factor = byte ^ result.pop(0)
        result.append(0)
        result = [value ^ _multiply(coefficient, factor) for value, coefficient in zip(result, divisor, strict=True)]
    return bytes(result)


_MASKS: tuple[Callable[[int, int], int], ...] = (
    lambda x, y: (x + y) % 2,
    lambda x, y: y % 2,
    lambda x, y: x % 3,
    lambda x, y: (x + y) % 3,
    lambda x, y: (x // 3 + y // 2) % 2,
    lambda x, y: x * y % 2 + x * y % 3,
    lambda x, y: (x * y % 2 + x * y % 3) % 2,
    lambda x, y: ((x + y) % 2 + x * y % 3) % 2,
)


class _Drawing:
    def __init__(self, version: int, codewords: bytes) -> None:
        self._version, self._size = version, 4 * version + 17
        self._dark = [[False] * self._size for _ in range(self._size)]
        self._fixed = [[False] * self._size for _ in range(self._size)]
        self._draw_patterns()
        self._draw_codewords(codewords)

    def best(self) -> Matrix:
        return min((self._masked(mask) for mask in range(8)), key=_penalty)

    def _set(self, x: int, y: int, dark: bool) -> None:
        self._dark[y][x], self._fixed[y][x] = dark, True

    def _draw_patterns(self) -> None:
        size = self._size
        for i in range(size):
            self._set(6, i, i % 2 == 0)
            self._set(i, 6, i % 2 == 0)
        for x, y in ((3, 3), (size - 4, 3), (3, size - 4)):
            self._draw_finder(x, y)
        places = _ALIGNMENT[self._version - 1]
        corners = {(6, 6), (6, size - 7), (size - 7, 6)}
        for x, y in ((x, y) for x in places for y in places if (x, y) not in corners):
            for dx, dy in _square(2):
                self._set(x + dx, y + dy, max(abs(dx), abs(dy)) != 1)
        self._draw_format(0)
        self._draw_version()

    def _draw_finder(self, x: int, y: int) -> None:
        for dx, dy in _square(4):
            if 0 <= x + dx < self._size and 0 <= y + dy < self._size:
                self._set(x + dx, y + dy, max(abs(dx), abs(dy)) not in (2, 4))

    def _draw_format(self, mask: int) -> None:
        remainder = mask  # error correction M is written as 00
        for _ in range(10):
            remainder = (remainder << 1) ^ ((remainder >> 9) * 0x537)
        bits = (mask << 10 | remainder) ^ 0x5412
        size = self._size
        first = [*((8, i) for i in range(6)), (8, 7), (8, 8), (7, 8), *((14 - i, 8) for i in range(9, 15))]
        second = [*((size - 1 - i, 8) for i in range(8)), *((8, size - 15 + i) for i in range(8, 15))]
        for place in (first, second):
            for i, (x, y) in enumerate(place):
                self._set(x, y, bool(bits >> i & 1))
        self._set(8, size - 8, dark=True)

    def _draw_version(self) -> None:
        if self._version < 7:
            return
        remainder = self._version
        for _ in range(12):
            remainder = (remainder << 1) ^ ((remainder >> 11) * 0x1F25)
        bits = self._version << 12 | remainder
        for i in range(18):
            near, far = i // 3, self._size - 11 + i % 3
            self._set(far, near, bool(bits >> i & 1))
            self._set(near, far, bool(bits >> i & 1))

    def _draw_codewords(self, codewords: bytes) -> None:
        bits = (bool(byte >> bit & 1) for byte in codewords for bit in range(7, -1, -1))
        for x, y in self._free_modules():
            self._dark[y][x] = next(bits, False)

    def _free_modules(self) -> Iterator[tuple[int, int]]:
        """In the order of the data: pairs of columns from the right, up and down by turns."""
        rights = [right if right > 6 else right - 1 for right in range(self._size - 1, 0, -2)]
        for number, right in enumerate(rights):
            for step in range(self._size):
                y = step if number % 2 else self._size - 1 - step
                for x in (right, right - 1):
                    if not self._fixed[y][x]:
                        yield x, y

    def _masked(self, mask: int) -> Matrix:
        self._draw_format(mask)
        size = range(self._size)
        return [[self._dark[y][x] ^ (not self._fixed[y][x] and _MASKS[mask](x, y) == 0) for x in size] for y in size]


def _square(radius: int) -> Iterator[tuple[int, int]]:
    return ((dx, dy) for dy in range(-radius, radius + 1) for dx in range(-radius, radius + 1))


def _penalty(matrix: Matrix) -> int:
    """How hard the code is to read: runs, blocks, patterns like a finder, and too much of one colour."""
    size = len(matrix)
    lines = ["".join("#" if dark else "." for dark in row) for row in (*matrix, *map(list, zip(*matrix, strict=True)))]
    score = sum(_run_penalty(line) + 40 * _finders(line) for line in lines)
    blocks = sum(
        matrix[y][x] == matrix[y][x + 1] == matrix[y + 1][x] == matrix[y + 1][x + 1]
        for y in range(size - 1)
        for x in range(size - 1)
    )
    dark = sum(map(sum, matrix))
    return score + 3 * blocks + 10 * int(abs(20 * dark - 10 * size * size) / (size * size))


def _run_penalty(line: str) -> int:
    runs = "".join(f" {char}" if i and char != line[i - 1] else char for i, char in enumerate(line)).split()
    return sum(len(run) - 2 for run in runs if len(run) >= 5)


def _finders(line: str) -> int:
    return sum(line.startswith(("#.###.#....", "....#.###.#"), start) for start in range(len(line)))
