"""Of an entry of many filters only what changed is told and written, and it is the same entry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from small_network import SmallNetwork

from meshwright.protocol.directory.entries import WILDCARDS, Entry, EntryChange, Put
from meshwright.protocol.directory.kept_entries import CHANGES_MIN, KeptEntries
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.mqtt import packets
from meshwright.protocol.streams.messages import Joining

KEY, OWNER = WILDCARDS, "b0"


def write_to(disk: dict[Any, Any], turn: Turn) -> None:
    for key, value in turn.changes.items():
        if value is None:
            disk.pop(key, None)
        else:
            disk[key] = value
    turn.changes.clear()


@pytest.mark.parametrize("seed", range(5))
def test_an_entry_comes_back_from_disk_as_its_changes_made_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kept, turn = KeptEntries(), Turn(0)
    disk: dict[Any, Any] = {}
    texts = ["a/#"]
    kept.keep(turn, KEY, OWNER, Entry(1, tuple(texts)))
    for version in range(2, 200):
        count = int(rng.integers(min(len(texts), 8)))
        removed = [texts[place] for place in rng.permutation(len(texts))[:count].tolist()]
        added = [f"b/{version}/{number}/#" for number in range(int(rng.integers(4)))]
        texts = [text for text in texts if text not in removed] + added
        change = EntryChange(version - 1, tuple(added), tuple(removed))
        entry = change.applied_to(kept.of(KEY)[OWNER], version)
        assert entry == Entry(version, tuple(texts))
        kept.keep(turn, KEY, OWNER, entry, change=change)
        write_to(disk, turn)
        again = KeptEntries()
        rows = list(disk.items())
        again.restore(dict(rows[place] for place in rng.permutation(len(rows)).tolist()))
        assert again.of(KEY) == {OWNER: entry}
    assert len(disk) < CHANGES_MIN + 200
    turn.forget(*kept.discard(KEY, OWNER))
    assert {*turn.forgotten} == {*disk}


def test_a_change_of_another_entry_is_not_applied() -> None:
    change = EntryChange(2, ("a/#",), ())
    assert change.applied_to(Entry(1, ("b/#",)), 3) is None
    assert change.applied_to(None, 3) is None


def told(network: SmallNetwork, kind: type) -> list[Any]:
    bodies = [body for _, _, body in network.sent if isinstance(body, kind)]
    network.sent.clear()
    return bodies


def origin_and_reader() -> SmallNetwork:
    """Four brokers; b1 has read who wants its topics, and a client of b0 wants much."""
    network = SmallNetwork(4)
    network.connect("p", "b1")
    for topic in ("a/1/x", "b/1/x"):
        assert network.publish("p", topic, "before")
    network.connect("c", "b0", session_expiry_s=1_000)
    many = tuple(packets.Subscription(f"a/{number}/+", 1) for number in range(50))
    network.send("c", packets.Subscribe(1, many))
    network.sent.clear()
    return network


def test_one_more_filter_is_told_alone() -> None:
    network = origin_and_reader()
    assert network.subscribe("c", "b/+/x")
    messages = [*told(network, Put | Joining)]
    assert messages
    for message in messages:
        assert message.change == EntryChange(message.change.base, ("b/+/x",), ())
        assert not message.entry.filters
    network.unsubscribe("c", "b/+/x")
    for message in told(network, Put | Joining):
        assert message.change == EntryChange(message.change.base, (), ("b/+/x",))
    assert network.publish("p", "a/1/x", "one")
    assert network.publish("p", "b/1/x", "none")
    network.advance(2)
    assert network.payloads("c") == ["one"]


def test_who_missed_what_an_entry_was_before_is_told_all_of_it() -> None:
    network = origin_and_reader()
    # b1 and the replicas forget what they know of b0, as if they had never heard.
    for name in network.names:
        machines: Any = network.machines[name]._machines
        machines.directory.kept._entries.pop(WILDCARDS, None)
        machines.outgoing._known._entries.pop(WILDCARDS, None)
    assert network.subscribe("c", "b/+/x")
    assert any(message.change is None for message in told(network, Put))
    assert network.publish("p", "b/1/x", "one")
    assert network.publish("p", "a/2/x", "two")
    network.advance(2)
    assert network.payloads("c") == ["one", "two"]


def test_changes_that_gathered_are_told_together() -> None:
    network = origin_and_reader()
    for name in network.names:
        network.stall_disk(name)
    for number in range(60, 90):
        network.subscribe("c", f"a/{number}/+")
    network.unsubscribe("c", "a/70/+")
    for name in network.names:
        network.unstall_disk(name)
    puts = [one for one in told(network, Put) if one.key == WILDCARDS]
    assert len({one.entry.version for one in puts}) <= 3
    subacks = [one for one in network.got["c"] if isinstance(one, packets.Suback)]
    assert len(subacks) == 31
