"""Members of a group at several brokers of a small network."""

from __future__ import annotations

from collections import Counter

from small_network import SmallNetwork

from meshwright.protocol.peers.removals import RemovalSettings
from meshwright.protocol.settings import BrokerSettings
from meshwright.protocol.shared.messages import keeper_of

TOPIC = "work/item"
GROUP = f"$share/crew/{TOPIC}"
CREW = ("ann", "bob", "cid")
GONE = BrokerSettings(removal=RemovalSettings(remove_after_us=10_000_000))


def crewed(
    *,
    text: str = GROUP,
    qos: int = 1,
    settings: BrokerSettings | None = None,
    **options: object,
) -> SmallNetwork:
    """Three members of one group at three brokers, and a publisher at a fourth."""
    network = SmallNetwork(5, settings)
    network.advance(1)
    for client, broker in zip(CREW, others(network, text), strict=False):
        network.connect(client, broker, **options)
        assert network.subscribe(client, text, qos)
    network.connect("publisher", "b0")
    return network


def keeper(network: SmallNetwork, text: str = GROUP) -> str:
    return keeper_of(text, network.overlay.brokers)


def others(network: SmallNetwork, text: str = GROUP) -> list[str]:
    """Brokers that do not keep the group."""
    return [name for name in network.names if name != keeper(network, text)]


def taken(network: SmallNetwork) -> Counter[str]:
    return Counter(payload for client in CREW for payload in network.payloads(client))


def left_behind(network: SmallNetwork) -> list[object]:
    return [
        key
        for name in network.names
        for key in network.disks[name]
        if key[0] in {"shared", "hand", "hand away", "queue", "under_way"}
    ]
