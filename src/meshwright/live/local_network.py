"""A network on this machine: one process a broker, started and stopped together."""

from __future__ import annotations

import errno
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from meshwright.errors import OperatorError
from meshwright.files.overlays import write_overlay
from meshwright.files.reading import read_if_there
from meshwright.files.settings import read_settings
from meshwright.files.writing import make_folder, private_opener, write_whole
from meshwright.live.addresses import Address, Whereabouts
from meshwright.live.settings import DOCUMENTED_IN, LiveSettings
from meshwright.model.overlay import Overlay

HOST = "127.0.0.1"
START_S = 30.0
STOP_S = 10.0
SHARED_NAME = "secret"
LOOK_EVERY_S = 0.05
# Below those that the system itself gives to whoever asks for any.
PORTS = range(10_000, 32_000)


@dataclass(frozen=True, slots=True)
class LocalBroker:
    """One broker's process and where it listens."""

    name: str
    clients: Address
    peers: Address
    process: subprocess.Popen[bytes]


class LocalNetwork:
    """The processes of an overlay's brokers, numbered from two first ports on.

    Each broker keeps its disk and its log in a folder of its name, so a network that is started
    again in the same folder goes on where it was. settings: a file of what all have in common; if
    it names no secret, the network makes one of its own. options: more of the command that starts
    each.
    """

    def __init__(
        self,
        overlay: Overlay,
        folder: Path,
        *,
        port: int,
        peer_port: int,
        settings: Path | None = None,
        options: tuple[str, ...] = (),
    ) -> None:
        self.brokers: list[LocalBroker] = []
        self._killed: set[str] = set()
        self._overlay = overlay
        self._folder = folder
        self._options = options
        self._has_secret = False
        if settings is not None:
            self._options = ("--config", str(settings), *options)
            peers = read_settings(settings, LiveSettings, documented_in=DOCUMENTED_IN).peers
            self._has_secret = peers.secret_file is not None
        self._ports = {
            name: (Address(HOST, port + number), Address(HOST, peer_port + number))
            for number, name in enumerate(overlay.brokers)
        }

    def start(self) -> None:
        """Start all, and wait until each takes clients."""
        for addresses in self._ports.values():
            for address in addresses:
                _refuse_taken(address)
        make_folder(self._folder, is_private=True)
        if not self._has_secret:
            self._options += ("--secret", str(_own_secret(self._folder)))
        overlay_path, brokers_path = self._folder / "overlay.json", self._folder / "brokers.json"
        write_overlay(self._overlay, overlay_path)
        known = {
            name: Whereabouts(str(peers), str(clients))
            for name, (clients, peers) in self._ports.items()
        }
        write_whole({brokers_path: msgspec.json.encode(known)})
        for name, (clients, peers) in self._ports.items():
            self.brokers.append(self._spawn(name, clients, peers))
        for broker in self.brokers:
            self._wait_for(broker)

    def stop(self) -> None:
        """Ask all to stop, and end those that do not."""
        for broker in self.brokers:
            broker.process.terminate()
        deadline_s = time.monotonic() + STOP_S
        for broker in self.brokers:
            try:
                broker.process.wait(max(0.0, deadline_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                broker.process.kill()
                broker.process.wait()

    def kill(self, name: str) -> None:
        """End a broker with no chance to say or save anything."""
        broker = self._named(name)
        self._killed.add(name)
        broker.process.kill()
        broker.process.wait()

    def freeze(self, name: str) -> None:
        """Let a broker stand still, with its connections open."""
        self._named(name).process.send_signal(signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        """Let a broker that stands still go on."""
        self._named(name).process.send_signal(signal.SIGCONT)

    def restart(self, name: str) -> None:
        """Start a broker that has ended with the disk that it left, and wait for it."""
        former = self._named(name)
        place = self.brokers.index(former)
        self.brokers[place] = self._spawn(name, former.clients, former.peers)
        self._killed.discard(name)
        self._wait_for(self.brokers[place])

    def ended(self) -> LocalBroker | None:
        """A broker whose process failed, if there is one; those that were stopped are let go."""
        self.brokers = [one for one in self.brokers if one.process.poll() != 0]
        failed = (one for one in self.brokers if one.process.poll() is not None)
        return next((one for one in failed if one.name not in self._killed), None)

    def log_of(self, name: str) -> Path:
        """Where a broker writes what happens."""
        return self._folder / name / "broker.log"

    def _named(self, name: str) -> LocalBroker:
        return next(one for one in self.brokers if one.name == name)

    def _spawn(self, name: str, clients: Address, peers: Address) -> LocalBroker:
        folder = self._folder / name
        make_folder(folder, is_private=True)
        command = [
            sys.executable, "-m", "meshwright", "broker",
            "--name", name, "--listen", str(clients), "--peer-listen", str(peers),
            "--data", str(folder), "--overlay", str(self._folder / "overlay.json"),
            "--brokers", str(self._folder / "brokers.json"),
            *self._options,
        ]  # fmt: skip
        with open(self.log_of(name), "ab", opener=private_opener) as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        return LocalBroker(name, clients, peers, process)

    def _wait_for(self, broker: LocalBroker) -> None:
        deadline_s = time.monotonic() + START_S
        while not _answers(broker.clients):
            if broker.process.poll() is not None or time.monotonic() > deadline_s:
                self.stop()
                raise OperatorError(
                    f"The broker {broker.name} did not start; see {self.log_of(broker.name)}."
                )
            time.sleep(LOOK_EVERY_S)


def _own_secret(folder: Path) -> Path:
    """The secret of the network in a folder; made once, for its owner's eyes alone."""
    path = folder / SHARED_NAME
    if read_if_there(path) is None:
        write_whole({path: secrets.token_urlsafe(32).encode() + b"\n"}, is_private=True)
    return path


def free_ports(count: int) -> int:
    """The first of as many ports of this machine, one after another, on which nothing listens."""
    # Processes that look at the same time begin elsewhere.
    first = PORTS.start + os.getpid() * count % (len(PORTS) // 2)
    for port in range(first, PORTS.stop - count, count):
        if all(_is_free(Address(HOST, port + number)) for number in range(count)):
            return port
    raise OperatorError(f"There are no {count} free ports in a row; stop what listens on them.")


def _is_free(address: Address) -> bool:
    try:
        _refuse_taken(address)
    except OperatorError:
        return False
    return True


def _answers(address: Address) -> bool:
    try:
        with socket.create_connection(address, timeout=1.0):
            return True
    except OSError:
        return False


def _refuse_taken(address: Address) -> None:
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(address)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise OperatorError(
                    f"Something listens on {address} already; stop it, or choose other ports "
                    "with --port and --peer-port."
                ) from None
            raise OperatorError(
                f"Nothing can listen on {address} ({(error.strerror or str(error)).lower()}); "
                "choose other ports with --port and --peer-port."
            ) from None
