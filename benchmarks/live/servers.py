"""Brokers to measure: ours, Mosquitto, amqtt; each a process of its own on one core."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import trustme

from meshwright.files.overlays import write_overlay
from meshwright.planning.founding import founding_overlay

HOST = "127.0.0.1"
BROKER_CORE = 0
START_S = 60.0
AUTHORITY = "authority.pem"
# Linux numbers the clock of a process's CPU time by its id.
PROCESS_CLOCK = 2


@dataclass(frozen=True, slots=True)
class Server:
    """Running brokers: where to publish, where to subscribe, and whose CPU time counts."""

    name: str
    ports: tuple[int, ...]
    processes: tuple[int, ...]
    authority: Path | None = None

    def cpu_s(self) -> float:
        """CPU time of all processes and their threads since their start."""
        return sum(time.clock_gettime(~pid << 3 | PROCESS_CLOCK) for pid in self.processes)


def mosquitto_program() -> str | None:
    """Where Mosquitto is, if it is installed."""
    return shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")


@contextmanager
def meshwright(
    *, durability: str = "memory", count: int = 1, has_tls: bool = False
) -> Iterator[Server]:
    """Our brokers with all features on, joined by links if there are several."""
    ports, peer_ports = free_ports(count), free_ports(count)
    with tempfile.TemporaryDirectory() as text, ExitStack() as stack:
        folder = Path(text)
        certificate = new_certificate(folder) if has_tls else None
        names = [f"b{number}" for number in range(count)]
        joined = write_network(folder, names, ports, peer_ports) if count > 1 else []
        processes = []
        for name, port, peer_port in zip(names, ports, peer_ports, strict=True):
            config = folder / f"{name}.toml"
            tls = f'tls = {{certificate = "{certificate}", key = "{folder}/key.pem"}}\n'
            config.write_text(
                f'name = "{name}"\nfolder = "{folder}/{name}"\ndurability = "{durability}"\n'
                f'[[listeners]]\naddress = "{HOST}:{port}"\nanonymous = true\n'
                f"{tls if has_tls else ''}"
                f'[peers]\nlisten = "{HOST}:{peer_port}"\n'
                f'[limits]\ninflight_max = 65535\n[telemetry]\nlog = "{folder}/{name}.log"\n'
            )
            command = [
                sys.executable,
                "-m",
                "meshwright",
                "broker",
                "--config",
                str(config),
                *joined,
            ]
            processes.append(stack.enter_context(_running(command, port)))
        authority = folder / AUTHORITY if has_tls else None
        yield Server("meshwright", tuple(ports), tuple(processes), authority)


@contextmanager
def mosquitto(*, is_bridged: bool = False, has_tls: bool = False) -> Iterator[Server]:
    """Mosquitto without Nagle's delay; two of them joined by a bridge if asked for."""
    program = mosquitto_program()
    assert program is not None
    ports = free_ports(2 if is_bridged else 1)
    with tempfile.TemporaryDirectory() as text, ExitStack() as stack:
        folder = Path(text)
        certificate = new_certificate(folder) if has_tls else None
        processes = []
        for number, port in enumerate(ports):
            lines = [
                f"listener {port} {HOST}", "allow_anonymous true", "set_tcp_nodelay true",
                "max_queued_messages 0", "max_inflight_messages 0", "log_type error", "user root",
            ]  # fmt: skip
            if has_tls:
                lines += [f"certfile {certificate}", f"keyfile {folder}/key.pem"]
            if number:
                lines += [
                    "connection bridge", f"address {HOST}:{ports[0]}", "topic # both 0",
                    "cleansession true",
                ]  # fmt: skip
            config = folder / f"{number}.conf"
            config.write_text("\n".join(lines) + "\n")
            processes.append(stack.enter_context(_running([program, "-c", str(config)], port)))
        authority = folder / AUTHORITY if has_tls else None
        yield Server("mosquitto", tuple(ports), tuple(processes), authority)


@contextmanager
def amqtt() -> Iterator[Server]:
    """The other broker in Python."""
    (port,) = free_ports(1)
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "amqtt.yaml"
        config.write_text(
            f"listeners:\n  default:\n    type: tcp\n    bind: {HOST}:{port}\n"
            "plugins:\n  amqtt.plugins.authentication.AnonymousAuthPlugin:\n"
            "    allow_anonymous: true\n"
        )
        command = [str(Path(sys.executable).with_name("amqtt")), "-c", str(config)]
        with _running(command, port) as process:
            yield Server("amqtt", (port,), (process,))


def free_ports(count: int) -> list[int]:
    """Ports on which nothing listens."""
    with ExitStack() as stack:
        trials = [stack.enter_context(socket.socket()) for _ in range(count)]
        for trial in trials:
            trial.bind((HOST, 0))
        return [int(trial.getsockname()[1]) for trial in trials]


def write_network(
    folder: Path, names: list[str], ports: list[int], peer_ports: list[int]
) -> list[str]:
    """The overlay that brokers begin as, and where each of them is; returns how they are told."""
    overlay, brokers = folder / "overlay.json", folder / "brokers.json"
    write_overlay(founding_overlay("chord", tuple(names)), overlay)
    known = {
        name: [f"{HOST}:{peer_port}", f"{HOST}:{port}"]
        for name, port, peer_port in zip(names, ports, peer_ports, strict=True)
    }
    brokers.write_bytes(msgspec.json.encode(known))
    return ["--overlay", str(overlay), "--brokers", str(brokers)]


def new_certificate(folder: Path) -> Path:
    """A certificate for this machine, beside its key."""
    certificate = folder / "certificate.pem"
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / AUTHORITY))
    issued = authority.issue_cert(HOST)
    issued.private_key_pem.write_to_path(str(folder / "key.pem"))
    issued.cert_chain_pems[0].write_to_path(str(certificate))
    return certificate


@contextmanager
def _running(command: list[str], port: int) -> Iterator[int]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.sched_setaffinity(process.pid, {BROKER_CORE})
    try:
        deadline_s = time.monotonic() + START_S
        while True:
            try:
                socket.create_connection((HOST, port), timeout=1.0).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline_s:
                    raise RuntimeError(f"{command[0]} did not start") from None
                time.sleep(0.1)
        yield process.pid
    finally:
        process.terminate()
        process.wait(20)


def generator_core() -> None:
    """Keep this process away from the brokers' core."""
    others = os.sched_getaffinity(0) - {BROKER_CORE}
    if others:
        os.sched_setaffinity(0, others)
