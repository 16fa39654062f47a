"""What each message between brokers counts as."""

from __future__ import annotations

from meshwright.protocol.adaptation.star_messages import STAR_MESSAGES
from meshwright.protocol.directory.entries import AskReaders, Get, Got, Put, PutDone, PutWhole
from meshwright.protocol.directory.erasures import Erase
from meshwright.protocol.forwarding.machines import FORWARDING_CLASSES
from meshwright.protocol.mobility.messages import (
    Discard,
    DiscardDone,
    HaveYou,
    MoveAsk,
    MoveBegun,
    MoveCancelled,
    MoveDone,
    MoveEnd,
    MoveNotHere,
    MoveOffer,
    MoveReady,
    MoveSeen,
    MoveStored,
)
from meshwright.protocol.mobility.placement import Summary
from meshwright.protocol.mobility.proxies import PROXY_MESSAGES
from meshwright.protocol.mobility.publish_barriers import PointsSettled
from meshwright.protocol.peers.admission import (
    JoinAsked,
    NewcomerAnswered,
    NewcomerCall,
    NotYet,
    Welcome,
)
from meshwright.protocol.peers.conversations import Frame, Hello
from meshwright.protocol.peers.liveness import Rumour
from meshwright.protocol.peers.removals import CallAnswered, LastCall, RollTold
from meshwright.protocol.reconfiguration.blocking import BLOCKING_MESSAGES
from meshwright.protocol.reconfiguration.messages import RECONFIGURATION_MESSAGES
from meshwright.protocol.retained.lookup import RetainedAnswer, RetainedQuestion
from meshwright.protocol.sessions.full_queues import QueuesChanged, QueuesUnchanged
from meshwright.protocol.shared.messages import (
    HandAccepted,
    HandDone,
    Handed,
    HandForgotten,
    HandMoved,
    HandOffered,
    HandUndone,
    Members,
    MembersKept,
    MembersQuestion,
)
from meshwright.protocol.shared.post import Together
from meshwright.protocol.shared.takeover import Holdings, HoldingsQuestion
from meshwright.protocol.streams.messages import (
    Acknowledged,
    AllPassed,
    Announce,
    Announced,
    Joined,
    Joining,
    Legacy,
    LegacyQuestion,
    OwedNothing,
    OwedQuestion,
    Repair,
    Standing,
    StandingQuestion,
)

MESSAGE_CLASSES: dict[type, str] = {
    **FORWARDING_CLASSES,
    **dict.fromkeys((*RECONFIGURATION_MESSAGES, *BLOCKING_MESSAGES), "reconfiguration"),
    **dict.fromkeys(STAR_MESSAGES, "adaptation"),
    Put: "directory",
    RetainedQuestion: "directory",
    RetainedAnswer: "directory",
    Members: "directory",
    MembersKept: "directory",
    MembersQuestion: "directory",
    Handed: "shared",
    Together: "shared",
    HandDone: "shared",
    HandUndone: "shared",
    HandForgotten: "shared",
    HandMoved: "shared",
    HandOffered: "shared",
    HandAccepted: "shared",
    Holdings: "shared",
    HoldingsQuestion: "shared",
    Legacy: "shared",
    LegacyQuestion: "shared",
    PutDone: "directory",
    PutWhole: "directory",
    Get: "directory",
    Got: "directory",
    AskReaders: "directory",
    Erase: "directory",
    Joining: "directory",
    Joined: "directory",
    Announce: "directory",
    Announced: "directory",
    Acknowledged: "acknowledgement",
    AllPassed: "acknowledgement",
    OwedQuestion: "acknowledgement",
    OwedNothing: "acknowledgement",
    QueuesChanged: "acknowledgement",
    QueuesUnchanged: "acknowledgement",
    Repair: "repair",
    Rumour: "membership",
    RollTold: "membership",
    LastCall: "membership",
    CallAnswered: "membership",
    JoinAsked: "membership",
    NewcomerCall: "membership",
    NewcomerAnswered: "membership",
    NotYet: "membership",
    Welcome: "membership",
    Discard: "mobility",
    DiscardDone: "mobility",
    HaveYou: "mobility",
    MoveAsk: "mobility",
    MoveBegun: "mobility",
    MoveCancelled: "mobility",
    MoveDone: "mobility",
    MoveEnd: "mobility",
    MoveNotHere: "mobility",
    MoveOffer: "mobility",
    MoveReady: "mobility",
    MoveSeen: "mobility",
    MoveStored: "mobility",
    **dict.fromkeys(PROXY_MESSAGES, "mobility"),
    PointsSettled: "mobility",
    Standing: "mobility",
    StandingQuestion: "mobility",
    Summary: "placement",
    Hello: "link",
    Frame: "link",
}
