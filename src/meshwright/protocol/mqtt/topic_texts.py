"""What publishers say again and again, topic names and properties: each is checked once."""

from __future__ import annotations

from typing import NamedTuple

from meshwright.errors import MqttError
from meshwright.model.publication import Extras
from meshwright.protocol.mqtt.body import Body, text_of
from meshwright.protocol.mqtt.packets import TOPIC_NAME_INVALID, Properties
from meshwright.protocol.mqtt.properties import (
    OF_PUBLISH,
    is_one_topic,
    read_properties,
    with_extras,
)

KEPT_BYTES_MAX = 256
KEPT_COUNT_MAX = 20_000


class MessageProperties(NamedTuple):
    """The properties of a PUBLISH; topic_alias is None if there is none."""

    properties: Properties = ()
    expiry_s: int | None = None
    subscription_ids: tuple[int, ...] = ()
    extras: Extras | None = None
    topic_alias: int | None = None


class PropertyTexts(dict[bytes, MessageProperties]):
    """The properties of messages by their bytes, the length included; bounded like topics."""

    def __missing__(self, raw: bytes) -> MessageProperties:
        found = with_extras(read_properties(Body(raw, 0, len(raw)), OF_PUBLISH))
        read = MessageProperties(**found)
        # A correlation is new each time.
        if len(raw) <= KEPT_BYTES_MAX and (read.extras is None or read.extras.correlation is None):
            if len(self) >= KEPT_COUNT_MAX:
                self.clear()
            self[raw] = read
        return read


class TopicTexts(dict[bytes, str]):
    """The text of a topic name by its bytes; one that is no topic name raises MqttError.

    Many connections may share one, which bounds itself: it keeps short names only, and forgets all
    of them when they are too many. properties: the same for the properties of messages.
    """

    def __init__(self) -> None:
        super().__init__()
        self.properties = PropertyTexts()

    def __missing__(self, raw: bytes) -> str:
        topic = text_of(raw)
        if not is_one_topic(topic):
            raise MqttError(TOPIC_NAME_INVALID, "a topic name is empty or holds '+' or '#'")
        if len(raw) <= KEPT_BYTES_MAX:
            if len(self) >= KEPT_COUNT_MAX:
                self.clear()
            self[raw] = topic
        return topic
