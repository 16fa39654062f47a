"""The walk of a message of QoS 1 across three brokers on chord, to a reader whose session lasts.

`python tests/protocol/walk.py` counts the calls in the core from the publisher's PUBLISH to the
reader's PUBACK and on until no broker keeps the message, the files they are in, and how often one
calls into another; `--calls` shows them.
"""

from __future__ import annotations

import sys
from collections import Counter
from types import FrameType
from typing import Any

from small_network import SmallNetwork

CORE = "/meshwright/protocol/"
# Brokers have acknowledged the message to each other by then.
UNTIL_FORGOTTEN_S = 0.1


class Walk:
    """Functions of the core in the order in which they were called, each with its file."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, str, str]] = []
        self._files: list[str] = []

    def note(self, frame: FrameType, event: str, _argument: Any) -> None:
        _, core, file = frame.f_code.co_filename.rpartition(CORE)
        if core and event == "call":
            self.calls.append((len(self._files), file, frame.f_code.co_qualname))
            self._files.append(file)
        elif core and event == "return" and self._files:
            self._files.pop()

    def file_changes(self) -> int:
        """How often a call goes into another file than its caller's, or than nobody's."""
        changes, callers = 0, [""]
        for depth, file, _ in self.calls:
            del callers[depth + 1 :]
            changes += callers[-1] != file
            callers.append(file)
        return changes


def relayed_topic(network: SmallNetwork, publisher: str, reader: str) -> str:
    """A topic whose messages go from one broker to another by way of the third."""
    network.connect("publisher", publisher)
    network.connect("reader", reader, session_expiry_s=600)
    for number in range(100):
        topic = f"topic/{number}"
        assert network.subscribe("reader", topic)
        network.publish("publisher", topic)
        network.sent.clear()
        network.publish("publisher", topic)
        network.answer_all("reader")
        network.forget("reader")
        sent = {(source, target) for source, target, _ in network.sent}
        relay = ({*network.names} - {publisher, reader}).pop()
        if (publisher, relay) in sent and (relay, reader) in sent:
            network.advance(2)
            return topic
    raise AssertionError("no topic is relayed")


def main() -> None:
    network = SmallNetwork(3)
    network.advance(2)
    topic = relayed_topic(network, "b0", "b2")
    walk = Walk()
    sys.setprofile(walk.note)
    network.publish("publisher", topic)
    network.answer_all("reader")
    network.advance(UNTIL_FORGOTTEN_S)
    sys.setprofile(None)
    assert network.messages("reader")
    if "--calls" in sys.argv:
        for depth, file, name in walk.calls:
            print(f"{'  ' * depth}{name}  ({file})")
    files = Counter(file for _, file, _ in walk.calls)
    print(f"{len(walk.calls)} calls, {len(files)} files, {walk.file_changes()} changes of file")


if __name__ == "__main__":
    main()
