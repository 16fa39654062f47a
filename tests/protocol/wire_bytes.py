"""The bytes of each message between brokers and of each value on disk, kept in files beside this.

`python tests/protocol/wire_bytes.py` writes down the examples that have no bytes yet, and strikes
out what went away. It changes nothing that was written: once brokers of a version are in use, other
bytes are another version of the wire, which has a file of its own; before that, take out the line
first. Other bytes on disk could not be read after an update.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

from wire_examples import DISK_EXAMPLES, EXAMPLES

from meshwright.protocol.forwarding.rendezvous.rooted_trees import TreeTable
from meshwright.protocol.forwarding.topic_trees.climbing_trees import BranchTable
from meshwright.protocol.foundation.message import Message
from meshwright.protocol.mobility.proxies import ProxyPacket
from meshwright.protocol.mqtt.packets import Packet
from meshwright.protocol.peers.conversations import Envelope, Hello
from meshwright.protocol.reconfiguration.messages import Inheritance
from meshwright.protocol.wire import SPOKEN, encode

HERE = Path(__file__).parent
DISK_BYTES = HERE / "disk_bytes.hex"
PACKETS = get_args(Packet)


def wire_file(version: int) -> Path:
    return HERE / f"wire_bytes_{version}.hex"


def tag_of(kind: type[Message]) -> int:
    tag = kind.__struct_config__.tag
    assert isinstance(tag, int), f"{kind.__name__} has no number as its tag"
    return tag


def envelopes_with(message: Message) -> list[Any]:
    """What goes to a peer if a message does: some go as a part of others only."""
    if isinstance(message, Hello | Envelope):
        return [message]
    if isinstance(message, PACKETS):
        message = ProxyPacket("c1", 1, message)
    elif isinstance(message, TreeTable | BranchTable):
        message = Inheritance(1, message)
    return [Envelope(1, 2, 3, 4, message)]


def wire_now() -> dict[str, str]:
    """By tag."""
    ordered = sorted(EXAMPLES, key=lambda one: tag_of(type(one)))
    return {str(tag_of(type(one))): encode(envelopes_with(one)).hex() for one in ordered}


def disk_now() -> dict[str, str]:
    """By the first word of the key."""
    return {kind: encode(value).hex() for kind, value in DISK_EXAMPLES.items()}


def read_bytes(path: Path) -> dict[str, str]:
    """What was written of each."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {name: encoded for name, _, encoded in (line.partition(": ") for line in lines)}


def add_new(path: Path, now: dict[str, str]) -> str:
    kept = read_bytes(path)
    whole = {name: kept.get(name, encoded) for name, encoded in now.items()}
    path.write_text("".join(f"{name}: {encoded}\n" for name, encoded in whole.items()))
    return f"{len(whole.keys() - kept.keys())} new, {len(kept.keys() - whole.keys())} gone"


if __name__ == "__main__":
    for path, now in ((wire_file(SPOKEN.newest), wire_now()), (DISK_BYTES, disk_now())):
        print(f"{path.name}: {add_new(path, now)}")
