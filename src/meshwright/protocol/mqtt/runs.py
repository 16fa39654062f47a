"""Runs of QoS 0: messages of one publisher on one topic that travel as one."""

from __future__ import annotations

from collections.abc import Iterator

from meshwright.model.publication import Publication
from meshwright.protocol.mqtt.plain_messages import payloads


def single_publications(run: Publication) -> Iterator[Publication]:
    """The messages of a run one by one."""
    for place, payload in enumerate(payloads(run.payload)):
        yield Publication(run.publisher, run.sequence + place, run.topic, payload)
