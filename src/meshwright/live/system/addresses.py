"""Where something listens: a host and a port."""

from __future__ import annotations

from ipaddress import ip_address
from typing import NamedTuple

import msgspec

from meshwright.errors import OperatorError

PORT_MAX = 65_535


class Address(NamedTuple):
    """A host name or IP address, and a port; port 0 means any free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Whereabouts(msgspec.Struct, frozen=True, array_like=True):
    """Where a broker listens for other brokers, and where for clients that are sent to it."""

    peers: str
    clients: str = ""


def parse_address(text: str) -> Address:
    """The address of a text such as 127.0.0.1:1883, broker.example:1883 or [::1]:1883."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > PORT_MAX:
        raise OperatorError(f"{text!r} is no address; write host:port, as in 127.0.0.1:1883.")
    return Address(host, int(port))


def is_loopback(address: Address) -> bool:
    """True if only this machine can reach it; a name that is not localhost may be anywhere."""
    try:
        return ip_address(address.host).is_loopback
    except ValueError:
        return address.host == "localhost"
