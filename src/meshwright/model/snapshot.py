"""The network as planning sees it at one moment: arrays plus the names they index."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meshwright.errors import CallerError
from meshwright.model.identifiers import BrokerName, TopicName
from meshwright.model.interests import Interests

Float64Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """What planning takes.

    interests: brokers by topics. publications: publications of each topic in the horizon, (topic,).
    delays_ms: one-way broker to broker, (broker, broker), or None where every hop costs one.
    coordinates: latitude and longitude in degrees, (broker, 2), or None. content_subscriptions: how
    many take only some messages of their topics; here they count as if they took all. publishers:
    publications of each topic by the broker where they enter, (broker, topic), or None where any
    broker is as likely as another. filters_idle: those that take none of the topics, or None where
    nobody looked.
    """

    brokers: tuple[BrokerName, ...]
    topics: tuple[TopicName, ...]
    interests: Interests
    publications: Float64Array
    delays_ms: Float64Array | None = None
    coordinates: Float64Array | None = None
    content_subscriptions: int = 0
    publishers: Float64Array | None = None
    filters_idle: int | None = None

    @property
    def topics_unwanted(self) -> int:
        """Topics that are published and that nobody wants."""
        wanted = self.interests.transposed().counts()
        return int(np.count_nonzero((wanted == 0) & (self.publications > 0.0)))

    @property
    def hop_ms(self) -> float | None:
        """The delay of a mean hop, over all pairs of brokers; None where there is none to speak of.

        By it delays are weighed beside messages: a hop counts as its delay over this one.
        """
        if self.delays_ms is None or len(self.brokers) < 2:
            return None
        count = len(self.brokers)
        total = float(self.delays_ms.sum() - np.trace(self.delays_ms))
        return total / (count * (count - 1)) or None

    def __post_init__(self) -> None:
        shape = (self.interests.row_count, self.interests.column_count)
        if shape != (len(self.brokers), len(self.topics)) or len(self.publications) != shape[1]:
            raise CallerError("a snapshot's names, interests and publications differ in length")
        if self.publishers is not None and self.publishers.shape != shape:
            raise CallerError("a snapshot's publishers are not by broker and topic")
        for array in (self.publications, self.delays_ms, self.coordinates, self.publishers):
            if array is not None:
                array.setflags(write=False)
