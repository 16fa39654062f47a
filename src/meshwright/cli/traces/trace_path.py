"""meshwright trace path: the way that a message would take through brokers that run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.console.options import Data, Json
from meshwright.cli.console.screen import answer, plain_table
from meshwright.model.designs import founded_as
from meshwright.model.wording import counted

if TYPE_CHECKING:
    from meshwright.protocol.inspection import BrokerView


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
    from meshwright.errors import OperatorError
    from meshwright.filters.topics import check_topic_name
    from meshwright.live.operating.control_client import running_brokers
    from meshwright.protocol.forwarding.rehearsal import Rehearsal

    check_topic_name(topic)
    views = {name: view for name, (_, view) in running_brokers(data).items()}
    if source not in views:
        raise OperatorError(f"No broker {source!r} runs here; those that do: {', '.join(views)}.")
    first = views[source]
    receivers = [view.broker for view in views.values() if _wants(view, topic)]
    alive = [name for name in first.alive if name in views]
    hops = Rehearsal(first.overlay, alive, topic=topic, receivers=receivers).hops_from(source)
    reached = {source, *(hop.target for hop in hops)}
    relays = sorted(reached - {source, *receivers})
    rows = [
        [
            str(hop.number),
            hop.source,
            hop.target,
            "wants it" if hop.target in receivers else "relays",
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
            "wanted_at": receivers,
            "relays": relays,
        },
        plain_table({"hop": True, "from": False, "to": False, "there": False}, rows),
        f"{topic} from {source}: {counted(len(hops), 'message')}, "
        f"wanted at {counted(len(receivers), 'broker')}, "
        f"{counted(len(relays), 'relay')}, joined as {founded_as(first.overlay)}",
    )


def _wants(view: BrokerView, topic: str) -> bool:
    from meshwright.filters.filter import Filter, matches, parse_filter

    filters = (parse_filter(interest.filter) for interest in view.interests)
    return any(matches(Filter(one.topic_filter), topic) for one in filters)
