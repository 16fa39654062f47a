"""What all messages are that leave a process: each says its tag, then its fields in order.

A tag is a number that one class has for good. Renaming a class changes no byte; a class that goes
away takes its tag along. 1 to 31 are packets of MQTT, the first 15 by MQTT's own numbers.
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeVar

import msgspec

# The closed forms of planning count publications and subscriptions.
CountsAs = Literal[
    "acknowledgement",
    "adaptation",
    "advertisement",
    "directory",
    "link",
    "membership",
    "mobility",
    "offer",
    "placement",
    "publication",
    "reconfiguration",
    "repair",
    "shared",
    "subscription",
]


class Message(msgspec.Struct, frozen=True, gc=False, array_like=True, repr_omit_defaults=True):
    """Something that brokers, or a broker and a client, say to each other.

    Shown without what is as usual: most packets of MQTT use few of their fields.
    """


class PeerMessage(Message, frozen=True, gc=False):
    """Something that brokers say to each other; counts_as: where it is counted."""

    counts_as: ClassVar[CountsAs]

    @property
    def is_spare(self) -> bool:
        """True if the message may be left out when a peer does not keep up.

        Streams repair publications of QoS 1 and 2, and QoS 0 promises nothing. All others wait for
        room; each of them belongs to something that its sender keeps anyway.
        """
        return self.counts_as == "publication"


Kind = TypeVar("Kind", bound=PeerMessage)


def kinds_of(parent: type[Kind]) -> tuple[type[Kind], ...]:
    """All messages that are made of another, in order of their tags, as far as imported."""
    found = {parent} if parent.__struct_config__.tag is not None else set()
    for child in parent.__subclasses__():
        found.update(kinds_of(child))
    return tuple(sorted(found, key=lambda kind: int(kind.__struct_config__.tag or 0)))
