"""Mosquitto's files, as its own tools wrote them, become those of a broker here."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from meshwright.cli.main import app
from meshwright.errors import InputFileError, OperatorError
from meshwright.live.access.passwords import read_passwords
from meshwright.live.access.rules import read_rules
from meshwright.live.mosquitto.importing import import_mosquitto
from meshwright.live.settings import LiveSettings, read_live_settings

# Written by mosquitto_passwd 2.0.11.
HASHES = {
    "alice": "$7$101$6EkOCixgFZgdHE2v$Ew59CFH3l6mfSUcdP3efPRdnCKLvameq9vFxi7CaYEh/"
    "o4EL2iswGaHkl9l9kbfNJXqg+gr4w1pc0zfhGUwuDQ==",
    "bob": "$6$MaX2TZA1znoyEK5Z$tAJmBqvJwsK52lyZPK8zJ1F9f2jomfnZv5/tGkg4Z1FJo4gZfp/6V6+2+BYa+"
    "I5FHzgunpbTdH2tJMgOLCtQmg==",
    "carol x": "$7$101$2LI3TudHgog3mHjf$QOoERhCvoXWByxQVO1SMM0xN1dZcKvR0GSAIpGGGQXeamqCKOGFdtudb"
    "T3jc19a9HhlZecssyZ61qbvHuh55/Q==",
}
PASSWORDS = "".join(f"{user}:{found}\n" for user, found in HASHES.items())
RULES = """\
# for clients without a user
topic read news/#

user alice
topic home/#
topic deny home/secret
topic read a topic/with blanks
user bob
topic write in/+
pattern readwrite users/%u/#
"""
CONF = """\
# one door
listener 1884 127.0.0.1
protocol websockets
allow_anonymous true
password_file pw
acl_file acl
max_inflight_messages 20
max_queued_messages 0
message_size_limit 2000
retain_available false
allow_zero_length_clientid false
max_queued_bytes 4096
persistence true
sys_interval 30
log_dest stderr
"""


PER_LISTENER = """\
per_listener_settings true
listener 1
allow_anonymous true
listener 2
password_file pw
"""


def files_in(folder: Path, conf: str = CONF, acl: str = RULES, passwords: str = PASSWORDS) -> Path:
    for name, text in (("mosquitto.conf", conf), ("acl", acl), ("pw", passwords)):
        (folder / name).write_text(text)
    return folder / "mosquitto.conf"


def settings_from(folder: Path, conf: str) -> tuple[LiveSettings, list[str]]:
    imported = import_mosquitto(files_in(folder, conf), folder / "out")
    return read_live_settings(folder / "out" / "broker.toml"), list(map(str, imported.kept_out))


def test_hashes_of_mosquitto_are_good_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "pw"
    path.write_text(PASSWORDS)
    users = read_passwords(path)
    for user, password in (("alice", "staple"), ("bob", "horse"), ("carol x", "pä ss")):
        assert users.are_right(user, password.encode())
        assert not users.are_right(user, b"other")
        assert not users.are_right(user, b"")
    assert not users.are_right("dave", b"staple")


DIGEST = "A" * 86 + "=="


@pytest.mark.parametrize(
    "found",
    [
        "plain", "$7$101$AAAA$AAAA", f"$7$0$AAAA${DIGEST}", "$7$x$AAAA$AAAA", "$6$AAAA",
        f"$7$99999999$AAAA${DIGEST}", f"$6$A!AA${DIGEST}", "$7$$$", "$5$AAAA$AAAA",
    ],
)  # fmt: skip
def test_a_damaged_hash_is_pointed_at(found: str, tmp_path: Path) -> None:
    path = tmp_path / "pw"
    path.write_text(f"alice:{found}\n")
    with pytest.raises(InputFileError, match="line 1"):
        read_passwords(path)


def test_rules_mean_what_they_meant(tmp_path: Path) -> None:
    imported = import_mosquitto(files_in(tmp_path), tmp_path / "out")
    assert imported.kept_out == []
    rules = read_rules(tmp_path / "out" / "rules")
    anonymous, alice, bob = rules.of("c", ""), rules.of("c", "alice"), rules.of("c", "bob")
    assert anonymous.may("read", "news/a")
    # With Mosquitto, what stands before the first user is for clients without one.
    assert not alice.may("read", "news/a")
    assert alice.may("write", "home/light")
    assert alice.may("read", "a topic/with blanks")
    assert not alice.may("read", "home/secret")
    assert bob.may("write", "in/a")
    assert not bob.may("read", "in/a")
    assert bob.may("read", "users/bob/x")
    assert not bob.may("read", "users/alice/x")


def test_settings_mean_what_they_meant(tmp_path: Path) -> None:
    settings, kept_out = settings_from(tmp_path, CONF)
    assert kept_out == []
    (listener,) = settings.listeners
    assert (listener.address, listener.transport) == ("127.0.0.1:1884", "websocket")
    assert listener.anonymous
    limits = settings.limits
    assert (limits.inflight_max, limits.queue_max, limits.queue_bytes_max) == (20, 0, 4096)
    assert limits.payload_bytes_max == 2000
    assert not limits.retain_available
    assert not limits.empty_client_ids
    assert settings.durability == "synced"
    assert settings.telemetry.sys_every_s == 30
    for name in ("broker.toml", "rules", "passwords"):
        mode = (tmp_path / "out" / name).stat().st_mode
        assert stat.S_IMODE(mode) == 0o600


def test_what_is_left_out_is_told_with_its_line(tmp_path: Path) -> None:
    conf = """\
port 1885
max_nonsense 1
allow_anonymous true
connection cloud
address example.org
listener 0 /tmp/socket
listener 1886
mount_point x/
"""
    settings, kept_out = settings_from(tmp_path, conf)
    assert [one.address for one in settings.listeners] == ["0.0.0.0:1885"]
    lines = [int(text.partition("line ")[2].partition(":")[0]) for text in kept_out]
    assert lines == [2, 4, 5, 8, 6, 7]
    assert all("left out" in text for text in kept_out)


@pytest.mark.parametrize(
    ("conf", "addresses"),
    [
        ("", {"127.0.0.1:1883": True}),
        ("port 1\nbind_address ::1\nallow_anonymous true\n", {"[::1]:1": True}),
        ("listener 1\nlistener 2\npassword_file pw\n", {"0.0.0.0:1": False, "0.0.0.0:2": False}),
        (
            PER_LISTENER,
            {"0.0.0.0:1": True, "0.0.0.0:2": False},
        ),
    ],
)
def test_a_listener_takes_whom_it_took(
    conf: str, addresses: dict[str, bool], tmp_path: Path
) -> None:
    settings, _ = settings_from(tmp_path, conf)
    assert {one.address: one.anonymous for one in settings.listeners} == addresses


@pytest.mark.parametrize(
    ("conf", "problem"),
    [
        ("listener 1\n", "nobody"),
        ("listener 1\nallow_anonymous perhaps\n", "line 2"),
        ("max_queued_messages many\n", "line 1"),
        ("allow_anonymous true\nplugin guard.so\nlistener 1\n", "line 2"),
        ("listener 1\nallow_anonymous true\ncrlfile revoked.pem\n", "crlfile"),
        ("include_dir nowhere\n", "line 1"),
    ],
)
def test_what_cannot_be_taken_over_opens_no_door(conf: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match=problem):
        import_mosquitto(files_in(tmp_path, conf), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command_prints_a_line_for_each_thing_left_out(tmp_path: Path) -> None:
    conf = files_in(
        tmp_path,
        CONF + "include_dir more\n",
        RULES + "topic read a/#/b\nsubscribe x\n",
        PASSWORDS + "dave:plain\n",
    )
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.conf").write_text("\nautosave_interval 5\n")
    arguments = ["import", "mosquitto", str(conf), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    left = [one for one in done.output.splitlines() if "left out" in one]
    assert [one.removeprefix(str(tmp_path)).partition(": ")[0] for one in left] == [
        "/more/a.conf, line 2", "/pw, line 4", "/acl, line 11", "/acl, line 12",
    ]  # fmt: skip
    assert "plain" not in done.output
    again = CliRunner().invoke(app, arguments)
    assert again.exit_code == 2
    assert "there is such a file already" in again.output
