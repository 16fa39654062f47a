"""What each message between brokers counts as."""

from __future__ import annotations

from meshwright.protocol.directory import Get, Got, Put, PutDone
from meshwright.protocol.forwarding.machines import FORWARDING_CLASSES
from meshwright.protocol.links import Frame, Hello
from meshwright.protocol.membership import Rumour
from meshwright.protocol.stream import (
    Acknowledged,
    Announce,
    Announced,
    Joined,
    Joining,
    OwedNothing,
    OwedQuestion,
    Repair,
)

MESSAGE_CLASSES: dict[type, str] = {
    **FORWARDING_CLASSES,
    Put: "directory",
    PutDone: "directory",
    Get: "directory",
    Got: "directory",
    Joining: "directory",
    Joined: "directory",
    Announce: "directory",
    Announced: "directory",
    Acknowledged: "acknowledgement",
    OwedQuestion: "acknowledgement",
    OwedNothing: "acknowledgement",
    Repair: "repair",
    Rumour: "membership",
    Hello: "link",
    Frame: "link",
}
