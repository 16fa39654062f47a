"""Finds a client's session: asks the brokers that may have it in turn; if none has, begins one.

A broker claims a client before it begins a session. Of two that claim it at once at least one sees
the other's claim: the lower claim yields, and the higher one first asks the lower one's broker,
which may have opened a session already. So at most one session begins. A broker that is asked while
it has only claimed the client yields, too: the client connected to the asking broker later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.mobility.arrival import Arrival, Brought, Stage
from meshwright.protocol.mobility.messages import Discard
from meshwright.protocol.mobility.session_claims import Claim, Claims, SessionClaims
from meshwright.protocol.mqtt import packets
from meshwright.protocol.sessions.sessions import Sessions

CONNECTED_ELSEWHERE = "the client has connected to another broker meanwhile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What SessionSearch does with an arrival, once it knows where the session is.

    discard: has a broker drop its session of a client, unless its claim is higher.
    is_current: True while the client still waits.
    given_to: the broker that this one gave a client's session to.
    ask: fetches the session from a broker.
    arrived: called when a session that came is claimed.
    open: opens the session that is here, or a new one.
    refuse: refuses the client.
    lodge: lets the client in while its session stays at its home.
    """

    discard: Callable[[Turn, str, Discard], None]
    is_removed: Callable[[str], bool]
    is_current: Callable[[Arrival], bool]
    given_to: Callable[[str], str | None]
    ask: Callable[[Turn, Arrival, str], None]
    arrived: Callable[[Turn, Arrival], None]
    open: Callable[[Turn, Arrival], None]
    refuse: Callable[[Turn, Arrival, str], None]
    lodge: Callable[[Turn, Arrival, packets.Connect, str], None]


class SessionSearch:
    """Searches the sessions of clients that arrive; stays_home: the home policy is on."""

    def __init__(
        self,
        me: str,
        session_claims: SessionClaims,
        sessions: Sessions,
        found: Found,
        *,
        stays_home: bool,
    ) -> None:
        self._me = me
        self._session_claims = session_claims
        self._sessions = sessions
        self._then = found
        self._stays_home = stays_home

    def find(self, turn: Turn, arrival: Arrival) -> None:
        """Read the claims on the client, and search the session."""
        self._session_claims.find(turn, arrival.client, partial(self._found, arrival=arrival))

    def _found(self, turn: Turn, claims: Claims, *, arrival: Arrival) -> None:
        if not self._then.is_current(arrival) or arrival.packet is None:
            return
        arrival.note(claims, self._me, turn.now_us)
        self._go_on(turn, arrival, arrival.packet)

    def _go_on(self, turn: Turn, arrival: Arrival, packet: packets.Connect) -> None:
        """Ask the broker of the highest claim for the session; if there is none, begin one."""
        holder = arrival.holder
        if holder is None or holder.broker == self._me:
            self._look_here(turn, arrival, packet, holder)
            return
        stale = self._sessions.find(arrival.client)
        if stale is not None and (stale.is_arriving or stale.claim <= holder.void_up_to):
            self._sessions.end(turn, stale)
            arrival.use_brought(Brought.UNUSED)
        if packet.clean_start:
            arrival.deny_all()
            self.claim(turn, arrival)
        elif self._then.is_removed(holder.broker):
            # The session was lost with its broker.
            arrival.deny(0)
            self._go_on(turn, arrival, packet)
        elif self._stays_home:
            self._then.lodge(turn, arrival, packet, holder.broker)
        else:
            self._then.ask(turn, arrival, holder.broker)

    def _look_here(
        self, turn: Turn, arrival: Arrival, packet: packets.Connect, mine: Claim | None
    ) -> None:
        """No other broker comes first: open the session if it is here, or claim the client."""
        client = arrival.client
        session = self._sessions.find(client)
        target = self._then.given_to(client)
        is_here = session is not None and not session.is_arriving
        if target is not None and not self._may_ask(target):
            arrival.go_on(Stage.STALLED)
        elif target is not None:
            self._then.ask(turn, arrival, target)
        elif mine is None:
            if session is not None and is_here and session.claim <= arrival.void_up_to:
                self._sessions.end(turn, session)
            self.claim(turn, arrival)
        elif not arrival.denied and (
            is_here or self._session_claims.may_reopen(client, mine.number)
        ):
            arrival.claim = mine.number
            self._then.open(turn, arrival)
        elif is_here:
            self.claim(turn, arrival)
        else:
            arrival.deny(self._session_claims.settled(client))
            self._go_on(turn, arrival, packet)

    def denied(self, turn: Turn, arrival: Arrival, settled: int) -> None:
        """The broker that was asked has no session: try the next claim.

        If there is none, read the claims once more before a session begins, as the session may have
        moved meanwhile.
        """
        arrival.source = None
        arrival.go_on(Stage.SEARCHING)
        arrival.deny(settled)
        before = arrival.found

        def found(later: Turn, claims: Claims) -> None:
            if claims != before:
                self._found(later, claims, arrival=arrival)
            elif self._then.is_current(arrival):
                self.claim(later, arrival)

        if arrival.packet is not None and arrival.candidates:
            self._go_on(turn, arrival, arrival.packet)
        elif arrival.has_claimed:
            self._session_claims.find(turn, arrival.client, partial(self._claimed, arrival=arrival))
        else:
            self._session_claims.find(turn, arrival.client, found)

    def claim(self, turn: Turn, arrival: Arrival) -> None:
        """Claim the client; then its session is opened, unless others have claimed it, too."""
        if not self._then.is_current(arrival):
            return
        arrival.has_claimed = True
        if not arrival.is_unpacked:
            arrival.go_on(Stage.CLAIMING)
        claimed = partial(self._claimed, arrival=arrival)
        self._session_claims.claim(turn, arrival.client, arrival.claim, arrival.void_up_to, claimed)

    def _claimed(self, turn: Turn, claims: Claims, *, arrival: Arrival) -> None:
        """This broker's claim is made: yield to a higher one, or see to lower ones it did not know.

        Of two claims at least one sees the other, so at most one session is opened.
        """
        if not self._then.is_current(arrival):
            return
        if arrival.is_unpacked:
            self._then.arrived(turn, arrival)
        session = self._sessions.find(arrival.client)
        is_here = session is not None and not session.is_arriving
        others = tuple(one for one in claims if one.broker != self._me)
        rivals = arrival.rivals(others, has_session=is_here)
        is_lower = bool(rivals) and rivals[0][:2] > (arrival.claim, self._me)
        packet = arrival.packet
        if packet is None:
            self._then.open(turn, arrival)
        elif is_lower and not is_here:
            self._then.refuse(turn, arrival, CONNECTED_ELSEWHERE)
        elif packet.clean_start:
            self._discard_others(turn, arrival, rivals)
            self._then.open(turn, arrival)
        elif rivals:
            # Their brokers may have begun a session meanwhile, after a clean start.
            arrival.candidates = rivals
            self._go_on(turn, arrival, packet)
        else:
            self._then.open(turn, arrival)

    def _discard_others(self, turn: Turn, arrival: Arrival, rivals: list[Claim]) -> None:
        """Have all brokers that may have a session of this client drop it: a clean start."""
        discard = Discard(arrival.client, arrival.claim, self._me)
        for broker in dict.fromkeys(one.broker for one in (*(arrival.found or ()), *rivals)):
            if self._may_ask(broker):
                self._then.discard(turn, broker, discard)

    def _may_ask(self, broker: str) -> bool:
        return broker != self._me and not self._then.is_removed(broker)
