"""Members of shared subscriptions that move, and whether anybody has to wait for them still.

A group without other members waits for those that move. The word that a session moves may come
late, from a broker that was down: its client may have unsubscribed, or its session have ended,
where it went. So the keeper of a group looks for members that stay away: it reads the claims on
the client, asks the broker of the highest whether the session is a member there or may become one,
and reads the claims again: if they are the same, the session was not on its way in between.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from meshwright.model.times import SECOND_US
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.mobility.session_claims import Claim, Claims, SessionClaims
from meshwright.protocol.peers.conversations import Conversations
from meshwright.protocol.peers.removals import Removals
from meshwright.protocol.shared.keeper import SharedKeeper

TICK = ("moving members",)
# Much longer than a session takes from one broker to another.
LOOK_EVERY_US = 5 * SECOND_US


class MemberQuestion(PeerMessage, frozen=True, gc=False, tag=177):
    """A keeper asks the broker that has claimed a client about its shared subscription."""

    counts_as = "directory"

    key: str
    client: str


class MemberMissing(PeerMessage, frozen=True, gc=False, tag=178):
    """The session of a client is not a member, and nothing under way here will make it one."""

    counts_as = "directory"

    key: str
    client: str


class MovingMembers:
    """Looks for members of the groups kept here that do not arrive.

    may_be_member: True if a client's session here has a subscription, or may get it by a move.
    _waited: clients that moved when it was last looked, by group.
    _asked: the claims on which somebody was asked.
    """

    def __init__(
        self,
        keeper: SharedKeeper,
        session_claims: SessionClaims,
        removals: Removals,
        conversations: Conversations,
        *,
        may_be_member: Callable[[str, str], bool],
    ) -> None:
        self._keeper = keeper
        self._session_claims = session_claims
        self._removals = removals
        self._send = conversations.send
        self._may_be_member = may_be_member
        self._waited: set[tuple[str, str]] = set()
        self._asked: dict[tuple[str, str], Claim] = {}
        self._has_tick = False

    def handlers(self) -> Handlers:
        """Map each message to its method."""
        return (on(MemberQuestion, self.asked), on(MemberMissing, self.missing))

    def wake(self, turn: Turn) -> None:
        """Look after a while, if a group kept here waits for somebody."""
        if not self._has_tick and self._keeper.moving():
            self._has_tick = True
            turn.timer(TICK, turn.now_us + LOOK_EVERY_US)

    def tick(self, turn: Turn) -> None:
        """Look for those who moved last time already."""
        self._has_tick = False
        moving = self._keeper.moving()
        for key, client in moving:
            if (key, client) in self._waited:
                found = partial(self._found, key=key, client=client)
                self._session_claims.find(turn, client, found)
        self._waited = set(moving)
        self._asked = {one: claim for one, claim in self._asked.items() if one in self._waited}
        self.wake(turn)

    def asked(self, turn: Turn, peer: str, message: MemberQuestion) -> None:
        """A keeper waits for a client: say so if it need not."""
        if not self._may_be_member(message.client, message.key):
            self._send(turn, peer, MemberMissing(message.key, message.client))

    def missing(self, turn: Turn, peer: str, message: MemberMissing) -> None:
        """Who has claimed a client says that it is no member; see whether it still has."""
        claim = self._asked.pop((message.key, message.client), None)
        if claim is not None and claim.broker == peer:
            again = partial(self._found_again, key=message.key, client=message.client, claim=claim)
            self._session_claims.find(turn, message.client, again)

    def _found(self, turn: Turn, claims: Claims, *, key: str, client: str) -> None:
        claim = self._highest(claims)
        if claim is None:
            self._keeper.stays_away(turn, key, client)
            return
        self._asked[key, client] = claim
        self._send(turn, claim.broker, MemberQuestion(key, client))

    def _found_again(
        self, turn: Turn, claims: Claims, *, key: str, client: str, claim: Claim
    ) -> None:
        if self._highest(claims) == claim:
            self._keeper.stays_away(turn, key, client)

    def _highest(self, claims: Claims) -> Claim | None:
        """That which counts; sessions at brokers that were removed are lost with them."""
        return next((one for one in claims if not self._removals.is_removed(one.broker)), None)
