"""Work of growing size for one broker: each task prepares what it needs, and returns the work."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.growth.brokers import Brokers
from meshwright.protocol.mqtt import packets

Work = Callable[[], object]
Task = Callable[[int], Work]
EXPIRY_S = 3_600

FILTERS: dict[str, Callable[[int], str]] = {
    "exact": lambda number: f"a/{number}/x",
    "with wildcards": lambda number: f"a/{number}/+",
    "with a wildcard first": lambda number: f"+/{number}/#",
    "that overlap": lambda number: f"a/+/{number}/#",
    "that one covers": lambda number: f"a/{number}/+" if number else "a/#",
    "on content": lambda number: f"$where/v={number}/a/+",
}


def in_one_packet(make: Callable[[int], str], broker_count: int, design: str) -> Task:
    """One SUBSCRIBE with so many filters."""

    def prepare(size: int) -> Work:
        brokers = Brokers(broker_count, design)
        brokers.connect("c")
        return lambda: brokers.subscribe("c", *map(make, range(size)))

    return prepare


def in_many_packets(make: Callable[[int], str], broker_count: int, design: str) -> Task:
    """So many SUBSCRIBEs with a filter each, each of a client of its own."""

    def prepare(size: int) -> Work:
        brokers = Brokers(broker_count, design)
        for number in range(size):
            brokers.connect(f"c{number}")
        return lambda: [brokers.subscribe(f"c{n}", make(n)) for n in range(size)]

    return prepare


def taken_back(make: Callable[[int], str], broker_count: int, design: str) -> Task:
    """One UNSUBSCRIBE of so many filters."""

    def prepare(size: int) -> Work:
        brokers = Brokers(broker_count, design)
        brokers.connect("c")
        texts = tuple(map(make, range(size)))
        brokers.subscribe("c", *texts)

        def work() -> None:
            brokers.send("c", packets.Unsubscribe(2, texts))
            brokers.advance(0.1)
            assert brokers.received[packets.Unsuback]

        return work

    return prepare


def same_filter(size: int) -> Work:
    """So many clients that want the same, while the first is not answered yet."""
    brokers = Brokers(4)
    for number in range(size):
        brokers.connect(f"c{number}")
    return lambda: [brokers.subscribe(f"c{number}", "a/+") for number in range(size)]


def retain(size: int) -> Work:
    """Retained messages, each on a topic of its own."""
    brokers = Brokers(4)
    brokers.connect("p")
    return lambda: [brokers.publish("p", f"a/{n}", retain=True) for n in range(size)]


def subscribe_to_retained(size: int) -> Work:
    """One wildcard over so many retained messages."""
    brokers = Brokers(4)
    brokers.connect("p")
    brokers.connect("c", receive_maximum=65_535)
    for number in range(size):
        brokers.publish("p", f"a/{number}", retain=True)
    return lambda: (brokers.subscribe("c", "a/+"), brokers.advance(1))


def subscribe_among_retained(size: int) -> Work:
    """So many wildcards over so many retained messages, each of which one takes."""
    brokers = Brokers(1)
    brokers.connect("p")
    brokers.connect("c", receive_maximum=65_535)
    for number in range(size):
        brokers.publish("p", f"a/{number}/x", retain=True)
    return lambda: brokers.subscribe("c", *(f"a/{number}/+" for number in range(size)))


def connect(size: int) -> Work:
    """Clients that connect, with sessions that last."""
    brokers = Brokers(4)
    return lambda: [
        brokers.connect(f"c{number}", session_expiry_s=EXPIRY_S) for number in range(size)
    ]


def disconnect(size: int) -> Work:
    """Clients with a filter each whose sessions end with their connections."""
    brokers = Brokers(4)
    for number in range(size):
        brokers.connect(f"c{number}")
        brokers.subscribe(f"c{number}", f"a/{number}/#")
    return lambda: [brokers.drop(f"c{number}") for number in range(size)]


def restore(size: int) -> Work:
    """A broker that starts with so many sessions, each with filters of its own and a message."""
    brokers = Brokers(4)
    for number in range(size):
        brokers.connect(f"c{number}", session_expiry_s=EXPIRY_S)
        brokers.subscribe(f"c{number}", f"a/{number}/#", f"b/{number}")
        brokers.drop(f"c{number}")
    brokers.connect("p", 1)
    for number in range(size):
        brokers.publish("p", f"b/{number}", 1)
    brokers.advance(2)
    brokers.crash(brokers.names[0])
    brokers.advance(1)
    return lambda: (brokers.start(brokers.names[0]), brokers.advance(3))


def take_over(size: int) -> Work:
    """Sessions that go to another broker with their clients."""
    brokers = Brokers(4)
    for number in range(size):
        brokers.connect(f"c{number}", session_expiry_s=EXPIRY_S)
        brokers.subscribe(f"c{number}", f"a/{number}/#")
        brokers.drop(f"c{number}")

    def work() -> None:
        for number in range(size):
            brokers.connect(f"c{number}", 1, session_expiry_s=EXPIRY_S)
        brokers.advance(2)
        assert len(brokers.broker(1).view().sessions) == size

    return work


def publish_topics(size: int) -> Work:
    """Messages on a topic each that nobody wants, and the second after them."""
    brokers = Brokers(4)
    brokers.connect("p")
    return lambda: (
        [brokers.publish("p", f"a/{number}") for number in range(size)],
        brokers.advance(2),
    )


def publish_to_wildcards(size: int) -> Work:
    """Messages on a topic each, and as many wildcards elsewhere, each of which one takes."""
    brokers = Brokers(4)
    brokers.connect("p")
    brokers.connect("c", 1, receive_maximum=65_535)
    brokers.subscribe("c", *(f"a/{number}/#" for number in range(size)), number=1)
    return lambda: (
        [brokers.publish("p", f"a/{number}/x") for number in range(size)],
        brokers.advance(2),
    )


def subscribe_among_topics(size: int) -> Work:
    """As many wildcards in a packet each as there are topics in use, each of which one takes."""
    brokers = Brokers(4)
    brokers.connect("p")
    for number in range(size):
        brokers.publish("p", f"a/{number}/x")
    brokers.connect("c", 1, session_expiry_s=EXPIRY_S)
    return lambda: [brokers.subscribe("c", f"a/{n}/+", number=1) for n in range(size)]


def fan_out(size: int) -> Work:
    """A message for so many clients."""
    brokers = Brokers(1)
    brokers.connect("p")
    for number in range(size):
        brokers.connect(f"c{number}")
        brokers.subscribe(f"c{number}", "t")
    return lambda: [brokers.publish("p", "t") for _ in range(4)]


def hand_over(size: int) -> Work:
    """Messages that wait for one session, sent when its client comes and answered by it."""
    brokers = Brokers(1)
    brokers.connect("p")
    brokers.connect("c", session_expiry_s=EXPIRY_S)
    brokers.subscribe("c", "t")
    brokers.drop("c")

    def work() -> None:
        for _ in range(size):
            brokers.publish("p", "t")
        brokers.connect("c", session_expiry_s=EXPIRY_S, clean_start=False)
        while brokers.unanswered["c"]:
            numbers, brokers.unanswered["c"] = brokers.unanswered["c"], []
            for number in numbers:
                brokers.send("c", packets.Puback(number))
        assert brokers.received[packets.Publish] >= size

    return work


def shared_group(size: int) -> Work:
    """One shared subscription of so many clients, then a message for each of them."""
    brokers = Brokers(4)
    brokers.connect("p")
    for number in range(size):
        brokers.connect(f"c{number}")

    def work() -> None:
        for number in range(size):
            brokers.subscribe(f"c{number}", "$share/g/t")
        for _ in range(size):
            brokers.publish("p", "t")
        brokers.advance(1)

    return work


def shared_groups(size: int) -> Work:
    """So many shared subscriptions of a client each, then a message for each of them."""
    brokers = Brokers(4)
    brokers.connect("p")
    brokers.connect("c")

    def work() -> None:
        brokers.subscribe("c", *(f"$share/g{number}/a/{number}/#" for number in range(size)))
        for number in range(size):
            brokers.publish("p", f"a/{number}/x")
        brokers.advance(1)

    return work


def wills(size: int) -> Work:
    """Clients that are lost, with a will each on a topic of its own."""
    brokers = Brokers(4)
    for number in range(size):
        will = packets.Will(f"will/{number}", b"gone", 1)
        brokers.connect(f"c{number}", will=will)
    return lambda: ([brokers.drop(f"c{number}") for number in range(size)], brokers.advance(2))


def view(size: int) -> Work:
    """What an operator is shown of so many clients."""
    brokers = Brokers(1)
    for number in range(size):
        brokers.connect(f"c{number}")
        brokers.subscribe(f"c{number}", f"a/{number}/#")
    return lambda: [brokers.broker().view() for _ in range(8)]


def heartbeats(size: int) -> Work:
    """Half a minute of a broker with so many clients, filters, topics and retained messages."""
    brokers = Brokers(4)
    brokers.connect("p")
    for number in range(size):
        brokers.connect(f"c{number}", session_expiry_s=EXPIRY_S)
        brokers.subscribe(f"c{number}", f"a/{number}/#")
        brokers.publish("p", f"a/{number}/x", retain=True)
    return lambda: brokers.advance(30)


ONE_BROKER: dict[str, Task] = {
    "clients that want the same": same_filter,
    "retained messages stored": retain,
    "a wildcard over retained messages": subscribe_to_retained,
    "wildcards over as many retained messages": subscribe_among_retained,
    "clients that connect": connect,
    "clients that are lost, each with a wildcard": disconnect,
    "a start with sessions on disk": restore,
    "sessions taken over by another broker": take_over,
    "topics published once": publish_topics,
    "topics, and as many wildcards elsewhere": publish_to_wildcards,
    "wildcards, and as many topics elsewhere": subscribe_among_topics,
    "clients that get a message": fan_out,
    "messages that wait for a client": hand_over,
    "members of a shared subscription": shared_group,
    "shared subscriptions": shared_groups,
    "wills": wills,
    "clients that an operator is shown": view,
    "half a minute without traffic": heartbeats,
}
