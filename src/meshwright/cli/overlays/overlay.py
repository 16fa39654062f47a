"""meshwright overlay: build, check, evaluate, compare and draw how brokers are joined."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.console.notes import notes_on
from meshwright.cli.console.options import (
    Delays,
    DelayWeight,
    DesignName,
    DesignNames,
    Force,
    Interests,
    Json,
    K,
    LinkPrice,
    ManagementWeight,
    OutPlan,
    OverlayFile,
    OwnK,
    Rates,
    ReconfigurationWeight,
    RelayWeight,
    Seed,
    finite,
)
from meshwright.cli.console.screen import answer, tracked, working
from meshwright.cli.overlays import overlay_plans, overlay_tour
from meshwright.cli.overlays.metrics_table import (
    EXPLANATION,
    PRICE_EXPLANATION,
    comparison_document,
    comparison_table,
    metrics_table,
    price_table,
)
from meshwright.model.wording import counted

CHECK_SAYS_NO = 1

app = typer.Typer(
    no_args_is_help=True, help="Build, check, arrange, adapt, evaluate, compare and draw overlays."
)


@app.command()
def build(
    *,
    design: DesignName,
    interests: Interests,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The overlay.json to write.")],
    rates: Annotated[
        Path | None,
        typer.Option(
            "--rates",
            metavar="FILE",
            show_default="every topic as often",
            help="CSV of topic,publications, for designs that are fitted to it.",
        ),
    ] = None,
    delays: Delays = None,
    k: OwnK = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Join brokers by a design, for what they want.

    With the same --rates and --seed it is what overlay compare and plan create mean by the design.

    Example: meshwright overlay build --design best --k 3 --interests interests.csv
    --out overlay.json

    Example: meshwright overlay build --design tapestry:base=4 --interests interests.csv
    --out overlay.json
    """
    import numpy as np

    from meshwright.files.overlays import write_overlay
    from meshwright.files.reading import blaming
    from meshwright.files.snapshots import read_snapshot
    from meshwright.files.writing import refuse_unwritable
    from meshwright.planning.designs import build_overlay
    from meshwright.planning.evaluation.evaluate import evaluate as evaluation_of
    from meshwright.planning.topic_connected.validation import refuse_large_k

    refuse_unwritable(out)
    snapshot = read_snapshot(interests, rates, delays_source=delays)
    with blaming(interests):
        refuse_large_k(k or 1, len(snapshot.brokers))
    with working(f"Building {design} for {counted(len(snapshot.brokers), 'broker')}"):
        overlay = build_overlay(design, snapshot, k=k, rng=np.random.default_rng(seed))
        found = evaluation_of(overlay, snapshot)
    write_overlay(overlay, out)
    answer(
        as_json,
        {
            "command": "overlay build",
            "seed": seed,
            "overlay": str(out),
            "design": design,
            "params": overlay.params,
            "brokers": len(overlay.brokers),
            "links": len(overlay.links),
            "degree_mean": found.degree_mean,
            "degree_max": found.degree_max,
            "diameter_mean": found.diameter_mean,
            "diameter_max": found.diameter_max,
            "k_held": found.k_held,
        },
        f"{out}: {counted(len(overlay.brokers), 'broker')}, "
        f"{counted(len(overlay.links), 'link')}; average degree "
        f"{found.degree_mean:.2f}, maximum {found.degree_max}; topic diameter "
        f"{found.diameter_mean:.2f} on average, {found.diameter_max} at most; "
        f"k held: {found.k_held}",
    )


@app.command()
def check(
    *, overlay: OverlayFile, interests: Interests, k: K, seed: Seed = 0, as_json: Json = False
) -> None:
    """Exit with 0 if every topic is k-connected among its own brokers, else with 1 and say which.

    Example: meshwright overlay check --overlay overlay.json --interests interests.csv --k 2
    """
    from meshwright.files.plans import read_overlay_or_target
    from meshwright.files.reading import blaming
    from meshwright.files.snapshots import read_snapshot
    from meshwright.lab.checking import failing_topics

    joined = read_overlay_or_target(overlay)
    snapshot = read_snapshot(interests, brokers=joined.brokers)
    with blaming(overlay), working(f"Checking {len(snapshot.topics)} topics"):
        failing = failing_topics(joined, snapshot, k)
    answer(
        as_json,
        {
            "command": "overlay check",
            "seed": seed,
            "overlay": str(overlay),
            "k": k,
            "holds": not failing,
            "topics": len(snapshot.topics),
            "failing": failing,
        },
        f"{overlay}: {len(snapshot.topics) - len(failing)} of {len(snapshot.topics)} topics "
        f"hold k = {k}",
        *(
            f"{found.topic} fails: {found.members} brokers, k held among themselves: {found.k_held}"
            for found in failing
        ),
    )
    if failing:
        raise typer.Exit(CHECK_SAYS_NO)


app.command()(overlay_plans.arrange)
app.command()(overlay_plans.adapt)
app.command()(overlay_tour.tour)


@app.command()
def evaluate(
    *,
    overlay: OverlayFile,
    interests: Interests,
    rates: Rates,
    delays: Delays = None,
    delay_weight: DelayWeight = 1.0,
    relay_weight: RelayWeight = 1.0,
    management_weight: ManagementWeight = 1.0,
    link_weight: LinkPrice = 0.1,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Count what an overlay costs: messages, delay, degree, diameter, k held, load spread.

    The price of a publication is that of a comparison, part by part.

    Example: meshwright overlay evaluate --overlay overlay.json --interests interests.csv
    --rates rates.csv
    """
    from meshwright.files.plans import read_overlay_or_target
    from meshwright.files.reading import blaming
    from meshwright.files.snapshots import read_snapshot
    from meshwright.model.price import PriceWeights
    from meshwright.planning.evaluation.evaluate import evaluate as evaluation_of
    from meshwright.planning.pricing import price_of

    weights = PriceWeights(
        relay=relay_weight, delay=delay_weight, management=management_weight, link=link_weight
    )
    joined = read_overlay_or_target(overlay)
    snapshot = read_snapshot(interests, rates, joined.brokers, delays_source=delays)
    with blaming(overlay), working(f"Evaluating {joined.design}"):
        found = evaluation_of(joined, snapshot, delay_weight=delay_weight)
    price = price_of(found, snapshot, weights)
    notes = notes_on(snapshot)
    answer(
        as_json,
        {
            "command": "overlay evaluate",
            "seed": seed,
            "overlay": str(overlay),
            "evaluation": found,
            "weights": weights,
            "price": price.total,
            "price_parts": price,
            **notes.document(),
        },
        metrics_table(joined.design, found),
        EXPLANATION,
        "",
        price_table(joined.design, price),
        PRICE_EXPLANATION,
        *notes.sentences(),
    )


@app.command()
def compare(
    *,
    interests: Interests,
    rates: Rates,
    delays: Delays = None,
    k: K = 1,
    designs: DesignNames = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            show_default="nothing stands yet",
            help="Today's overlay.json or plan.json, compared with the rest.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write what is recommended as overlay.json."),
    ] = None,
    out_plan: OutPlan = None,
    delay_weight: DelayWeight = 1.0,
    relay_weight: RelayWeight = 1.0,
    management_weight: ManagementWeight = 1.0,
    reconfiguration_weight: ReconfigurationWeight = 1.0,
    link_weight: LinkPrice = 0.1,
    degree_max: Annotated[
        int | None,
        typer.Option(
            "--degree-max", min=1, show_default="no limit", help="Links that a broker may have."
        ),
    ] = None,
    load_spread_max: Annotated[
        float,
        typer.Option(
            "--load-spread-max",
            min=0.0,
            callback=finite,
            help="How unequal the brokers' work may be: deviation over mean.",
        ),
    ] = 3.0,
    seeds: Annotated[
        int,
        typer.Option(
            "--seeds", min=1, help="Seeds that designs are built with; their spread is noise."
        ),
    ] = 3,
    force: Force = False,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Plan the network with every design; one table, and one sentence on each about how it fits.

    The table is sorted by the price of a publication, whose parts are its columns. A full mesh, a
    star and, with --from, what stands today are compared, too. A plan that takes more than it saves
    is not written without --force, nor anything where no design fits: exit code 1.

    Example: meshwright overlay compare --interests interests.csv --rates rates.csv --k 2
    """
    from meshwright.files.plans import read_overlay_or_target
    from meshwright.files.reading import blaming
    from meshwright.files.snapshots import read_snapshot
    from meshwright.files.writing import refuse_unwritable
    from meshwright.lab.comparison import planned
    from meshwright.model.designs import compared_designs
    from meshwright.model.price import PriceWeights
    from meshwright.planning.recommendation import Wish, in_order, judge

    names = compared_designs(designs)
    wish = Wish(
        k=k,
        weights=PriceWeights(
            relay=relay_weight,
            delay=delay_weight,
            management=management_weight,
            reconfiguration=reconfiguration_weight,
            link=link_weight,
        ),
        degree_limit=degree_max,
        load_spread_limit=load_spread_max,
    )
    for file in (out, out_plan):
        if file is not None:
            refuse_unwritable(file)
    today = None if source is None else read_overlay_or_target(source)
    named = None if today is None else today.brokers
    snapshot = read_snapshot(interests, rates, named, delays_source=delays)
    with blaming(interests):
        planning = planned(names, snapshot, wish, seed=seed, seed_count=seeds, today=today)
        count = len(names) + (today is not None)
        rows = list(tracked(planning, count, "Planning with every design"))
    found, notes = judge([row.candidate for row in rows], snapshot, wish), notes_on(snapshot)
    written = overlay_plans.write_recommended(
        found, today, (snapshot, wish), (out, out_plan), force=force
    )
    answer(
        as_json,
        {
            "command": "overlay compare",
            "seed": seed,
            "seeds": seeds,
            "k": k,
            **comparison_document(rows, found, wish.weights),
            **notes.document(),
            **written.document,
            "files": {kind: str(path) for kind, path in written.files.items()},
        },
        comparison_table(rows, found),
        PRICE_EXPLANATION,
        "",
        *(found.verdicts[at].sentence for at in in_order(found.verdicts)),
        *(() if found.chosen else (found.reason,)),
        *written.told,
        *notes.sentences(),
        *(f"{found.chosen}: {path}" for path in written.files.values()),
    )
    if written.is_refused:
        raise typer.Exit(CHECK_SAYS_NO)


@app.command()
def draw(
    *,
    overlay: OverlayFile,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The .svg or .png to write.")],
    interests: Annotated[
        Path | None,
        typer.Option("--interests", metavar="FILE", help="Colour brokers by the topics they want."),
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Draw an overlay: rings for key geometries, layers for trees, by distance for graphs.

    Example: meshwright overlay draw --overlay overlay.json --out overlay.svg
    """
    from meshwright.files.plans import read_overlay_or_target
    from meshwright.files.snapshots import read_interests
    from meshwright.lab.figures.overlay_picture import draw_overlay
    from meshwright.lab.figures.saving import refuse_undrawable

    refuse_undrawable(out)
    joined = read_overlay_or_target(overlay)
    counts = None
    if interests is not None:
        counts = read_interests(interests, joined.brokers).interests.counts().astype(float)
    with working(f"Drawing {joined.design}"):
        draw_overlay(joined, out, topic_counts=counts, seed=seed)
    answer(
        as_json,
        {
            "command": "overlay draw",
            "seed": seed,
            "picture": str(out),
            "brokers": len(joined.brokers),
            "links": len(joined.links),
        },
        f"{out}: {counted(len(joined.brokers), 'broker')}, {counted(len(joined.links), 'link')}",
    )
