"""Topic names as bytes and as text: each is checked once."""

from __future__ import annotations

from meshwright.errors import MqttError
from meshwright.protocol.mqtt.body import text_of
from meshwright.protocol.mqtt.properties import is_one_topic
from meshwright.protocol.packets import TOPIC_NAME_INVALID

KEPT_BYTES_MAX = 256
KEPT_COUNT_MAX = 50_000


class TopicTexts(dict[bytes, str]):
    """The text of a topic name by its bytes; one that is no topic name raises MqttError.

    Many connections may share one, which bounds itself: it keeps short names only, and forgets all
    of them when they are too many.
    """

    def __missing__(self, raw: bytes) -> str:
        topic = text_of(raw)
        if not is_one_topic(topic):
            raise MqttError(TOPIC_NAME_INVALID, "a topic name is empty or holds '+' or '#'")
        if len(raw) <= KEPT_BYTES_MAX:
            if len(self) >= KEPT_COUNT_MAX:
                self.clear()
            self[raw] = topic
        return topic
