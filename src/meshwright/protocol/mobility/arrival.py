"""A client that waits for its session, and where that may still be."""

from __future__ import annotations

from dataclasses import dataclass, field

from meshwright.model.publication import Publication, PublicationId
from meshwright.protocol.mobility.messages import MoveAsk
from meshwright.protocol.mobility.session_claims import Claim, Claims
from meshwright.protocol.mqtt import packets


@dataclass(slots=True, eq=False)
class Arrival:
    """A client that waits here for its session; packet is None once it went away again.

    found: who claims it, when that was last read. candidates: those of them that may have its
    session, the next to be asked first; denied: who has none. claim: the number for this broker's
    claim, floor: all up to this are void. is_claiming: the claim is made, and no session opened yet
    that it is for; former: this broker's claim before it. source: who was asked for the session, a
    candidate or who was given it. is_offered: it comes ahead of its client. is_early: the filters
    that the client brought were put in force without waiting for the source. seen: what need not be
    sent.
    """

    client: str
    serial: int
    packet: packets.Connect | None
    since_us: int
    found: Claims | None = None
    candidates: list[Claim] = field(default_factory=list)
    denied: set[tuple[int, str]] = field(default_factory=set)
    claim: int = 0
    floor: int = 0
    former: Claim | None = None
    is_claiming: bool = False
    source: str | None = None
    is_stalled: bool = False
    is_unpacked: bool = False
    is_offered: bool = False
    is_early: bool = False
    is_in_force: bool = False
    is_begun: bool = False
    begun_us: int = 0
    seen: dict[PublicationId, Publication] = field(default_factory=dict)
    put_off: list[tuple[str, MoveAsk]] = field(default_factory=list)

    @property
    def holder(self) -> Claim | None:
        """The highest claim of those who may have the session."""
        return self.candidates[0] if self.candidates else None

    def note(self, claims: Claims, me: str, now_us: int) -> None:
        """Who claims the client; the next claim is above them, and above those taken back."""
        self.found = claims
        self.candidates = [one for one in claims if self._counts(one)]
        highest = claims[0].number if claims else 0
        self.claim = max(highest + 1, now_us)
        if not self.is_claiming:
            self.former = next((one for one in claims if one.broker == me), None)

    def deny(self, settled: int) -> None:
        """The highest candidate has no session: go on with the next one."""
        denied = self.candidates[0]
        self.denied.add((denied.number, denied.broker))
        self.floor = max(self.floor, denied.floor, settled)
        self.candidates = [one for one in self.candidates if self._counts(one)]

    def deny_all(self) -> None:
        """The client wants none of the sessions that were found."""
        while self.candidates:
            self.deny(0)

    def rivals(self, claims: Claims, *, has_session: bool) -> list[Claim]:
        """Claims made since the others were found; has_session: the client's is here."""
        # A session that is here went by all claims of the number of its floor.
        lowest = self.floor + has_session
        return [
            one
            for one in claims
            if one.number >= lowest and (one.number, one.broker) not in self.denied
        ]

    def _counts(self, claim: Claim) -> bool:
        is_denied = (claim.number, claim.broker) in self.denied
        return claim.number > self.floor and not is_denied
