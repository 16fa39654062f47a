"""meshwright up as an operator meets it: processes, a folder, and what is printed."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from urllib.request import urlopen

from running_up import WAIT_S, up
from typer.testing import CliRunner

from meshwright.cli.main import app
from meshwright.files.overlays import write_overlay
from meshwright.live.operating.control_client import BrokerControl, running_brokers
from meshwright.live.processes.local_network import (
    BROKERS_NAME,
    OVERLAY_NAME,
    LocalNetwork,
    free_ports,
)
from meshwright.live.processes.supervision import DELAY_MAX_S, STEADY_S, Supervision
from meshwright.live.system.addresses import Address
from meshwright.planning.founding import founding_overlay

TOKEN = b"a token of more than sixteen letters"


def test_one_dead_broker_is_started_again_and_takes_nobody_down(tmp_path: Path) -> None:
    folder = tmp_path / "network"
    config = tmp_path / "broker.toml"
    first_http = free_ports(4)
    first_control = first_http + 2
    (tmp_path / "token").write_bytes(TOKEN)
    config.write_text(
        f'[telemetry]\nhttp = "127.0.0.1:{first_http}"\n'
        f'[control]\nlisten = "127.0.0.1:{first_control}"\ntoken_file = "token"\n'
    )
    with up(folder, "-n", 2, "--config", config) as (process, printed):
        printed.until("2 brokers are joined as chord")
        assert [f"http://127.0.0.1:{first_http + at}/metrics" in printed.seen[at] for at in (0, 1)]
        for number in range(2):
            with urlopen(f"http://127.0.0.1:{first_http + number}/healthz") as answer:
                assert answer.status == 200
            seen = BrokerControl.at(Address("127.0.0.1", first_control + number), TOKEN).view()
            assert seen is not None
            assert seen.broker == f"broker{number + 1}"
        os.kill(process_id(folder / "broker2"), signal.SIGKILL)
        assert "by signal 9" in printed.until("broker2 has ended")
        assert BrokerControl(folder / "broker1").view() is not None
        printed.until("broker2 is started again")
        deadline_s = time.monotonic() + WAIT_S
        while BrokerControl(folder / "broker2").view() is None:
            assert time.monotonic() < deadline_s
            time.sleep(0.1)
        drained = CliRunner().invoke(app, ["drain", "broker2", "--data", str(folder)])
        assert drained.exit_code == 0, drained.output
        assert "broker2 is empty and has stopped: 0 sessions moved." in drained.stdout
        printed.until("broker2 has stopped")
        assert sorted(running_brokers(folder)) == ["broker1"]
        assert process.poll() is None
    with up(folder) as (_, printed):
        assert "drained" in printed.until("broker2  mqtt://")
        printed.until("2 brokers are joined as chord")
        printed.until("drain broker2 --undo")
    assert "was drained and takes no clients" in (folder / "broker2" / "broker.log").read_text()


def test_brokers_whose_up_was_killed_are_named_and_can_be_stopped(tmp_path: Path) -> None:
    with up(tmp_path, "-n", 2) as (process, printed):
        printed.until("2 brokers are joined as chord")
        process.kill()
        process.wait(WAIT_S)
        again = CliRunner().invoke(app, ["up", "--data", str(tmp_path)])
        assert again.exit_code == 2
        assert "broker1, broker2 in" in again.output
        stopped = CliRunner().invoke(app, ["down", "--data", str(tmp_path)])
        assert stopped.exit_code == 0, stopped.output
        assert "Stopped: broker1, broker2." in stopped.stdout
    with up(tmp_path) as (_, printed):
        printed.until("2 brokers are joined as chord")


def test_a_network_is_named_as_it_was_asked_for_and_goes_on_where_its_clients_find_it(
    tmp_path: Path,
) -> None:
    with up(tmp_path, "-n", 2, "--design", "dynatops") as (_, printed):
        printed.until("2 brokers are joined as dynatops")
        asked = CliRunner().invoke(app, ["status", "--data", str(tmp_path)])
        assert "2 brokers run, joined as dynatops" in asked.stdout
    found = [line for line in printed.seen if "mqtt://" in line]
    with up(tmp_path, has_ports=True) as (_, printed):
        printed.until("2 brokers are joined as dynatops")
        assert [line for line in printed.seen if "mqtt://" in line] == found
    (tmp_path / BROKERS_NAME).write_text("{}")
    again = CliRunner().invoke(app, ["up", "--data", str(tmp_path)])
    assert again.exit_code == 2
    assert "does not say where the brokers listened; give --port and --peer-port" in again.stderr


def test_a_folder_of_another_network_is_left_as_it_is(tmp_path: Path) -> None:
    with up(tmp_path, "-n", 2, "--design", "chord") as (_, printed):
        printed.until("2 brokers are joined as chord")
    before = {path: path.read_bytes() for path in tmp_path.glob("*.json")}
    for words in (["-n", "1"], ["--design", "tree"], ["-n", "3", "--design", "chord"]):
        result = CliRunner().invoke(app, ["up", "--data", str(tmp_path), *words])
        assert result.exit_code == 2
        assert "holds a network of 2 brokers, founded as chord" in result.stderr
    assert {path: path.read_bytes() for path in tmp_path.glob("*.json")} == before


class Processes:
    """A network of which only the exit codes matter."""

    def __init__(self) -> None:
        self.codes: dict[str, int | None] = {"b0": None, "b1": None}
        self.brokers = [Named("b0"), Named("b1")]

    def exit_code(self, name: str) -> int | None:
        return self.codes[name]

    def spawn_again(self, name: str) -> None:
        self.codes[name] = None

    def log_of(self, name: str) -> str:
        return f"{name}/broker.log"


class Named:
    def __init__(self, name: str) -> None:
        self.name = name


def test_the_delay_grows_with_each_failure_and_shrinks_after_a_steady_time() -> None:
    network, told = Processes(), []
    supervision = Supervision(network, told.append, 0.0)
    now_s, delays = 0.0, []
    for _ in range(9):
        network.codes["b0"], failed_s = 1, now_s
        while network.codes["b0"] is not None:
            supervision.look(now_s)
            now_s += 0.25
        delays.append(round(now_s - failed_s))
    assert delays == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert delays[-1] == DELAY_MAX_S
    supervision.look(now_s + STEADY_S)
    network.codes["b0"] = -9
    supervision.look(now_s + STEADY_S)
    assert "in 1 s" in told[-1]
    assert not [line for line in told if line.startswith("b1")]
    network.codes["b1"] = 0
    supervision.look(now_s + STEADY_S)
    assert told[-1] == "b1 has stopped."
    assert not supervision.is_over


def process_id(folder: Path) -> int:
    """Of the broker that keeps its disk in a folder."""
    mine = [
        int(path.name)
        for path in Path("/proc").glob("[0-9]*")
        if (words := arguments(path)) and str(folder) in words and "broker" in words
    ]
    assert len(mine) == 1
    return mine[0]


def arguments(process: Path) -> list[str]:
    try:
        return (process / "cmdline").read_text().split("\0")
    except OSError:
        return []


def test_a_network_is_what_it_was_founded_as(tmp_path: Path) -> None:
    overlay = founding_overlay("ocbr", ("broker1", "broker2"))
    write_overlay(overlay, tmp_path / OVERLAY_NAME)
    network = LocalNetwork(overlay, tmp_path, port=free_ports(4), peer_port=free_ports(4))
    assert network._options == ("--design", "ocbr")  # brokers adapt, as their design says
    result = CliRunner().invoke(app, ["up", "--design", "tree", "--data", str(tmp_path)])
    assert result.exit_code == 2
    assert "holds a network of 2 brokers, founded as ocbr" in result.stderr


def test_ports_that_two_brokers_would_need_are_refused(tmp_path: Path) -> None:
    with up(tmp_path / "network", "-n", 5) as (process, printed):
        printed.until("Two brokers would listen on 127.0.0.1:")
        assert process.wait(WAIT_S) == 2
    assert not (tmp_path / "network").exists()
