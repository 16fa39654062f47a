"""Work of growing size for networks: so many brokers, on several designs."""

from __future__ import annotations

from benchmarks.growth.brokers import Brokers
from benchmarks.growth.tasks import Task, Work

SETTLED_S = 6
FEW = 16


def interest_changes(design: str) -> Task:
    """A client of one broker comes to want some topics, by name and by wildcards."""

    def prepare(size: int) -> Work:
        brokers = Brokers(size, design)
        brokers.advance(1)
        brokers.connect("c")
        texts = [text for n in range(FEW) for text in (f"a/{n}", f"b/{n}/+")]
        return lambda: [brokers.subscribe("c", text) for text in texts]

    return prepare


def messages(design: str) -> Task:
    """A client of one broker publishes some messages, each for a client of every other one."""

    def prepare(size: int) -> Work:
        brokers = Brokers(size, design)
        brokers.connect("p")
        for number in range(1, size):
            brokers.connect(f"c{number}", number)
            brokers.subscribe(f"c{number}", "t", number=number)
        brokers.publish("p", "t")
        brokers.advance(1)

        def work() -> None:
            for _ in range(FEW):
                brokers.publish("p", "t")
            brokers.advance(1)

        return work

    return prepare


def return_of_one(design: str) -> Task:
    """A broker ends and is missed, then returns to so many others."""

    def prepare(size: int) -> Work:
        brokers = Brokers(size, design)
        for number in range(size):
            brokers.connect(f"c{number}", number)
            brokers.subscribe(f"c{number}", f"a/{number}", number=number)
        brokers.advance(1)

        def work() -> None:
            name = brokers.names[0]
            brokers.crash(name)
            brokers.advance(SETTLED_S)
            brokers.start(name)
            brokers.advance(SETTLED_S)

        return work

    return prepare


BY_PEERS = {
    "brokers that hear of what one of them wants": interest_changes,
    "brokers with a client each that gets a message": messages,
    "brokers, of which one ends and returns": return_of_one,
}
