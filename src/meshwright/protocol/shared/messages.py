"""Shared subscriptions: `$share/group/filter` gives each message to one member in all the network.

Every such subscription has a keeper, drawn by hashing its text; the next keeps it when that is gone
for good (shared_takeover). It subscribes for all members, keeps each message on disk and hands it
to one in turn, connected ones first, until the client has answered. A message of QoS 1 goes to
another member if the session ends or its broker is lost, so two may get it. One of QoS 2 is offered
first; once the accepted offer is on disk it goes to another only if its member is sure not to have
sent it to its client. If not, it is lost with that session, as MQTT 5 demands. While a keeper is
down, its publications wait at their origins and new members for its return.
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
    """All clients here that share a subscription; moving ones are on their way elsewhere.

    handed: what they were handed of QoS 0, if the keeper asks for its members.
    """

    counts_as = "directory"

    key: str
    version: int
    members: tuple[Member, ...]
    moving: tuple[str, ...] = ()
    handed: tuple[Line, ...] | None = None


class MembersKept(PeerMessage, frozen=True, gc=False, tag=97):
    """The members are on the keeper's disk, and its own subscription is in force."""

    counts_as = "directory"

    key: str
    version: int


class MembersQuestion(PeerMessage, frozen=True, gc=False, tag=98):
    """The keeper asks for the members as they are now."""

    counts_as = "directory"

    key: str


class HandOffered(PeerMessage, frozen=True, gc=False, tag=99):
    """A message of QoS 2 is to go to a client, if it is there."""

    counts_as = "shared"

    key: str
    hand: int
    client: str


class HandAccepted(PeerMessage, frozen=True, gc=False, tag=100):
    """The client is here: hand it the message."""

    counts_as = "shared"

    key: str
    hand: int


class Handed(PeerMessage, frozen=True, gc=False, tag=101):
    """A message for a client; hand is a number that comes once, or QOS0."""

    counts_as = "shared"

    key: str
    hand: int
    client: str
    publication: Publication
    origin: str = ""
    number: int = 0

    @property
    def is_spare(self) -> bool:
        """QoS 0 promises nothing."""
        return self.hand == QOS0


class HandDone(PeerMessage, frozen=True, gc=False, tag=102):
    """The client has answered the message, or nobody else may get it."""

    counts_as = "shared"

    key: str
    hand: int


class HandUndone(PeerMessage, frozen=True, gc=False, tag=103):
    """The client is not here, and was not sent the message: give it to another one.

    publication: what it is, if its keeper was removed, so that the next may not know of it.
    """

    counts_as = "shared"

    key: str
    hand: int
    publication: Publication | None = None


class HandMoved(PeerMessage, frozen=True, gc=False, tag=104):
    """The client went to another broker and took messages along that it has not answered.

    claim: the number with which it was claimed where it comes from; of two moves the later counts.
    """

    counts_as = "shared"

    key: str
    hands: tuple[int, ...]
    target: str
    claim: int


class HandForgotten(PeerMessage, frozen=True, gc=False, tag=105):
    """The keeper has forgotten the message, and others: they will not come again."""

    counts_as = "shared"

    key: str
    hand: int
    others: tuple[int, ...] = ()


def keeper_of(key: str, brokers: tuple[str, ...]) -> str:
    """The broker that keeps a shared subscription."""
    return replicas_of(key, brokers, 1)[0]
