"""A publication as it travels between brokers."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class PublicationId(NamedTuple):
    """Who published, and the how-manieth it was: unique, and ordered for each publisher."""

    publisher: str
    sequence: int


class StreamPoint(NamedTuple):
    """The number of a publication in the stream of one origin broker and one topic.

    topic: empty if it is that of the publication that names the point.
    """

    origin: str
    number: int
    topic: str = ""


class Extras(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What MQTT 5 carries with a message from end to end, unread, beside its user properties.

    payload_format: 1 if the publisher says that the payload is UTF-8 text.
    """

    payload_format: int | None = None
    content_type: str | None = None
    response_topic: str | None = None
    correlation: bytes | None = None

    def fits(self, payload: bytes) -> bool:
        """False if a payload is not the text that it is said to be."""
        if self.payload_format != 1:
            return True
        try:
            payload.decode()
        except UnicodeDecodeError:
            return False
        return True


# One letter a field: most of what brokers send each other is publications.
SHORT_NAMES = {
    "publisher": "p",
    "sequence": "s",
    "topic": "t",
    "payload": "b",
    "qos": "q",
    "retain": "r",
    "properties": "u",
    "expires_us": "x",
    "after": "a",
    "extras": "e",
    "count": "n",
}


class Publication(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename=SHORT_NAMES):
    """One message of one publisher on one topic, or a run of them.

    after: how far other streams must have come first, one for each broker that the publisher left
    while somebody waited for what it had published there. count: more than 1 for a run of messages
    of QoS 0, of which the payload holds the packets and sequence counts the first.
    """

    publisher: str
    sequence: int
    topic: str
    payload: bytes = b""
    qos: int = 0
    retain: bool = False
    properties: tuple[tuple[str, str], ...] = ()
    expires_us: int | None = None
    after: tuple[StreamPoint, ...] = ()
    extras: Extras | None = None
    count: int = 1

    @property
    def client(self) -> str:
        """The name of the client that published it: what a publisher is called without its life."""
        return self.publisher.rpartition("@")[0]

    @property
    def publication_id(self) -> PublicationId:
        return PublicationId(self.publisher, self.sequence)
