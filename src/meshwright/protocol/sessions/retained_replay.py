"""Retained messages for a new subscription, and how live messages fit in with them.

Live messages flow while the retained ones are looked up. A retained message is not sent if a live
one of its publisher has overtaken it, or if its topic got a live one that is retained itself. A
live message is not sent to a new subscription if it was already sent as retained, or is older: it
was published before SUBACK, and so is not owed. A look begins when the filter is in force, and ends
when nothing of it is left. What is found before SUBACK is sent after it.
"""

from __future__ import annotations

from enum import Enum

from meshwright.filters.filter import Filter
from meshwright.model.publication import Publication
from meshwright.protocol.foundation.stream_frames import StreamFrame
from meshwright.protocol.foundation.transitions import Transitions
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.mqtt.packets import Subscription
from meshwright.protocol.retained.lookup import Find
from meshwright.protocol.sessions.deliveries import Deliveries, is_too_late
from meshwright.protocol.sessions.session import Recipient, Session

# How a subscription asks for retained messages.
IF_NEW = 1
NEVER = 2

# A publisher and a topic.
Line = tuple[str, str]


class Stage(Enum):
    """How far a look for retained messages is."""

    LOOKING = "not all living brokers have answered, so that SUBACK waits"
    ANSWERED = "all living brokers have answered; those that return may have more"
    COMPLETE = "nothing more can be found"


STAGES = Transitions(
    {Stage.LOOKING: (Stage.ANSWERED,), Stage.ANSWERED: (Stage.COMPLETE,), Stage.COMPLETE: ()}
)


class _FirstLook:
    """seen: sequences of live messages since the look began. sent: those sent as retained.

    replaced: topics with live messages that are retained. had_room: when it began, its client's
    queue was not full, and so takes all that is retained. done: what sends SUBACK. held: what was
    found and waits for that; None once it was sent.
    """

    __slots__ = (
        "done", "had_room", "held", "is_new", "replaced", "seen", "sent", "stage",
    )  # fmt: skip

    def __init__(self, *, is_new: bool, had_room: bool, done: Action) -> None:
        self.is_new = is_new
        self.had_room = had_room
        self.done = done
        self.held: list[tuple[Subscription, Publication]] | None = []
        self.stage = Stage.LOOKING
        self.seen: dict[Line, int] = {}
        self.sent: dict[Line, int] = {}
        self.replaced: set[str] = set()

    def go_on(self, stage: Stage) -> None:
        """The next stage begins."""
        self.stage = STAGES.checked(self.stage, stage)

    @property
    def is_complete(self) -> bool:
        """True if nothing more can be found."""
        return self.stage is Stage.COMPLETE

    def is_overtaken(self, publication: Publication) -> bool:
        """True if a retained message is older than what came live, or comes live itself."""
        line = (publication.publisher, publication.topic)
        return publication.sequence <= self.seen.get(line, 0) or publication.topic in self.replaced


class RetainedReplay:
    """Looks; in_flight holds them by client and filter."""

    def __init__(self, deliveries: Deliveries, find: Find) -> None:
        self._deliveries = deliveries
        self._find = find
        self.in_flight: dict[str, dict[str, _FirstLook]] = {}
        self.begun_count = 0

    def begin(
        self,
        turn: Turn,
        session: Session,
        wanted: Filter,
        *,
        is_new: bool,
        done: Action,
    ) -> None:
        """Find what a subscription is to get of what is retained; then done.

        It is sent when the answer of which done is a part was sent: see release.
        """
        text = str(wanted)
        subscription = session.subscriptions[text]
        handling = subscription.retain_handling
        is_unwanted = handling == NEVER or (handling == IF_NEW and not is_new)
        if is_unwanted or wanted.group is not None:
            done(turn)
            return
        self.begun_count += 1
        looks = self.in_flight.setdefault(session.client, {})
        had_room = self._deliveries.has_room(session)
        look = looks[text] = _FirstLook(is_new=is_new, had_room=had_room, done=done)

        def found(later: Turn, publication: Publication) -> None:
            if looks.get(text) is look:
                self._found(later, session, subscription, look, publication)

        def answered(later: Turn) -> None:
            look.go_on(Stage.ANSWERED)
            done(later)

        def complete(_later: Turn) -> None:
            look.go_on(Stage.COMPLETE)
            if looks.get(text) is look:
                self._drop_if_over(session.client, text)

        self._find(turn, wanted, found=found, answered=answered, complete=complete)

    def release(self, turn: Turn, session: Session, done: Action) -> None:
        """SUBACK was sent: what was found for it follows, unless a live one overtook it."""
        for text, look in list(self.in_flight.get(session.client, {}).items()):
            if look.done is not done or look.held is None:
                continue
            held, look.held = look.held, None
            for subscription, publication in held:
                if not look.is_overtaken(publication):
                    self._send(turn, session, subscription, publication)
            self._drop_if_over(session.client, text)

    def forget(self, client: str, text: str) -> None:
        """A subscription is gone."""
        looks = self.in_flight.get(client)
        if looks is not None and looks.pop(text, None) is not None and not looks:
            del self.in_flight[client]

    def passes(self, client: str, text: str, publication: Publication) -> bool:
        """Take note of a live message; False if its subscription is not to get it."""
        looks = self.in_flight.get(client)
        look = looks.get(text) if looks is not None else None
        if look is None:
            return True
        line = (publication.publisher, publication.topic)
        if publication.sequence <= look.sent.get(line, 0):
            return False
        look.sent.pop(line, None)
        if not look.is_complete or look.held:
            look.seen[line] = publication.sequence
            if publication.retain:
                look.replaced.add(publication.topic)
        else:
            self._drop_if_over(client, text)
        return True

    def _found(
        self,
        turn: Turn,
        session: Session,
        subscription: Subscription,
        look: _FirstLook,
        publication: Publication,
    ) -> None:
        is_own = subscription.no_local and session.has_sent(publication)
        if not self._deliveries.may_read(session, publication.topic):
            return
        if is_own or is_too_late(publication, turn.now_us):
            return
        if look.is_overtaken(publication):
            return
        if look.is_new and look.stage is Stage.LOOKING:
            look.sent[publication.publisher, publication.topic] = publication.sequence
        if not look.had_room and publication.qos and subscription.qos:
            self._deliveries.refuse_look(turn, session, publication)
        elif look.held is None:
            self._send(turn, session, subscription, publication)
        else:
            look.held.append((subscription, publication))

    def _send(
        self, turn: Turn, session: Session, subscription: Subscription, publication: Publication
    ) -> None:
        identifiers = (subscription.identifier,) if subscription.identifier else ()
        recipient = Recipient(session, subscription.qos, True, identifiers)
        frame = StreamFrame("", 0, publication)
        self._deliveries.deliver(turn, frame, (recipient,), is_kept=True)

    def _drop_if_over(self, client: str, text: str) -> None:
        look = self.in_flight.get(client, {}).get(text)
        if look is not None and look.is_complete and not (look.sent or look.held):
            self.forget(client, text)
