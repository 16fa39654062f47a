"""Where messages go by a shortcut does not change while the revision is the same."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from small_network import SmallNetwork

from meshwright.protocol.mqtt.packets import Publish
from meshwright.protocol.sessions.session_settings import SessionSettings
from meshwright.protocol.settings import BrokerSettings
from meshwright.protocol.shortcuts import NEVER, Qos1Route, Shortcut
from meshwright.protocol.streams.outgoing import OutgoingSettings

CLIENTS = ("c0", "c1", "c2", "c3")
TOPICS = ("a", "a/b")
FILTERS = ("a", "a/#", "+/b", "$share/g/a", "$share/h/+/b", "$where/colour=red/a")

clients = st.sampled_from(CLIENTS)
brokers = st.sampled_from(("b0", "b1"))
steps = st.one_of(
    st.tuples(st.just("connect"), clients, brokers, st.sampled_from([0, 60])),
    st.tuples(st.just("drop"), clients),
    st.tuples(st.just("subscribe"), clients, st.sampled_from(FILTERS), st.booleans()),
    st.tuples(st.just("unsubscribe"), clients, st.sampled_from(FILTERS)),
    st.tuples(
        st.just("publish"), clients, st.sampled_from(TOPICS), st.integers(0, 1), st.booleans()
    ),
    st.tuples(st.just("crash"), brokers),
    st.tuples(st.just("advance"), st.sampled_from([0.5, 5.0, 40.0])),
)


class WatchedNetwork(SmallNetwork):
    """Two brokers of which every answer about shortcuts is held against the next."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, ...], tuple[int, Shortcut | Qos1Route | None]] = {}
        self.refusals: dict[tuple[str, ...], int] = {}
        self.found_count = 0
        settings = BrokerSettings(
            outgoing=OutgoingSettings(trust_us=20_000_000),
            sessions=SessionSettings(writes_runs=False),
        )
        super().__init__(2, settings)

    def _do(self, broker: str, effect: Any) -> None:
        super()._do(broker, effect)
        self.check(broker)

    def check(self, broker: str) -> None:
        shortcuts = self.machines[broker].shortcuts
        revision = shortcuts.revision
        for client in CLIENTS:
            for topic in TOPICS:
                for ask in (shortcuts.find, shortcuts.find_qos1):
                    found = ask(self.now_us, client, topic)
                    key = (broker, ask.__name__, client, topic)
                    before, former = self.known.get(key, (NEVER, None))
                    if before == revision != NEVER and former and former.until_us >= self.now_us:
                        assert found is not None
                        assert found._replace(until_us=0) == former._replace(until_us=0)
                        assert found.until_us >= former.until_us
                        self.found_count += 1
                    self.known[key] = (revision, found)
                self.check_refusal(broker, client, topic)

    def check_refusal(self, broker: str, client: str, topic: str) -> None:
        shortcuts = self.machines[broker].shortcuts
        key = (broker, client, topic)
        is_refused = shortcuts.refuses_runs(client, topic)
        if is_refused:
            assert shortcuts.find_qos1(self.now_us, client, topic) is None
            self.refusals[key] = shortcuts.revision
        else:
            former = self.refusals.pop(key, NEVER)
            assert former == NEVER or former != shortcuts.revision

    def do(self, step: tuple[Any, ...]) -> None:
        match step:
            case ("connect", client, broker, expiry_s):
                if client not in self.connected and broker in self.machines:
                    self.connect(client, broker, session_expiry_s=expiry_s)
            case ("subscribe", client, text, no_local) if client in self.connected:
                self.subscribe(client, text, no_local=no_local and text[0] != "$")
            case ("unsubscribe", client, text) if client in self.connected:
                self.unsubscribe(client, text)
            case ("publish", client, topic, qos, retain) if client in self.connected:
                self.send(client, Publish(topic, b"x", qos, retain, 9 * qos))
            case ("drop", client) if client in self.connected:
                self.drop(client)
            case ("crash", broker):
                self.crash(broker)
                self.known = {key: one for key, one in self.known.items() if key[0] != broker}
                self.refusals = {key: one for key, one in self.refusals.items() if key[0] != broker}
                self.start(broker)
            case ("advance", seconds):
                self.advance(seconds)


@settings(max_examples=60, deadline=None)
@given(st.lists(steps, min_size=10, max_size=30))
def test_an_answer_holds_while_the_revision_is_the_same(script: list[tuple[Any, ...]]) -> None:
    network = WatchedNetwork()
    for client in CLIENTS[:3]:
        network.connect(client, "b0")
    for topic in TOPICS:
        network.publish("c0", topic, qos=0)
    for step in script:
        network.do(step)


def test_a_publisher_finds_all_readers_here_and_asks_again_in_time() -> None:
    network = WatchedNetwork()
    for client in CLIENTS[:3]:
        network.connect(client, "b0")
    network.subscribe("c1", "a/#")
    network.subscribe("c2", "a", 0)
    shortcuts = network.machines["b0"].shortcuts
    assert shortcuts.find(network.now_us, "c0", "a") is None
    network.publish("c0", "a", qos=0)
    found = shortcuts.find(network.now_us, "c0", "a")
    assert found is not None
    assert found.clients == (("c1", ()), ("c2", ()))
    assert found.leaves
    assert shortcuts.find(found.until_us + 1, "c0", "a") is None
    network.publish("c0", "a", qos=0)
    assert network.found_count > 0


def test_a_topic_that_leaves_its_broker_is_refused_until_the_revision_changes() -> None:
    network = SmallNetwork(2)
    network.connect("writer", "b0")
    network.connect("reader", "b1")
    network.subscribe("reader", "a")
    network.publish("writer", "a")
    shortcuts = network.machines["b0"].shortcuts
    revision = shortcuts.revision
    assert shortcuts.find_qos1(network.now_us, "writer", "a") is None
    assert shortcuts.refuses_runs("writer", "a")
    network.publish("writer", "a")
    assert shortcuts.revision == revision
    network.unsubscribe("reader", "a")
    network.advance(1)
    assert shortcuts.revision != revision
    assert not shortcuts.refuses_runs("writer", "a")
    assert shortcuts.find_qos1(network.now_us, "writer", "a") is not None
