"""An arrival: a client that waits here for its session, and where that session may be."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from meshwright.model.publication import Publication, PublicationId
from meshwright.protocol.foundation.transitions import Transitions
from meshwright.protocol.mobility.messages import MoveAsk
from meshwright.protocol.mobility.session_claims import Claim, Claims
from meshwright.protocol.mqtt import packets


class Stage(Enum):
    """How far a client's session is on its way here."""

    SEARCHING = "the directory is asked who claims the client"
    STALLED = "who may have the session cannot be asked: the next tick searches anew"
    ASKING = "the source was asked for the session"
    FETCHING = "the source has begun to send it"
    UNPACKED = "all of it is here, and is written and claimed; its source keeps it until then"
    CLAIMING = "no other broker has it: the client is claimed, and then the session opened"


STAGES = Transitions(
    {
        Stage.SEARCHING: (Stage.STALLED, Stage.ASKING, Stage.CLAIMING),
        Stage.STALLED: (Stage.SEARCHING,),
        Stage.ASKING: (Stage.SEARCHING, Stage.STALLED, Stage.ASKING, Stage.FETCHING),
        Stage.FETCHING: (
            Stage.SEARCHING, Stage.STALLED, Stage.ASKING, Stage.FETCHING, Stage.UNPACKED,
        ),
        Stage.UNPACKED: (Stage.CLAIMING,),
        # Another broker that claims the client at the same time may have its session.
        Stage.CLAIMING: (Stage.STALLED, Stage.ASKING, Stage.CLAIMING),
    }
)  # fmt: skip


class Brought(Enum):
    """What becomes of the filters that a client brought along, under the device policy."""

    UNUSED = "its session's own filters are put in force once they are known"
    SUBSCRIBING = "they are put in force without waiting for the source"
    IN_FORCE = "they are in force, for the source to compare with the session's own"


FILTERS = Transitions(
    {
        Brought.UNUSED: (Brought.UNUSED, Brought.SUBSCRIBING),
        Brought.SUBSCRIBING: (Brought.UNUSED, Brought.IN_FORCE),
        Brought.IN_FORCE: (Brought.UNUSED,),
    }
)


@dataclass(slots=True, eq=False)
class Arrival:
    """A client that waits here for its session.

    serial: tells this arrival from earlier ones of the same client.
    packet: its CONNECT; None if the client has gone again, or the session comes ahead of it.
    found: all claims on the client, as last read from the directory.
    candidates: those of them whose brokers may have the session, the next to be asked first.
    denied: claims whose brokers do not have it.
    claim: the number for this broker's claim.
    void_up_to: all claims up to this number are void.
    former: this broker's claim before this arrival.
    has_claimed: the claim was made, and must be withdrawn if no session is opened.
    source: the broker that was last asked for the session.
    is_offered: the session comes ahead of its client.
    begun_us: when the source began to send it.
    seen: publications in the session that are here already.
    put_off: requests of other brokers for this session, which wait until it is here.
    """

    client: str
    serial: int
    packet: packets.Connect | None
    since_us: int
    found: Claims | None = None
    candidates: list[Claim] = field(default_factory=list)
    denied: set[tuple[int, str]] = field(default_factory=set)
    claim: int = 0
    void_up_to: int = 0
    former: Claim | None = None
    has_claimed: bool = False
    source: str | None = None
    is_offered: bool = False
    stage: Stage = Stage.SEARCHING
    brought: Brought = Brought.UNUSED
    begun_us: int = 0
    seen: dict[PublicationId, Publication] = field(default_factory=dict)
    put_off: list[tuple[str, MoveAsk]] = field(default_factory=list)

    def go_on(self, stage: Stage) -> None:
        """Begin another stage."""
        self.stage = STAGES.checked(self.stage, stage)

    def use_brought(self, brought: Brought) -> None:
        """Note what becomes of the filters that the client brought."""
        self.brought = FILTERS.checked(self.brought, brought)

    @property
    def is_unpacked(self) -> bool:
        """True if the session is here, but its source keeps it until it is claimed."""
        return self.stage is Stage.UNPACKED

    @property
    def is_expected(self) -> bool:
        """True if the source was asked and should send the session."""
        return self.stage in (Stage.ASKING, Stage.FETCHING)

    @property
    def holder(self) -> Claim | None:
        """The highest claim among those whose brokers may have the session."""
        return self.candidates[0] if self.candidates else None

    def note(self, claims: Claims, me: str, now_us: int) -> None:
        """Note all claims on the client, as read from the directory.

        This broker's next claim gets a higher number than all of them, and than claims taken back
        since.
        """
        self.found = claims
        self.candidates = [one for one in claims if self._counts(one)]
        highest = claims[0].number if claims else 0
        self.claim = max(highest + 1, now_us)
        if not self.has_claimed:
            self.former = next((one for one in claims if one.broker == me), None)

    def deny(self, settled: int) -> None:
        """The broker of the highest claim does not have the session: try the next claim.

        settled: that broker's word that claims up to this number are void.
        """
        denied = self.candidates[0]
        self.denied.add((denied.number, denied.broker))
        self.void_up_to = max(self.void_up_to, denied.void_up_to, settled)
        self.candidates = [one for one in self.candidates if self._counts(one)]

    def deny_all(self) -> None:
        """The client asked for a clean start: no session that was found is for it."""
        while self.candidates:
            self.deny(0)

    def rivals(self, claims: Claims, *, has_session: bool) -> list[Claim]:
        """Claims that were made since; has_session: the client's session is here."""
        # With the session here, another claim of just this number is void as well.
        lowest = self.void_up_to + has_session
        return [
            one
            for one in claims
            if one.number >= lowest and (one.number, one.broker) not in self.denied
        ]

    def _counts(self, claim: Claim) -> bool:
        is_denied = (claim.number, claim.broker) in self.denied
        return claim.number > self.void_up_to and not is_denied
