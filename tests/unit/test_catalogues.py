"""Every text of the page is translated in every language there is."""

import re

import pytest
from babel.messages.pofile import read_po

from scripts.texts import catalogues, extract, missing_in, read

PLACE = re.compile(r"%\((\w+)\)s|\{(\w+)\}")


@pytest.mark.parametrize("file", catalogues(), ids=lambda file: file.parts[-3])
def test_no_text_is_missing(file) -> None:
    assert list(missing_in(read(file), extract())) == []


@pytest.mark.parametrize("file", catalogues(), ids=lambda file: file.parts[-3])
def test_a_translation_holds_the_same_places(file) -> None:
    with file.open("rb") as opened:
        written = read_po(opened, locale=file.parts[-3])
    for message in written:
        if message.id and message.string:
            asked = message.id if isinstance(message.id, str) else message.id[-1]
            said = message.string if isinstance(message.string, str) else message.string[-1]
            assert set(PLACE.findall(asked)) == set(PLACE.findall(said)), asked
            assert asked.count("%%") == said.count("%%"), asked
