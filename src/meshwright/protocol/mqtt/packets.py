"""The packets of MQTT as values, whatever the version: what clients and brokers say."""

from __future__ import annotations

import msgspec

from meshwright.model.publication import Extras
from meshwright.protocol.foundation.message import Message

# Versions of MQTT, as CONNECT numbers them.
MQTT_3_1 = 3
MQTT_3_1_1 = 4
MQTT_5 = 5

# Reason codes of MQTT 5; earlier versions know few of them, or none.
SUCCESS = 0x00
DISCONNECT_WITH_WILL = 0x04
NO_MATCHING_SUBSCRIBERS = 0x10
NO_SUBSCRIPTION_EXISTED = 0x11
CONTINUE_AUTHENTICATION = 0x18
RE_AUTHENTICATE = 0x19
UNSPECIFIED_ERROR = 0x80
MALFORMED_PACKET = 0x81
PROTOCOL_ERROR = 0x82
IMPLEMENTATION_SPECIFIC_ERROR = 0x83
UNSUPPORTED_PROTOCOL_VERSION = 0x84
CLIENT_IDENTIFIER_NOT_VALID = 0x85
BAD_USER_NAME_OR_PASSWORD = 0x86
NOT_AUTHORIZED = 0x87
SERVER_UNAVAILABLE = 0x88
SERVER_BUSY = 0x89
BANNED = 0x8A
SERVER_SHUTTING_DOWN = 0x8B
BAD_AUTHENTICATION_METHOD = 0x8C
KEEP_ALIVE_TIMEOUT = 0x8D
SESSION_TAKEN_OVER = 0x8E
TOPIC_FILTER_INVALID = 0x8F
TOPIC_NAME_INVALID = 0x90
PACKET_IDENTIFIER_IN_USE = 0x91
PACKET_IDENTIFIER_NOT_FOUND = 0x92
RECEIVE_MAXIMUM_EXCEEDED = 0x93
TOPIC_ALIAS_INVALID = 0x94
PACKET_TOO_LARGE = 0x95
MESSAGE_RATE_TOO_HIGH = 0x96
QUOTA_EXCEEDED = 0x97
ADMINISTRATIVE_ACTION = 0x98
PAYLOAD_FORMAT_INVALID = 0x99
RETAIN_NOT_SUPPORTED = 0x9A
QOS_NOT_SUPPORTED = 0x9B
USE_ANOTHER_SERVER = 0x9C
SERVER_MOVED = 0x9D
SHARED_SUBSCRIPTIONS_NOT_SUPPORTED = 0x9E
CONNECTION_RATE_EXCEEDED = 0x9F
MAXIMUM_CONNECT_TIME = 0xA0
SUBSCRIPTION_IDENTIFIERS_NOT_SUPPORTED = 0xA1
WILDCARD_SUBSCRIPTIONS_NOT_SUPPORTED = 0xA2

# A session with this expiry interval never expires.
NEVER_S = 0xFFFF_FFFF

# User properties: pairs of name and value, in order, with repeats.
Properties = tuple[tuple[str, str], ...]


class Will(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What is published for a client whose connection ends without a goodbye."""

    topic: str
    payload: bytes = b""
    qos: int = 0
    retain: bool = False
    properties: Properties = ()
    delay_s: int = 0
    expiry_s: int | None = None
    extras: Extras | None = None


class Connect(Message, frozen=True, gc=False, tag=1):
    """A client opens or resumes its session; expiry 0 ends it with the connection.

    carried: subscriptions that a roaming client brings along (subscriptions on device).
    previous_broker: where the client says that it was last, if it says so. can_be_redirected: it
    understands a server reference (MQTT 5).
    keep_alive_s: 0 for a client that may be silent for ever. With an authentication method, it asks
    for an exchange of AUTH packets. is_bridge: it joins another broker to this one, and says so.
    """

    clean_start: bool = False
    session_expiry_s: int = 0
    receive_maximum: int = 65_535
    will: Will | None = None
    previous_broker: str | None = None
    carried: tuple[Subscription, ...] | None = None
    can_be_redirected: bool = True
    client_id: str = ""
    user_name: str | None = None
    password: bytes | None = None
    keep_alive_s: int = 0
    protocol_version: int = MQTT_5
    maximum_packet_size: int | None = None
    topic_alias_maximum: int = 0
    request_response_information: bool = False
    request_problem_information: bool = True
    authentication_method: str | None = None
    authentication_data: bytes | None = None
    properties: Properties = ()
    is_bridge: bool = False


class Connack(Message, frozen=True, gc=False, tag=2):
    """The session is open, or why not; a term that is absent on the wire has its default here.

    session_expiry_s and server_keep_alive_s: None for what the client asked.
    """

    session_present: bool
    reason: int = SUCCESS
    server_reference: str | None = None
    session_expiry_s: int | None = None
    receive_maximum: int = 65_535
    maximum_qos: int = 2
    retain_available: bool = True
    maximum_packet_size: int | None = None
    assigned_client_id: str | None = None
    topic_alias_maximum: int = 0
    reason_text: str | None = None
    properties: Properties = ()
    wildcard_subscriptions_available: bool = True
    subscription_identifiers_available: bool = True
    shared_subscriptions_available: bool = True
    server_keep_alive_s: int | None = None
    response_information: str | None = None
    authentication_method: str | None = None
    authentication_data: bytes | None = None


class Publish(Message, frozen=True, gc=False, tag=3):
    """A message, either way; packet_id is 0 on QoS 0."""

    topic: str
    payload: bytes = b""
    qos: int = 0
    retain: bool = False
    packet_id: int = 0
    is_duplicate: bool = False
    properties: Properties = ()
    expiry_s: int | None = None
    subscription_ids: tuple[int, ...] = ()
    extras: Extras | None = None


class PublishRun(Message, frozen=True, gc=False, tag=16):
    """Messages of one publisher on one topic, QoS 0 and nothing but payload, together.

    packets: their PUBLISH packets of MQTT 3.1.1, one after the other. From a client: those here who
    want them have got them already. To a client: as if they were sent one by one.
    """

    topic: str
    packets: bytes
    count: int


class Qos1Run(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Messages of QoS 1 on one topic, of one length and with nothing but payload, together.

    packets: their PUBLISH packets, one after the other; id_at: where each has its packet
    identifier; is_5: they are of MQTT 5, and have a byte 0 after that.
    """

    topic: str
    packets: bytes
    count: int
    id_at: int
    is_5: bool


class PublishQos1Runs(Message, frozen=True, gc=False, tag=17):
    """Runs that a client publishes, in order."""

    runs: tuple[Qos1Run, ...]


class DeliverQos1Run(Message, frozen=True, gc=False, tag=18):
    """A run to a client, with packet identifiers from one on."""

    run: Qos1Run
    packet_id: int


class PubackRun(Message, frozen=True, gc=False, tag=19):
    """Answers to QoS 1 messages that are safe, either way; packet_ids: two bytes each."""

    packet_ids: bytes


class Puback(Message, frozen=True, gc=False, tag=4):
    """Answer to a QoS 1 message: it is safe, or why it was refused."""

    packet_id: int
    reason: int = SUCCESS
    reason_text: str | None = None
    properties: Properties = ()


class Pubrec(Message, frozen=True, gc=False, tag=5):
    """First answer to a QoS 2 message."""

    packet_id: int
    reason: int = SUCCESS
    reason_text: str | None = None
    properties: Properties = ()


class Pubrel(Message, frozen=True, gc=False, tag=6):
    """The sender of a QoS 2 message has the first answer and forgets the message."""

    packet_id: int
    reason: int = SUCCESS
    reason_text: str | None = None
    properties: Properties = ()


class Pubcomp(Message, frozen=True, gc=False, tag=7):
    """Last answer to a QoS 2 message: its packet identifier is free again."""

    packet_id: int
    reason: int = SUCCESS
    reason_text: str | None = None
    properties: Properties = ()


class Subscription(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One filter with its options; identifier 0 means none."""

    filter_text: str
    qos: int = 0
    no_local: bool = False
    retain_as_published: bool = False
    retain_handling: int = 0
    identifier: int = 0


class Subscribe(Message, frozen=True, gc=False, tag=8):
    """A client asks for messages."""

    packet_id: int
    subscriptions: tuple[Subscription, ...]
    properties: Properties = ()


class Suback(Message, frozen=True, gc=False, tag=9):
    """Granted QoS or the reason of refusal, for each filter."""

    packet_id: int
    reasons: tuple[int, ...]
    reason_text: str | None = None
    properties: Properties = ()


class Unsubscribe(Message, frozen=True, gc=False, tag=10):
    """A client no longer asks for messages."""

    packet_id: int
    filter_texts: tuple[str, ...]
    properties: Properties = ()


class Unsuback(Message, frozen=True, gc=False, tag=11):
    """The filters are gone."""

    packet_id: int
    reasons: tuple[int, ...]
    reason_text: str | None = None
    properties: Properties = ()


class Disconnect(Message, frozen=True, gc=False, tag=14):
    """Goodbye, either way; a client may say anew when its session expires."""

    reason: int = SUCCESS
    server_reference: str | None = None
    session_expiry_s: int | None = None
    reason_text: str | None = None
    properties: Properties = ()


class Auth(Message, frozen=True, gc=False, tag=15):
    """One step of an exchange that proves who somebody is, either way."""

    reason: int = SUCCESS
    authentication_method: str | None = None
    authentication_data: bytes | None = None
    reason_text: str | None = None
    properties: Properties = ()


class Pingreq(Message, frozen=True, gc=False, tag=12):
    """A client says that it lives."""


class Pingresp(Message, frozen=True, gc=False, tag=13):
    """So does the broker."""


Packet = (
    Connect
    | Connack
    | Publish
    | PublishRun
    | PublishQos1Runs
    | DeliverQos1Run
    | PubackRun
    | Puback
    | Pubrec
    | Pubrel
    | Pubcomp
    | Subscribe
    | Suback
    | Unsubscribe
    | Unsuback
    | Pingreq
    | Pingresp
    | Disconnect
    | Auth
)
