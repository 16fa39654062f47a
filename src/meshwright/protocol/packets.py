"""The packets of MQTT as values, whatever the version: what clients and brokers say."""

from __future__ import annotations

import msgspec

from meshwright.protocol.message import Message

# Reason codes of MQTT 5, as far as the protocol machines give them.
SUCCESS = 0x00
DISCONNECT_WITH_WILL = 0x04
NO_MATCHING_SUBSCRIBERS = 0x10
NO_SUBSCRIPTION_EXISTED = 0x11
UNSPECIFIED_ERROR = 0x80
SERVER_UNAVAILABLE = 0x88
SESSION_TAKEN_OVER = 0x8E
TOPIC_FILTER_INVALID = 0x8F
TOPIC_NAME_INVALID = 0x90
PACKET_IDENTIFIER_NOT_FOUND = 0x92
RECEIVE_MAXIMUM_EXCEEDED = 0x93
QUOTA_EXCEEDED = 0x97
USE_ANOTHER_SERVER = 0x9C


class Will(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What is published for a client whose connection ends without a goodbye."""

    topic: str
    payload: bytes = b""
    qos: int = 0
    retain: bool = False
    properties: tuple[tuple[str, str], ...] = ()
    delay_s: int = 0
    expiry_s: int | None = None


class Connect(Message, frozen=True, gc=False):
    """A client opens or resumes its session; expiry 0 ends it with the connection.

    carried: subscriptions that a roaming client brings along (subscriptions on device).
    previous_broker: where the client says that it was last, if it says so. can_be_redirected: it
    understands a server reference (MQTT 5).
    """

    clean_start: bool = False
    session_expiry_s: int = 0
    receive_maximum: int = 65_535
    will: Will | None = None
    previous_broker: str | None = None
    carried: tuple[Subscription, ...] | None = None
    can_be_redirected: bool = True


class Connack(Message, frozen=True, gc=False):
    """The session is open, or why not."""

    session_present: bool
    reason: int = SUCCESS
    server_reference: str | None = None


class Publish(Message, frozen=True, gc=False):
    """A message, either way; packet_id is 0 on QoS 0."""

    topic: str
    payload: bytes = b""
    qos: int = 0
    retain: bool = False
    packet_id: int = 0
    is_duplicate: bool = False
    properties: tuple[tuple[str, str], ...] = ()
    expiry_s: int | None = None
    subscription_ids: tuple[int, ...] = ()


class Puback(Message, frozen=True, gc=False):
    """Answer to a QoS 1 message: it is safe, or why it was refused."""

    packet_id: int
    reason: int = SUCCESS


class Pubrec(Message, frozen=True, gc=False):
    """First answer to a QoS 2 message."""

    packet_id: int
    reason: int = SUCCESS


class Pubrel(Message, frozen=True, gc=False):
    """The sender of a QoS 2 message has the first answer and forgets the message."""

    packet_id: int
    reason: int = SUCCESS


class Pubcomp(Message, frozen=True, gc=False):
    """Last answer to a QoS 2 message: its packet identifier is free again."""

    packet_id: int
    reason: int = SUCCESS


class Subscription(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One filter with its options; identifier 0 means none."""

    filter_text: str
    qos: int = 0
    no_local: bool = False
    retain_as_published: bool = False
    retain_handling: int = 0
    identifier: int = 0


class Subscribe(Message, frozen=True, gc=False):
    """A client asks for messages."""

    packet_id: int
    subscriptions: tuple[Subscription, ...]


class Suback(Message, frozen=True, gc=False):
    """Granted QoS or the reason of refusal, for each filter."""

    packet_id: int
    reasons: tuple[int, ...]


class Unsubscribe(Message, frozen=True, gc=False):
    """A client no longer asks for messages."""

    packet_id: int
    filter_texts: tuple[str, ...]


class Unsuback(Message, frozen=True, gc=False):
    """The filters are gone."""

    packet_id: int
    reasons: tuple[int, ...]


class Disconnect(Message, frozen=True, gc=False):
    """Goodbye, either way; a client may say anew when its session expires."""

    reason: int = SUCCESS
    server_reference: str | None = None
    session_expiry_s: int | None = None


Packet = (
    Connect
    | Connack
    | Publish
    | Puback
    | Pubrec
    | Pubrel
    | Pubcomp
    | Subscribe
    | Suback
    | Unsubscribe
    | Unsuback
    | Disconnect
)
