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
from typing import NamedTuple

import msgspec

from meshwright.errors import InputFileError, OperatorError
from meshwright.files.decoding import decoded
from meshwright.files.overlays import read_overlay, write_overlay
from meshwright.files.reading import read_if_there
from meshwright.files.settings import read_settings
from meshwright.files.writing import make_folder, private_opener, write_whole
from meshwright.live.operating.control_client import BrokerControl
from meshwright.live.settings import DOCUMENTED_IN, LiveSettings
from meshwright.live.system.addresses import Address, Whereabouts, parse_address
from meshwright.model.designs import founded_as
from meshwright.model.overlay import Overlay

HOST = "127.0.0.1"
OVERLAY_NAME = "overlay.json"
BROKERS_NAME = "brokers.json"
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
    http: Address | None
    control: Address | None
    process: subprocess.Popen[bytes]


class Place(NamedTuple):
    """Where a broker listens."""

    clients: Address
    peers: Address
    http: Address | None
    control: Address | None


class LocalNetwork:
    """The processes of an overlay's brokers, numbered from two first ports on.

    Each broker keeps its disk and its log in a folder of its name, so a network that is started
    again in the same folder goes on where it was. settings: a file of what all have in common; if
    it names no secret, the network makes one of its own, and where it lets all answer over HTTP or
    take orders, ports are counted up from there. options: more of the command that starts each.
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
        self._options = ("--design", founded_as(overlay), *options)
        self._has_secret = False
        first_http: str | None = None
        first_control: str | None = None
        if settings is not None:
            self._options = ("--config", str(settings), *self._options)
            shared = read_settings(settings, LiveSettings, documented_in=DOCUMENTED_IN)
            self._has_secret = shared.peers.secret_file is not None
            first_http, first_control = shared.telemetry.http, shared.control.listen
        self._places = {
            name: Place(
                Address(HOST, port + number),
                Address(HOST, peer_port + number),
                None if first_http is None else _counted_up(first_http, number),
                None if first_control is None else _counted_up(first_control, number),
            )
            for number, name in enumerate(overlay.brokers)
        }

    def start(self) -> None:
        """Start all, and wait until each takes clients; one that does not takes all down again."""
        self.begin()
        for name in self.silent():
            self.stop()
            raise OperatorError(f"The broker {name} did not start; see {self.log_of(name)}.")

    def _refuse_running(self) -> None:
        """Say which brokers run here already: if meshwright up is killed, they go on."""
        running = [
            name for name in self._places if BrokerControl(self._folder / name).view() is not None
        ]
        if running:
            raise OperatorError(
                f"{', '.join(running)} in {self._folder}: running already; stop with meshwright "
                f"down --data {self._folder}, or name another folder with --data."
            )

    def _refuse_ports(self) -> None:
        """Say which address is taken, or would be needed twice."""
        needed: set[Address] = set()
        for place in self._places.values():
            for address in place:
                if address is None or not address.port:
                    continue
                if address in needed:
                    raise OperatorError(
                        f"Two brokers would listen on {address}; choose --port, --peer-port, "
                        f"telemetry.http and control.listen at least {len(self._places)} apart."
                    )
                needed.add(address)
                _refuse_taken(address)

    def begin(self) -> None:
        """Start all, with nobody to wait for them."""
        standing = standing_overlay(self._folder)
        if standing not in (None, self._overlay):
            raise OperatorError(f"{self._folder} is of another network; name another folder.")
        self._refuse_running()
        self._refuse_ports()
        make_folder(self._folder, is_private=True)
        if not self._has_secret:
            self._options += ("--secret", str(_own_secret(self._folder)))
        overlay_path, brokers_path = self._folder / OVERLAY_NAME, self._folder / BROKERS_NAME
        if standing is None:
            write_overlay(self._overlay, overlay_path, is_private=True)
        known = {
            name: Whereabouts(str(place.peers), str(place.clients))
            for name, place in self._places.items()
        }
        write_whole({brokers_path: msgspec.json.encode(known)}, is_private=True)
        self.brokers = [self._spawn(name) for name in self._places]

    def silent(self) -> list[str]:
        """Wait until each broker takes clients; those that have ended or do not in time."""
        deadline_s = time.monotonic() + START_S
        return [one.name for one in self.brokers if not _takes_clients(one, deadline_s)]

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

    def let_go(self) -> None:
        """Leave all to themselves: they run on when this process ends."""
        for broker in self.brokers:
            let_go(broker.process)
        self.brokers = []

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
        self.spawn_again(name)
        if not _takes_clients(self._named(name), time.monotonic() + START_S):
            self.stop()
            raise OperatorError(f"The broker {name} did not start; see {self.log_of(name)}.")

    def spawn_again(self, name: str) -> None:
        """Start a broker that has ended, with nobody to wait for it."""
        place = self.brokers.index(self._named(name))
        self.brokers[place] = self._spawn(name)
        self._killed.discard(name)

    def exit_code(self, name: str) -> int | None:
        """How a broker's process has ended, if it has."""
        return self._named(name).process.poll()

    def ended(self) -> LocalBroker | None:
        """A broker whose process failed, if there is one; those that were stopped are let go."""
        self.brokers = [one for one in self.brokers if one.process.poll() != 0]
        failed = (one for one in self.brokers if one.process.poll() is not None)
        return next((one for one in failed if one.name not in self._killed), None)

    def control_of(self, name: str) -> BrokerControl:
        """How a broker is asked and told what to do."""
        return BrokerControl(self._folder / name)

    def log_of(self, name: str) -> Path:
        """Where a broker writes what happens."""
        return self._folder / name / "broker.log"

    def _named(self, name: str) -> LocalBroker:
        return next(one for one in self.brokers if one.name == name)

    def _spawn(self, name: str) -> LocalBroker:
        place, folder = self._places[name], self._folder / name
        make_folder(folder, is_private=True)
        command = [
            sys.executable, "-m", "meshwright", "broker",
            "--name", name, "--listen", str(place.clients), "--peer-listen", str(place.peers),
            "--data", str(folder), "--overlay", str(self._folder / OVERLAY_NAME),
            "--brokers", str(self._folder / BROKERS_NAME),
            *self._options, *(() if place.http is None else ("--http", str(place.http))),
            *(() if place.control is None else ("--control", str(place.control))),
        ]  # fmt: skip
        with open(self.log_of(name), "ab", opener=private_opener) as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        return LocalBroker(name, *place, process)


def standing_overlay(folder: Path) -> Overlay | None:
    """What the network of a folder was founded as, if there is one."""
    path = folder / OVERLAY_NAME
    return read_overlay(path) if path.exists() else None


class FirstPorts(NamedTuple):
    """From which ports on brokers listen for clients, and for each other; None if not known."""

    clients: int | None = None
    peers: int | None = None


def first_ports(folder: Path, overlay: Overlay) -> FirstPorts:
    """Those of the network in a folder when it was started last."""
    path = folder / BROKERS_NAME
    content = read_if_there(path)
    if content is None:
        return FirstPorts()
    try:
        first = decoded(content, dict[str, Whereabouts])[overlay.brokers[0]]
        return FirstPorts(parse_address(first.clients).port, parse_address(first.peers).port)
    except (msgspec.DecodeError, KeyError, OperatorError):
        raise InputFileError(
            str(path),
            "does not say where the brokers listened",
            remedy="give --port and --peer-port, and it is written anew",
        ) from None


def _counted_up(text: str, number: int) -> Address:
    """The address of a broker by its number; port 0 is any, for all."""
    first = parse_address(text)
    return Address(first.host, first.port + number if first.port else 0)


def _takes_clients(broker: LocalBroker, deadline_s: float) -> bool:
    """Wait until it does, until it has ended, or until it is late."""
    while not _answers(broker.clients):
        if broker.process.poll() is not None or time.monotonic() > deadline_s:
            return False
        time.sleep(LOOK_EVERY_S)
    return True


def _own_secret(folder: Path) -> Path:
    """The secret of the network in a folder; made once, for its owner's eyes alone."""
    path = folder / SHARED_NAME
    if read_if_there(path) is None:
        write_whole({path: secrets.token_urlsafe(32).encode() + b"\n"}, is_private=True)
    return path


def let_go(process: subprocess.Popen[bytes]) -> None:
    """Leave a process to itself; Python complains of one that nobody has seen ending."""
    process.returncode = 0


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
