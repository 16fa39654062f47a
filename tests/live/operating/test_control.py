"""What operators ask running brokers."""

from __future__ import annotations

import asyncio
import http.client
import stat
import threading
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import aiomqtt
import msgspec
import pytest
from live_network import port_of, running_brokers
from waiting import until

from meshwright.errors import OperatorError
from meshwright.live.operating import control_client
from meshwright.live.operating.control import ClusterView
from meshwright.live.operating.control_client import BrokerControl, Finder
from meshwright.live.processes.live_broker import LiveBroker
from meshwright.live.settings import MoveSettings, TelemetrySettings
from meshwright.protocol.inspection import BrokerView

HTTP = TelemetrySettings(http="127.0.0.1:0", sys_every_s=0)


async def fetch(broker: LiveBroker, path: str, method: str = "GET") -> tuple[int, bytes]:
    def ask() -> tuple[int, bytes]:
        assert broker.http is not None
        connection = http.client.HTTPConnection(*broker.http, timeout=10)
        connection.request(method, path)
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, body

    return await asyncio.to_thread(ask)


def test_metrics_count_what_clients_send_and_get(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_brokers("chord", tmp_path, 2, telemetry=HTTP) as brokers:
            reader = aiomqtt.Client("127.0.0.1", port_of(brokers[0]))
            writer = aiomqtt.Client("127.0.0.1", port_of(brokers[1]))
            async with reader, writer:
                await reader.subscribe("a/+", qos=1)
                for number in range(7):
                    await writer.publish("a/b", b"x" * number, qos=1)
                await writer.publish("a/kept", b"1234", qos=0, retain=True)
                async with asyncio.timeout(20):
                    async for message in reader.messages:
                        if message.payload == b"1234":
                            break
                texts = [(await fetch(broker, "/metrics"))[1].decode() for broker in brokers]
            assert 'meshwright_messages_received_total{qos="1"} 7.0' in texts[1]
            assert 'meshwright_message_bytes_received_total{qos="1"} 21.0' in texts[1]
            assert 'meshwright_messages_received_total{qos="0"} 1.0' in texts[1]
            assert 'meshwright_messages_sent_total{qos="1"} 7.0' in texts[0]
            assert "meshwright_clients 1.0" in texts[0]
            assert "meshwright_subscriptions 1.0" in texts[0]
            assert "meshwright_retained 1.0" in texts[0]
            assert 'meshwright_peer_messages_sent_total{class="publication"}' in texts[1]
            assert 'meshwright_queue_length{queue="client"} 0.0' in texts[0]

    asyncio.run(story())


def test_a_broker_is_ready_when_it_has_peers_and_tells_of_the_network(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_brokers("chord", tmp_path, 2, telemetry=HTTP) as brokers:
            first, second = brokers
            async with asyncio.timeout(20):
                while (await fetch(first, "/readyz"))[0] != 200:
                    await asyncio.sleep(0.05)
            assert (await fetch(first, "/healthz"))[0] == 200
            cluster = msgspec.json.decode((await fetch(first, "/cluster"))[1], type=ClusterView)
            assert [one.broker for one in cluster.brokers] == ["b0", "b1"]
            assert all(one.is_alive for one in cluster.brokers)
            await second.stop()
            async with asyncio.timeout(20):
                while (await fetch(first, "/readyz"))[0] != 503:
                    await asyncio.sleep(0.05)
            first.host.disk_trouble = "no room is left on the disk"
            assert b"no room is left" in (await fetch(first, "/readyz"))[1]

    asyncio.run(story())


def test_a_broker_that_is_about_to_be_emptied_says_so_before_it_sends_clients(
    tmp_path: Path,
) -> None:
    moves = MoveSettings(notice_s=0.7)

    async def story() -> None:
        async with running_brokers("chord", tmp_path, 2, telemetry=HTTP, moves=moves) as brokers:
            first = brokers[0]
            async with asyncio.timeout(20):
                while (await fetch(first, "/readyz"))[0] != 200:
                    await asyncio.sleep(0.05)
            client = aiomqtt.Client(
                "127.0.0.1", port_of(first), protocol=aiomqtt.ProtocolVersion.V5
            )
            with suppress(aiomqtt.MqttError):
                async with client:
                    control = control_client.BrokerControl(tmp_path / "b0")
                    await asyncio.to_thread(control.order, "/drain")
                    began_s = asyncio.get_running_loop().time()
                    status, body = await fetch(first, "/readyz")
                    assert (status, b"it is drained" in body) == (503, True)
                    assert len(first.host.clients) == 1
                    async with asyncio.timeout(20):
                        while first.host.clients:
                            await asyncio.sleep(0.02)
                    assert asyncio.get_running_loop().time() - began_s > 0.6
            await asyncio.to_thread(control.order, "/fill")
            assert (await fetch(first, "/readyz"))[0] == 200

    asyncio.run(story())


def test_orders_are_taken_on_the_socket_in_the_folder_only(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_brokers("chord", tmp_path, 1, telemetry=HTTP) as (broker,):
            for path in ("/drain", "/forget", "/stop"):
                assert (await fetch(broker, path, "POST"))[0] == 404
            assert (await fetch(broker, "/view"))[0] == 404
            mode = (tmp_path / "b0" / "control.sock").stat().st_mode
            assert stat.S_ISSOCK(mode)
            assert stat.S_IMODE(mode) == 0o600
            found = await asyncio.to_thread(control_client.running_brokers, tmp_path)
            control, view = found["b0"]
            assert view.alive == ("b0",)
            with pytest.raises(OperatorError, match="nobody can take its clients"):
                await asyncio.to_thread(control.order, "/drain")
            await asyncio.to_thread(control.order, "/stop")
            async with asyncio.timeout(20):
                await broker.wait()

    asyncio.run(story())


def test_where_nothing_runs_an_operator_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="No broker runs"):
        control_client.running_brokers(tmp_path)
    (tmp_path / "control.sock").touch()
    with pytest.raises(OperatorError, match="No broker runs"):
        control_client.running_brokers(tmp_path)


class HangingControl(BrokerControl):
    """A broker that stands still until it may go on; asked: how long it was waited for."""

    def __init__(self) -> None:
        super().__init__(Path("still"))
        self.asked: list[float] = []
        self.may_go_on = threading.Event()

    def view(self, timeout_s: float = 0.0) -> BrokerView | None:
        self.asked.append(timeout_s)
        is_first = len(self.asked) == 1
        self.is_hanging = is_first or not self.may_go_on.wait(30)
        return None if self.is_hanging else cast("BrokerView", SimpleNamespace(broker="still"))


def test_a_broker_that_hangs_keeps_nobody_waiting_twice_and_is_found_again() -> None:
    finder, control = Finder(), HangingControl()
    assert finder.answering([control]) == {}
    for _ in range(100):  # in the background it is asked once meanwhile
        assert finder.answering([control]) == {}
    assert len(control.asked) <= 2
    control.may_go_on.set()
    until(lambda: "still" in finder.answering([control]))
    assert finder.answering([control])["still"][0] is control
