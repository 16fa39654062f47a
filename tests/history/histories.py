"""Histories made by hand, in which only what a test says goes wrong."""

from __future__ import annotations

from meshwright.history.history import Delivered, History, Published, Subscribed


def published(
    history: History,
    sequence: int = 1,
    *,
    publisher: str = "p",
    topic: str = "a",
    qos: int = 1,
    at_us: int = 100,
    acknowledged_us: int | None = 150,
    broker: str = "b0",
    value: str = "1",
) -> Published:
    """A publication, acknowledged unless said otherwise."""
    one = Published(
        publisher,
        sequence,
        topic,
        qos,
        (("value", value),),
        attempted_us=at_us,
        broker=broker,
        acknowledged_us=acknowledged_us,
        acknowledged_by=broker if acknowledged_us is not None else None,
    )
    history.attempted(one)
    return one


def subscribed(
    history: History,
    client: str = "s",
    *,
    filter_text: str = "a",
    qos: int = 2,
    requested_us: int = 10,
    granted_us: int | None = 20,
    ended_us: int | None = None,
    connection_last: int | None = None,
) -> Subscribed:
    """A subscription that was granted and stands unless said otherwise."""
    one = history.subscribing(client, filter_text, qos, requested_us)
    one.granted_us = granted_us
    one.end_requested_us = one.ended_us = ended_us
    one.connection_last = connection_last
    return one


def delivered(
    history: History,
    sequence: int = 1,
    *,
    client: str = "s",
    publisher: str = "p",
    topic: str = "a",
    qos: int = 1,
    at_us: int = 200,
    is_duplicate: bool = False,
    is_retained: bool = False,
    connection: int = 1,
    broker: str = "b1",
) -> Delivered:
    """A delivery."""
    one = Delivered(
        at_us,
        client,
        publisher,
        sequence,
        topic,
        qos,
        is_duplicate,
        is_retained,
        connection,
        broker,
    )
    history.deliveries.append(one)
    return one
