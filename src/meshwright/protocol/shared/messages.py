"""Shared subscriptions: `$share/group/filter` gives each message to one member in the network.

Each has a keeper, a broker chosen by hashing the subscription's text; if it is removed, the next
one takes over (takeover.py). The keeper subscribes for all members. It keeps a message on disk and
hands it to one member in turn, connected ones first, until a client has acknowledged it. A QoS 1
message goes to another member if the session ends or its broker is lost, so two may get it. A QoS 2
message is offered first. Once the accepted offer is on the keeper's disk, another member gets it
only if the first surely did not send it to its client; otherwise it is lost with the session, as
MQTT 5 demands. While a keeper is down, publications wait at their origins, and new members for its
return.
"""

from __future__ import annotations

from typing import NamedTuple

from meshwright.model.publication import Publication
from meshwright.protocol.directory.directory import replicas_of
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.shared.at_most_once import Line

QOS0 = 0


class Member(NamedTuple):
    """A client in a group, as the keeper knows it."""

    client: str
    qos: int
    is_connected: bool


class Members(PeerMessage, frozen=True, gc=False, tag=96):
    """A broker tells the keeper which of its clients have a shared subscription.

    moving: clients whose sessions are on their way to another broker.
    handed: the last QoS 0 messages that they were handed, if the keeper asked for the members.
    """

    counts_as = "directory"

    key: str
    version: int
    members: tuple[Member, ...]
    moving: tuple[str, ...] = ()
    handed: tuple[Line, ...] | None = None


class MembersKept(PeerMessage, frozen=True, gc=False, tag=97):
    """The keeper has these members on disk, and its own subscription is in force."""

    counts_as = "directory"

    key: str
    version: int


class MembersQuestion(PeerMessage, frozen=True, gc=False, tag=98):
    """The keeper asks a broker for its members of a group."""

    counts_as = "directory"

    key: str


class HandOffered(PeerMessage, frozen=True, gc=False, tag=99):
    """The keeper asks whether a client is here to get a QoS 2 message, which is not in it."""

    counts_as = "shared"

    key: str
    hand: int
    client: str


class HandAccepted(PeerMessage, frozen=True, gc=False, tag=100):
    """The client of a HandOffered is here: hand it the message."""

    counts_as = "shared"

    key: str
    hand: int


class Handed(PeerMessage, frozen=True, gc=False, tag=101):
    """The keeper hands a client a message; hand: a number used once, or QOS0."""

    counts_as = "shared"

    key: str
    hand: int
    client: str
    publication: Publication
    origin: str = ""
    number: int = 0

    @property
    def is_spare(self) -> bool:
        """True for QoS 0, which may be left out when a peer does not keep up."""
        return self.hand == QOS0


class HandDone(PeerMessage, frozen=True, gc=False, tag=102):
    """The client has acknowledged the message, or no other member may get it."""

    counts_as = "shared"

    key: str
    hand: int


class HandUndone(PeerMessage, frozen=True, gc=False, tag=103):
    """The client is not here and was not sent the message: hand it to another member.

    publication: the message, if the keeper that handed it was removed and the next may not have it.
    """

    counts_as = "shared"

    key: str
    hand: int
    publication: Publication | None = None


class HandMoved(PeerMessage, frozen=True, gc=False, tag=104):
    """A client went to the target broker with messages that it has not acknowledged.

    claim: the number of the claim on the client before this move; of two moves the higher counts.
    """

    counts_as = "shared"

    key: str
    hands: tuple[int, ...]
    target: str
    claim: int


class HandForgotten(PeerMessage, frozen=True, gc=False, tag=105):
    """The keeper has forgotten these hands, and will not send them again."""

    counts_as = "shared"

    key: str
    hand: int
    others: tuple[int, ...] = ()


def keeper_of(key: str, brokers: tuple[str, ...]) -> str:
    """The broker that keeps a shared subscription."""
    return replicas_of(key, brokers, 1)[0]
