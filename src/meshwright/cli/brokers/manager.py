"""meshwright manager: watches a network, plans for it, and changes it when told to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def manager(
    *,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="Settings; docs/manager.toml explains them."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FOLDER",
            show_default="the settings', else .meshwright",
            help="Where brokers that run keep what they have; its own folder is in it.",
        ),
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen",
            metavar="HOST:PORT",
            show_default="the settings', else 127.0.0.1:8090",
            help="Where operators ask it.",
        ),
    ] = None,
    is_shown: Annotated[
        bool,
        typer.Option("--dashboard/--no-dashboard", help="With pages for people to look at."),
    ] = True,
    test_config: Annotated[
        bool, typer.Option("--test-config", help="Check the settings, start nothing.")
    ] = False,
) -> None:
    """Manage the brokers that run until Ctrl-C: collect their telemetry, make plans, apply them.

    It changes nothing by itself unless policy.mode is automatic. Brokers run on without it.

    Example: meshwright manager --data .meshwright
    """
    import msgspec

    from meshwright.live.telemetry.log import Log
    from meshwright.manager.circle.managing import Manager, network_of
    from meshwright.manager.rest.service import serve, shown_token
    from meshwright.manager.settings import (
        MANAGER_FOLDER,
        ManagerSettings,
        check_settings,
        read_manager_settings,
    )

    settings = ManagerSettings() if config is None else read_manager_settings(config)
    replace = msgspec.structs.replace
    if data is not None:
        brokers = replace(settings.brokers, data=data, addresses=())
        settings = replace(settings, brokers=brokers, folder=data / MANAGER_FOLDER)
    if listen is not None:
        settings = replace(settings, rest=replace(settings.rest, listen=listen))
    check_settings(settings)
    if test_config:
        typer.echo(f"{config or 'The settings'}: nothing is wrong.")
        return
    network = network_of(settings)
    network.controls()  # refuses a network without brokers
    shown_token(settings)
    managing = Manager(settings, network=network, say=typer.echo, log=Log(None, None))
    managing.take()
    try:
        front = None
        if is_shown:
            from meshwright.dashboard.application import with_dashboard

            front = with_dashboard
        serve(managing, settings, typer.echo, front)
    finally:
        managing.close()
