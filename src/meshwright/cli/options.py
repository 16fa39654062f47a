"""The options that commands share, each described once."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

LinkDesign = Literal["gm", "gm2", "harary", "cycle", "dcbm", "minmax", "best"]
Geometry = Literal["chord", "tapestry", "pastry", "quadtree"]
AnyDesign = Literal[
    "chord", "dynatops", "tapestry", "pastry", "quadtree", "hypercube",
    "gm", "gm2", "harary", "cycle", "dcbm", "minmax", "best", "tree", "ocbr",
]  # fmt: skip
# What brokers can be joined as; dynatops and ocbr are what planning makes of chord and tree.
LIVE_DESIGNS = ", ".join(name for name in get_args(AnyDesign) if name not in ("dynatops", "ocbr"))
PlacementRule = Literal["none", "similarity"]
AdaptationRule = Literal["none", "ocbr"]
AllSettings = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Settings of all; see docs/broker.toml."),
]
Method = Literal["hash", "lsap", "ssbr-greedy", "dynatops-greedy", "best"]


def finite(value: float) -> float:
    """Refuse nan and inf, which pass every comparison with a limit."""
    if not math.isfinite(value):
        raise typer.BadParameter("give a finite number")
    return value


def cell_side(degrees: float) -> float:
    """Refuse what is no side of a square on the globe."""
    if not 0.0 < degrees <= 360.0:
        raise typer.BadParameter("give more than 0 and at most 360 degrees")
    return degrees


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Data = Annotated[
    Path,
    typer.Option("--data", metavar="FOLDER", help="Where brokers that run keep what they have."),
]
Seed = Annotated[
    int, typer.Option("--seed", min=0, help="Start of all chance; the same seed, the same result.")
]
Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        show_default="the environment's, else this machine",
        help="Where Spark works: local[2], spark://host:7077, yarn, k8s://...",
    ),
]
Remote = Annotated[
    str | None,
    typer.Option(
        "--remote", metavar="URL", help="A Spark Connect server to work on: sc://host:15002."
    ),
]
Cell = Annotated[
    float,
    typer.Option(
        "--cell", metavar="DEGREES", callback=cell_side, help="Side of a cell of the map."
    ),
]
BrokerCount = Annotated[
    int,
    typer.Option(
        "--brokers", min=2, help="Brokers where the trace names none: in its most visited cells."
    ),
]
Interests = Annotated[
    Path, typer.Option("--interests", metavar="FILE", help="CSV of broker,topic (also .csv.gz).")
]
Rates = Annotated[
    Path, typer.Option("--rates", metavar="FILE", help="CSV of topic,publications (also .csv.gz).")
]
OverlayFile = Annotated[
    Path,
    typer.Option(
        "--overlay", metavar="FILE", help="An overlay.json, or the target of a plan.json."
    ),
]
PlanOut = Annotated[Path, typer.Option("--out", metavar="FILE", help="The plan.json to write.")]
K = Annotated[
    int, typer.Option("--k", min=1, help="Brokers that must die before a topic may fall apart.")
]
OwnK = Annotated[
    int | None,
    typer.Option(
        "--k",
        min=1,
        show_default="the design's own",
        help="Brokers that must die before a topic may fall apart.",
    ),
]
DelayWeight = Annotated[
    float,
    typer.Option(
        "--delay-weight",
        min=0.0,
        callback=finite,
        help="Messages that one hop of delay is worth.",
    ),
]
Order = Annotated[
    Literal["input", "random", "similarity", "fewest_edges"] | None,
    typer.Option("--order", help="harary: the order of brokers that all topics share."),
]
Tie = Annotated[
    Literal["pair", "degree"] | None,
    typer.Option("--tie", help="gm, gm2: the lowest of equal pairs, or the one least linked."),
]
DesignName = Annotated[
    AnyDesign,
    typer.Option(
        "--design",
        metavar="DESIGN",
        help=f"How brokers are to be joined: {', '.join(get_args(AnyDesign))}.",
        show_default=False,
    ),
]
Objective = Annotated[
    Literal["net", "cost"],
    typer.Option(
        "--objective", help="net: change what pays for itself; cost: whatever lowers the cost."
    ),
]
PlanMethod = Annotated[
    Method, typer.Option("--method", help="chord, tapestry, ...: how brokers get positions.")
]
Placement = Annotated[
    Literal["static", "location", "similarity", "similarity-bounded"] | None,
    typer.Option(
        "--placement",
        "--placements",
        show_default="clients stay",
        help="Move clients too, by this rule.",
    ),
]
ClusterSize = Annotated[
    int, typer.Option("--cluster-size", min=1, help="Brokers among which a client may choose.")
]
Force = Annotated[
    bool, typer.Option("--force", help="Plan though subscriptions with wildcards are left out.")
]
TFree = Annotated[
    str,
    typer.Option(
        "--t-free", metavar="TIME", help="How long a plan is to pay for itself: 10h, 2d, ..."
    ),
]
Slot = Annotated[
    str, typer.Option("--slot", metavar="TIME", help="Publications are counted by slots: 1h, ...")
]
SourceOverlay = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="FILE",
        show_default="where the design begins: by hash, or without links",
        help="Today's overlay.json or plan.json.",
    ),
]
