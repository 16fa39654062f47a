"""What would keep a broker from starting is found by --test-config, with its file and its line."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from certificates import Papers
from live_network import running_brokers
from typer.testing import CliRunner

from meshwright.cli.main import app
from meshwright.live.access.passwords import set_password

NOBODY = 65_534
WELL = '[[listeners]]\naddress = "127.0.0.1:0"\nanonymous = true\n[peers]\nlisten = "127.0.0.1:0"\n'


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that others than its owner can see into."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@contextmanager
def without_rights() -> Iterator[None]:
    """As a user for whom files of mode 0 are forbidden, which for root they are not."""
    if os.geteuid():
        yield
        return
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def judged(*words: str | Path) -> str:
    """The one sentence of a refusal, or nothing."""
    asked = ["broker", *map(str, words), "--test-config"]
    result = CliRunner().invoke(app, asked, catch_exceptions=False)
    assert (result.exit_code == 0) == (result.stderr == ""), result.output
    assert result.stderr.count("\n") <= 1
    return result.stderr


def config(folder: Path, text: str) -> Path:
    path = folder / "broker.toml"
    path.write_text(text)
    return path


def test_settings_with_which_a_broker_starts_are_let_pass(folder: Path) -> None:
    path = config(folder, f'folder = "{folder}/b"\n{WELL}')
    assert judged("--config", path) == ""
    assert not (folder / "b").exists()


def test_a_key_that_does_not_fit_its_certificate_is_named(folder: Path) -> None:
    ours, theirs = Papers(folder / "ours"), Papers(folder / "theirs")
    text = (
        '[[listeners]]\naddress = "127.0.0.1:0"\nanonymous = true\n'
        '[listeners.tls]\ncertificate = "{}"\nkey = "{}"\n[peers]\nlisten = "127.0.0.1:0"\n'
    )
    assert judged("--config", config(folder, text.format(ours.certificate, ours.key))) == ""
    sentence = judged("--config", config(folder, text.format(ours.certificate, theirs.key)))
    assert f"{theirs.key}: this key does not belong to the certificate {ours.certificate}" in (
        sentence
    )
    sentence = judged("--config", config(folder, text.format(ours.key, theirs.key)))
    assert f"{ours.key}: this is no certificate" in sentence
    sentence = judged("--config", config(folder, text.format(ours.certificate, ours.trusted)))
    assert f"{ours.trusted}: this is no key" in sentence


def test_files_that_a_broker_could_not_use_are_named_with_their_line(folder: Path) -> None:
    path = config(folder, f'[access]\npasswords = "words"\nrules = "rules"\n{WELL}')
    set_password(folder / "words", "alice", b"staple")
    (folder / "rules").write_text("topic read a\n\nread b\n")
    assert f"{folder}/rules, line 3: 'read b' is no rule" in judged("--config", path)
    (folder / "rules").write_text("topic read a\n")
    assert judged("--config", path) == ""
    with (folder / "words").open("a") as file:
        file.write("bob:$argon2 cut short\n")
    assert f"{folder}/words, line 2: this is no user with a hash that is known here" in (
        judged("--config", path)
    )


def test_a_setting_that_cannot_work_is_named_with_its_file_and_line(folder: Path) -> None:
    more = '\n[[listeners]]\naddress = "127.0.0.1:0"\n'
    for text, line, sentence in (
        (WELL + more, 7, "could let nobody in"),
        (WELL + more + "anonymus = true\n", 9, "there is no setting 'listeners.anonymus'"),
        (WELL + more + "anonymous = 7\n", 9, "listeners.anonymous: expected `bool`, got `int`"),
        (WELL + '[access]\npasswords = "none"\n', 7, "none: there is no such file"),
        (WELL + "[limits]\n\nqueue_max = -1\n", 8, "limits.queue_max is -1"),
        ('name = "a/b"\n' + WELL, 1, "is no name for a broker"),
        (WELL + '[telemetry]\nhttp = "here"\n', 7, "'here' is no address"),
        ('[peers]\nlisten = "0.0.0.0:0"\n', 2, "anybody could join"),
    ):
        path = config(folder, text)
        found = judged("--config", path)
        assert found.startswith(f"error: {path}, line {line}: ")
        assert sentence in found
    # What was given as an option is nobody's line.
    found = judged("--config", config(folder, WELL), "--name", "a/b")
    assert found.startswith("error: 'a/b' is no name for a broker")


@pytest.mark.parametrize("key", ["listeners", "peers.listen", "telemetry.http"])
def test_a_port_that_is_taken_is_found(key: str, folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        free = "127.0.0.1:0"
        options = {
            "listeners": ("--listen", address, "--peer-listen", free),
            "peers.listen": ("--listen", free, "--peer-listen", address),
            "telemetry.http": ("--listen", free, "--peer-listen", free),
        }[key]
        text = f'[telemetry]\nhttp = "{address}"\n' if key == "telemetry.http" else ""
        found = judged("--config", config(folder, text), "--data", folder / "b", *options)
        assert f"{key}: nothing can listen on {address} (address already in use)" in found


def test_one_port_for_two_things_is_found(folder: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"127.0.0.1:{port}"
    found = judged("--listen", address, "--peer-listen", address, "--data", folder / "b")
    assert f"peers.listen: nothing can listen on {address}" in found


def test_a_folder_that_another_broker_has_or_uses_is_found(folder: Path) -> None:
    async def story() -> None:
        async with running_brokers("chord", folder, 1):
            found = await asyncio.to_thread(judged, "--name", "b7", "--data", folder / "b0")
            assert "belongs to the broker 'b0', not to 'b7'" in found
            assert await asyncio.to_thread(judged, "--name", "b0", "--data", folder / "b0") == ""
            # It runs, but does not answer.
            (folder / "b0" / "control.sock").unlink()
            found = await asyncio.to_thread(
                judged, "--name", "b0", "--data", folder / "b0", "--listen", "127.0.0.1:0"
            )
            assert "another broker uses this disk" in found

    asyncio.run(story())
    (folder / "b0" / "broker.sqlite").write_bytes(b"no database")
    assert "cannot be opened (file is not a database)" in (
        judged("--name", "b0", "--data", folder / "b0")
    )


def test_what_is_forbidden_is_not_called_absent(folder: Path) -> None:
    text = f'folder = "b"\n[access]\nrules = "rules"\n{WELL}secret_file = "secret"\n'
    path = config(folder, text)
    (folder / "b").mkdir()
    (folder / "rules").write_text("topic read a\n")
    (folder / "secret").write_text("a secret of many words")
    papers = Papers(folder / "papers")
    encrypted = f'{WELL}[peers.tls]\ncertificate = "{papers.certificate}"\nkey = "{papers.key}"\n'
    encrypted += f'authorities = "{papers.trusted}"\n'
    assert judged("--config", path) == ""
    (folder / "mine").mkdir()
    (folder / "mine").chmod(0o777)
    for name, said, data in (
        ("rules", "the file cannot be read (permission denied)", "mine"),
        ("secret", "the file cannot be read (permission denied)", "mine"),
        ("b", "(permission denied)", "b/c"),
    ):
        (folder / name).chmod(0)
        with without_rights():
            found = judged("--config", path, "--data", folder / data)
        assert said in found
        assert str(folder / name) in found
        (folder / name).chmod(0o755)
    (folder / "mine").chmod(0o555)
    with without_rights():
        assert "may not be written by this user" in (
            judged("--config", path, "--data", folder / "mine")
        )
    (folder / "mine").chmod(0o777)
    papers.key.chmod(0)
    path = config(folder, encrypted)
    with without_rights():
        found = judged("--config", path, "--data", folder / "mine")
    assert f"{papers.key}: the file cannot be read (permission denied)" in found


def test_a_broker_of_somebody_else_is_not_said_to_be_none(folder: Path) -> None:
    def asked(*words: str) -> str:
        result = CliRunner().invoke(app, [*words, "--data", str(folder)], catch_exceptions=False)
        assert result.exit_code == 2
        return result.stderr

    async def story() -> None:
        async with running_brokers("chord", folder, 1):
            (folder / "b0").chmod(0o755)
            (folder / "b0" / "control.sock").chmod(0)
            with without_rights():
                assert "may not be opened (permission denied)" in asked("status")
            (folder / "b0").chmod(0)
            with without_rights():
                assert "may not be opened (permission denied)" in asked("status")
            (folder / "b0").chmod(0o700)

    asked("status")
    asyncio.run(story())
