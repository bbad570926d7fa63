"""Passwords in the database: encrypted after an upgrade from 0.1, encrypted anew, and lost with their key."""

import asyncio
import json
import os
import shutil
import sqlite3
import subprocess
import time
from base64 import b64encode
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool
from structlog.testing import capture_logs

from reedbed.domain.errors import CannotStart
from reedbed.domain.failures import Failure, FailureCode
from reedbed.roles.build import running
from reedbed.services.newsletters.channels import check_due_mailboxes
from reedbed.services.refresh.check import refresh_feed
from reedbed.services.refresh.write import OutcomeWriter
from reedbed.services.runtime import Runtime
from reedbed.services.security import IN_CLEAR, UNREADABLE, encrypt_stored
from reedbed.settings import Settings
from reedbed.store import jobs, refresh, sharing, webhooks, websub
from reedbed.store.engine.encryption import PREFIX, make_key_file
from reedbed.store.feeds import admin as operator_feeds
from reedbed.store.migrations import VERSIONS
from reedbed.store.newsletters import mailboxes
from tests.feedsite import FeedSite
from tests.harness import run
from tests.processes import COMMAND, environment, reedbed, run_once

KEY = "k" * 40
WEBHOOK_SECRET = "whsec_" + b64encode(b"w" * 32).decode()
CLEAR = ("grey-heron-1", "grey-heron-2", "grey-heron-3", "grey-heron-4", "grey-heron-5", WEBHOOK_SECRET)
ROWS = (
    "INSERT INTO users (id, email, role, created_at) VALUES (1, 'a@example.org', 'owner', 1)",
    "INSERT INTO feeds (id, url, owner_id, username, password, proxy, created_at) VALUES "
    "(1, '{site}', 1, 'heron', 'grey-heron-1', NULL, 1), "
    "(2, 'http://127.0.0.1:1/b', NULL, NULL, NULL, 'http://u:grey-heron-2@127.0.0.1:1', 1)",
    "INSERT INTO feed_fetch_state (feed_id, next_check_at, urgent) VALUES (1, 1, true), (2, NULL, false)",
    "INSERT INTO subscriptions (user_id, feed_id, subscribed_at, full_text) VALUES (1, 1, 1, 'never')",
    "INSERT INTO mail_boxes (id, user_id, host, port, security, username, password, folder, next_check_at, "
    "created_at) VALUES (1, 1, '127.0.0.1', 1, 'none', 'u', 'grey-heron-3', 'INBOX', 1, 1)",
    "INSERT INTO share_targets (id, user_id, kind, name, url, secrets, created_at) VALUES "
    "(1, 1, 'readeck', 'R', 'http://127.0.0.1:1', '{{\"token\": \"grey-heron-4\"}}', 1)",
    "INSERT INTO webhooks (id, user_id, name, url, secret, created_at) VALUES "
    f"(1, 1, 'W', 'http://127.0.0.1:1/w', '{WEBHOOK_SECRET}', 1)",
    "INSERT INTO websub_subscriptions (id, feed_id, hub_url, topic_url, place, token, secret, state, "
    "created_at) VALUES (1, 2, 'http://127.0.0.1:1/h', 'http://127.0.0.1:1/b', 'p', 'tok', 'grey-heron-5', "
    "'active', 1)",
    "INSERT INTO app_settings (key, value, updated_at) VALUES ('secret_key', 'the-secret-of-this-instance', 1)",
)


async def of_0_1(url: str, site: str = "http://127.0.0.1:1/a") -> None:
    """A database as 0.1 left it: schema 0015 and passwords in clear."""
    if url.startswith("sqlite:"):
        engine = create_engine(url, poolclass=NullPool)
        with engine.begin() as connection:
            _fill(connection, site)
        return
    async_engine = create_async_engine("postgresql+asyncpg" + url[url.index("://") :], poolclass=NullPool)
    async with async_engine.begin() as connection:
        await connection.run_sync(_fill, site)


def _fill(connection: Any, site: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(VERSIONS.parent))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "0015")
    for statement in ROWS:
        connection.execute(text(statement.format(site=site).replace(":", "\\:")))


def settings(url: str, folder: Path, **more: str) -> Settings:
    return Settings(
        database_url=url,
        data_dir=folder,
        allow_networks="127.0.0.0/8",  # type: ignore[arg-type]
        **more,  # type: ignore[arg-type]
    )


@pytest.fixture
async def old_url(blank_database_url: str, site: FeedSite) -> str:
    site.publish("Behind the endpoint")
    site.protect("heron", "grey-heron-1")
    await of_0_1(blank_database_url, site.feed_url())
    return blank_database_url


async def stored(runtime: Runtime) -> list[str]:
    async with runtime.db.read() as tx:
        rows = await run(
            tx,
            "SELECT password FROM feeds WHERE id = 1 UNION ALL SELECT proxy FROM feeds WHERE id = 2 "
            "UNION ALL SELECT password FROM mail_boxes UNION ALL SELECT secrets FROM share_targets "
            "UNION ALL SELECT secret FROM webhooks UNION ALL SELECT secret FROM websub_subscriptions "
            "UNION ALL SELECT value FROM app_settings WHERE key = 'secret_key'",
        )
    return [row[0] for row in rows]


ENTER_AGAIN = Failure(FailureCode.SECRETS_LOST)


async def check_feed(runtime: Runtime) -> str:
    async with runtime.db.write() as tx:
        await refresh.request_check(tx, [1], runtime.now())
        (due,) = await refresh.claim_due(tx, "me", runtime.now(), limit=5, lease=60_000)
        await refresh.release(tx, "me", [1])
    async with OutcomeWriter(runtime) as writer:
        report = await refresh_feed(runtime, due, writer)
    return report.error or report.status


async def test_passwords_of_0_1_are_encrypted_at_the_start_and_still_work(old_url: str, tmp_path: Path) -> None:
    given = {} if old_url.startswith("sqlite:") else {"secret_key": KEY}
    async with running(settings(old_url, tmp_path, **given), may_migrate=True) as runtime:
        assert await check_feed(runtime) == "success"  # before anything is encrypted, too
        await encrypt_stored(runtime.db, runtime.now())
        values = await stored(runtime)
        kept = values if old_url.startswith("sqlite:") else values[:-1]
        assert all(value.startswith(PREFIX) for value in kept)
        assert await encrypt_stored(runtime.db, runtime.now()) == 0

        assert await check_feed(runtime) == "success"
        async with runtime.db.read() as tx:
            assert (await mailboxes.list_mailboxes(tx, 1))[0].password == "grey-heron-3"
            assert (await sharing.of_user(tx, 1))[0].secrets == {"token": "grey-heron-4"}
            assert (await webhooks.list_for_user(tx, 1))[0].secret == WEBHOOK_SECRET
            hub = await websub.get_by_token(tx, "tok")
            assert hub is not None and hub.secret == "grey-heron-5"
            proxied = await operator_feeds.by_id(tx, 2, runtime.now())
            assert proxied is not None and proxied.fetching.proxy == "http://u:grey-heron-2@127.0.0.1:1"
    async with running(settings(old_url, tmp_path, **given), may_migrate=True) as runtime:
        assert await check_feed(runtime) == "success"


def test_nothing_in_clear_is_left_in_the_file_or_its_backup(tmp_path: Path, free_port: int) -> None:
    data = tmp_path / "data"
    data.mkdir()
    asyncio.run(of_0_1(f"sqlite:///{data}/reedbed.db"))
    _leave_remains(data / "reedbed.db")
    assert _clear_in(data / "reedbed.db")
    with reedbed("serve", port=free_port, cwd=tmp_path) as server:
        assert server.stop() == 0
    assert _clear_in(data / "reedbed.db") == []
    assert run_once("admin", "db", "backup", str(tmp_path / "copy.db"), cwd=tmp_path).returncode == 0
    assert _clear_in(tmp_path / "copy.db") == []
    assert (data / "secret.key").stat().st_mode & 0o777 == 0o600
    key = (data / "secret.key").read_text().split()[-1]
    assert key.encode() not in (tmp_path / "copy.db").read_bytes()


def _leave_remains(file: Path) -> None:
    """What a SQLite that does not wipe leaves in the file of rows that grow."""
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA secure_delete = OFF")
        with db:
            db.executemany(
                "INSERT INTO feeds (url, owner_id, username, password, created_at) VALUES (?, 1, 'u', ?, 1)",
                [(f"http://127.0.0.1:1/grown/{number}", CLEAR[0]) for number in range(30)],
            )
            db.execute("UPDATE feeds SET description = 'What came with the next document of ' || url")


def _clear_in(file: Path) -> list[str]:
    found = file.read_bytes()
    return [word for word in (*CLEAR, "the-secret-of-this-instance") if word.encode() in found]


async def test_postgresql_of_0_1_gets_its_key_once_the_data_directory_has_outlived_a_start(
    postgres_url: str, tmp_path: Path, site: FeedSite
) -> None:
    site.publish("Behind the endpoint")
    site.protect("heron", "grey-heron-1")
    await of_0_1(postgres_url, site.feed_url())
    for folder in (tmp_path / "container", tmp_path / "another container"):  # none has a volume: nothing may be lost
        async with running(settings(postgres_url, folder), may_migrate=True) as runtime:
            await encrypt_stored(runtime.db, runtime.now())
            assert await check_feed(runtime) == "success"
            assert not any(value.startswith(PREFIX) for value in await stored(runtime))
        assert not (folder / "secret.key").exists()
    async with running(settings(postgres_url, folder), may_migrate=True) as runtime:
        await encrypt_stored(runtime.db, runtime.now())
        assert all(value.startswith(PREFIX) for value in await stored(runtime))
        assert runtime.secret == b"the-secret-of-this-instance"
        assert await check_feed(runtime) == "success"
    assert (folder / "secret.key").stat().st_mode & 0o777 == 0o600
    assert not (folder / "secret.key.next").exists()
    with pytest.raises(CannotStart, match="key that this process does not have"):
        async with running(settings(postgres_url, tmp_path / "container"), may_migrate=True):
            pass


async def test_postgresql_of_0_1_gets_no_key_while_another_machine_uses_it(postgres_url: str, tmp_path: Path) -> None:
    await of_0_1(postgres_url)
    async with running(settings(postgres_url, tmp_path), may_migrate=True) as runtime, runtime.db.write() as tx:
        await jobs.record_heartbeat(tx, "elsewhere:1:ab", role="serve", version="0.2", started_at=runtime.now())
    async with running(settings(postgres_url, tmp_path), may_migrate=True) as runtime:
        await encrypt_stored(runtime.db, runtime.now())
        assert not any(value.startswith(PREFIX) for value in await stored(runtime))
    assert not (tmp_path / "secret.key").exists()


async def test_postgresql_of_0_1_in_parts_goes_on_in_clear_and_says_how_to_change_it(
    postgres_url: str, tmp_path: Path
) -> None:
    await of_0_1(postgres_url)
    async with running(settings(postgres_url, tmp_path), may_migrate=True):
        pass  # only the schema
    async with running(settings(postgres_url, tmp_path), may_migrate=False) as runtime:
        with capture_logs() as logs:
            await encrypt_stored(runtime.db, runtime.now())
        assert not any(value.startswith(PREFIX) for value in await stored(runtime))
    assert [line["event"] for line in logs] == [IN_CLEAR]
    assert not (tmp_path / "secret.key").exists()
    (tmp_path / "here").mkdir()
    made = await asyncio.to_thread(_rotate, postgres_url, tmp_path / "here")
    assert made.returncode == 0, made.stderr
    async with running(settings(postgres_url, tmp_path / "here"), may_migrate=True) as runtime:
        assert all(value.startswith(PREFIX) for value in await stored(runtime))


async def test_a_new_postgresql_never_holds_a_password_in_clear(postgres_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with running(settings(postgres_url, folder), may_migrate=True) as runtime:
        async with runtime.db.write() as tx:
            await run(tx, ROWS[0])
            login = {"host": "127.0.0.1", "port": 1, "security": "none", "username": "u", "folder": "INBOX"}
            await mailboxes.add_mailbox(tx, 1, **login, password="grey-heron-3", now=runtime.now())
            values = await run(
                tx, "SELECT password FROM mail_boxes UNION ALL SELECT value FROM app_settings WHERE key = 'secret_key'"
            )
        assert len(values) == 2 and all(value.startswith(PREFIX) for (value,) in values)
    assert (folder / "secret.key").stat().st_mode & 0o777 == 0o600
    with pytest.raises(CannotStart, match="REEDBED_SECRET_KEY for all processes, or give each"):
        async with running(settings(postgres_url, tmp_path / "elsewhere"), may_migrate=True):
            pass


async def test_of_processes_that_start_together_with_a_new_postgresql_one_makes_the_key(
    postgres_url: str, tmp_path: Path
) -> None:
    async with running(settings(postgres_url, tmp_path, secret_key=KEY), may_migrate=True):
        pass  # only the schema
    folders = [tmp_path / name for name in "abc"]
    started = await asyncio.gather(*(_starts(postgres_url, folder) for folder in folders))
    assert sum(started) == 1
    assert [(folder / "secret.key").exists() for folder in folders] == started


async def _starts(url: str, folder: Path) -> bool:
    try:
        async with running(settings(url, folder), may_migrate=True):
            return True
    except CannotStart as error:
        assert "REEDBED_SECRET_KEY" in str(error)
        return False


async def test_a_new_postgresql_without_a_place_for_a_key_is_not_begun(postgres_url: str, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file, where a folder is needed")
    with pytest.raises(CannotStart, match="REEDBED_SECRET_KEY"):
        async with running(settings(postgres_url, tmp_path / "data"), may_migrate=True):
            pass


async def test_a_lost_key_costs_the_passwords_and_nothing_else(old_url: str, tmp_path: Path) -> None:
    async with running(settings(old_url, tmp_path, secret_key=KEY), may_migrate=True) as runtime:
        await encrypt_stored(runtime.db, runtime.now())
    async with running(settings(old_url, tmp_path, secret_key="x" * 40), may_migrate=True) as runtime:
        with capture_logs() as logs:
            await encrypt_stored(runtime.db, runtime.now())
        assert [line["event"] for line in logs] == [UNREADABLE]
        assert await check_feed(runtime) == ENTER_AGAIN.message
        await check_due_mailboxes(runtime)
        async with runtime.db.read() as tx:
            (box,) = await mailboxes.list_mailboxes(tx, 1)
            assert (box.last_error, box.password) == (ENTER_AGAIN, "")
            assert (await webhooks.list_for_user(tx, 1))[0].secret == ""
            assert (await sharing.of_user(tx, 1))[0].secrets == {}
            hub = await websub.get_by_token(tx, "tok")
            assert hub is not None and hub.state == "new" and hub.secret not in ("", "grey-heron-5")
            proxied = await operator_feeds.by_id(tx, 2, runtime.now())
            assert proxied is not None and proxied.fetching.shown_proxy == "***"
        async with runtime.db.write() as tx:  # the same mailbox, entered again
            login = {"host": "127.0.0.1", "port": 1, "security": "none", "username": "u", "folder": "INBOX"}
            made = await mailboxes.add_mailbox(tx, 1, **login, password="new", now=runtime.now())
            assert made is not None and (made.id, made.password, made.last_error) == (1, "new", None)
            assert await mailboxes.add_mailbox(tx, 1, **login, password="other", now=runtime.now()) is None
    # What was not entered again comes back with the key.
    both = settings(old_url, tmp_path, secret_key="x" * 40, secret_key_previous=KEY)
    async with running(both, may_migrate=True) as runtime:
        await encrypt_stored(runtime.db, runtime.now())
        assert await check_feed(runtime) == "success"
    async with running(settings(old_url, tmp_path, secret_key="x" * 40), may_migrate=True) as runtime:
        assert await check_feed(runtime) == "success"


async def test_a_sqlite_whose_key_file_is_gone_starts_with_a_new_one(tmp_path: Path, site: FeedSite) -> None:
    url = f"sqlite:///{tmp_path}/reedbed.db"
    site.protect("heron", "grey-heron-1")
    await of_0_1(url, site.feed_url())
    async with running(settings(url, tmp_path), may_migrate=True) as runtime:
        secret = runtime.secret
        assert secret == b"the-secret-of-this-instance"
        await encrypt_stored(runtime.db, runtime.now())
    kept = tmp_path / "elsewhere.key"
    shutil.move(tmp_path / "secret.key", kept)
    async with running(settings(url, tmp_path), may_migrate=True) as runtime:
        await encrypt_stored(runtime.db, runtime.now())
        assert runtime.secret != secret
        assert await check_feed(runtime) == ENTER_AGAIN.message
    with (tmp_path / "secret.key").open("a") as file:
        file.write(kept.read_text())
    async with running(settings(url, tmp_path), may_migrate=True) as runtime:
        await encrypt_stored(runtime.db, runtime.now())
        assert await check_feed(runtime) == "success"


async def test_a_process_without_the_key_file_of_the_others_is_told_what_to_do(
    postgres_url: str, tmp_path: Path
) -> None:
    """A process that lacks the key must not replace the secret of the others."""
    await of_0_1(postgres_url)
    async with running(settings(postgres_url, tmp_path), may_migrate=True) as runtime:
        secret = runtime.secret
    here, there = tmp_path / "here", tmp_path / "there"
    there.mkdir()
    made = await asyncio.to_thread(_rotate, postgres_url, here)
    assert made.returncode == 0, made.stderr
    async with running(settings(postgres_url, here), may_migrate=True) as runtime:
        assert runtime.secret == secret
    with pytest.raises(CannotStart, match="key that this process does not have"):
        async with running(settings(postgres_url, there), may_migrate=True):
            pass
    refused = await asyncio.to_thread(_rotate, postgres_url, there)
    assert refused.returncode == 1 and "--lost-key" in refused.stderr
    assert list(there.iterdir()) == []
    shutil.copy(here / "secret.key", there)
    async with running(settings(postgres_url, there), may_migrate=True) as runtime:
        assert runtime.secret == secret


def _rotate(url: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return run_once("admin", "secrets", "rotate", "--data-dir", str(folder), cwd=folder.parent, database_url=url)


MANY = 3_000


def test_a_rotation_that_is_killed_is_completed_by_the_next(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/reedbed.db"
    asyncio.run(of_0_1(url))
    with closing(sqlite3.connect(tmp_path / "reedbed.db")) as db, db:
        db.executemany(
            "INSERT INTO feeds (url, owner_id, username, password, created_at) VALUES (?, 1, 'u', ?, 1)",
            [(f"http://127.0.0.1:1/{number}", f"password {number}") for number in range(MANY)],
        )
    assert run_once("admin", "db", "migrate", cwd=tmp_path, database_url=url).returncode == 0
    for _ in range(4):
        before = _keys(tmp_path)
        rotating = subprocess.Popen(
            [COMMAND, "admin", "secrets", "rotate"], cwd=tmp_path, env=environment(database_url=url)
        )
        deadline = time.monotonic() + 60
        while rotating.poll() is None and _keys(tmp_path) == before and time.monotonic() < deadline:
            time.sleep(0.01)
        rotating.kill()
        rotating.wait()
    done = run_once("admin", "secrets", "rotate", "--json", cwd=tmp_path, database_url=url)
    assert done.returncode == 0, done.stderr
    asked = run_once("admin", "secrets", "status", "--json", cwd=tmp_path, database_url=url)
    (facts,) = json.loads(asked.stdout)
    assert (facts["clear"], facts["former_key"], facts["unreadable"]) == (0, 0, 0)
    assert set(_keys(tmp_path)) == {facts["key"]}
    asyncio.run(_all_readable(url, tmp_path))


def _keys(folder: Path) -> dict[str, int]:
    """How many passwords of feeds each key encrypts."""
    found: dict[str, int] = {}
    with closing(sqlite3.connect(folder / "reedbed.db")) as db:
        for (value,) in db.execute("SELECT password FROM feeds WHERE password IS NOT NULL"):
            key = value.split(":")[2] if value.startswith(PREFIX) else ""
            found[key] = found.get(key, 0) + 1
    return found


async def _all_readable(url: str, folder: Path) -> None:
    async with running(settings(url, folder), may_migrate=False) as runtime, runtime.db.read() as tx:
        rows = await run(tx, "SELECT url, password FROM feeds WHERE id > 2")
        assert len(rows) == MANY
        for address, value in rows:
            number = address.rpartition("/")[2]
            assert tx.vault.decrypt("feeds.password", value) == f"password {number}"


async def test_a_move_to_postgresql_takes_the_passwords_along(
    postgres_server: Any, tmp_path: Path, site: FeedSite
) -> None:
    site.protect("heron", "grey-heron-1")
    source = f"sqlite:///{tmp_path}/reedbed.db"
    await of_0_1(source, site.feed_url())
    async with running(settings(source, tmp_path), may_migrate=True) as runtime:
        await encrypt_stored(runtime.db, runtime.now())
        secret = runtime.secret
    target = postgres_server.create()
    moved = await asyncio.to_thread(run_once, "admin", "db", "move", "--to", target, cwd=tmp_path, database_url=source)
    assert moved.returncode == 0, moved.stderr
    assert "secret.key" in moved.stdout
    async with running(settings(target, tmp_path), may_migrate=True) as runtime:
        assert runtime.secret == secret
        assert await check_feed(runtime) == "success"
    postgres_server.drop(target)


def test_a_key_file_made_by_root_belongs_to_the_owner_of_the_folder(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        os.chown(tmp_path, 12345, 12345)
    make_key_file(tmp_path / "secret.key")
    assert (tmp_path / "secret.key").stat().st_uid == tmp_path.stat().st_uid
