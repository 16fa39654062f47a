"""Topics that are named have one order together, also at other brokers."""

from __future__ import annotations

import pytest
from small_network import SmallNetwork

from meshwright.protocol.settings import BrokerSettings
from meshwright.protocol.streams.ordering import Ordering
from meshwright.protocol.streams.outgoing import OutgoingSettings

ORDERED = BrokerSettings(outgoing=OutgoingSettings(across_topics=("spBv1.0/#",)))
BIRTH, DATA = "spBv1.0/g/NBIRTH/e", "spBv1.0/g/NDATA/e"


def spread(
    reader_filters: tuple[str, ...] = ("spBv1.0/#",), settings: BrokerSettings = ORDERED
) -> SmallNetwork:
    """A writer at b0 and a reader at b3; the stream of DATA is open, that of BIRTH is not."""
    network = SmallNetwork(5, settings)
    network.connect("writer", "b0", session_expiry_s=60)
    network.connect("reader", "b3", session_expiry_s=60)
    for text in reader_filters:
        network.subscribe("reader", text)
    network.publish("writer", DATA, "old")
    network.advance(2)
    network.answer_all("reader")
    network.forget("reader")
    return network


@pytest.mark.parametrize("qualities", [(1, 1), (0, 0), (0, 1), (1, 0), (2, 1)])
@pytest.mark.parametrize("retain", [False, True])
@pytest.mark.parametrize("reader_filters", [("spBv1.0/#",), (BIRTH, DATA)])
def test_a_birth_comes_before_its_data_though_its_topic_is_new(
    qualities: tuple[int, int], reader_filters: tuple[str, ...], *, retain: bool
) -> None:
    network = spread(reader_filters)
    # Whoever keeps the directory answers late, so that the topic cannot be opened yet.
    for source in ("b1", "b2", "b4"):
        network.hold(source=source, target="b0")
    network.publish("writer", BIRTH, "birth", qualities[0], retain=retain)
    network.publish("writer", DATA, "data", qualities[1])
    network.advance(0.5)
    for source in ("b1", "b2", "b4"):
        network.release(source=source, target="b0")
    network.advance(5)
    assert network.payloads("reader") == ["birth", "data"]


def test_what_overtakes_on_the_way_waits_for_what_was_sent_before_it_on_another_topic() -> None:
    network = spread()
    network.publish("writer", BIRTH, "old")
    network.advance(2)
    network.forget("reader")
    ways = {target for source, target, _ in network.sent if source == "b0"}
    for target in ways:
        network.hold(source="b0", target=target)
    network.publish("writer", BIRTH, "birth")
    network.publish("writer", DATA, "data")
    held = {target: network.held[("b0", target)] for target in ways}
    for target in ways:
        # The last comes first, and the first once more when it is missed.
        network.held["b0", target] = held[target][-1:]
        network.release(source="b0", target=target)
    network.advance(10)
    assert network.payloads("reader") == ["birth", "data"]


def test_who_wants_only_the_data_does_not_wait_for_a_birth() -> None:
    network = spread((DATA,))
    network.connect("other", "b4")
    network.subscribe("other", BIRTH)
    network.publish("writer", BIRTH, "old")
    network.advance(2)
    network.hold(source="b0", target="b4")
    network.publish("writer", BIRTH, "birth")
    network.publish("writer", DATA, "data")
    assert network.payloads("reader") == ["data"]


def test_an_order_across_topics_outlives_a_crash_of_its_origin() -> None:
    network = spread()
    for target in ("b1", "b2", "b3", "b4"):
        network.separate(one="b0", other=target)
    network.publish("writer", BIRTH, "birth")
    network.publish("writer", DATA, "data", qos=0)
    network.crash("b0")
    network.cut.clear()
    network.start("b0")
    network.advance(20)
    assert network.payloads("reader") == ["birth", "data"]


def test_what_a_client_publishes_at_its_next_broker_comes_after_what_it_did_before() -> None:
    network = spread()
    network.publish("writer", BIRTH, "old")
    network.advance(2)
    network.forget("reader")
    for target in ("b1", "b3"):
        network.hold(source="b0", target=target)
    network.publish("writer", BIRTH, "birth")
    network.drop("writer")
    network.connect("writer", "b2", session_expiry_s=60, previous_broker="b0")
    network.advance(0.5)
    network.publish("writer", DATA, "data")
    network.advance(0.5)
    assert network.payloads("reader") == []
    for target in ("b1", "b3"):
        network.release(source="b0", target=target)
    network.advance(10)
    assert network.payloads("reader") == ["birth", "data"]


def test_only_topics_that_are_named_have_an_order_together() -> None:
    ordering = Ordering(("spBv1.0/#", "a/+/b"), {})
    assert [ordering.takes(one) for one in (BIRTH, "spBv1.0", "a/x/b", "a/b", "t")] == [
        True, True, True, False, False,
    ]  # fmt: skip
