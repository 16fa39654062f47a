"""The wills of one client: given anew with each CONNECT, and what became of each connection."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from meshwright.history.history import History, Properties, Willed, payload_of
from meshwright.history.wills import LINE_SLACK_US
from meshwright.model.times import SECOND_US
from meshwright.protocol.mqtt.packets import Will
from meshwright.sim.physics.agenda import Agenda

# Who has a will on disk, by its client and its payload.
FindKeeper = Callable[[str, bytes], str | None]


class WillSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a client wants published when it is gone."""

    topic: str
    qos: int = 0
    retain: bool = False
    delay_s: int = 0
    properties: Properties = ()


class Testament:
    """Writes down what a client knows of its wills; nothing if it has none."""

    def __init__(
        self,
        client: str,
        settings: WillSettings | None,
        session_expiry_s: int,
        history: History,
        find_keeper: FindKeeper,
    ) -> None:
        self._client = client
        self._settings = settings
        self._session_expiry_s = session_expiry_s
        self._history = history
        self._find_keeper = find_keeper
        self._count = 0
        self._current: Willed | None = None
        self._last_accepted: Willed | None = None
        self._may_be_begun_anew = False

    def written(self, now_us: int, broker: str, *, is_clean_start: bool) -> Will | None:
        """A new will for a CONNECT to a broker."""
        settings = self._settings
        if settings is None:
            return None
        self._count += 1
        will = self._current = Willed(
            self._client,
            f"{self._client}.will",
            self._count,
            settings.topic,
            settings.qos,
            settings.properties,
            min(settings.delay_s, self._session_expiry_s) * SECOND_US,
            broker,
            now_us,
            is_clean_start,
        )
        self._history.wills[will.publisher, will.sequence] = will
        return Will(
            settings.topic,
            payload_of(will.publisher, will.sequence),
            settings.qos,
            settings.retain,
            settings.properties,
            settings.delay_s,
        )

    def hearer(self, agenda: Agenda) -> Callable[[], None] | None:
        """What takes note of when the broker hears of the end of the present connection."""
        will = self._current
        if will is None:
            return None

        def heard() -> None:
            will.heard_us = agenda.now_us

        return heard

    def accepted(self, now_us: int) -> None:
        """CONNECT was answered."""
        will = self._last_accepted = self._current
        if will is not None:
            will.opened_us = now_us
            will.keeper = self._find_keeper(self._client, payload_of(will.publisher, will.sequence))

    def refused(self) -> None:
        """CONNECT was refused."""
        if self._current is not None:
            self._current.is_refused = True

    def taken_back(self) -> None:
        """The client says goodbye, and wants nothing published."""
        if self._current is not None:
            self._current.is_taken_back = True

    def abandoned(self) -> None:
        """The client goes elsewhere, and its broker does not know."""
        will = self._current
        if will is not None:
            will.is_abandoned = True
            is_answered = will.opened_us is not None
            self._may_be_begun_anew |= will.is_clean_start and not is_answered

    def ended(self, now_us: int) -> None:
        """The connection is over for the client."""
        if self._current is not None:
            self._current.ended_us = now_us
            self._current = None

    def session_may_be_over(self, now_us: int) -> bool:
        """Whether the client came back so late, or left a CONNECT behind that wants a clean start.

        A home that loses the broker where its client is counts from then on. Nobody can tell when
        such a CONNECT is seen to: it ends whatever session the client has then.
        """
        if self._may_be_begun_anew:
            return True
        last = self._last_accepted
        if last is None or last.ended_us is None:
            return False
        assert last.opened_us is not None
        since_us = last.ended_us if last.keeper == last.broker else last.opened_us
        return now_us - since_us >= self._session_expiry_s * SECOND_US - LINE_SLACK_US
