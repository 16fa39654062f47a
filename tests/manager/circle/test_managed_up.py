"""meshwright up --manage: the manager is one more process, and brokers run on without it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import msgspec
from running_up import up
from typer.testing import CliRunner
from waiting import until

from meshwright.cli.main import app
from meshwright.errors import OperatorError
from meshwright.live.operating.control_client import running_brokers
from meshwright.manager.rest.rest_client import RestDesk

SETTINGS = """
[rest]
listen = "127.0.0.1:0"
[windows]
collect_every_s = 0.5
[lease]
seconds = 4.0
"""


def desk(data: Path, count: int) -> RestDesk | None:
    """The manager, once it has said so many times where it answers."""
    log = data / "manager" / "manager.log"
    said = log.read_text().split("answers at ")[1:] if log.exists() else []
    if len(said) < count:
        return None
    return RestDesk(said[-1].split(";")[0], data / "manager" / "token")


def is_managed(data: Path, count: int) -> bool:
    found = desk(data, count)
    try:
        return found is not None and found.status().lease.startswith("held")
    except OperatorError:
        return False


def test_brokers_are_managed_and_the_manager_is_started_again(tmp_path: Path) -> None:
    data = tmp_path / "network"
    data.mkdir()
    (data / "manager.toml").write_text(SETTINGS)
    with up(data, "-n", 2, "--design", "chord", "--manage") as (process, printed):
        printed.until("A manager is started; ask it at http://127.0.0.1:0.")
        until(lambda: is_managed(data, 1))
        first = desk(data, 1)
        assert first is not None
        assert [one.broker for one in first.network().brokers] == ["broker1", "broker2"]
        assert first.status().silent == {}
        number = msgspec.json.decode((data / "manager" / "manager.json").read_bytes())["number"]
        os.kill(child_of(process.pid, "manager"), signal.SIGKILL)
        printed.until("The manager has ended and is started again in 5 s; brokers go on.")
        assert len(running_brokers(data)) == 2
        until(lambda: is_managed(data, 2))
        again = desk(data, 2)
        assert again is not None
        assert again.status().lease == f"held, with number {number}"
        until((data / "manager" / "trace" / "brokers").is_dir)


def test_settings_of_a_manager_that_cannot_work_are_refused_before_any_broker(
    tmp_path: Path,
) -> None:
    (tmp_path / "manager.toml").write_text("[policy]\nmode = 'sometimes'\n")
    words = ["up", "-n", "2", "--manage", "--data", str(tmp_path)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert "manager.toml, line 2" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["manager.toml"]


def child_of(parent: int, command: str) -> int:
    """The child of a process that runs a command of ours."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            owner = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if owner == parent and command.encode() in words:
            return int(folder.name)
    raise AssertionError(f"{parent} has no child {command}")
