"""One seeded script through simulated and through live brokers: the same deliveries."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from live_network import port_of, running_brokers, small_overlay

from meshwright.history.history import Delivered, History, Subscribed
from meshwright.lab.witness import Stopwatch, Witness
from meshwright.sim.clients.client import ClientSettings
from meshwright.sim.physics.chance import streams
from meshwright.sim.physics.network import NetworkSettings
from meshwright.sim.runs.simulation import build_broker
from meshwright.sim.world import World

CLIENTS = ("c0", "c1", "c2", "c3")
BROKERS = ("b0", "b1", "b2")
TOPICS = ("a/x", "a/y", "b/x", "b/y")
FILTERS = ("a/x", "b/y", "a/+", "+/x", "#", "b/#")
STEP_COUNT = 60
BURST = 3
SETTLED_US = 5_000_000
WEEK_S = 604_800

Heard = list[tuple[str, str, str, int, int, bool]]


class Step(NamedTuple):
    """Something that one client does; those that are away only come back."""

    action: str
    client: str
    word: str = ""
    qos: int = 0
    retain: bool = False


def script(seed: int) -> list[Step]:
    """Steps that make sense one after another, each drawn from the seed."""
    rng = np.random.default_rng(seed)
    held = {client: [FILTERS[number]] for number, client in enumerate(CLIENTS)}
    away: set[str] = set()
    steps = [Step("subscribe", client, texts[0], 2) for client, texts in held.items()]
    while len(steps) < STEP_COUNT:
        client = CLIENTS[rng.integers(len(CLIENTS))]
        broker = BROKERS[rng.integers(len(BROKERS))]
        qos = int(rng.integers(3))
        action = ("publish", "publish", "publish", "subscribe", "unsubscribe", "move", "leave")[
            rng.integers(7)
        ]
        if client in away:
            away.remove(client)
            steps.append(Step("come back", client, broker))
        elif action == "publish":
            topic = TOPICS[rng.integers(len(TOPICS))]
            # Nobody is told when QoS 0 has come: all who want it are there, and more follows it.
            quality = max(qos, 1) if away else qos
            steps.append(Step(action, client, topic, quality, bool(rng.random() < 0.2)))
            if not quality:
                steps.append(Step(action, client, topic, 1))
        elif action == "subscribe":
            text = FILTERS[rng.integers(len(FILTERS))]
            if text not in held[client]:
                held[client].append(text)
                steps.append(Step(action, client, text, qos))
        elif action == "unsubscribe" and held[client]:
            steps.append(Step(action, client, held[client].pop(0)))
        elif action in ("move", "leave"):
            if action == "leave":
                away.add(client)
            steps.append(Step(action, client, broker))
    return steps


def simulated(design: str, steps: list[Step]) -> list[Heard]:
    """What each step led to in a simulation."""
    overlay = small_overlay(design, len(BROKERS))
    world = World(overlay, lambda name: build_broker(name, overlay), NetworkSettings(), streams(1))
    world.start()
    clients = {
        name: world.add_client(name, ClientSettings(session_expiry_s=WEEK_S)) for name in CLIENTS
    }
    for client in clients.values():
        client.connect(BROKERS[0])
    world.run_until(SETTLED_US)
    found: list[Heard] = []
    for step in steps:
        before = len(world.history.deliveries)
        client = clients[step.client]
        if step.action == "publish":
            for _ in range(BURST):
                client.publish(step.word, step.qos, retain=step.retain)
        elif step.action == "subscribe":
            client.subscribe(step.word, step.qos)
        elif step.action == "unsubscribe":
            client.unsubscribe(step.word)
        else:
            if step.action in ("leave", "move"):
                client.leave()
            if step.action in ("come back", "move"):
                client.connect(step.word)
        world.run_until(world.agenda.now_us + SETTLED_US)
        found.append(heard(world.history.deliveries[before:]))
    return found


async def lived(design: str, steps: list[Step], expected: list[Heard], folder: Path) -> list[Heard]:
    """What each step led to with live brokers; waits for no more than is expected."""
    async with AsyncExitStack() as stack:
        brokers = await stack.enter_async_context(running_brokers(design, folder, len(BROKERS)))
        addresses = {one.settings.name: f"127.0.0.1:{port_of(one)}" for one in brokers}
        names = {address: name for name, address in addresses.items()}
        history, stopwatch = History(), Stopwatch()
        clients = {
            name: await stack.enter_async_context(
                Witness(name, names, addresses["b0"], history=history, stopwatch=stopwatch)
            )
            for name in CLIENTS
        }
        held: dict[tuple[str, str], Subscribed] = {}
        found: list[Heard] = []
        for step, due in zip(steps, expected, strict=True):
            before = len(history.deliveries)
            await do(step, clients[step.client], held, addresses)
            async with asyncio.timeout(10):
                while len(history.deliveries) < before + len(due):
                    await asyncio.sleep(0.001)
            found.append(heard(history.deliveries[before:]))
        return found


async def do(
    step: Step,
    client: Witness,
    held: dict[tuple[str, str], Subscribed],
    addresses: dict[str, str],
) -> None:
    """One step of a live client."""
    match step.action:
        case "publish":
            burst = [client.publish(step.word, step.qos, retain=step.retain) for _ in range(BURST)]
            await asyncio.gather(*burst)
        case "subscribe":
            held[step.client, step.word] = await client.subscribe(step.word, step.qos)
        case "unsubscribe":
            await client.unsubscribe(held.pop((step.client, step.word)))
        case "leave":
            await client.leave()
        case "come back":
            await client.come_back(addresses[step.word])
        case "move":
            await client.move_to(addresses[step.word])


def heard(deliveries: list[Delivered]) -> Heard:
    """Who got what; MQTT leaves open who is first, and in which order topics come."""
    found = [
        (one.client, one.topic, one.publisher, one.sequence, one.qos, one.is_retained)
        for one in deliveries
    ]
    return sorted(found, key=lambda row: row[:3])


@pytest.mark.parametrize(
    ("design", "seed"), [("chord", 1), ("hypercube", 2), ("gm2", 3), ("tree", 4)]
)
def test_live_brokers_deliver_what_simulated_ones_deliver(
    design: str, seed: int, tmp_path: Path
) -> None:
    steps = script(seed)
    expected = simulated(design, steps)
    found = asyncio.run(lived(design, steps, expected, tmp_path))
    assert sum(map(len, expected)) > STEP_COUNT
    for step, live, simulation in zip(steps, found, expected, strict=True):
        assert live == simulation, f"seed {seed}, {step}"
