"""A real IMAP server, private to one test process: Dovecot without privileges, in a directory of its own."""

import grp
import os
import pwd
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from tests.servers import Missing, _running, free_port, unprivileged, wait_until, work_directory

PASSWORD = "a-secret-for-tests"

_COMMON = """
base_dir = {home}/run
state_dir = {home}/state
log_path = {home}/dovecot.log
protocols = imap
listen = 127.0.0.1
ssl = yes
default_internal_user = {user}
default_login_user = {user}
default_internal_group = {group}
first_valid_uid = 1
first_valid_gid = 1
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {plain}
  }}
  inet_listener imaps {{
    port = {tls}
    ssl = yes
  }}
}}
service anvil {{
  chroot =
}}
"""
_CONFIG_2_3 = (
    _COMMON
    + """
ssl_cert = <{home}/cert.pem
ssl_key = <{home}/key.pem
disable_plaintext_auth = no
mail_location = maildir:{home}/mail/%u
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid={user} gid={group} home={home}/mail/%u
}}
"""
)
# Its settings have new names, and the file must begin with the version it is written for.
_CONFIG_2_4 = (
    """
dovecot_config_version = 2.4.0
dovecot_storage_version = 2.4.0
"""
    + _COMMON
    + """
ssl_server_cert_file = {home}/cert.pem
ssl_server_key_file = {home}/key.pem
auth_allow_cleartext = yes
mail_driver = maildir
mail_path = {home}/mail/%{{user}}
passdb static {{
  password = {password}
}}
userdb static {{
  fields {{
    uid = {user}
    gid = {group}
    home = {home}/mail/%{{user}}
  }}
}}
"""
)


@dataclass
class ImapServer:
    home: Path
    plain_port: int
    tls_port: int
    _numbers: "count[int]" = field(default_factory=count)

    @property
    def certificate(self) -> Path:
        return self.home / "cert.pem"

    def new_user(self) -> str:
        return f"user{next(self._numbers)}"

    def deliver(self, user: str, raw: bytes, folder: str = "") -> None:
        """Put a mail into a folder, as a mail server would: whole, or not at all."""
        box = self.home / "mail" / user / (f".{folder}" if folder else "")
        for part in ("cur", "new", "tmp"):
            (box / part).mkdir(parents=True, exist_ok=True)
        name = f"{1_700_000_000 + next(self._numbers)}.M{next(self._numbers)}P1.tests"
        (box / "tmp" / name).write_bytes(raw)
        self.give_away(self.home / "mail")
        (box / "tmp" / name).rename(box / "new" / name)

    def give_away(self, path: Path) -> None:
        if drop := unprivileged():
            for each in (path, *path.rglob("*")):
                os.chown(each, drop["user"], drop["group"])


@contextmanager
def imap_server() -> Iterator[ImapServer]:
    program = shutil.which("dovecot") or shutil.which("/usr/sbin/dovecot")
    if not program:
        raise Missing("There is no Dovecot: run 'make test-deps'.")
    with work_directory("rbimap") as home:
        server = ImapServer(home, free_port(), free_port())
        make_certificate(home)
        user, group = _identity()
        (home / "mail").mkdir()
        config = _config(program).format(
            home=home, user=user, group=group, password=PASSWORD, plain=server.plain_port, tls=server.tls_port
        )
        (home / "dovecot.conf").write_text(config)
        server.give_away(home)
        with _running([program, "-F", "-c", home / "dovecot.conf"], home) as process:
            wait_until(lambda: _answers(server.plain_port), process, home)
            yield server


def _config(program: str) -> str:
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    number = re.match(r"(\d+)\.(\d+)", version)
    if number is None or (int(number[1]), int(number[2])) < (2, 3):
        raise Missing(f"Dovecot 2.3 or newer is needed, and this is {version.strip()}.")
    return _CONFIG_2_3 if (int(number[1]), int(number[2])) == (2, 3) else _CONFIG_2_4


def make_certificate(home: Path) -> None:
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", names, "-keyout", home / "key.pem", "-out", home / "cert.pem"],
        check=True,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _identity() -> tuple[str, str]:
    uid, gid = (drop["user"], drop["group"]) if (drop := unprivileged()) else (os.getuid(), os.getgid())
    return pwd.getpwuid(uid).pw_name, grp.getgrgid(gid).gr_name


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as connection:
        return connection.recv(4) == b"* OK"
    return False
