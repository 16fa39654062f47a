"""meshwright up: a network of brokers on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.options import AdaptationRule, AllSettings, OwnK, PlacementRule, Seed
from meshwright.cli.screen import working


def up(
    *,
    count: Annotated[int, typer.Option("-n", "--brokers", min=1, max=200, help="How many.")] = 3,
    design: Annotated[str, typer.Option("--design", help="How they are joined.")] = "chord",
    k: OwnK = None,
    port: Annotated[
        int, typer.Option("--port", min=1, max=65_000, help="Of the first broker; others follow.")
    ] = 1883,
    peer_port: Annotated[
        int, typer.Option("--peer-port", min=1, max=65_000, help="For links between brokers.")
    ] = 7883,
    data: Annotated[
        Path, typer.Option("--data", metavar="FOLDER", help="Disks and logs of all brokers.")
    ] = Path(".meshwright"),
    config: AllSettings = None,
    placement: Annotated[
        PlacementRule | None,
        typer.Option("--placement", show_default="the settings'", help="Of all brokers."),
    ] = None,
    adaptation: Annotated[
        AdaptationRule | None,
        typer.Option("--adaptation", show_default="the settings'", help="Of a tree's brokers."),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Run brokers on this machine until Ctrl-C; any MQTT client may connect to any of them.

    Example: meshwright up -n 8 --design chord
    """
    import signal
    import time

    from meshwright.errors import OperatorError
    from meshwright.live.local_network import LocalNetwork
    from meshwright.live.settings import read_live_settings
    from meshwright.planning.designs import check_adaptable
    from meshwright.planning.founding import founding_overlay

    names = tuple(f"broker{number}" for number in range(1, count + 1))
    overlay = founding_overlay(design, names, k=k, seed=seed)
    if config is not None:
        read_live_settings(config)
    options: tuple[str, ...] = () if placement is None else ("--placement", placement)
    if adaptation is not None:
        options += ("--adaptation", adaptation)
    if adaptation == "ocbr":
        check_adaptable(design)
    network = LocalNetwork(
        overlay, data, port=port, peer_port=peer_port, settings=config, options=options
    )
    with working(f"Starting {count} brokers"):
        network.start()
    for broker in network.brokers:
        typer.echo(f"{broker.name}  mqtt://{broker.clients}")
    typer.echo(f"{count} brokers are joined as {design}; data is in {data}. Ctrl-C stops them.")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        while (lost := network.ended()) is None and network.brokers:
            time.sleep(0.5)
    except KeyboardInterrupt:
        typer.echo("Stopping.")
        return
    finally:
        network.stop()
    if lost is None:
        typer.echo("All brokers have stopped.")
        return
    raise OperatorError(f"{lost.name} has ended; see {network.log_of(lost.name)}")
