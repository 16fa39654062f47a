"""Clients and topics that were used once leave nothing behind, in memory or on disk."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

import pytest
from small_network import SmallNetwork

from meshwright.protocol.mqtt import packets

# Caches, each with a bound of its own.
BOUNDED = {
    "KeyRoutes._roots", "LastHanded._groups", "LastNumbers._newer",
    "RecentFrames._newer", "Rendezvous._routes", "TopicCache._answers", "TopicCache._topics",
}  # fmt: skip
# Long enough for everything to be forgotten.
SETTLED_S = 400


def sizes(root: object) -> Counter[str]:
    """How much all containers hold that can be reached from an object, by who has them."""
    found: Counter[str] = Counter()
    seen: set[int] = set()
    waiting: list[tuple[str, Any]] = [("", root)]
    while waiting:
        name, one = waiting.pop()
        if id(one) in seen or name in BOUNDED:
            continue
        seen.add(id(one))
        if isinstance(one, dict | list | tuple | set | frozenset | deque):
            found[name] += len(one)
            held = one.values() if isinstance(one, dict) else one
            waiting += [(name, each) for each in held]
        elif type(one).__module__.startswith("meshwright."):
            waiting += attributes(one)
    return found


def attributes(one: object) -> Iterator[tuple[str, Any]]:
    kind = type(one).__name__
    names = set(getattr(one, "__dict__", ()))
    for parent in type(one).__mro__:
        slots = parent.__dict__.get("__slots__", ())
        names.update((slots,) if isinstance(slots, str) else slots)
    for name in sorted(names):
        if hasattr(one, name):
            yield f"{kind}.{name}", getattr(one, name)


def after(client_count: int, *, wildcard: str | None) -> tuple[list[Counter[str]], Counter[str]]:
    """What brokers hold, and their disks, after so many short clients on topics of their own."""
    network = SmallNetwork()
    if wildcard is not None:
        network.connect("always", "b0")
        network.subscribe("always", wildcard, 2)
    for number in range(client_count):
        names = [network.names[(number + step) % 3] for step in range(3)]
        short(network, number, names)
        if wildcard is not None:
            network.answer_all("always")
            network.forget("always")
        network.advance(6)
    network.advance(SETTLED_S)
    disks = Counter(str(key[0]) for disk in network.disks.values() for key in disk)
    return [sizes(one) for one in network.machines.values()], disks


def short(network: SmallNetwork, number: int, brokers: list[str]) -> None:
    """A client that publishes, and one that subscribes and moves, neither to be seen again."""
    writer, reader, topic = f"w{number}", f"r{number}", f"once/{number}"
    network.connect(writer, brokers[0], can_be_redirected=False)
    network.connect(reader, brokers[1], session_expiry_s=5)
    network.subscribe(reader, topic, 2)
    for qos in range(3):
        network.publish(writer, topic, "x", qos)
        network.publish(writer, f"nobody/{number}", "x", qos)
    for answer in [one for one in network.got[writer] if isinstance(one, packets.Pubrec)]:
        network.send(writer, packets.Pubrel(answer.packet_id))
    network.answer_all(reader)
    network.drop(reader)
    network.connect(reader, brokers[2], session_expiry_s=5)
    network.advance(1)
    for client in (writer, reader):
        network.drop(client, clean=True)


@pytest.mark.parametrize("wildcard", [None, "#", "$share/group/#"])
def test_many_short_clients_leave_no_more_behind_than_few(wildcard: str | None) -> None:
    few, few_disks = after(9, wildcard=wildcard)
    many, many_disks = after(27, wildcard=wildcard)
    assert many_disks == few_disks
    for one, other in zip(few, many, strict=True):
        assert not {name: (one[name], size) for name, size in other.items() if size > one[name]}
