"""Plans given to running brokers: applied, refused, aborted and undone while messages flow."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiomqtt
import msgspec
import pytest
from changing_networks import plan_of
from live_network import DirectClient, port_of, running_brokers, small_overlay
from ordinary_clients import AioReader, until
from typer.testing import CliRunner, Result

from meshwright.cli.main import app
from meshwright.errors import OperatorError
from meshwright.files.plans import write_plan
from meshwright.live.host.host import Host
from meshwright.live.operating.control_client import BrokerControl
from meshwright.live.telemetry.plan_log import PlanProgress
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan
from meshwright.overlays.growth import with_broker, without_broker
from meshwright.protocol.mqtt.packets import (
    Connack,
    Connect,
    Disconnect,
    Publish,
    Suback,
    Subscribe,
    Subscription,
)


def swapped(overlay: Overlay) -> Overlay:
    """Two brokers on a ring have changed places."""
    assert overlay.positions is not None
    one, other = overlay.brokers[:2]
    places = overlay.positions
    return msgspec.structs.replace(
        overlay, positions={**places, one: places[other], other: places[one]}
    )


async def decided(folder: Path, name: str, action: str, plan: Plan | None = None) -> int:
    """Give an order to a broker; the epoch that it tells."""
    control = BrokerControl(folder / name)
    return (await asyncio.to_thread(control.decide, action, plan)).epoch


async def progress(folder: Path, name: str) -> PlanProgress:
    return await asyncio.to_thread(BrokerControl(folder / name).get, "/plan", PlanProgress)


async def over(folder: Path, leader: str, epoch: int) -> PlanProgress:
    """Wait until who leads a plan says that it is done."""
    async with asyncio.timeout(30):
        while True:
            found = await progress(folder, leader)
            if (epoch, "done") in {(one.epoch, one.step) for one in found.steps}:
                return found
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("design", "other"), [("chord", "gm"), ("gm", "tree"), ("tree", "hypercube")]
)
def test_a_network_changes_its_design_and_back_while_messages_flow(
    tmp_path: Path, design: str, other: str
) -> None:
    source = small_overlay(design)

    async def story() -> list[str]:
        async with running_brokers(design, tmp_path, 4) as brokers:
            reader, writer = AioReader("reader"), aiomqtt.Client("127.0.0.1", port_of(brokers[3]))
            await reader.open(port_of(brokers[0]), "t", keeps=True)
            sent = 0

            async def publish() -> None:
                nonlocal sent
                async with writer:
                    while not is_over.is_set():
                        await writer.publish("t", str(sent), qos=1)
                        sent += 1

            is_over = asyncio.Event()
            publishing = asyncio.create_task(publish())
            plan = plan_of(source, small_overlay(other))
            epoch = await decided(tmp_path, "b2", "apply", plan)
            changed = await over(tmp_path, "b2", epoch)
            back = await decided(tmp_path, "b1", "undo", plan)
            undone = await over(tmp_path, "b1", back)
            is_over.set()
            await publishing
            await until(lambda: len(reader.got) >= sent)
            await reader.close()
            assert back > epoch > 0
            assert changed.overlay == plan.target
            assert msgspec.json.encode(undone.overlay) == msgspec.json.encode(source)
            assert sent > 10
            return [one.payload for one in reader.got[:sent]]

    got = asyncio.run(story())
    assert got == [str(number) for number in range(len(got))]


def test_a_plan_moves_clients_and_says_which_stay_and_why(tmp_path: Path) -> None:
    source = small_overlay("chord")

    async def story() -> None:
        async with running_brokers("chord", tmp_path, 4) as brokers:
            async with aiomqtt.Client("127.0.0.1", port_of(brokers[0]), identifier="fleeting"):
                plan = plan_of(source, source, ("fleeting", "b0", "b2"))
                epoch = await decided(tmp_path, "b1", "apply", plan)
                await over(tmp_path, "b1", epoch)
                async with asyncio.timeout(20):
                    while not (await progress(tmp_path, "b0")).staying:
                        await asyncio.sleep(0.02)
                found = await progress(tmp_path, "b0")
            assert found.staying == {"its session would end with its connection": 1}
            assert found.moved == 0

    asyncio.run(story())


def test_only_who_was_moved_is_sent_again_what_it_did_not_acknowledge_and_marked(
    tmp_path: Path,
) -> None:
    source = small_overlay("chord")

    async def come(host: Host, name: str) -> DirectClient:
        client = DirectClient(host, name)
        client.connect(Connect(session_expiry_s=60))
        await client.until(lambda got: any(isinstance(one, Connack) for one in got))
        return client

    def published(client: DirectClient) -> list[Publish]:
        return [one for one in client.got if isinstance(one, Publish)]

    async def story() -> None:
        async with running_brokers("chord", tmp_path, 4) as brokers:
            hosts = [one.host for one in brokers]
            moved, stays = [await come(hosts[0], name) for name in ("moved", "stays")]
            for client in (moved, stays):
                client.say(Subscribe(1, (Subscription("t", qos=1),)))
                await client.until(lambda got: any(isinstance(one, Suback) for one in got))
            writer = await come(hosts[3], "writer")
            writer.say(Publish("t", b"1", qos=1, packet_id=1))
            for client in (moved, stays):
                await client.until(lambda got: any(isinstance(one, Publish) for one in got))
            plan = plan_of(source, small_overlay("gm"), ("moved", "b0", "b2"))
            epoch = await decided(tmp_path, "b1", "apply", plan)
            await moved.until(lambda got: any(isinstance(one, Disconnect) for one in got))
            again = await come(hosts[2], "moved")
            await again.until(lambda got: any(isinstance(one, Publish) for one in got))
            await over(tmp_path, "b1", epoch)
            writer.say(Publish("t", b"2", qos=1, packet_id=2))
            for client, count in ((again, 2), (stays, 2)):
                await client.until(lambda _, of=client, count=count: len(published(of)) >= count)
            first, (repeated, _) = published(moved)[0], published(again)
            assert not first.is_duplicate
            assert repeated.is_duplicate
            assert (repeated.payload, repeated.packet_id) == (b"1", first.packet_id)
            found = [(one.payload, one.is_duplicate) for one in published(stays)]
            assert found == [(b"1", False), (b"2", False)]

    asyncio.run(story())


def test_orders_that_make_no_sense_are_refused_with_the_reason(tmp_path: Path) -> None:
    source = small_overlay("chord")

    async def story() -> None:
        async with running_brokers("chord", tmp_path, 4):
            stale = plan_of(swapped(source), source)
            with pytest.raises(OperatorError, match="made for another overlay"):
                await decided(tmp_path, "b0", "apply", stale)
            with pytest.raises(OperatorError, match="no plan is under way"):
                await decided(tmp_path, "b0", "abort")
            with pytest.raises(OperatorError, match="nothing to undo"):
                await decided(tmp_path, "b0", "undo")
            with pytest.raises(OperatorError, match="in force already"):
                await decided(tmp_path, "b0", "apply", plan_of(source, source))
            with pytest.raises(OperatorError, match="no plan of version 1"):
                await decided(tmp_path, "b0", "apply")
            with pytest.raises(OperatorError, match="b3 is alive and has no place in the plan"):
                await decided(
                    tmp_path, "b0", "apply", plan_of(source, without_broker(source, "b3"))
                )
            with pytest.raises(OperatorError, match="b9 is not in this network; have it join"):
                await decided(tmp_path, "b0", "apply", plan_of(source, with_broker(source, "b9")))

    asyncio.run(story())


def test_of_two_plans_at_once_one_is_refused_and_the_other_done(tmp_path: Path) -> None:
    source = small_overlay("chord")

    async def story() -> None:
        async with running_brokers("chord", tmp_path, 4):
            plans = (
                plan_of(source, swapped(source)),
                plan_of(source, small_overlay("tree")),
            )
            found = await asyncio.gather(
                *(decided(tmp_path, "b0", "apply", plan) for plan in plans), return_exceptions=True
            )
            epochs = [one for one in found if isinstance(one, int)]
            (refusal,) = [one for one in found if isinstance(one, OperatorError)]
            assert "another plan is under way" in str(refusal)
            await over(tmp_path, "b0", *epochs)

    asyncio.run(story())


def test_a_plan_is_aborted_while_a_broker_keeps_it_waiting(tmp_path: Path) -> None:
    source = small_overlay("chord")

    async def story() -> None:
        async with running_brokers("chord", tmp_path, 4) as brokers:
            # Nobody has noticed yet that this one is gone, so the plan waits for it.
            await brokers[3].stop()
            await decided(tmp_path, "b0", "apply", plan_of(source, swapped(source)))
            await decided(tmp_path, "b1", "abort")
            async with asyncio.timeout(20):
                while "aborted" not in {one.step for one in (await progress(tmp_path, "b0")).steps}:
                    await asyncio.sleep(0.02)
            assert (await progress(tmp_path, "b1")).overlay == source

    asyncio.run(story())


async def call(*words: str | Path) -> Result:
    asked = ["plan", *(str(word) for word in words)]
    return await asyncio.to_thread(CliRunner().invoke, app, asked)


def test_an_operator_applies_and_undoes_a_plan_and_is_told_why_it_is_stale(tmp_path: Path) -> None:
    source = small_overlay("chord")
    file, data = tmp_path / "plan.json", tmp_path / "network"
    plan = plan_of(source, swapped(source), ("nobody", "b0", "b1"))
    write_plan(plan, file)

    async def story() -> None:
        async with running_brokers("chord", data, 4):
            applied = await call("apply", file, "--data", data, "--broker", "b2")
            again = await call("apply", file, "--data", data)
            undone = await call("undo", file, "--data", data, "--json")
            strange = await call("apply", file, "--data", data, "--broker", "b9")
            aborted = await call("abort", "--data", data)
        assert applied.exit_code == 0, applied.output
        assert "in force at 4 brokers" in applied.stdout
        assert "led by b2" in applied.stdout
        assert "1 client could not be moved: its session is not here." in applied.stdout
        assert again.exit_code == 2
        assert "b0, b1 changed position" in again.stderr
        outcome = msgspec.json.decode(undone.stdout)["outcome"]
        assert outcome["end"] == "done"
        assert outcome["brokers"] == 4
        assert "No broker 'b9' runs here" in strange.stderr
        assert "no plan is under way" in aborted.stderr

    asyncio.run(story())


def test_a_plan_without_steps_changes_nothing_and_says_so(tmp_path: Path) -> None:
    source = small_overlay("chord")
    file, data = tmp_path / "plan.json", tmp_path / "network"
    write_plan(plan_of(source, source), file)

    async def story() -> None:
        async with running_brokers("chord", data, 4):
            applied = await call("apply", file, "--data", data)
        assert applied.exit_code == 0
        assert "has no steps" in applied.stdout

    asyncio.run(story())
