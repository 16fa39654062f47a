"""The receiving side of moves: finds, fetches and claims a client's session, then opens it.

A CONNECT starts it (accept), or a session offered ahead of its client (offered). The client gets
its CONNACK once the session is this broker's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import msgspec

from meshwright.errors import FilterError
from meshwright.filters.filter import parse_filter
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.effects import CloseClient, SendClient
from meshwright.protocol.foundation.serials import serials
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.mobility.arrival import Arrival, Brought, Stage
from meshwright.protocol.mobility.messages import (
    Discard,
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
    MovingSettings,
    digest_of,
)
from meshwright.protocol.mobility.policies import MobilitySettings
from meshwright.protocol.mobility.seen_log import SeenLog, filled
from meshwright.protocol.mobility.session_claims import Claim, Claims, SessionClaims
from meshwright.protocol.mobility.session_search import CONNECTED_ELSEWHERE, Found, SessionSearch
from meshwright.protocol.mqtt import packets
from meshwright.protocol.peers.conversations import Conversations
from meshwright.protocol.sessions.session_state import write_moved
from meshwright.protocol.sessions.sessions import Sessions
from meshwright.protocol.sessions.will_quota import NO_ROOM_FOR_WILL
from meshwright.protocol.streams.interest import key_of
from meshwright.protocol.streams.outgoing import Outgoing

TICK = ("arriving",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What arrivals need of the rest of the broker.

    discard: has a broker drop its session of a client, unless its claim is higher.
    is_removed: True if a broker was removed.
    given_to: the broker that this one gave a client's session to.
    asked: takes a peer's request for a session.
    lodge: lets a client in whose session stays at another broker, its home.
    opened: called when a client is connected.
    """

    conversations: Conversations
    outgoing: Outgoing
    discard: Callable[[Turn, str, Discard], None]
    is_removed: Callable[[str], bool]
    given_to: Callable[[str], str | None]
    asked: Callable[[Turn, str, MoveAsk], None]
    lodge: Callable[[Turn, str, str, packets.Connect], None]
    opened: Callable[[Turn, str], None]


class Arriving:
    """The receiving side of moves.

    seen_log: the last publications that came here, if the logging policy is on.
    """

    def __init__(
        self,
        me: str,
        settings: MovingSettings,
        session_claims: SessionClaims,
        sessions: Sessions,
        around: Around,
        *,
        mobility: MobilitySettings,
        seen_log: SeenLog | None,
        incarnation: int,
    ) -> None:
        self._me = me
        self._settings = settings
        self._session_claims = session_claims
        self._sessions = sessions
        self._around = around
        self._send = around.conversations.send
        self._trusts_devices = mobility.has("device")
        self._seen_log = seen_log
        self._serials = serials(incarnation)
        self._arrivals: dict[str, Arrival] = {}
        self._has_tick = False
        found = Found(
            discard=around.discard,
            is_removed=around.is_removed,
            is_current=self._is_current,
            given_to=around.given_to,
            ask=self._ask,
            arrived=self._arrived,
            open=self._open,
            refuse=self._refuse,
            lodge=self._lodge,
        )
        stays_home = mobility.has("home")
        self._session_search = SessionSearch(
            me, session_claims, sessions, found, stays_home=stays_home
        )

    def handlers(self) -> Handlers:
        """Map each message to its method."""
        return (
            on(MoveBegun, self.begun),
            on(MoveStored, self.stored),
            on(MoveNotHere, self.not_here),
            on(MoveEnd, self.end),
            on(HaveYou, self.asked_for),
        )

    def expects(self, client: str) -> bool:
        """True if a client waits here for its session, or its session is on the way here."""
        return client in self._arrivals

    def shares(self, client: str) -> bool:
        """True if the session is here, but its former broker keeps it until it is claimed."""
        arrival = self._arrivals.get(client)
        return arrival is not None and arrival.is_unpacked

    def put_off(self, turn: Turn, peer: str, ask: MoveAsk) -> bool:
        """Have a peer wait that asks for a session on its way here; returns whether it must wait.

        The peer's client came later, so it goes before a client for which this broker has only made
        a claim. If two brokers wait for each other, neither has the session.
        """
        arrival = self._arrivals.get(ask.client)
        if arrival is None:
            return False
        session = self._sessions.find(ask.client)
        is_here = session is not None and not session.is_arriving
        is_mutual = arrival.source == peer
        if arrival.has_claimed and not arrival.is_unpacked and not (is_mutual and is_here):
            self._refuse(turn, arrival, CONNECTED_ELSEWHERE)
            return False
        if arrival.source is None or (is_mutual and not is_here):
            return False
        arrival.put_off.append((peer, ask))
        return True

    def cancelled(self, peer: str, client: str) -> None:
        """A peer does not want a session any more."""
        arrival = self._arrivals.get(client)
        if arrival is not None:
            arrival.put_off = [one for one in arrival.put_off if one[0] != peer]

    def discarded(self, turn: Turn, message: Discard) -> None:
        """The client began a new session elsewhere: refuse it here, unless its claim is higher."""
        client = message.client
        arrival = self._arrivals.get(client)
        if arrival is None or not (arrival.has_claimed or arrival.is_unpacked):
            return
        if message.is_below(arrival.claim, self._me):
            return
        if arrival.is_unpacked and arrival.source is not None:
            self._send(turn, arrival.source, MoveDone(client))
            arrival.source = None
        self._refuse(turn, arrival, CONNECTED_ELSEWHERE)

    def accept(self, turn: Turn, client: str, packet: packets.Connect) -> None:
        """A client has connected: find out where its session is."""
        ahead = self._arrivals.get(client)
        if ahead is not None and ahead.is_offered and ahead.is_unpacked and ahead.packet is None:
            ahead.packet = packet
            return
        self.gone(turn, client)
        arrival = Arrival(client, next(self._serials), packet, turn.now_us)
        self._arrivals[client] = arrival
        self._session_search.find(turn, arrival)
        self._wake(turn)

    def gone(self, turn: Turn, client: str) -> None:
        """The client has gone: a session that is not here yet stays where it is."""
        arrival = self._arrivals.get(client)
        if arrival is None:
            return
        arrival.packet = None
        if not arrival.is_unpacked:
            self._give_up(turn, arrival)

    def offered(self, turn: Turn, peer: str, message: MoveOffer) -> None:
        """A peer offers the session of a client that may come here: fetch it."""
        client = message.client
        if client in self._arrivals or self._sessions.find(client) is not None:
            return
        arrival = Arrival(client, next(self._serials), None, turn.now_us, is_offered=True)
        self._arrivals[client] = arrival

        def found(later: Turn, claims: Claims) -> None:
            if self._arrivals.get(client) is not arrival:
                return
            arrival.note(claims, self._me, later.now_us)
            if arrival.holder is not None and arrival.holder.broker == peer:
                self._ask(later, arrival, peer)
            else:
                self._give_up(later, arrival)

        self._session_claims.find(turn, client, found)
        self._wake(turn)

    def begun(self, turn: Turn, peer: str, message: MoveBegun) -> None:
        """The session's filters have come: put them in force, then say so."""
        arrival = self._current(message.client, message.serial)
        if arrival is None or not arrival.is_expected:
            self._send(turn, peer, MoveCancelled(message.client))
            return
        arrival.go_on(Stage.FETCHING)
        arrival.begun_us = turn.now_us
        if message.subscriptions is None:
            session = self._sessions.find(message.client)
            if session is None:
                # The filters put in force early were dropped meanwhile: ask for all of them.
                arrival.use_brought(Brought.UNUSED)
                self._ask(turn, arrival, peer)
                return
            session.identity = message.identity
            self._ready_if_early(turn, arrival)
            return
        arrival.use_brought(Brought.UNUSED)
        ready = MoveReady(message.client, message.serial)
        self._sessions.prepare(
            turn,
            message.client,
            message.identity,
            message.subscriptions,
            partial(self._tell_ready, peer=peer, ready=ready),
        )

    def not_here(self, turn: Turn, peer: str, message: MoveNotHere) -> None:
        """The broker that was asked has no such session.

        Ask the broker that it gave the session to. If it never had one, try the next claim.
        """
        arrival = self._current(message.client, message.serial)
        if arrival is None or not arrival.is_expected:
            return
        if arrival.is_offered:
            arrival.source = None
            self._give_up(turn, arrival)
        elif message.is_late:
            self._refuse(turn, arrival, CONNECTED_ELSEWHERE)
        elif message.elsewhere is not None and self._may_ask(message.elsewhere):
            self._ask(turn, arrival, message.elsewhere)
        elif (
            message.elsewhere is None
            and arrival.holder is not None
            and peer == arrival.holder.broker
        ):
            self._session_search.denied(turn, arrival, message.settled)
        else:
            # It was given to a broker that does not have it; its holder will find out, too.
            arrival.go_on(Stage.STALLED)

    def stored(self, turn: Turn, peer: str, message: MoveStored) -> None:
        """Say which of the session's publications came here before; keep these for it."""
        arrival = self._current(message.client, message.serial)
        if arrival is None or arrival.stage is not Stage.FETCHING:
            self._send(turn, peer, MoveCancelled(message.client))
            return
        if self._seen_log is not None:
            arrival.seen = self._seen_log.known(message.events)
        seen = MoveSeen(message.client, message.serial, tuple(arrival.seen))
        self._send(turn, peer, seen)

    def end(self, turn: Turn, peer: str, message: MoveEnd) -> None:
        """The whole session has come: write it to disk, then claim the client."""
        arrival = self._current(message.client, message.serial)
        if arrival is None or arrival.stage is not Stage.FETCHING:
            self._send(turn, peer, MoveCancelled(message.client))
            return
        if not self._sessions.will_quota.has_room_for(message.session_state.will):
            self._refuse(turn, arrival, NO_ROOM_FOR_WILL)
            return
        arrival.go_on(Stage.UNPACKED)
        # Claims were read before the session came, and there may be higher ones since.
        arrival.claim = max(arrival.claim, message.session_state.claim + 1)
        arrival.void_up_to = message.session_state.claim
        session_state = filled(message.session_state, arrival.seen)
        session_state = msgspec.structs.replace(session_state, claim=arrival.claim)
        self._sessions.unpack(turn, message.client, session_state)
        turn.once_synced(partial(self._session_search.claim, arrival=arrival))

    def asked_for(self, turn: Turn, peer: str, message: HaveYou) -> None:
        """A peer asks whether the session that it sent has arrived.

        If it has, this broker makes sure of its claim before it answers.
        """
        client = message.client
        arrival = self._arrivals.get(client)
        if arrival is not None and arrival.is_unpacked:
            return
        session = self._sessions.find(client)
        if arrival is not None or session is None:
            self._send(turn, peer, MoveCancelled(client))
            return

        def found(later: Turn, claims: Claims) -> None:
            # A claim made before a crash may be on too few disks to be found by all readers.
            is_first = bool(claims) and claims[0].broker == self._me
            highest = claims[0].number if claims else 0
            claim = max(session.claim, highest if is_first else highest + 1)
            done = MoveDone(client)
            self._session_claims.claim(
                later, client, claim, claim - 1, lambda last, _: self._send(last, peer, done)
            )

        self._session_claims.find(turn, client, found)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """Ask a peer again for sessions, as it may have forgotten that it was asked."""
        asked = [one for one in self._arrivals.values() if one.source == peer]
        self._around.conversations.feed(turn, peer, asked, self._ask_again)

    def _ask_again(self, turn: Turn, peer: str, arrival: Arrival) -> None:
        is_current = self._arrivals.get(arrival.client) is arrival
        if is_current and arrival.source == peer and arrival.is_expected:
            self._ask(turn, arrival, peer)

    def roll_changed(self, turn: Turn) -> None:
        """Brokers were removed: no session comes from them, so search anew."""
        for arrival in list(self._arrivals.values()):
            source = arrival.source
            if source is None or arrival.is_unpacked or self._may_ask(source):
                continue
            arrival.source = None
            if arrival.is_offered:
                self._give_up(turn, arrival)
            elif arrival.is_expected:
                arrival.go_on(Stage.STALLED)

    def tick(self, turn: Turn) -> None:
        """Refuse clients that have waited too long, lodge some, and repeat stalled searches."""
        self._has_tick = False
        for arrival in list(self._arrivals.values()):
            waited_us = turn.now_us - arrival.since_us
            if waited_us > self._settings.patience_us and not arrival.is_unpacked:
                self._refuse(turn, arrival, "the session cannot be fetched now; try again")
            elif self._is_held_up(turn, arrival):
                self._leave_there(turn, arrival)
            elif arrival.stage is Stage.STALLED:
                arrival.go_on(Stage.SEARCHING)
                self._session_search.find(turn, arrival)
        if self._arrivals:
            self._wake(turn)

    def _wake(self, turn: Turn) -> None:
        if not self._has_tick:
            self._has_tick = True
            turn.timer(TICK, turn.now_us + self._settings.tick_us)

    def _current(self, client: str, serial: int) -> Arrival | None:
        arrival = self._arrivals.get(client)
        return arrival if arrival is not None and arrival.serial == serial else None

    def _may_ask(self, broker: str) -> bool:
        return broker != self._me and not self._around.is_removed(broker)

    def _is_current(self, arrival: Arrival) -> bool:
        return self._arrivals.get(arrival.client) is arrival

    def _is_held_up(self, turn: Turn, arrival: Arrival) -> bool:
        """True if a session takes long: an origin that owes it messages may be out of reach."""
        waited_us = turn.now_us - arrival.begun_us
        return arrival.stage is Stage.FETCHING and waited_us > self._settings.lodge_after_us

    def _leave_there(self, turn: Turn, arrival: Arrival) -> None:
        """Let a client in while its session stays; it comes when the client connects again."""
        packet, source = arrival.packet, arrival.source
        if packet is None or source is None:
            return
        self._drop_prepared(turn, arrival.client)
        self._send(turn, source, MoveCancelled(arrival.client))
        self._lodge(turn, arrival, packet, source)

    def _lodge(self, turn: Turn, arrival: Arrival, packet: packets.Connect, home: str) -> None:
        """Let a client in, and leave its session at its home."""
        self._drop(turn, arrival)
        self._around.lodge(turn, arrival.client, home, packet)
        for peer, ask in arrival.put_off:
            self._around.asked(turn, peer, ask)

    def _ask(self, turn: Turn, arrival: Arrival, holder: str) -> None:
        arrival.source = holder
        arrival.go_on(Stage.ASKING)
        self._prepare_early(turn, arrival)
        carried = None
        if arrival.brought is not Brought.UNUSED and arrival.packet is not None:
            carried = digest_of(arrival.packet.carried or ())
        ask = MoveAsk(arrival.client, arrival.serial, arrival.is_offered, carried, arrival.claim)
        self._send(turn, holder, ask)

    def _prepare_early(self, turn: Turn, arrival: Arrival) -> None:
        """Put the filters that a client brought in force while its session is asked for.

        Not if one of them depends on the session's identity, which is not known yet, nor while
        there is a session of the client here, which may be the only one.
        """
        carried = arrival.packet.carried if arrival.packet is not None else None
        if not self._trusts_devices or carried is None:
            return
        if arrival.brought is not Brought.UNUSED:
            return
        if self._sessions.find(arrival.client) is not None or not _are_plain(carried):
            return
        arrival.use_brought(Brought.SUBSCRIBING)

        def in_force(later: Turn) -> None:
            arrival.use_brought(Brought.IN_FORCE)
            self._ready_if_early(later, arrival)

        self._sessions.prepare(turn, arrival.client, "", carried, in_force)

    def _ready_if_early(self, turn: Turn, arrival: Arrival) -> None:
        is_current = self._arrivals.get(arrival.client) is arrival
        is_ready = arrival.brought is Brought.IN_FORCE and arrival.stage is Stage.FETCHING
        if is_current and is_ready and arrival.source is not None:
            ready = MoveReady(arrival.client, arrival.serial)
            self._tell_ready(turn, peer=arrival.source, ready=ready)

    def _tell_ready(self, turn: Turn, *, peer: str, ready: MoveReady) -> None:
        """Say that the filters are in force here, once it is known who receives what was taken.

        What clients published here before the filters were in force is owed to the session where it
        is: who gives it must find this broker among those that read who receives the topic.
        """
        session = self._sessions.find(ready.client)
        filters = () if session is None else session.subscriptions
        keys = {key_of(parse_filter(text)) for text in filters}
        tell = partial(self._send, peer=peer, body=ready)
        self._around.outgoing.once_read(turn, tell, keys=keys)

    def _arrived(self, turn: Turn, arrival: Arrival) -> None:
        """The session that came is claimed: it is this broker's, even if the client has gone."""
        assert arrival.source is not None
        self._send(turn, arrival.source, MoveDone(arrival.client))
        arrival.source = None
        arrival.go_on(Stage.CLAIMING)
        arrival.former = Claim(arrival.claim, self._me, arrival.void_up_to)

    def _open(self, turn: Turn, arrival: Arrival) -> None:
        """Open the session, which is this broker's, and answer the peers that asked for it."""
        del self._arrivals[arrival.client]
        self._drop_prepared(turn, arrival.client)
        if arrival.packet is not None:
            self._sessions.connect(turn, arrival.client, arrival.packet)
            self._session_claims.opened(arrival.client, arrival.claim)
            self._note_claim(turn, arrival)
            self._around.opened(turn, arrival.client)
        for peer, ask in arrival.put_off:
            self._around.asked(turn, peer, ask)

    def _note_claim(self, turn: Turn, arrival: Arrival) -> None:
        session = self._sessions.find(arrival.client)
        if session is not None and session.claim < arrival.claim:
            session.claim = arrival.claim
            if session.is_durable:
                write_moved(turn, session)

    def _drop_prepared(self, turn: Turn, client: str) -> None:
        prepared = self._sessions.find(client)
        if prepared is not None and prepared.is_arriving:
            self._sessions.end(turn, prepared)

    def _refuse(self, turn: Turn, arrival: Arrival, words: str) -> None:
        """Refuse the client if it still waits, and leave its session where it is."""
        if arrival.packet is not None:
            refusal = packets.Connack(False, packets.SERVER_UNAVAILABLE, reason_text=words)
            turn.ask(SendClient(arrival.client, refusal))
            turn.ask(CloseClient(arrival.client))
        self._give_up(turn, arrival)

    def _drop(self, turn: Turn, arrival: Arrival) -> None:
        """End an arrival for which nothing was opened, and withdraw its claim."""
        del self._arrivals[arrival.client]
        if arrival.has_claimed:
            self._session_claims.withdraw(turn, arrival.client, arrival.former)

    def _give_up(self, turn: Turn, arrival: Arrival) -> None:
        self._drop(turn, arrival)
        self._drop_prepared(turn, arrival.client)
        if arrival.source is not None:
            self._send(turn, arrival.source, MoveCancelled(arrival.client))
        for peer, ask in arrival.put_off:
            self._send(turn, peer, MoveNotHere(ask.client, ask.serial, arrival.source))


def _are_plain(subscriptions: tuple[packets.Subscription, ...]) -> bool:
    """True if the filters can be put in force without the session's identity."""
    try:
        for one in subscriptions:
            parse_filter(one.filter_text)
    except FilterError:
        return False
    return not any(one.no_local for one in subscriptions)
