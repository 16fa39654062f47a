"""Names of things, and the hash that places them on a key space."""

from __future__ import annotations

import hashlib
from typing import NewType

BrokerName = NewType("BrokerName", str)
TopicName = NewType("TopicName", str)
ClientName = NewType("ClientName", str)

KEY_BITS = 32


def topic_key(topic: str) -> int:
    """Key of a topic on a 32-bit key space: the first four bytes of SHA-1 of its UTF-8 name."""
    return int.from_bytes(hashlib.sha1(topic.encode("utf-8")).digest()[:4], "big")


def hash_order(names: tuple[BrokerName, ...]) -> list[int]:
    """Indexes of the names in the `hash` arrangement: by (first 8 SHA-1 bytes, name)."""
    return sorted(
        range(len(names)),
        key=lambda index: (hashlib.sha1(names[index].encode("utf-8")).digest()[:8], names[index]),
    )
