"""The options that commands share, each described once."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

import typer

from meshwright.errors import ProblemError
from meshwright.model.designs import DESIGNS, bare_name, candidates, full_name

ALL_DESIGNS = ", ".join(DESIGNS)
WITH_PARAMETERS = "With parameters: tapestry:base=4, hypercube:low_bit_count=3:events=broadcast."
KEY_GEOMETRIES = tuple(
    dict.fromkeys(row.geometry for row in DESIGNS.values() if row.forwarding == "rendezvous")
)
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


def known_design(name: str | None) -> str | None:
    """Refuse what no design has, before anything is read or started."""
    return None if name is None else full_name(name)


def known_geometry(name: str) -> str:
    """Refuse a name that no key geometry has; it may go on with parameters, as designs do."""
    if bare_name(name) not in KEY_GEOMETRIES:
        raise ProblemError(
            f"There is no key geometry {name!r}; choose one of {', '.join(KEY_GEOMETRIES)}."
        )
    return full_name(name)


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
WHERE_SPARK_WORKS = "Where Spark works: local[2], spark://host:7077, yarn, k8s://..."
Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        show_default="the environment's, else this machine",
        help=WHERE_SPARK_WORKS,
    ),
]
OwnMaster = Annotated[
    str | None,
    typer.Option("--master", metavar="URL", show_default="this machine", help=WHERE_SPARK_WORKS),
]
Remote = Annotated[
    str | None,
    typer.Option(
        "--remote", metavar="URL", help="A Spark Connect server to work on: sc://host:15002."
    ),
]
Conf = Annotated[
    list[str] | None,
    typer.Option(
        "--conf",
        metavar="KEY=VALUE",
        show_default="none",
        help="A setting of Spark, such as spark.executor.memory=4g; give it once for each.",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        show_default="half of what there is",
        help="Memory of Spark's driver, on one machine of all its work: 800m, 4g, ...",
    ),
]
Ui = Annotated[
    bool, typer.Option("--ui", help="Serve Spark's web UI while it works, and say where.")
]
TRACE_HELP = "A trace: a folder of Parquet tables, also at hdfs://, s3a://, abfs://, ..."
TracePlace = Annotated[str, typer.Argument(metavar="TRACE", help=TRACE_HELP)]
TraceOut = Annotated[
    str,
    typer.Option(
        "--out",
        metavar="TRACE",
        help="Folder for the trace, also at hdfs://, s3a://, abfs://, ...",
    ),
]
Cell = Annotated[
    float,
    typer.Option(
        "--cell", metavar="DEGREES", callback=cell_side, help="Side of a cell of the map."
    ),
]
BrokerCount = Annotated[
    int | None,
    typer.Option(
        "--brokers",
        min=2,
        show_default="50",
        help="Brokers where the trace names none: in its most visited cells.",
    ),
]
Interests = Annotated[
    Path, typer.Option("--interests", metavar="FILE", help="CSV of broker,topic (also .csv.gz).")
]
Rates = Annotated[
    Path, typer.Option("--rates", metavar="FILE", help="CSV of topic,publications[,broker].")
]
Delays = Annotated[
    Path | None,
    typer.Option(
        "--delays",
        metavar="FILE",
        show_default="a hop is a hop",
        help="CSV of source,target,delay_ms between brokers (also .csv.gz).",
    ),
]
OverlayFile = Annotated[
    Path,
    typer.Option(
        "--overlay", metavar="FILE", help="An overlay.json, or the target of a plan.json."
    ),
]
PlanOut = Annotated[Path, typer.Option("--out", metavar="FILE", help="The plan.json to write.")]
OutPlan = Annotated[
    Path | None,
    typer.Option(
        "--out-plan",
        metavar="FILE",
        help="Write the plan.json that leads to what is recommended.",
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Write a plan that takes more than it saves, too.")
]
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
RelayWeight = Annotated[
    float,
    typer.Option(
        "--relay-weight",
        min=0.0,
        callback=finite,
        help="What a message to a broker that only relays it counts in the price.",
    ),
]
ManagementWeight = Annotated[
    float,
    typer.Option(
        "--management-weight",
        min=0.0,
        callback=finite,
        help="What a message for what brokers subscribe to counts in the price.",
    ),
]
ReconfigurationWeight = Annotated[
    float,
    typer.Option(
        "--reconfiguration-weight",
        min=0.0,
        callback=finite,
        help="What a message for a change of overlay counts in the price.",
    ),
]
LinkPrice = Annotated[
    float,
    typer.Option(
        "--link-weight",
        min=0.0,
        callback=finite,
        help="Messages of every publication that each link of the mean broker is worth.",
    ),
]
LinkWeight = Annotated[
    int, typer.Option("--alpha", min=0, help="What a link counts in the cost of a message.")
]
BrokerWeight = Annotated[
    int, typer.Option("--beta", min=0, help="What a broker counts in the cost of a message.")
]
LinkCosts = Annotated[
    Path | None,
    typer.Option(
        "--link-costs",
        metavar="FILE",
        show_default="1 for each",
        help="CSV of one,other,cost: what a message pays on a link.",
    ),
]
BrokerCosts = Annotated[
    Path | None,
    typer.Option(
        "--broker-costs",
        metavar="FILE",
        show_default="1 for each",
        help="CSV of broker,cost: what a message pays at a broker.",
    ),
]
Iterations = Annotated[
    int, typer.Option("--iterations", min=1, help="Steps of a tabu search (n of the paper).")
]
MovesTried = Annotated[
    int, typer.Option("--moves", min=1, help="Links tried in a step of a search (N of the paper).")
]
MoveClients = Annotated[
    bool, typer.Option("--move-clients", help="Let brokers hand their clients to neighbours.")
]
DesignName = Annotated[
    str,
    typer.Option(
        "--design",
        metavar="DESIGN",
        callback=known_design,
        help=f"How brokers are joined: {ALL_DESIGNS}. {WITH_PARAMETERS}",
        show_default=False,
    ),
]
DesignNames = Annotated[
    str | None,
    typer.Option(
        "--designs", metavar="A,B,...", show_default=", ".join(candidates()),
        help=f"Of {ALL_DESIGNS}. {WITH_PARAMETERS}",
    ),
]  # fmt: skip
Geometry = Annotated[
    str,
    typer.Option(
        "--geometry",
        metavar="GEOMETRY",
        callback=known_geometry,
        help=f"Where positions are: {', '.join(KEY_GEOMETRIES)}. {WITH_PARAMETERS}",
    ),
]
Objective = Annotated[
    Literal["net", "cost"],
    typer.Option(
        "--objective", help="net: change what pays for itself; cost: whatever lowers the cost."
    ),
]
PlanMethod = Annotated[
    Literal["hash", "lsap", "ssbr-greedy", "dynatops-greedy", "best", "churn"] | None,
    typer.Option(
        "--method",
        show_default="the design's, else best",
        help="chord, tapestry, ...: how brokers get positions. gm, gm2, ...: churn, to change "
        "links only where brokers come (--add-broker, also one that has come) and go.",
    ),
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
