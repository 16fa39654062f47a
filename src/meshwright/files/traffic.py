"""traffic.csv and clients.csv: which members exchange messages, and where clients are connected."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from meshwright.files.tables import TableRow, read_table, table_bytes
from meshwright.files.writing import write_whole

TRAFFIC_COLUMNS = ("messages", "members")
CLIENTS_COLUMNS = ("client", "broker")
SEPARATOR = ";"


class TrafficClass(NamedTuple):
    """Messages published by any of the members and delivered to exactly the others."""

    messages: int
    members: tuple[str, ...]


def read_traffic(path: Path, known: Collection[str]) -> tuple[TrafficClass, ...]:
    """Traffic classes; known are the names that members may have, of brokers and clients."""
    classes: dict[frozenset[str], int] = {}
    found: list[TrafficClass] = []
    for row in read_table(path, TRAFFIC_COLUMNS):
        members = _members(row, known)
        same = frozenset(members)
        if same in classes:
            raise row.fault(
                f"these members stand on line {classes[same]} already",
                "add the two numbers of messages in one row",
            )
        classes[same] = row.line
        found.append(TrafficClass(row.count(0, "messages"), members))
    return tuple(found)


def read_clients(path: Path, brokers: Collection[str]) -> dict[str, str]:
    """The broker of each client, in the order of the file."""
    homes: dict[str, str] = {}
    lines: dict[str, int] = {}
    for row in read_table(path, CLIENTS_COLUMNS):
        client, broker = row.name(0, "client"), row.name(1, "broker")
        if client in homes:
            raise row.fault(
                f"client {client!r} stands on line {lines[client]} already",
                "connect each client to one broker",
            )
        if broker not in brokers:
            raise row.fault(f"broker {broker!r} is not in the tree", "name a broker of the tree")
        if client in brokers:
            raise row.fault(
                f"client {client!r} has the name of a broker", "give the client another name"
            )
        homes[client], lines[client] = broker, row.line
    return homes


def write_traffic(classes: Iterable[TrafficClass], path: Path) -> None:
    """The classes as a file, whole or not at all."""
    rows = ((str(messages), SEPARATOR.join(members)) for messages, members in classes)
    write_whole({path: table_bytes(TRAFFIC_COLUMNS, rows)})


def write_clients(homes: Mapping[str, str], path: Path) -> None:
    """The broker of each client as a file, whole or not at all."""
    write_whole({path: table_bytes(CLIENTS_COLUMNS, homes.items())})


def _members(row: TableRow, known: Collection[str]) -> tuple[str, ...]:
    members = tuple(row.fields[1].split(SEPARATOR))
    if members == ("",):
        raise row.fault("there are no members", f"name them with {SEPARATOR!r} in between")
    for index, member in enumerate(members):
        if member not in known:
            raise row.fault(
                f"member {member!r} is no broker of the tree and no client",
                f"name known members, with {SEPARATOR!r} in between",
            )
        if member in members[:index]:
            raise row.fault(f"member {member!r} is named twice", "name each member once")
    return members
