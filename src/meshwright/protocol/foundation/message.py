"""What all messages are that leave a process: each says its tag, then its fields in order.

A tag is a number that one class has for good. Renaming a class changes no byte; a class that goes
away takes its tag along. 1 to 31 are packets of MQTT, the first 15 by MQTT's own numbers.
"""

from __future__ import annotations

import msgspec


class Message(msgspec.Struct, frozen=True, gc=False, array_like=True, repr_omit_defaults=True):
    """Something that brokers, or a broker and a client, say to each other.

    Shown without what is as usual: most packets of MQTT use few of their fields.
    """
