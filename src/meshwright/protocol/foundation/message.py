"""What all messages are that leave a process: each says its kind, then its fields in order."""

from __future__ import annotations

import msgspec


class Message(
    msgspec.Struct, frozen=True, gc=False, array_like=True, tag=True, repr_omit_defaults=True
):
    """Something that brokers, or a broker and a client, say to each other.

    Shown without what is as usual: most packets of MQTT use few of their fields.
    """
