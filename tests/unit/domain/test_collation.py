"""Names stand where the alphabet of a language has them."""

import pytest

from reedbed.domain.collation import collation_key


@pytest.mark.parametrize(
    ("language", "names"),
    [
        ("", ["2 Reeds", "10 Reeds", "“Äpfel”", "Äpfel", "Feed 1a", "Feed 1b", "feed 2", "Feed 10"]),
        ("de", ["Apfel", "Äpfel", "Bär", "Strasse 2", "Straße 10", "Zebra"]),
        ("es", ["Ánfora", "Azul", "Nube", "Nzz", "Ñandú", "Oso"]),
        ("fr", ["cote", "coté", "côte", "oeil", "œuf", "offre"]),
        ("pl", ["Ala", "Azur", "Ąbc", "Lublin", "Łódź", "Zamość", "Źródło", "Żywiec"]),
        ("ru", ["2 b", "Ёлка", "Ель", "Жук", "Игра", "Йод", "Кот", "Яма", "Apple"]),
        ("uk", ["Гора", "Ґанок", "Дім", "Еко", "Єнот", "Иней", "Ірис", "Їжак", "Йод", "Ялта", "Apple"]),
        ("ja", ["Apple", "Zoo", "ア", "かあさん", "カード", "かく", "がく", "キャット", "亜細亜", "漢字"]),
        ("zh-Hans", ["阿里", "北京", "上海", "张三", "中国", "Apple"]),
        ("en", ["lama", "łan", "Ort", "Øst", "Βήτα", "Яма"]),
    ],
)
def test_names_are_in_the_order_of_the_language(language: str, names: list[str]) -> None:
    mixed = names[::-1]
    assert sorted(mixed, key=lambda name: collation_key(name, language)) == names


def test_any_name_has_a_place() -> None:
    names = ["", " ", "\u0301", "ー", "1" * 40, "\ud800", "\U0010ffff", "٣ ب", "𠀀", "ㅎ", "🦆"]
    for language in ("", "ja", "zh-Hans", "pl", "ru"):
        assert len(sorted(names, key=lambda name: collation_key(name, language))) == len(names)
