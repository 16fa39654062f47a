"""A mosquitto.conf as settings of one broker, as far as it goes, with a line for what is left out.

What is left out never opens a door: a listener whose users or encryption have no counterpart here
is left out as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path

from meshwright.errors import InputFileError
from meshwright.live.mosquitto.lines import LeftOut, Line, beside, left_out

DEFAULT_PORT = "1883"
EVERYWHERE = str(IPv4Address(0))
LOOPBACK = "127.0.0.1"
BOOLEANS = {"true": True, "false": False}

# Numbers of the same meaning: whose table, which key. In both, 0 is no limit.
LIMITS = {
    "max_inflight_messages": "inflight_max",
    "max_inflight_bytes": "inflight_bytes_max",
    "max_queued_bytes": "queue_bytes_max",
    "max_queued_messages": "queue_max",
    "max_packet_size": "packet_bytes_max",
    "message_size_limit": "payload_bytes_max",
    "max_keepalive": "keep_alive_max_s",
    "max_topic_alias": "topic_aliases_max",
}
# What is there or not, in both.
SWITCHES = {
    "retain_available": "retain_available",
    "allow_zero_length_clientid": "empty_client_ids",
}
# A listener cannot do without these, nor a broker without those: they would take more than before.
GUARDS = ("psk_hint", "crlfile", "capath", "use_subject_as_username", "mount_point")
BROKER_GUARDS = ("auth_plugin", "plugin", "global_plugin", "clientid_prefixes")
REASONS = {
    "autosave_interval": "what is acknowledged is on disk",
    "connection": "other brokers of Meshwright join a network; bridge from the other side",
    "max_connections": "limits.connections_max counts those of all listeners",
    "max_qos": "limits.qos_max is that of all listeners",
    "persistence_location": "set folder to where sessions and messages are to be",
    "persistence_file": "set folder to where sessions and messages are to be",
    "per_listener_settings": "all listeners have the same users and rules",
    "pid_file": "the service manager knows it",
    "user": "the service manager sets it",
    "set_tcp_nodelay": "it is always so",
}
NO_COUNTERPART = "there is no such setting"


@dataclass(slots=True)
class ListenerDraft:
    """A listener as far as it has been read; refusal: why it cannot be taken over."""

    line: Line
    address: str
    transport: str = "tcp"
    anonymous: bool | None = None
    files: dict[str, str] = field(default_factory=dict)
    requires_certificate: bool = False
    identity_is_user: bool = False
    refusal: LeftOut | None = None


@dataclass(slots=True)
class Draft:
    """A broker as far as it has been read; access: acl_file and password_file, with their lines."""

    listeners: list[ListenerDraft] = field(default_factory=list)
    limits: dict[str, int] = field(default_factory=dict)
    access: dict[str, Line] = field(default_factory=dict)
    anonymous: bool | None = None
    is_per_listener: bool = False
    durability: str | None = None
    sys_every_s: int | None = None
    log: str | None = None
    port: Line | None = None
    bind_address: str | None = None
    kept_out: list[LeftOut] = field(default_factory=list)


class ConfReader:
    """Takes one line after the other."""

    def __init__(self) -> None:
        self.draft = Draft()
        # What the lines of a listener that the settings begin with, or of a bridge, are about.
        self._first = ListenerDraft(Line(Path(), 0, "", ""), "")
        self._listener = self._first
        self._is_bridge = False
        self._take: dict[str, Callable[[Line], None]] = {
            "listener": self._begin_listener,
            "connection": self._begin_bridge,
            "port": self._port,
            "bind_address": self._bind_address,
            "protocol": self._protocol,
            "allow_anonymous": self._anonymous,
            "password_file": self._access_file,
            "acl_file": self._access_file,
            "certfile": self._certificate_file,
            "keyfile": self._certificate_file,
            "cafile": self._certificate_file,
            "require_certificate": self._requires_certificate,
            "use_identity_as_username": self._identity,
            "persistence": self._persistence,
            "sys_interval": self._sys_interval,
            "log_dest": self._log_dest,
            "per_listener_settings": self._per_listener,
            **dict.fromkeys(GUARDS, self._guard),
            **dict.fromkeys(BROKER_GUARDS, self._broker_guard),
            **dict.fromkeys(LIMITS, self._limit),
            **dict.fromkeys(SWITCHES, self._switch),
        }

    def read(self, lines: Iterable[Line]) -> Draft:
        """All that could be understood."""
        for line in lines:
            is_over = line.key == "listener"
            if self._is_bridge and not is_over and line.key != "connection":
                self._leave(line, "it is of the bridge above")
                continue
            take = self._take.get(line.key)
            if take is not None:
                take(line)
            else:
                self._leave(line, REASONS.get(line.key, NO_COUNTERPART))
        self._add_first()
        return self.draft

    def _add_first(self) -> None:
        """The listener that needs no line of its own."""
        draft, port = self.draft, self.draft.port
        if port is not None:
            host = draft.bind_address or EVERYWHERE
            self._first.line, self._first.address = port, _address(host, port.value)
            draft.listeners.insert(0, self._first)
        elif not draft.listeners:
            # Without any, Mosquitto takes everybody of this machine.
            host = draft.bind_address or LOOPBACK
            self._first.address = _address(host, DEFAULT_PORT)
            if draft.anonymous is None and not draft.access:
                self._first.anonymous = True
            draft.listeners.append(self._first)

    def _begin_listener(self, line: Line) -> None:
        self._is_bridge = False
        port, _, host = line.value.partition(" ")
        host = host.strip() or EVERYWHERE
        self._listener = ListenerDraft(line, _address(host, port))
        if not port.isdecimal() or port == "0":
            self._refuse(line, "listeners are TCP ports")
        self.draft.listeners.append(self._listener)

    def _begin_bridge(self, line: Line) -> None:
        self._is_bridge = True
        self._leave(line, REASONS["connection"])

    def _port(self, line: Line) -> None:
        self._number(line)
        self.draft.port = line

    def _bind_address(self, line: Line) -> None:
        self.draft.bind_address = line.value

    def _protocol(self, line: Line) -> None:
        if line.value == "websockets":
            self._listener.transport = "websocket"
        elif line.value != "mqtt":
            self._refuse(line, f"{line.value!r} is not spoken here")

    def _anonymous(self, line: Line) -> None:
        is_allowed = self._truth(line)
        if self.draft.is_per_listener:
            self._listener.anonymous = is_allowed
        else:
            self.draft.anonymous = is_allowed

    def _access_file(self, line: Line) -> None:
        known = self.draft.access.setdefault(line.key, line)
        if known is not line and known.value != line.value:
            self._leave(line, "all listeners have the same users and rules")
            self._refuse(line, f"it would have the {line.key} of another")

    def _certificate_file(self, line: Line) -> None:
        self._listener.files[line.key] = str(beside(line.path, line.value).absolute())

    def _requires_certificate(self, line: Line) -> None:
        self._listener.requires_certificate = self._truth(line)

    def _identity(self, line: Line) -> None:
        self._listener.identity_is_user = self._truth(line)

    def _persistence(self, line: Line) -> None:
        self.draft.durability = "synced" if self._truth(line) else "memory"

    def _sys_interval(self, line: Line) -> None:
        self.draft.sys_every_s = self._number(line)

    def _log_dest(self, line: Line) -> None:
        kind, _, name = line.value.partition(" ")
        if kind == "file" and name:
            self.draft.log = str(beside(line.path, name.strip()).absolute())
        elif kind != "stderr":
            self._leave(line, "the log goes to a file or to the standard error")

    def _per_listener(self, line: Line) -> None:
        self.draft.is_per_listener = self._truth(line)
        if self.draft.is_per_listener:
            self._leave(line, REASONS[line.key])

    def _guard(self, line: Line) -> None:
        self._leave(line, NO_COUNTERPART)
        self._refuse(line, f"it cannot be without its {line.key}")

    def _broker_guard(self, line: Line) -> None:
        raise InputFileError(
            str(line.path),
            f"{line.key} decides who may do what, which nothing does here",
            remedy="remove the line to import the rest, and see to rules of your own",
            line=line.number,
        )

    def _limit(self, line: Line) -> None:
        self.draft.limits[LIMITS[line.key]] = self._number(line)

    def _switch(self, line: Line) -> None:
        self.draft.limits[SWITCHES[line.key]] = self._truth(line)

    def _leave(self, line: Line, reason: str) -> None:
        self.draft.kept_out.append(left_out(line, reason))

    def _refuse(self, line: Line, reason: str) -> None:
        """The listener above cannot be taken over, or, before the first one, none that has none."""
        if self._listener.refusal is None:
            self._listener.refusal = left_out(line, reason)

    def _truth(self, line: Line) -> bool:
        if line.value not in BOOLEANS:
            raise _wrong(line, "is neither true nor false")
        return BOOLEANS[line.value]

    def _number(self, line: Line) -> int:
        if not line.value.isdecimal():
            raise _wrong(line, "is no number")
        return int(line.value)


def _address(host: str, port: str) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _wrong(line: Line, problem: str) -> InputFileError:
    return InputFileError(
        str(line.path),
        f"{line.key} {line.value!r} {problem}",
        remedy="correct it as Mosquitto's manual has it",
        line=line.number,
    )
