"""Writers that move among brokers which crash, hear late and write slowly: order is kept.

Every seed is a story of its own. Messages go one by one and in runs, to readers that were there
before, that come and go, and that want some content only.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from runs_of_qos1 import a_run
from small_network import SmallNetwork

from meshwright.protocol.mqtt.packets import (
    MQTT_3_1_1,
    Connack,
    DeliverQos1Run,
    Puback,
    PubackRun,
    Pubcomp,
    Publish,
    PublishQos1Runs,
    Pubrec,
    Pubrel,
)
from meshwright.protocol.mqtt.qos1_runs import numbers, payload_of

SEEDS = 60
STEPS = 70
WRITERS = ("w0", "w1")
# What readers want; the last two come and go.
SOME = "$where/value>5/t"
READERS = {"all": "t", "some": SOME, "all later": "t", "some later": SOME}
PAUSES_S = (0.05, 0.2, 0.6, 1.1, 2.5)


class Story:
    """What happens in one seed, what was promised to writers, and what readers have got."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.network = SmallNetwork(5)
        self.session_claims: dict[str, str] = {}
        self.looked: dict[str, int] = {}
        self.counts = dict.fromkeys(WRITERS, 0)
        self.packet_id = 0
        self.unanswered: dict[tuple[str, int], str] = {}
        self.promised: set[str] = set()
        self.unreleased: set[tuple[str, int]] = set()
        self.got: dict[str, list[str]] = {}
        for client in (*WRITERS, *READERS):
            self.connect(client, self.one_of(self.network.names))
        for reader in ("all", "some"):
            self.network.subscribe(reader, READERS[reader], 2)
        self.network.advance(1)

    def run(self) -> None:
        """All that goes wrong, and how it is well again."""
        steps: list[tuple[int, Callable[[], None]]] = [
            (14, self.publish), (6, self.publish_run), (9, self.move), (5, self.hold),
            (5, self.release), (3, self.stall), (3, self.sync), (3, self.unstall), (3, self.crash),
            (5, self.start), (3, self.subscribe), (1, self.unsubscribe), (2, self.begin_fleeting),
            (3, self.separate), (20, self.pause),
        ]  # fmt: skip
        weights = np.array([weight for weight, _ in steps], dtype=float)
        for place in self.rng.choice(len(steps), size=STEPS, p=weights / weights.sum()):
            steps[place][1]()
        self.heal()

    def heal(self) -> None:
        network = self.network
        for source, target in sorted(network.held):
            network.release(source=source, target=target)
        for name in sorted(network.stalled):
            network.unstall_disk(name)
        network.cut.clear()
        for name in self.down():
            network.start(name)
        for _ in range(12):
            network.advance(2.5)
            for client, home in self.session_claims.items():
                if client not in network.connected:
                    self.connect(client, home)
            self.answer()

    def one_of(self, names: tuple[str, ...] | list[str]) -> str:
        return names[int(self.rng.integers(len(names)))]

    def down(self) -> list[str]:
        return [name for name in self.network.names if name not in self.network.machines]

    def alive(self) -> list[str]:
        return sorted(self.network.machines)

    def connect(self, client: str, broker: str) -> None:
        self.look(client)
        if client in self.network.connected:
            self.network.drop(client)
        self.network.got[client] = []
        self.looked[client] = 0
        before = self.session_claims.get(client)
        self.network.connect(client, broker, session_expiry_s=600, previous_broker=before)
        self.session_claims[client] = broker

    def look(self, client: str) -> list[object]:
        """Take note of what a client was sent since it looked last."""
        sent = self.network.got.get(client, [])[self.looked.get(client, 0) :]
        self.looked[client] = len(self.network.got.get(client, []))
        for one in sent:
            match one:
                case Puback() | Pubrec():
                    self.answered(client, one.packet_id)
                case PubackRun():
                    for packet_id in numbers(one.packet_ids):
                        self.answered(client, packet_id)
                case Pubrel():
                    self.unreleased.discard((client, one.packet_id))
                case Publish():
                    self.receive(client, one)
                case DeliverQos1Run():
                    for place in range(one.run.count):
                        self.note(client, payload_of(one.run, place))
        return sent

    def answered(self, client: str, packet_id: int) -> None:
        message = self.unanswered.pop((client, packet_id), None)
        if message is not None:
            self.promised.add(message)

    def receive(self, client: str, packet: Publish) -> None:
        known = (client, packet.packet_id) in self.unreleased
        if packet.qos == 2:
            self.unreleased.add((client, packet.packet_id))
        if not known:
            self.note(client, packet.payload)

    def note(self, client: str, payload: bytes) -> None:
        self.got.setdefault(client, []).append(payload.decode())

    def answer(self) -> None:
        """Have all clients answer what they have got."""
        for client in list(self.network.connected):
            for one in self.look(client):
                reply: object = None
                match one:
                    case Publish(qos=1):
                        reply = Puback(one.packet_id)
                    case Publish(qos=2):
                        reply = Pubrec(one.packet_id)
                    case Pubrec():
                        reply = Pubrel(one.packet_id)
                    case Pubrel():
                        reply = Pubcomp(one.packet_id)
                    case DeliverQos1Run():
                        ids = range(one.packet_id, one.packet_id + one.run.count)
                        reply = PubackRun(b"".join(number.to_bytes(2) for number in ids))
                if reply is not None and client in self.network.connected:
                    self.network.send(client, reply)

    def ready_writer(self) -> str | None:
        """A writer that was let in; one that has no connection looks for a broker instead."""
        writer = self.one_of(WRITERS)
        if writer not in self.network.connected:
            self.connect(writer, self.one_of(self.alive()))
            return None
        is_in = any(isinstance(one, Connack) for one in self.network.got[writer])
        return writer if is_in else None

    def next_message(self, writer: str) -> str:
        self.counts[writer] += 1
        self.packet_id += 1
        message = f"{writer}:{self.counts[writer]:04d}"
        self.unanswered[writer, self.packet_id] = message
        return message

    def publish(self) -> None:
        writer = self.ready_writer()
        if writer is not None:
            qos = int(self.rng.integers(1, 3))
            # For who wants some content only, every other message is.
            value = str(9 * (self.counts[writer] % 2))
            payload = self.next_message(writer).encode()
            packet = Publish(
                "t", payload, qos, packet_id=self.packet_id, properties=(("value", value),)
            )
            self.network.send(writer, packet)

    def publish_run(self) -> None:
        writer = self.ready_writer()
        if writer is not None:
            first = self.packet_id + 1
            count = int(self.rng.integers(1, 4))
            payloads = [self.next_message(writer).encode() for _ in range(count)]
            run = a_run("t", payloads, first, MQTT_3_1_1)
            self.network.send(writer, PublishQos1Runs((run,)))

    def move(self) -> None:
        self.connect(self.one_of((*WRITERS, *WRITERS, *READERS)), self.one_of(self.alive()))

    def hold(self) -> None:
        source, target = map(str, self.rng.choice(self.network.names, size=2, replace=False))
        if (source, target) not in self.network.held:
            self.network.hold(source=source, target=target)

    def release(self) -> None:
        if self.network.held:
            places = sorted(self.network.held)
            source, target = places[int(self.rng.integers(len(places)))]
            self.network.release(source=source, target=target)

    def stall(self) -> None:
        name = self.one_of(self.alive())
        if name not in self.network.stalled:
            self.network.stall_disk(name)

    def sync(self) -> None:
        if self.network.stalled:
            self.network.sync_stalled(self.one_of(sorted(self.network.stalled)))

    def unstall(self) -> None:
        if self.network.stalled:
            self.network.unstall_disk(self.one_of(sorted(self.network.stalled)))

    def crash(self) -> None:
        if len(self.alive()) > 2:
            for client in list(self.network.connected):
                self.look(client)
            self.network.crash(self.one_of(self.alive()))

    def start(self) -> None:
        if self.down():
            self.network.start(self.one_of(self.down()))

    def subscribe(self) -> None:
        reader = self.one_of(("all later", "some later"))
        if reader in self.network.connected:
            self.network.subscribe(reader, READERS[reader], 2)

    def unsubscribe(self) -> None:
        reader = self.one_of(("all later", "some later"))
        if reader in self.network.connected:
            self.network.unsubscribe(reader, READERS[reader])

    def begin_fleeting(self) -> None:
        """A reader whose session ends with its connection."""
        client = f"fleeting {len(self.looked)}"
        self.looked[client] = 0
        self.network.connect(client, self.one_of(self.alive()))
        self.network.subscribe(client, "t")

    def separate(self) -> None:
        """Cut two brokers apart, or join all again."""
        if self.network.cut:
            self.network.cut.clear()
        else:
            one, other = map(str, self.rng.choice(self.network.names, size=2, replace=False))
            self.network.separate(one=one, other=other)

    def pause(self) -> None:
        if self.rng.random() < 0.3:
            self.answer()
        else:
            self.network.advance(PAUSES_S[int(self.rng.integers(len(PAUSES_S)))])


def out_of_order(messages: list[str], promised: set[str]) -> list[str]:
    """Promised messages that came first after a later one of their writer."""
    newest: dict[str, str] = {}
    found = []
    for message in dict.fromkeys(messages):
        writer = message[:2]
        if message in promised and message < newest.get(writer, ""):
            found.append(message)
        elif message in promised:
            newest[writer] = message
    return found


@pytest.mark.parametrize("seed", range(SEEDS))
def test_nothing_promised_is_lost_or_out_of_order(seed: int) -> None:
    story = Story(seed)
    story.run()
    late = {one: out_of_order(got, story.promised) for one, got in story.got.items()}
    assert not [(one, messages) for one, messages in late.items() if messages]
    assert not sorted(story.promised - {*story.got.get("all", ())})
