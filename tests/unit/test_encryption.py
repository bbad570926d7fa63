"""Encryption of stored passwords: one purpose, several keys, and a key file that survives anything."""

import stat
import threading
from pathlib import Path

import pytest

from reedbed.domain.errors import CannotStart
from reedbed.store.engine.encryption import PREFIX, Vault, add_key, key_from_setting, make_key_file, read_key_file


def test_what_is_encrypted_comes_back_for_its_purpose_alone() -> None:
    vault = Vault(key_from_setting("a" * 32))
    stored = vault.encrypt("feeds.password", "grey bird ü")
    assert stored.startswith(PREFIX) and "grey" not in stored
    assert vault.decrypt("feeds.password", stored) == "grey bird ü"
    assert vault.decrypt("mail_boxes.password", stored) is None
    assert vault.encrypt("feeds.password", "grey bird ü") != stored


@pytest.mark.parametrize("damage", [lambda text: text[:-6] + "AAAAAA", lambda text: text[:30], lambda _: PREFIX])
def test_a_damaged_value_is_unreadable_and_nothing_else(damage) -> None:
    vault = Vault(key_from_setting("a" * 32))
    assert vault.decrypt("x", damage(vault.encrypt("x", "a longer password"))) is None


def test_a_clear_text_from_before_is_read_as_it_is() -> None:
    assert Vault(key_from_setting("a" * 32)).decrypt("x", "open sesame") == "open sesame"


def test_without_a_key_texts_are_stored_in_clear() -> None:
    assert Vault().encrypt("x", "open sesame") == "open sesame"


def test_a_former_key_decrypts_and_never_encrypts() -> None:
    old, new = key_from_setting("o" * 32), key_from_setting("n" * 32)
    stored = Vault(old).encrypt("x", "word")
    assert Vault(new).decrypt("x", stored) is None
    both = Vault(new, former=[old])
    assert both.decrypt("x", stored) == "word"
    assert both.encrypt("x", "word").startswith(f"{PREFIX}{new.id}:")
    assert Vault(former=[old]).encrypt("x", "word") == "word"


def test_the_key_file_is_for_its_owner_alone_and_made_once(tmp_path: Path) -> None:
    file = tmp_path / "secret.key"
    makers = [threading.Thread(target=make_key_file, args=(file,)) for _ in range(8)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(read_key_file(file)) == 1
    assert list(tmp_path.iterdir()) == [file]
    before = file.read_bytes()
    make_key_file(file)
    assert file.read_bytes() == before


def test_a_running_process_takes_a_new_key_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "secret.key"
    make_key_file(file)
    here, there = Vault(file=file), Vault(file=file)
    first = here.encrypt("x", "word")
    add_key(file)
    second = there.encrypt("x", "word")
    assert second.split(":")[2] != first.split(":")[2]
    assert here.decrypt("x", second) == "word"
    assert there.decrypt("x", first) == "word"


def test_of_keys_added_at_the_same_time_none_is_lost(tmp_path: Path) -> None:
    file = tmp_path / "secret.key"
    adding = [threading.Thread(target=add_key, args=(file,)) for _ in range(16)]
    for one in adding:
        one.start()
    for one in adding:
        one.join()
    assert len({key.id for key in read_key_file(file)}) == 16


@pytest.mark.parametrize("content", ["", "# nothing\n", "abc def\n", "id c2hvcnQ=\n", "\ufeff\x00"])
def test_a_damaged_key_file_is_named_with_the_way_out(tmp_path: Path, content: str) -> None:
    file = tmp_path / "secret.key"
    file.write_text(content)
    with pytest.raises(CannotStart, match=r"secret\.key is damaged"):
        Vault(file=file)
