"""meshwright trace path: the way that a message would take through brokers that run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.console.options import Data, Json
from meshwright.cli.console.screen import answer, plain_table
from meshwright.model.designs import founded_as
from meshwright.model.wording import counted


def path(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="A topic name.")],
    *,
    source: Annotated[
        str, typer.Option("--from", metavar="BROKER", help="Where the message is published.")
    ],
    data: Data = Path(".meshwright"),
    as_json: Json = False,
) -> None:
    """Show which brokers a message would visit, on the overlay in force, and who wants it.

    Example: meshwright trace path news/today --from broker1
    """
    from meshwright.live.operating.control_client import running_brokers
    from meshwright.manager.views.paths import path_of

    views = {name: view for name, (_, view) in running_brokers(data).items()}
    found = path_of(views, topic, source)
    first, hops = views[source], found.hops
    rows = [
        [
            str(hop.number),
            hop.source,
            hop.target,
            "wants it" if hop.target in found.wanted_at else "relays",
        ]
        for hop in hops
    ]
    answer(
        as_json,
        {
            "command": "trace path",
            "topic": topic,
            "from": source,
            "design": founded_as(first.overlay),
            "epoch": first.epoch,
            "hops": [{"number": hop.number, "from": hop.source, "to": hop.target} for hop in hops],
            "wanted_at": list(found.wanted_at),
            "relays": list(found.relays),
        },
        plain_table({"hop": True, "from": False, "to": False, "there": False}, rows),
        f"{topic} from {source}: {counted(len(hops), 'message')}, "
        f"wanted at {counted(len(found.wanted_at), 'broker')}, "
        f"{counted(len(found.relays), 'relay')}, joined as {founded_as(first.overlay)}",
    )
