"""The ways of forwarding that every law is tried on, each with a network drawn at random."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from broker_pump import Pump

from meshwright.model.overlay import Overlay, Parameter
from meshwright.overlays.hypercube import dimensions_for
from meshwright.protocol.forwarding.acyclic.acyclic import Acyclic
from meshwright.protocol.forwarding.forwarding import Surroundings
from meshwright.protocol.forwarding.partition.partition import Partition
from meshwright.protocol.forwarding.rendezvous.rendezvous import Rendezvous
from meshwright.protocol.forwarding.topic_connected.topic_connected import TopicConnected

# A broker drawn at random.
ANY = "any"
Links = tuple[tuple[str, str], ...]


class Kind(NamedTuple):
    design: str
    machine: type[Rendezvous | Partition | TopicConnected | Acyclic]
    params: dict[str, Parameter]


KINDS = {
    "chord": Kind("chord", Rendezvous, {"arrangement": "hash"}),
    "tapestry": Kind("tapestry", Rendezvous, {"base": 4, "arrangement": "hash"}),
    "pastry": Kind("pastry", Rendezvous, {"base": 2, "leaf_count": 2}),
    "quadtree": Kind("quadtree", Rendezvous, {"arrangement": "location"}),
    "hypercube": Kind("hypercube", Partition, {"events": "selective"}),
    "hypercube broadcast": Kind("hypercube", Partition, {"events": "broadcast"}),
    "hypercube that tells sub-partitions": Kind(
        "hypercube", Partition, {"events": "broadcast", "subscriptions": "sub_partition"}
    ),
    "topic-connected": Kind("harary", TopicConnected, {"k": 2}),
    "tree": Kind("tree", Acyclic, {"fanout": 4}),
    "tree without covering": Kind("tree", Acyclic, {"covering": False}),
    "hierarchy": Kind("hierarchy", Acyclic, {"root": ANY}),
    "hierarchy without covering": Kind("hierarchy", Acyclic, {"root": ANY, "covering": False}),
}


def new_pump(kind: Kind, rng: np.random.Generator, *, broker_count_min: int = 1) -> Pump:
    broker_count = int(rng.integers(broker_count_min, 26))
    names = tuple(f"b{index}" for index in rng.permutation(broker_count))
    if kind.machine in (TopicConnected, Acyclic):
        links = tree_links(names, rng)
        if kind.machine is TopicConnected:
            links = some_links(names, rng)
        params = {**kind.params}
        if params.get("root") == ANY:
            params["root"] = str(rng.choice(names))
        overlay = Overlay(design=kind.design, params=params, brokers=names, links=links)
        return Pump(overlay, kind.machine)
    params = dict(kind.params)
    if kind.design == "hypercube":
        positions = rng.permutation(broker_count)
        dimension_count = dimensions_for(broker_count)
        params["low_bit_count"] = int(rng.integers(1, max(2, dimension_count)))
    else:
        positions = rng.choice(2**32, size=broker_count, replace=False)
    overlay = Overlay(
        design=kind.design,
        params=params,
        brokers=names,
        links=(),
        positions=dict(zip(names, positions.tolist(), strict=True)),
    )
    near = {name: kind.machine(alone(name, overlay)).neighbours() for name in names}
    linked = tuple((name, other) for name in names for other in near[name] if name < other)
    assert all(name in near[other] for name in names for other in near[name])
    return Pump(Overlay(**{**as_fields(overlay), "links": linked}), kind.machine)


def tree_links(names: tuple[str, ...], rng: np.random.Generator) -> Links:
    """Each broker joined to one before it, drawn at random."""
    return tuple((names[int(rng.integers(index))], names[index]) for index in range(1, len(names)))


def some_links(names: tuple[str, ...], rng: np.random.Generator) -> Links:
    """Pairs at random, few or many: not all brokers need be joined."""
    share = float(rng.choice([0.05, 0.15, 0.4]))
    return tuple(pair for pair in combinations(names, 2) if rng.random() < share)


def alone(name: str, overlay: Overlay) -> Surroundings:
    def nothing(*_: object) -> None:
        return None

    return Surroundings(name, 0, overlay, nothing, nothing, nothing, lambda _: ())


def as_fields(overlay: Overlay) -> dict[str, object]:
    return {name: getattr(overlay, name) for name in overlay.__struct_fields__}
