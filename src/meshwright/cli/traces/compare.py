"""meshwright compare: a trace replayed against every placement and design."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.console.options import (
    BrokerCount,
    Cell,
    Conf,
    DelayWeight,
    DesignNames,
    Force,
    Json,
    K,
    LinkPrice,
    ManagementWeight,
    Master,
    Memory,
    OutPlan,
    ReconfigurationWeight,
    RelayWeight,
    Remote,
    Seed,
    TracePlace,
    Ui,
)
from meshwright.cli.console.screen import CHECK_SAYS_NO, answer
from meshwright.cli.console.spark import chosen_spark, is_short_work, spark_work
from meshwright.cli.console.times import whole_seconds
from meshwright.pipeline.places.place import place_of

if TYPE_CHECKING:
    from meshwright.pipeline.replays.parameters import PlacementName


def compare(
    *,
    trace_place: TracePlace,
    designs: DesignNames = None,
    placements: Annotated[
        str | None,
        typer.Option(
            "--placements",
            metavar="A,B",
            show_default="all that the trace allows",
            help="Of recorded, static, location, similarity, similarity-bounded; where clients are "
            "is compared, too.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder for report.html and comparison.csv, also at hdfs://, s3a://, ...",
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            show_default="nothing stands yet",
            help="Today's overlay.json or plan.json, replayed with the rest.",
        ),
    ] = None,
    out_plan: OutPlan = None,
    force: Force = False,
    slot: Annotated[
        str | None,
        typer.Option(
            "--slot",
            metavar="TIME",
            show_default="a hundredth of the trace, in hours if it has some",
            help="How often brokers tell each other what they want (T_update): 6h, 1d, ...",
        ),
    ] = None,
    epoch: Annotated[
        int | None,
        typer.Option(
            "--epoch",
            min=1,
            metavar="SLOTS",
            show_default="so that moves of brokers pay, else 10",
            help="How often to plan (T_free).",
        ),
    ] = None,
    warmup: Annotated[
        int, typer.Option("--warmup", min=0, metavar="SLOTS", help="First slots not to compare.")
    ] = 0,
    cell: Cell = 1.0,
    cluster: Annotated[
        int,
        typer.Option(
            "--cluster", "--cluster-size", min=1, help="Brokers among which a client may choose."
        ),
    ] = 5,
    brokers: BrokerCount = None,
    k: K = 1,
    delay_weight: DelayWeight = 1.0,
    relay_weight: RelayWeight = 1.0,
    management_weight: ManagementWeight = 1.0,
    reconfiguration_weight: ReconfigurationWeight = 1.0,
    link_weight: LinkPrice = 0.1,
    seed: Seed = 0,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    memory: Memory = None,
    ui: Ui = False,
    as_json: Json = False,
) -> None:
    """Replay a trace against every placement and design, and recommend one.

    Where the way from what stands to what is recommended takes more than it saves, that is said,
    and no plan is written without --force: exit code 1.

    Example: meshwright compare city --designs chord,dynatops,gm2 --out findings
    """
    from meshwright.cli.traces import replay_answer
    from meshwright.files.plans import read_overlay_or_target
    from meshwright.model.designs import chosen_designs
    from meshwright.pipeline.replays.keeping import passing_keeper
    from meshwright.pipeline.replays.parameters import (
        BrokerParameters,
        InterestParameters,
        OverlayParameters,
        PlacementParameters,
        PriceParameters,
        ReplayParameters,
        TimeParameters,
    )
    from meshwright.pipeline.replays.replay import replay_trace
    from meshwright.pipeline.replays.wishes import (
        broker_count,
        refuse_impossible,
        wanted_placements,
    )

    spark = chosen_spark(master, remote, conf, memory, ui=ui)
    chosen: tuple[PlacementName, ...] | None = wanted_placements(placements)
    trace, folder = place_of(trace_place), None if out is None else place_of(out)
    parameters = ReplayParameters(
        seed=seed,
        time=TimeParameters(
            slot_s=None if slot is None else whole_seconds(slot),
            epoch_slots=epoch or 0,
            warmup_slots=warmup,
        ),
        interests=InterestParameters(cell_degrees=cell),
        brokers=BrokerParameters(count=broker_count(trace, brokers)),
        placement=PlacementParameters(methods=chosen, cluster_size=cluster),
        overlay=OverlayParameters(
            designs=None if designs is None else chosen_designs(designs),
            k=k,
            delay_weight=delay_weight,
        ),
        price=PriceParameters(
            relay_weight=relay_weight,
            management_weight=management_weight,
            reconfiguration_weight=reconfiguration_weight,
            link_weight=link_weight,
        ),
    )
    if isinstance(trace, Path):
        refuse_impossible(trace, parameters)
    today = None if source is None else read_overlay_or_target(source)
    replay_answer.refuse_places(folder, out_plan)
    is_short = is_short_work(trace)
    with (
        spark_work("Replaying the trace", spark, is_short=is_short, only_in=folder) as work,
        passing_keeper(work.session, trace, on_begin=work.say) as keeper,
    ):
        replay = replay_trace(work.session, trace, parameters, keeper, today)
        told = replay_answer.write_findings(replay, trace, (folder, out_plan), force=force)
    seconds = f"Replayed in {work.seconds:.1f} s"
    answer(as_json, {"command": "compare", **told.document}, *told.shown, seconds)
    if told.is_refused:
        raise typer.Exit(CHECK_SAYS_NO)
