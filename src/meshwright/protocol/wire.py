"""Messages to peers and disk values as bytes: what leaves a broker's process.

Each message between brokers travels in an Envelope and names its type by a tag, which is a number.
A disk value has no tag: the first word of its key says its type (DISK_VALUES). Bytes of any other
type are refused, so a peer can send nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import msgspec

from meshwright.errors import PeerError
from meshwright.model.overlay import Overlay
from meshwright.model.plan import ClientMove
from meshwright.model.publication import Publication, StreamPoint
from meshwright.protocol.adaptation.star_part import Doubt
from meshwright.protocol.assembly import MESSAGES
from meshwright.protocol.directory.entries import Entry, EntryChange
from meshwright.protocol.forwarding import machines
from meshwright.protocol.foundation.effects import DiskKey
from meshwright.protocol.mqtt.packets import Qos1Run, Subscription, Will
from meshwright.protocol.peers.conversations import Envelope, Hello
from meshwright.protocol.peers.roll import Roll
from meshwright.protocol.reconfiguration.messages import Bundle
from meshwright.protocol.sessions.session import Waiting
from meshwright.protocol.shared.group import GroupMessageState
from meshwright.protocol.shared.messages import Member


class WireVersions(NamedTuple):
    """Versions of the bytes between brokers that a broker speaks: from the oldest to the newest.

    Two brokers speak with each other if there is a version that both speak.
    """

    newest: int
    oldest: int

    def speaks_with(self, other: WireVersions) -> bool:
        return self.oldest <= other.newest and other.oldest <= self.newest

    def __str__(self) -> str:
        if self.oldest == self.newest:
            return f"version {self.newest}"
        return f"versions {self.oldest} to {self.newest}"


# 2: tags were the names of classes. 3: tags are numbers.
SPOKEN = WireVersions(newest=3, oldest=3)

DISK_VALUES: dict[str, Any] = {
    "adaptation held": bool,
    "directory": Entry,
    "emptying": tuple[str, ...],
    "entry change": EntryChange,
    "epoch used": int,
    "founders": tuple[str, ...],
    "given": str,
    "group": tuple[Member, ...],
    "hand": tuple[str, int],
    "hand away": tuple[str, int, str, int],
    "handed": int,
    "interest": tuple[str, ...],
    "log": Publication,
    "moved": tuple[
        tuple[tuple[tuple[str, str], int], ...],
        tuple[tuple[str, tuple[StreamPoint, ...]], ...],
        tuple[str, ...],
        int,
    ],
    "moving": tuple[str, ...],
    "overlay": tuple[int, Overlay, Overlay | None, tuple[ClientMove, ...]],
    "passed": int,
    "plan unfinished": int,
    "position": int,
    "queue": Waiting,
    "reader": int,
    "received": bool,
    "redirect": tuple[int, str],
    "removals": int,
    "replicas": int,
    "retaining": Publication,
    "runs": tuple[str, tuple[tuple[int, Qos1Run], ...]],
    "sequence": int,
    "session": tuple[str, int, Will | None, int | None],
    "settled": Roll,
    "shared": GroupMessageState,
    "star": Doubt,
    "stream": int,
    "stream floor": int,
    "subscription": Subscription,
    "take over": bool,
    "tree versions": dict[str, int],
    "under_way": tuple[int, bool],
    "will": tuple[str, Will],
}


def _envelopes_type() -> Any:
    """The type of a batch: a list of Envelope and Hello, with all that they may hold."""
    plain = [one for one in MESSAGES if one not in (Envelope, Hello, Bundle)]
    envelope = _holding(Envelope, (*plain, _holding(Bundle, machines.MESSAGES)))
    return _holding(list, (envelope, Hello))


def _holding(generic: Any, types: Iterable[Any]) -> Any:
    return generic[reduce(or_, types)]


_ENCODER = msgspec.msgpack.Encoder()
_ENVELOPES_DECODER = msgspec.msgpack.Decoder(_envelopes_type())
_KEY_DECODER = msgspec.msgpack.Decoder(tuple[str | int, ...])
_VALUE_DECODERS = {kind: msgspec.msgpack.Decoder(one) for kind, one in DISK_VALUES.items()}

encode = _ENCODER.encode


def decode_envelopes(encoded: bytes) -> list[Envelope[Any] | Hello]:
    """Decode what a peer sent together: Envelopes, and a Hello when a conversation opens."""
    try:
        envelopes: list[Envelope[Any] | Hello] = _ENVELOPES_DECODER.decode(encoded)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        advice = "let both brokers run the same version"
        raise PeerError(f"Messages cannot be read ({error}); {advice}.") from error
    return envelopes


def decode_disk(encoded_key: bytes, encoded_value: bytes) -> tuple[DiskKey, Any]:
    """A key and its value as they were written."""
    key = _KEY_DECODER.decode(encoded_key)
    return key, _VALUE_DECODERS[str(key[0])].decode(encoded_value)
