"""A network of brokers and clients in one thread, on one clock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial

from meshwright.history.history import History, Outage
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Float64Array
from meshwright.protocol.foundation.events import Event
from meshwright.protocol.observation import Observation
from meshwright.sim.brokers.breakdown import Breakdown, breakdown
from meshwright.sim.brokers.host import BrokerHost, Machine, Witness
from meshwright.sim.brokers.records import Records
from meshwright.sim.checkers.queues import QueueLength
from meshwright.sim.clients.client import Client, ClientSettings
from meshwright.sim.physics.agenda import Agenda
from meshwright.sim.physics.chance import Draws, Streams
from meshwright.sim.physics.lines import Lines
from meshwright.sim.physics.network import Listeners, Network, NetworkSettings, Watch

# The first process starts at once, the last within this time.
STARTS_WITHIN_US = 100_000
# A process that died of an error is started again after this time.
RESTARTS_AFTER_US = 1_000_000

# Queues of clients and groups, before which publishers are refused.
KEPT_BEYOND = ("client", "group")


class World:
    """Brokers on their hosts, the network between them, and the clients.

    build makes the machine of a broker by its name; it is called again after each crash. newcomers:
    brokers that are not in the overlay, and start only when they are told to. watch is told of each
    message between brokers.
    """

    def __init__(
        self,
        overlay: Overlay,
        build: Callable[[str], Machine],
        network: NetworkSettings,
        chances: Streams,
        *,
        newcomers: tuple[str, ...] = (),
        delays_ms: Float64Array | None = None,
        watch: Watch | None = None,
        witness: Witness | None = None,
    ) -> None:
        self.agenda = Agenda()
        self.records = Records()
        self.history = History()
        self.breakdowns: list[Breakdown] = []
        # By the moment that is waited for: what is done to the broker that reaches it first.
        self.ambushes: dict[str, Callable[[str], None]] = {}
        self.queue_peaks: dict[tuple[str, str], QueueLength] = {}
        # As they were when last looked at.
        self._queue_lengths: dict[str, tuple[int, ...]] = {}
        self.witness = witness
        listeners: Listeners = {}
        self.network = Network(
            self.agenda,
            network,
            brokers=(*overlay.brokers, *newcomers),
            delays_ms=delays_ms,
            jitter_us=Draws(chances.network, 0, network.jitter_us),
            listeners=listeners,
            is_up=self.is_up,
            watch=watch,
        )
        self.message_counts = self.network.message_counts
        self.lines = Lines(
            self.agenda,
            network,
            jitter_us=Draws(chances.lines, 0, network.client_jitter_us),
            listeners=listeners,
            is_up=self.is_up,
        )
        sync_delays_us = Draws(chances.disks, network.sync_min_us, network.sync_max_us)
        self.hosts: dict[str, BrokerHost] = {
            name: BrokerHost(name, self, build, sync_delays_us)
            for name in (*overlay.brokers, *newcomers)
        }
        self._founders = overlay.brokers
        listeners.update((name, host.tell) for name, host in self.hosts.items())
        self.clients: dict[str, Client] = {}
        self._backoffs_us = Draws(chances.clients, 100_000, 1_000_000)

    def start(self) -> None:
        """Start all brokers but newcomers, one shortly after the other."""
        apart_us = STARTS_WITHIN_US // len(self._founders)
        for index, name in enumerate(self._founders):
            self.at(index * apart_us, partial(self.restart, name))

    def add_client(self, name: str, settings: ClientSettings) -> Client:
        """A client that is not connected yet."""
        client = Client(
            name,
            settings,
            agenda=self.agenda,
            lines=self.lines,
            history=self.history,
            brokers=tuple(self.hosts),
            backoffs_us=self._backoffs_us,
            find_keeper=self._find_keeper,
        )
        self.clients[name] = client
        return client

    def run_until(self, time_us: int) -> None:
        """Let everything happen up to a time."""
        self.agenda.run_until(time_us)

    def at(self, time_us: int, action: Callable[[], None]) -> None:
        """Do something at a time."""
        self.agenda.at(time_us, _act, action)

    def tell(self, broker: str, event: Event) -> None:
        """Hand a event to a broker, if it is up."""
        self.hosts[broker].tell(event)

    def is_up(self, broker: str) -> bool:
        """Whether a broker's process runs."""
        return self.hosts[broker].is_up

    def observe(self) -> dict[str, Observation]:
        """How every broker stands that is up."""
        machines = {name: host.machine for name, host in self.hosts.items()}
        return {name: one.observe() for name, one in machines.items() if one is not None}

    def look_at_queues(self) -> None:
        """Take note of how long the queues of brokers are."""
        for broker, observed in self.observe().items():
            if observed.lengths == self._queue_lengths.get(broker):
                continue
            self._queue_lengths[broker] = observed.lengths
            log_maxes = [one.length_max for one in observed.queues if one.name == "log"]
            in_flight_max = sum(log_maxes) * len(self.hosts)
            for queue in observed.queues:
                peak = self.queue_peaks.get((broker, queue.name))
                if peak is None or peak.length < queue.length:
                    # What was acknowledged anywhere is kept beyond the bound.
                    beyond_max = in_flight_max if queue.name in KEPT_BEYOND else 0
                    length_max = queue.length_max + beyond_max
                    self.queue_peaks[broker, queue.name] = QueueLength(
                        self.agenda.now_us, broker, queue.name, queue.length, length_max
                    )

    def crash(self, broker: str) -> None:
        """Kill a broker's process."""
        if self.is_up(broker):
            self.note(f"{broker} crashes")
            self.history.outages.append(Outage(broker, self.agenda.now_us))
            self.hosts[broker].crash()

    def restart(self, broker: str) -> None:
        """Start a broker's process, if it is down and not gone for good."""
        if not self.is_up(broker) and broker not in self.history.gone_us:
            self.note(f"{broker} starts")
            for outage in self.history.outages:
                if outage.broker == broker and outage.until_us is None:
                    outage.until_us = self.agenda.now_us
            self.hosts[broker].start()

    def broke(self, broker: str, event: Event, error: Exception) -> None:
        """A broker raised an error: it dies, and is started again."""
        now_us = self.agenda.now_us
        self.breakdowns.append(breakdown(now_us, broker, event, error))
        self.crash(broker)
        self.at(now_us + RESTARTS_AFTER_US, partial(self.restart, broker))

    def note(self, sentence: str) -> None:
        """Tell the witness, if there is one, how the world changed."""
        if self.witness is not None:
            self.witness.changed(self.agenda.now_us, sentence)

    def _find_keeper(self, client: str, payload: bytes) -> str | None:
        """The broker on whose disk a will is, with the session of its client or alone."""
        for name, host in self.hosts.items():
            kept = host.disk.kept
            session, alone = kept.get(("session", client)), kept.get(("will", client))
            wills = (session[2] if session else None, alone[1] if alone else None)
            if any(will is not None and will.payload == payload for will in wills):
                return name
        return None

    def counts_by_class(self) -> dict[str, int]:
        """Messages between brokers by what they count as; what says nothing, by its own name."""
        counts: dict[str, int] = defaultdict(int)
        for kind, count in self.message_counts.items():
            counts[getattr(kind, "counts_as", kind.__name__)] += count
        return dict(sorted(counts.items()))


def _act(action: Callable[[], None], _: None) -> None:
    action()
