"""Gives a whole run to its recipients, where nothing must be done message by message."""

from __future__ import annotations

from collections.abc import Callable

from meshwright.model.publication import Publication
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.mqtt.packets import Qos1Run
from meshwright.protocol.mqtt.qos1_runs import SentRun
from meshwright.protocol.sessions.deliveries import Deliveries
from meshwright.protocol.sessions.recipients import Recipients


class RunDelivery:
    """Knows whether clients here may get messages in runs.

    stays_here: whether what is published on a topic now is for clients of this broker alone.
    handed_out is told of every run that all of them have got.
    """

    def __init__(
        self,
        recipients: Recipients,
        deliveries: Deliveries,
        *,
        stays_here: Callable[[int, str], bool],
        handed_out: Callable[[SentRun], None],
    ) -> None:
        self._recipients = recipients
        self._deliveries = deliveries
        self._stays_here = stays_here
        self._handed_out = handed_out

    def takes_plain(self, publication: Publication) -> bool:
        """True if every client here may get the messages of a run of QoS 0 as they are."""
        recipients = self._recipients.plain(publication.publisher, publication.topic)
        return recipients is not None and not any(one.identifiers for one in recipients)

    def takes_qos1(self, publisher: str, run: Qos1Run) -> bool:
        """True if those here who want a run of QoS 1 may get it as one."""
        recipients = self._recipients.plain(publisher, run.topic)
        takes = self._deliveries.takes_run
        return recipients is not None and all(takes(one, run) for one in recipients)

    def hand_out(self, turn: Turn, sent: SentRun) -> bool:
        """Give a run to all local clients that want it; False if its messages must go one by one.

        A client that got it before that may get it twice, which QoS 1 allows.
        """
        if not self._stays_here(turn.now_us, sent.run.topic):
            return False
        recipients = self._recipients.plain(sent.publisher, sent.run.topic)
        if recipients is None or not self.takes_qos1(sent.publisher, sent.run):
            return False
        if not all(self._deliveries.send_run(turn, one, sent) for one in recipients):
            return False
        self._handed_out(sent)
        return True
