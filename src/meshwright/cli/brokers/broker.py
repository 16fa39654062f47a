"""meshwright broker: one broker of a network, until it is stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.console.options import ALL_DESIGNS, WITH_PARAMETERS, known_design
from meshwright.model.designs import AdaptationRule, PlacementRule


def broker(
    *,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="Settings; docs/broker.toml explains them."),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Unlike all others' names.")] = None,
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen",
            metavar="HOST:PORT",
            help="Where clients come in; anybody, if not set.",
        ),
    ] = None,
    http: Annotated[
        str | None,
        typer.Option("--http", metavar="HOST:PORT", help="Where /metrics and the like are."),
    ] = None,
    control: Annotated[
        str | None,
        typer.Option(
            "--control", metavar="HOST:PORT", help="Where a manager with the token gives orders."
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option("--trace", metavar="FOLDER", help="Record telemetry, for a manager to take."),
    ] = None,
    peer_listen: Annotated[
        str | None,
        typer.Option("--peer-listen", metavar="HOST:PORT", help="Where other brokers come in."),
    ] = None,
    join: Annotated[
        list[str] | None,
        typer.Option(
            "--join",
            metavar="HOST:PORT",
            help="Where a broker of a running network is; any will do, and a new name is let in.",
        ),
    ] = None,
    secret: Annotated[
        Path | None,
        typer.Option("--secret", metavar="FILE", help="What all brokers of the network share."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="FOLDER", help="What must not be lost.")
    ] = None,
    overlay: Annotated[
        Path | None,
        typer.Option("--overlay", metavar="FILE", help="The overlay.json that it begins as."),
    ] = None,
    brokers: Annotated[
        Path | None,
        typer.Option("--brokers", metavar="FILE", help="JSON of name: [peer address, clients']."),
    ] = None,
    design: Annotated[
        str | None,
        typer.Option(
            "--design",
            metavar="DESIGN",
            callback=known_design,
            show_default="the settings'",
            help=f"How a network that it founds is joined: {ALL_DESIGNS}. {WITH_PARAMETERS}",
        ),
    ] = None,
    placement: Annotated[
        PlacementRule | None,
        typer.Option(
            "--placement",
            show_default="the settings' or the design's",
            help="similarity: clients may be sent to brokers whose clients want the same.",
        ),
    ] = None,
    adaptation: Annotated[
        AdaptationRule | None,
        typer.Option(
            "--adaptation",
            show_default="the settings' or the design's",
            help="ocbr: while brokers are joined as a tree, they fit it to their traffic.",
        ),
    ] = None,
    test_config: Annotated[
        bool, typer.Option("--test-config", help="Check the settings, start nothing.")
    ] = False,
) -> None:
    """Run one broker until Ctrl-C.

    Example: meshwright broker --listen 127.0.0.1:1883 --data ./north

    Example: meshwright broker --name north --join 127.0.0.1:7883 --secret .meshwright/secret
    --data ./north
    """
    from meshwright.cli.brokers.live_options import combined_settings, known_brokers
    from meshwright.errors import OperatorError
    from meshwright.files.overlays import read_overlay
    from meshwright.live.peers.joining import Network, find_network
    from meshwright.live.processes.live_broker import peer_settings
    from meshwright.live.processes.process import run_broker
    from meshwright.live.processes.trial import refuse_unstartable

    settings = combined_settings(
        config,
        name=name,
        listen=listen,
        peer_listen=peer_listen,
        folder=data,
        join=join,
        secret=secret,
        http=http,
        control=control,
        trace=trace,
        design=design,
        placement=placement,
        adaptation=adaptation,
    )
    others = {} if brokers is None else known_brokers(brokers)
    begins_as = None if overlay is None else read_overlay(overlay)
    is_running = refuse_unstartable(settings)
    if test_config:
        runs = f" {settings.name} runs." if is_running else ""
        typer.echo(f"{config or 'The settings'}: nothing is wrong.{runs}")
        return
    if is_running:
        raise OperatorError(
            f"{settings.folder}: {settings.name} runs already with this folder; stop it first."
        )
    if begins_as is None and settings.peers.join:
        members = peer_settings(settings.peers)
        found = find_network(settings.name, settings.folder, settings.peers.join, members)
        network = Network(found.overlay, {**found.brokers, **others}, found.founders)
        if settings.name not in found.overlay.brokers:
            typer.echo(f"{settings.name}: joins the network of {', '.join(found.overlay.brokers)}")
    else:
        if begins_as is None:
            # Planning is half of what a process has in memory, and most brokers never plan.
            from meshwright.planning.founding import founding_overlay

            begins_as = founding_overlay(settings.design, (settings.name,))
        network = Network(begins_as, others)
    redraw = None
    if settings.adaptation_rule == "ocbr":
        from meshwright.files.costs import read_costs
        from meshwright.planning.adaptation.redraw import redraw_by

        chosen = settings.adaptation
        costs = read_costs(chosen.link_costs, chosen.broker_costs)
        redraw = redraw_by(options=chosen, stated=costs)
    run_broker(settings, network, typer.echo, redraw=redraw)
