"""Clients that went elsewhere: their session is sent after them, and kept until it has arrived."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any

import msgspec

from meshwright.filters.filter import parse_filter
from meshwright.model.publication import PublicationId
from meshwright.protocol.directory.directory import Directory
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.effects import DiskKey
from meshwright.protocol.foundation.serials import serials
from meshwright.protocol.foundation.stream_frames import passed_in
from meshwright.protocol.foundation.transitions import Transitions
from meshwright.protocol.foundation.turn import Turn
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
    MoveReady,
    MoveSeen,
    MoveStored,
    MovingSettings,
    digest_of,
)
from meshwright.protocol.mobility.prefetching import may_go_ahead
from meshwright.protocol.mobility.publish_barriers import PublishBarriers
from meshwright.protocol.mobility.seen_log import sifted, stored_ids
from meshwright.protocol.mobility.session_claims import Claims, SessionClaims
from meshwright.protocol.peers.conversations import Conversations
from meshwright.protocol.peers.open_questions import OpenQuestion, OpenQuestions
from meshwright.protocol.sessions.session import Session
from meshwright.protocol.sessions.session_state import SessionState, packed
from meshwright.protocol.sessions.sessions import Sessions
from meshwright.protocol.streams.interest import key_of
from meshwright.protocol.streams.messages import Standing, StandingQuestion

TICK = ("departing",)


class Stage(Enum):
    """How far a session is on its way to the broker that asked for it."""

    PREPARING = "its filters are being put in force there"
    COLLECTING = "all that entered the network before is still to come here"
    SIFTING = "its new broker was told what it stores, to say what of that it has seen"
    SIFTED = "its new broker has said so"


STAGES = Transitions(
    {
        Stage.PREPARING: (Stage.COLLECTING,),
        Stage.COLLECTING: (Stage.SIFTING,),
        Stage.SIFTING: (Stage.SIFTED,),
        Stage.SIFTED: (),
    }
)


@dataclass(slots=True, eq=False)
class Departure:
    """A session that is leaving, and what it still waits for.

    claim: with which number its client is claimed there. is_offered: it goes ahead of its client.
    seen: what its new broker has said to have seen. keys: whose readers are being asked for.
    questions: to origins, by serial. owed: how far streams (origin, topic) must have come here
    before the session can go. sent: how far they were sent then, so nothing else up to there is for
    the session.
    """

    client: str
    target: str
    serial: int
    claim: int
    is_offered: bool = False
    questions: OpenQuestions[int, OpenQuestion] = field(kw_only=True)
    stage: Stage = Stage.PREPARING
    seen: frozenset[PublicationId] = frozenset()
    keys: dict[str, None] = field(default_factory=dict)
    owed: dict[tuple[str, str], int] = field(default_factory=dict)
    sent: dict[tuple[str, str], int] = field(default_factory=dict)

    def go_on(self, stage: Stage) -> None:
        """The next stage begins."""
        self.stage = STAGES.checked(self.stage, stage)


class HandOverRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Reports that a session goes to another broker.

    mode: prefetching if it goes ahead of its client, logging if its new broker was asked what it
    has seen of it, else standard. stored: messages that wait in the session; replayed: those of
    them that go with it, as its new broker has not seen them.
    """

    client: str
    target: str
    mode: str
    stored: int
    replayed: int


class Departing:
    """The sending side of moves. passed_numbers: how far every stream has come here."""

    def __init__(
        self,
        me: str,
        settings: MovingSettings,
        session_claims: SessionClaims,
        directory: Directory,
        sessions: Sessions,
        *,
        conversations: Conversations,
        discard: Callable[[Turn, str, Discard], None],
        passed_numbers: Callable[[], dict[tuple[str, str], int]],
        left: PublishBarriers,
        is_removed: Callable[[str], bool],
        asks_what_was_seen: bool,
        incarnation: int,
    ) -> None:
        self._me = me
        self._settings = settings
        self._session_claims = session_claims
        self._is_removed = is_removed
        self._directory = directory
        self._sessions = sessions
        self._conversations = conversations
        self._send = conversations.send
        self._discard = discard
        # Sessions that were given, and that nobody wants since.
        self._unwanted: set[str] = set()
        self._passed_numbers = passed_numbers
        self._left = left
        self._asks_what_was_seen = asks_what_was_seen
        self._serials = serials(incarnation)
        self._departures: dict[str, Departure] = {}
        self._given: dict[str, str] = {}
        self._has_tick = False

    def handlers(self) -> Handlers:
        """Which message is for which method."""
        return (
            on(MoveReady, self.ready),
            on(MoveSeen, self.seen),
            on(Standing, self.standing),
        )

    def restore(self, turn: Turn, disk: dict[DiskKey, Any]) -> None:
        """After a crash: ask whether what was given has arrived."""
        for client in sorted(str(key[1]) for key in disk if key[0] == "given"):
            self._given[client] = disk["given", client]
            session = self._sessions.find(client)
            if session is not None and not session.is_away:
                # Its client was gone when it was given, so this is one that began since.
                self._take_back(turn, client)
                continue
            self._send(turn, self._given[client], HaveYou(client))
            if session is not None:
                self._sessions.leaves(turn, session)
        self._claim_back(turn)

    def roll_changed(self, turn: Turn) -> None:
        """Wait for nothing from brokers that are gone for good, and give nothing to them."""
        for departure in list(self._departures.values()):
            if self._is_removed(departure.target):
                self._drop(turn, departure)
                continue
            departure.questions.forget_removed(self._is_removed)
            departure.owed = {
                key: number
                for key, number in departure.owed.items()
                if not self._is_removed(key[0])
            }
            self._go_if_complete(turn, departure)
        self._claim_back(turn)

    def forget_all(self, turn: Turn) -> None:
        """No session here is to go anywhere any more."""
        self._departures.clear()
        for client in list(self._given):
            self._take_back(turn, client)

    def given_to(self, client: str) -> str | None:
        """Who was given a session of which it is not known whether it arrived."""
        return self._given.get(client)

    def asked(self, turn: Turn, peer: str, message: MoveAsk) -> None:
        """Another broker asks for a session."""
        client = message.client
        self._session_claims.asked(client)
        target = self._given.get(client)
        if target is not None and target != peer:
            self._send(turn, peer, MoveNotHere(client, message.serial, target))
            return
        if message.is_offered and not self._may_go_ahead(client, peer):
            self._send(turn, peer, MoveNotHere(client, message.serial, None))
            return
        if target is not None:
            # Who asks for what it was given has not got it.
            self._keep(turn, client)
        session = self._sessions.find(client)
        if session is not None and not session.is_arriving:
            self._sessions.take_over(turn, session)
            session = self._sessions.find(client)
        if session is None or session.is_arriving:
            settled = self._session_claims.settled(client)
            self._send(turn, peer, MoveNotHere(client, message.serial, None, settled=settled))
            return
        if self._is_late(peer, message):
            late = MoveNotHere(client, message.serial, None, is_late=True)
            self._send(turn, peer, late)
            return
        self._recall(turn, client, unless=peer)
        self._departures[client] = Departure(
            client,
            peer,
            message.serial,
            message.claim,
            message.is_offered,
            questions=OpenQuestions(self._conversations),
        )
        own = tuple(session.subscriptions.values())
        is_carried = message.carried is not None and message.carried == digest_of(own)
        subscriptions = None if is_carried else own
        if not message.is_offered:
            # Who asks lets its client wait no longer than that.
            session.awaited_until_us = turn.now_us + self._settings.patience_us
        begun = MoveBegun(client, message.serial, session.identity, subscriptions)
        self._send(turn, peer, begun)

    def client_back(self, turn: Turn, client: str) -> None:
        """A session need not go ahead of its client, nor where that was: it is here, or no more."""
        self._recall(turn, client, unless=None)

    def ready(self, turn: Turn, peer: str, message: MoveReady) -> None:
        """The filters are in force there: find out what must still come here."""
        departure = self._departures.get(message.client)
        session = self._sessions.find(message.client)
        if departure is None or session is None or departure.serial != message.serial:
            return
        if departure.target != peer:
            return
        # Who was asked twice for its filters puts them in force twice.
        if departure.stage is Stage.PREPARING:
            departure.go_on(Stage.COLLECTING)
        departure.keys = dict.fromkeys(key_of(parse_filter(t)) for t in session.subscriptions)
        for key in list(departure.keys):
            asked = partial(self._readers_known, departure=departure, key=key)
            self._directory.readers(turn, key, asked)
        self._wake(turn)

    def standing(self, turn: Turn, peer: str, message: Standing) -> None:
        """An origin says which numbers are still to come here."""
        for departure in list(self._departures.values()):
            if departure.questions.answered(peer, message.serial):
                for topic, number in message.points:
                    departure.owed[peer, topic] = number
                departure.sent.update({(peer, topic): number for topic, number in message.sent})
                self._go_if_complete(turn, departure)

    def seen(self, turn: Turn, peer: str, message: MoveSeen) -> None:
        """The new broker says what need not be sent."""
        departure = self._departures.get(message.client)
        if departure is None or departure.target != peer or departure.serial != message.serial:
            return
        if departure.stage is not Stage.SIFTING:
            return
        departure.go_on(Stage.SIFTED)
        departure.seen = frozenset(message.events)
        self._go_if_complete(turn, departure)

    def cancelled(self, turn: Turn, peer: str, message: MoveCancelled) -> None:
        """The session stays here."""
        departure = self._departures.get(message.client)
        if departure is not None and departure.target == peer:
            self._drop(turn, departure)
        if self._given.get(message.client) == peer:
            self._keep(turn, message.client)

    def done(self, turn: Turn, peer: str, message: MoveDone) -> None:
        """The session has arrived: forget it here."""
        if self._given.get(message.client) == peer:
            self._take_back(turn, message.client)
            session = self._sessions.find(message.client)
            # The client may have come back meanwhile, and another session be here, or arrive.
            if session is not None and session.is_leaving:
                self._sessions.end(turn, session, peer)

    def discarded(self, turn: Turn, message: Discard) -> None:
        """The client began anew elsewhere."""
        client = message.client
        self._session_claims.asked(client)
        session = self._sessions.find(client)
        if session is not None and message.is_below(session.claim, self._me):
            return
        target = self._given.get(client)
        if target is not None:
            # Of two copies one may publish the will: this one only if the other is none.
            self._unwanted.add(client)
            self._discard(turn, target, message)
            return
        self._recall(turn, client, unless=None)
        if session is not None and not session.is_arriving:
            self._close(turn, session)

    def discard_done(self, turn: Turn, peer: str, message: DiscardDone) -> None:
        """A peer has forgotten a session; if it was given one from here, it would have said so."""
        if self._given.get(message.client) == peer and message.client in self._unwanted:
            self._keep(turn, message.client)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """Ask again what a peer may have forgotten to answer."""
        given = [client for client, target in self._given.items() if target == peer]
        self._conversations.feed(turn, peer, given, self._ask_given)
        for departure in self._departures.values():
            departure.questions.peer_renewed(turn, peer)

    def _ask_given(self, turn: Turn, peer: str, client: str) -> None:
        if self._given.get(client) == peer:
            self._send(turn, peer, HaveYou(client))

    def tick(self, turn: Turn) -> None:
        """See whether what sessions wait for has come."""
        self._has_tick = False
        for departure in list(self._departures.values()):
            self._go_if_complete(turn, departure)
        if any(one.stage is not Stage.PREPARING for one in self._departures.values()):
            self._wake(turn)

    def _wake(self, turn: Turn) -> None:
        if not self._has_tick:
            self._has_tick = True
            turn.timer(TICK, turn.now_us + self._settings.tick_us)

    def _readers_known(
        self, turn: Turn, readers: list[str], *, departure: Departure, key: str
    ) -> None:
        serial = next(self._serials)
        question = OpenQuestion(StandingQuestion(serial, key), readers)
        departure.questions.ask(turn, serial, question)
        departure.keys.pop(key, None)
        self._go_if_complete(turn, departure)

    def _go_if_complete(self, turn: Turn, departure: Departure) -> None:
        """Send the session once all that entered before its filters moved has come here."""
        session = self._sessions.find(departure.client)
        is_current = self._departures.get(departure.client) is departure
        if session is None or not is_current or departure.stage is Stage.PREPARING:
            return
        if departure.keys or departure.questions.is_waiting() or session.unsafe_run_count:
            # After a crash, runs that are on disk would come after what its client says elsewhere.
            return
        passed_numbers = self._passed_numbers()
        if any(passed_in(passed_numbers, *key) < number for key, number in departure.owed.items()):
            return
        if departure.is_offered and not may_go_ahead(session):
            self._recall(turn, departure.client, unless=None)
            return
        if departure.stage is Stage.COLLECTING and self._asks_what_was_seen:
            self._ask_what_was_seen(turn, session, departure)
        if departure.stage is Stage.SIFTING:
            return
        del self._departures[departure.client]
        self._give(turn, session, departure, passed_numbers)

    def _ask_what_was_seen(self, turn: Turn, session: Session, departure: Departure) -> None:
        """Before a session goes, name what it stores, if it stores anything."""
        events = stored_ids((*session.in_flight.values(), *session.queue))
        if events:
            departure.go_on(Stage.SIFTING)
            stored = MoveStored(departure.client, departure.serial, events)
            self._send(turn, departure.target, stored)

    def _may_go_ahead(self, client: str, peer: str) -> bool:
        """True if a session may still go to where it was offered."""
        session = self._sessions.find(client)
        departure = self._departures.get(client)
        is_free = departure is None or departure.target == peer
        return is_free and session is not None and may_go_ahead(session)

    def _is_late(self, peer: str, message: MoveAsk) -> bool:
        """True if a session is on its way to where its client seems to have come later."""
        departure = self._departures.get(message.client)
        if departure is None or departure.is_offered or departure.target == peer:
            return False
        return message.claim < departure.claim

    def _recall(self, turn: Turn, client: str, *, unless: str | None) -> None:
        """Tell a broker to which a session was to go that it does not, unless it is this."""
        departure = self._departures.get(client)
        if departure is not None and departure.target != unless:
            del self._departures[client]
            is_late = not departure.is_offered
            missing = MoveNotHere(client, departure.serial, None, is_late=is_late)
            self._send(turn, departure.target, missing)

    def _drop(self, turn: Turn, departure: Departure) -> None:
        """Who asked for a session does not want it any more."""
        del self._departures[departure.client]
        session = self._sessions.find(departure.client)
        if session is not None:
            self._sessions.stays(turn, session)

    def _give(
        self,
        turn: Turn,
        session: Session,
        departure: Departure,
        passed_numbers: dict[tuple[str, str], int],
    ) -> None:
        points = self._left.given(turn, session, departure.target)
        for key, number in departure.sent.items():
            passed_numbers[key] = max(number, passed_numbers.get(key, 0))
        session_state = sifted(packed(session, passed_numbers, self._me, points), departure.seen)
        if departure.is_offered:
            assert session.disconnected_us is not None
            away_us = turn.now_us - session.disconnected_us
            session_state = msgspec.structs.replace(session_state, away_us=away_us)
        end = MoveEnd(departure.client, departure.serial, session_state)
        self._given[departure.client] = departure.target
        turn.write(("given", departure.client), departure.target)
        self._sessions.leaves(turn, session)

        def go(later: Turn) -> None:
            client = departure.client
            if self._given.get(client) == departure.target and client not in self._unwanted:
                self._send(later, departure.target, end)
                later.report(self._handed_over(departure, session_state))

        turn.once_synced(go)

    def _handed_over(self, departure: Departure, session_state: SessionState) -> HandOverRecord:
        waiting = (*session_state.queue, *(one for _, _, one in session_state.in_flight))
        mode = "logging" if self._asks_what_was_seen else "standard"
        return HandOverRecord(
            client=departure.client,
            target=departure.target,
            mode="prefetching" if departure.is_offered else mode,
            stored=len(waiting),
            replayed=sum(bool(one.publication.topic) for one in waiting),
        )

    def _claim_back(self, turn: Turn) -> None:
        """Sessions that were given to brokers gone for good are here, unless claimed there."""
        for client, target in list(self._given.items()):
            if self._is_removed(target):
                found = partial(self._kept_or_lost, client=client, target=target)
                self._session_claims.find(turn, client, found)

    def _kept_or_lost(self, turn: Turn, claims: Claims, *, client: str, target: str) -> None:
        if self._given.get(client) != target:
            return
        session = self._sessions.find(client)
        number = session.claim if session is not None else 0
        if all(one.void_up_to < number for one in claims if one.broker != self._me):
            self._keep(turn, client)
            return
        self._take_back(turn, client)
        if session is not None and session.is_leaving:
            self._sessions.end(turn, session)

    def _keep(self, turn: Turn, client: str) -> None:
        """A session that was given did not arrive: it is here, unless nobody wants it any more."""
        is_unwanted = client in self._unwanted
        self._take_back(turn, client)
        session = self._sessions.find(client)
        if session is None:
            return
        if is_unwanted and session.is_leaving:
            self._close(turn, session)
        else:
            self._sessions.stays(turn, session)

    def _close(self, turn: Turn, session: Session) -> None:
        """A session is over, as its client began anew elsewhere."""
        self._sessions.take_over(turn, session)
        if self._sessions.find(session.client) is session:
            self._sessions.close(turn, session)

    def _take_back(self, turn: Turn, client: str) -> None:
        self._unwanted.discard(client)
        del self._given[client]
        turn.write(("given", client), None)
