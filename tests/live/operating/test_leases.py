"""One manager at a time gives orders, also from other machines, with the token."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from certificates import Papers
from changing_networks import plan_of
from live_network import running_brokers, small_overlay

from meshwright.errors import InputFileError, MeshwrightError, OperatorError
from meshwright.live.operating.control_client import BrokerControl
from meshwright.live.operating.leases import Leases, Seen
from meshwright.live.settings import (
    ControlSettings,
    LiveSettings,
    check_settings,
)
from meshwright.model.times import SECOND_US
from meshwright.protocol.inspection import BrokerView

TOKEN = b"sixteen letters and more"


def test_a_lease_is_held_renewed_and_followed_by_a_higher_number(tmp_path: Path) -> None:
    leases = Leases(tmp_path)
    leases.open()
    assert leases.ask(0, Seen("one", 4), 10).left_s == 10
    assert leases.ask(5 * SECOND_US, Seen("one", 4), 10).left_s == 10
    with pytest.raises(OperatorError, match="one holds the lease for"):
        leases.ask(6 * SECOND_US, Seen("two", 5), 10)
    with pytest.raises(OperatorError, match="needs a higher one"):
        leases.ask(16 * SECOND_US, Seen("two", 4), 10)
    assert leases.ask(16 * SECOND_US, Seen("two", 5), 10).manager == "two"
    with pytest.raises(OperatorError, match="4 of one is behind 5 of two"):
        leases.ask(30 * SECOND_US, Seen("one", 4), 10)


def test_who_gives_a_lease_back_need_not_be_waited_for(tmp_path: Path) -> None:
    leases = Leases(tmp_path)
    leases.ask(0, Seen("one", 1), 100)
    leases.ask(1, Seen("one", 1), 0)
    assert leases.ask(2, Seen("two", 2), 100).number == 2


def test_the_highest_number_outlives_the_broker(tmp_path: Path) -> None:
    leases = Leases(tmp_path)
    leases.ask(0, Seen("one", 7), 100)
    again = Leases(tmp_path)
    again.open()
    with pytest.raises(OperatorError, match="lease 6 is behind 7"):
        again.check(6)
    again.check(7)
    again.check(9)
    third = Leases(tmp_path)
    third.open()
    with pytest.raises(OperatorError, match="behind 9"):
        third.check(8)
    assert third.ask(0, Seen("two", 9), 1).manager == "two"


def test_a_file_that_is_no_lease_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lease.json").write_text("{}x")
    with pytest.raises(InputFileError, match="no manager's lease"):
        Leases(tmp_path).open()


def test_orders_of_a_former_manager_are_refused_by_running_brokers(tmp_path: Path) -> None:
    source = small_overlay("chord", 2)

    async def story() -> None:
        async with running_brokers("chord", tmp_path, 2):
            control = BrokerControl(tmp_path / "b0")

            async def lease(**options: str) -> dict[str, Any]:
                return await asyncio.to_thread(control.order, "/lease", **options)

            await lease(manager="one", number="1", seconds="0")
            given = await lease(manager="two", number="2", seconds="60")
            assert (given["manager"], given["number"]) == ("two", 2)
            assert 59 < given["left_s"] <= 60
            with pytest.raises(OperatorError, match="two holds the lease"):
                await lease(manager="one", number="3", seconds="60")
            for wrong in ("-1", "x", "0", "9" * 30, "9" * 5_000):
                with pytest.raises(OperatorError, match="a lease needs"):
                    await lease(manager="one", number=wrong, seconds="60")
            plan = plan_of(source, small_overlay("tree", 2))
            with pytest.raises(OperatorError, match="lease 1 is behind 2, which two holds"):
                await asyncio.to_thread(control.decide, "apply", plan, lease=1)
            for endless in (10**30, int("9" * 4_000)):
                with pytest.raises(OperatorError, match="is no number of a lease"):
                    await asyncio.to_thread(control.decide, "apply", plan, lease=endless)
            begun = await asyncio.to_thread(control.decide, "apply", plan, lease=2)
            assert begun.epoch > 0

    asyncio.run(story())


@pytest.mark.parametrize("is_encrypted", [False, True])
def test_a_manager_elsewhere_needs_the_token(tmp_path: Path, is_encrypted: bool) -> None:
    papers = Papers(tmp_path / "papers")
    (tmp_path / "token").write_bytes(TOKEN + b"\n")
    control = ControlSettings(
        listen="127.0.0.1:0",
        token_file=tmp_path / "token",
        tls=papers.settings() if is_encrypted else None,
    )
    context = papers.for_client() if is_encrypted else None
    if context is not None:
        context.check_hostname = False

    async def story() -> None:
        async with running_brokers("chord", tmp_path, 1, control=control) as (broker,):
            address = broker.control.address
            assert address is not None
            right = BrokerControl.at(address, TOKEN, context)
            view = await asyncio.to_thread(right.get, "/view", BrokerView)
            assert view.broker == "b0"
            for shown in (b"", b"sixteen letters and mare", TOKEN + b"x"):
                wrong = BrokerControl.at(address, shown, context)
                with pytest.raises(OperatorError, match="token is wrong or missing"):
                    await asyncio.to_thread(wrong.order, "/stop")
            await asyncio.to_thread(right.order, "/stop")
            async with asyncio.timeout(20):
                await broker.wait()

    asyncio.run(story())


def test_a_door_for_orders_that_is_not_safe_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(TOKEN)
    settings = LiveSettings(folder=tmp_path)
    for control, sentence in (
        (ControlSettings(listen="127.0.0.1:0"), "taken from anybody"),
        (ControlSettings(listen="nowhere"), "is no address"),
        (ControlSettings(listen="0.0.0.0:1", token_file=tmp_path / "token"), "others to read"),
        (ControlSettings(listen="127.0.0.1:1", token_file=tmp_path / "none"), "no such file"),
    ):
        with pytest.raises(MeshwrightError, match=sentence):
            check_settings(msgspec.structs.replace(settings, control=control))
