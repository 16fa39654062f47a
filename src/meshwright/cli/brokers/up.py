"""meshwright up: a network of brokers on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.console.options import (
    ALL_DESIGNS,
    WITH_PARAMETERS,
    AllSettings,
    OwnK,
    Seed,
    known_design,
)
from meshwright.cli.console.screen import working
from meshwright.model.designs import DEFAULT_DESIGN, AdaptationRule, PlacementRule
from meshwright.model.wording import counted

if TYPE_CHECKING:
    from meshwright.live.processes.local_network import LocalNetwork
    from meshwright.manager.rest.child import ManagerChild
    from meshwright.model.overlay import Overlay
    from meshwright.protocol.inspection import BrokerView

DEFAULT_COUNT = 3
FIRST_PORT, FIRST_PEER_PORT = 1883, 7883
LOOK_EVERY_S = 0.2
ANSWER_S = 10.0


def up(
    *,
    count: Annotated[
        int | None,
        typer.Option(
            "-n", "--brokers", min=1, max=200, show_default="3, or the folder's", help="How many."
        ),
    ] = None,
    design: Annotated[
        str | None,
        typer.Option(
            "--design",
            metavar="DESIGN",
            callback=known_design,
            show_default=f"{DEFAULT_DESIGN}, or the folder's",
            help=f"How they are joined: {ALL_DESIGNS}. {WITH_PARAMETERS}",
        ),
    ] = None,
    k: OwnK = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=1,
            max=65_000,
            show_default=f"{FIRST_PORT}, or the folder's",
            help="Of the first broker; others follow.",
        ),
    ] = None,
    peer_port: Annotated[
        int | None,
        typer.Option(
            "--peer-port",
            min=1,
            max=65_000,
            show_default=f"{FIRST_PEER_PORT}, or the folder's",
            help="For links between brokers.",
        ),
    ] = None,
    data: Annotated[
        Path, typer.Option("--data", metavar="FOLDER", help="Disks and logs of all brokers.")
    ] = Path(".meshwright"),
    config: AllSettings = None,
    placement: Annotated[
        PlacementRule | None,
        typer.Option(
            "--placement", show_default="the settings' or the design's", help="Of all brokers."
        ),
    ] = None,
    adaptation: Annotated[
        AdaptationRule | None,
        typer.Option(
            "--adaptation",
            show_default="the settings' or the design's",
            help="Of a tree's brokers.",
        ),
    ] = None,
    is_managed: Annotated[
        bool,
        typer.Option(
            "--manage",
            help="With a manager; a manager.toml in the folder of --data has its settings.",
        ),
    ] = False,
    seed: Seed = 0,
) -> None:
    """Run brokers on this machine until Ctrl-C; any MQTT client may connect to any of them.

    A folder that has a network already goes on with it. A broker that fails is started again.

    Example: meshwright up -n 8 --design dynatops --manage
    """
    import time

    from meshwright.errors import OperatorError
    from meshwright.live.processes.local_network import FirstPorts, LocalNetwork, first_ports
    from meshwright.live.processes.supervision import Supervision
    from meshwright.live.settings import read_live_settings
    from meshwright.model.designs import check_adaptable, founded_as

    overlay = _overlay(data, count, design, k=k, seed=seed)
    if config is not None:
        read_live_settings(config)
    options: tuple[str, ...] = () if placement is None else ("--placement", placement)
    if adaptation is not None:
        options += ("--adaptation", adaptation)
    if adaptation == "ocbr":
        check_adaptable(overlay.design)
    manager = _manager(data) if is_managed else None
    if manager is not None:
        asked_at = manager.settings().rest.listen
        options += ("--trace", str(data / "telemetry"))
    first = first_ports(data, overlay) if port is None or peer_port is None else FirstPorts()
    network = LocalNetwork(
        overlay,
        data,
        port=port or first.clients or FIRST_PORT,
        peer_port=peer_port or first.peers or FIRST_PEER_PORT,
        settings=config,
        options=options,
    )
    try:
        with working(f"Starting {counted(len(overlay.brokers), 'broker')}"):
            network.begin()
            supervision = Supervision(network, typer.echo, time.monotonic())
            silent = network.silent()
        if len(silent) == len(overlay.brokers):
            log = network.log_of(silent[0])
            raise OperatorError(f"No broker has started; see {log} of the first.")
        _tell(network, design or founded_as(overlay), data)
        if manager is not None:
            manager.start()
            typer.echo(
                f"A manager is started; ask it at http://{asked_at}. What it does is in "
                f"{manager.log}."
            )
        while not supervision.is_over:
            supervision.look(time.monotonic())
            if manager is not None:
                manager.look(time.monotonic())
            time.sleep(LOOK_EVERY_S)
        typer.echo("All brokers have stopped.")
    except KeyboardInterrupt:
        typer.echo("Stopping.")
    finally:
        if manager is not None:
            manager.stop()
        network.stop()


def _manager(data: Path) -> ManagerChild:
    # What serves over HTTP takes as long to load as a broker: only who has a manager waits for it.
    from meshwright.manager.rest.child import ManagerChild

    return ManagerChild(data, typer.echo)


def _overlay(
    data: Path, count: int | None, design: str | None, *, k: int | None, seed: int
) -> Overlay:
    """That of the network in the folder, if it is what is asked for; else a new one."""
    from meshwright.errors import OperatorError
    from meshwright.live.processes.local_network import standing_overlay
    from meshwright.model.designs import begun_with, founded_as
    from meshwright.planning.founding import founding_overlay

    standing = standing_overlay(data)
    size = count or (DEFAULT_COUNT if standing is None else len(standing.brokers))
    names = tuple(f"broker{number}" for number in range(1, size + 1))
    if standing is None:
        return founding_overlay(design or DEFAULT_DESIGN, names, k=k, seed=seed)
    is_same = count is None or names == standing.brokers
    if design is not None or k is not None:
        asked = founding_overlay(design or founded_as(standing), names, k=k, seed=seed)
        is_same &= founded_as(asked) == founded_as(standing) and (
            k is None or asked.params == standing.params
        )
        begun = begun_with(design or founded_as(standing)).items()
        is_same &= begun <= standing.params.items()
    if is_same:
        return standing
    raise OperatorError(
        f"{data} holds a network of {counted(len(standing.brokers), 'broker')}, founded as "
        f"{founded_as(standing)}; leave out -n, --design and --k to go on with it, or name another "
        "folder with --data"
    )


def _tell(network: LocalNetwork, design: str, data: Path) -> None:
    """Where brokers are, how they are joined by now, and who takes no clients.

    design: as which they were founded; by now they may be joined as another.
    """
    import time

    from meshwright.live.operating.control_client import BrokerControl
    from meshwright.model.designs import founded_as, joined_as

    deadline_s = time.monotonic() + ANSWER_S
    views: dict[str, BrokerView] = {}
    for broker in network.brokers:
        control = BrokerControl(data / broker.name)
        while (view := control.view()) is None and broker.process.poll() is None:
            if time.monotonic() > deadline_s:
                break
            time.sleep(LOOK_EVERY_S)
        if view is not None:
            views[broker.name] = view
            http = "" if broker.http is None else f"  http://{broker.http}/metrics"
            drained = "  drained: takes no clients" if view.is_emptying else ""
            typer.echo(f"{broker.name}  mqtt://{broker.clients}{http}{drained}")
    latest = max(views.values(), key=lambda view: view.epoch, default=None)
    if latest is not None and latest.overlay.design != joined_as(design):
        design = founded_as(latest.overlay)
    told = "1 broker runs" if len(views) == 1 else f"{len(views)} brokers are joined as {design}"
    typer.echo(f"{told}; data is in {data}. Ctrl-C stops them.")
    for name, view in views.items():
        if view.is_emptying:
            typer.echo(
                f"{name} was drained; to use it: meshwright drain {name} --undo --data {data}"
            )
