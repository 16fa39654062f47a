"""meshwright overlay arrange and adapt: plans from one overlay to a better one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from meshwright.cli.console.notes import Notes, notes_on
from meshwright.cli.console.options import (
    BrokerCosts,
    BrokerWeight,
    Delays,
    DelayWeight,
    Geometry,
    Interests,
    Iterations,
    Json,
    LinkCosts,
    LinkWeight,
    Method,
    MoveClients,
    MovesTried,
    PlanOut,
    Rates,
    Seed,
)
from meshwright.cli.console.screen import answer, plain_table, working
from meshwright.model.wording import counted

if TYPE_CHECKING:
    from meshwright.model.overlay import Overlay
    from meshwright.model.plan import Plan
    from meshwright.model.snapshot import Snapshot
    from meshwright.planning.changes.expectation import DeliveryCost
    from meshwright.planning.recommendation import Recommendation, Wish

NO_PLAN_AT_A_LOSS = "No plan was written; --force writes it all the same."


def arrange(
    *,
    geometry: Geometry,
    interests: Interests,
    rates: Rates,
    method: Annotated[Method, typer.Option("--method", help="How brokers get positions.")],
    out: PlanOut,
    delays: Delays = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            show_default="the hash arrangement",
            help="Today's overlay.json or plan.json.",
        ),
    ] = None,
    delay_weight: DelayWeight = 1.0,
    gross: Annotated[
        bool, typer.Option("--gross", help="best: save all it can, whatever the change costs.")
    ] = False,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Give brokers positions on a key geometry so that few relay what they do not want.

    Example: meshwright overlay arrange --geometry chord --method best --interests interests.csv
    --rates rates.csv --out plan.json
    """
    from meshwright.files.plans import read_overlay_or_target, write_plan
    from meshwright.files.reading import blaming
    from meshwright.files.snapshots import read_snapshot
    from meshwright.files.writing import refuse_unwritable
    from meshwright.model.price import PriceWeights
    from meshwright.planning.arrangement.plan import arrange as arranged
    from meshwright.planning.changes.proposal import Circumstances, judged_plan

    refuse_unwritable(out)
    today = None if source is None else read_overlay_or_target(source)
    named = None if today is None else today.brokers
    snapshot = read_snapshot(interests, rates, named, delays_source=delays)
    with blaming(source or interests), working(f"Arranging {len(snapshot.brokers)} brokers"):
        plan = arranged(
            snapshot,
            geometry,
            method,
            delay_weight=delay_weight,
            source=today,
            seed=seed,
            net=not gross,
        )
    weights = PriceWeights(delay=delay_weight)
    plan = judged_plan(plan, (snapshot, snapshot), weights, Circumstances())
    write_plan(plan, out)
    answer_plan(as_json, "overlay arrange", plan, out, seed, notes=notes_on(snapshot))


def adapt(
    *,
    tree: Annotated[
        Path, typer.Option("--tree", metavar="FILE", help="The overlay.json of a tree.")
    ],
    traffic: Annotated[
        Path, typer.Option("--traffic", metavar="FILE", help="CSV of messages,members (with ';').")
    ],
    out: PlanOut,
    clients: Annotated[
        Path | None,
        typer.Option(
            "--clients",
            metavar="FILE",
            show_default="members are brokers",
            help="CSV of client,broker where members are clients.",
        ),
    ] = None,
    degree_max: Annotated[
        int | None,
        typer.Option(
            "--degree-max",
            min=2,
            show_default="no limit, as in the paper: equal costs then end in a star",
            help="Links that a broker may come to have.",
        ),
    ] = None,
    alpha: LinkWeight = 1,
    beta: BrokerWeight = 1,
    link_costs: LinkCosts = None,
    broker_costs: BrokerCosts = None,
    iterations: Iterations = 50,
    moves: MovesTried = 50,
    move_clients: MoveClients = False,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Move the links of a tree, neighbourhood by neighbourhood, until no broker can improve it.

    Example: meshwright overlay adapt --tree tree.json --traffic traffic.csv --out plan.json
    """
    import numpy as np

    from meshwright.files.costs import read_costs
    from meshwright.files.overlays import read_tree
    from meshwright.files.plans import write_plan
    from meshwright.files.reading import blaming
    from meshwright.files.traffic import read_clients, read_traffic
    from meshwright.files.writing import refuse_unwritable
    from meshwright.model.adaptation import AdaptationOptions
    from meshwright.planning.adaptation.chosen import costs_chosen, rules_chosen
    from meshwright.planning.adaptation.naming import traffic_from_names, vertex_names
    from meshwright.planning.adaptation.plan import adapt as adapted
    from meshwright.planning.adaptation.rounds import AdaptationRules

    refuse_unwritable(out)
    today = read_tree(tree)
    homes = {} if clients is None else read_clients(clients, today.brokers)
    names = vertex_names(today, homes)
    stated = read_costs(link_costs, broker_costs, frozenset(names))
    options = AdaptationOptions(
        link_weight=alpha,
        broker_weight=beta,
        iterations=iterations,
        moves_max=moves,
        degree_max=degree_max or 0,
        move_clients=move_clients,
    )
    demand = traffic_from_names(names, read_traffic(traffic, frozenset(names)))
    with blaming(traffic), working(f"Adapting a tree of {len(today.brokers)} brokers"):
        plan = adapted(
            today,
            demand,
            np.random.default_rng(seed),
            clients=homes,
            costs=costs_chosen(options, stated, today.brokers, tuple(homes)),
            rules=rules_chosen(options, AdaptationRules()),
        )
    write_plan(plan, out)
    answer_plan(as_json, "overlay adapt", plan, out, seed)


def answer_plan(
    as_json: bool,
    command: str,
    plan: Plan,
    out: Path | str,
    seed: int,
    *,
    notes: Notes | None = None,
    predicted: DeliveryCost | None = None,
) -> None:
    """What a plan is worth; its steps are in the file, or saved under its id."""
    more: dict[str, Any] = {} if notes is None else notes.document()
    told: list[str] = [] if notes is None else notes.sentences()
    if predicted is not None:
        more["predicted"] = predicted._asdict()
        told.append(
            f"Messages between brokers for a delivery: {predicted.before:.3f} now, "
            f"{predicted.after:.3f} predicted."
        )
    answer(
        as_json,
        {
            "command": command,
            "seed": seed,
            "plan": str(out),
            "summary": plan.summary,
            "moved": plan.moved,
            "steps": len(plan.steps),
            "cost": plan.cost,
            "reconfiguration_cost": plan.reconfiguration_cost,
            "net_benefit": plan.net_benefit,
            **({} if plan.against is None else {"against": plan.against}),
            **price_document(plan),
            **more,
        },
        plan.summary,
        *told_price_of(plan),
        f"{out}: {counted(len(plan.steps), 'step')}",
        *told_against(plan),
        *told,
    )


class Written(NamedTuple):
    """Files of what is recommended, by kind, and what is to be said of the plan that leads there.

    is_refused: something was asked for and is not written.
    """

    files: dict[str, Path]
    document: dict[str, Any]
    told: list[str]
    is_refused: bool


def write_recommended(
    found: Recommendation,
    today: Overlay | None,
    problem: tuple[Snapshot, Wish],
    out: tuple[Path | None, Path | None],
    *,
    force: bool,
) -> Written:
    """What is recommended as an overlay and as the plan that leads there, where asked for."""
    from meshwright.files.overlays import write_overlay
    from meshwright.files.plans import write_plan
    from meshwright.model.designs import NOW, founded_as

    best, (overlay_out, plan_out) = found.best(), out
    if best is None:
        is_refused = any(file is not None for file in out)
        return Written({}, {}, ["Nothing was written."] if is_refused else [], is_refused)
    written = Written({}, {}, [], is_refused=False)
    if overlay_out is not None:
        write_overlay(best.overlay, overlay_out)
        written.files["overlay"] = overlay_out
    if plan_out is None and today is None:
        return written
    plan = _plan_towards(best.overlay, today, *problem)
    is_refused = plan.is_at_a_loss and not force and plan_out is not None
    if plan_out is not None and not is_refused:
        write_plan(plan, plan_out)
        written.files["plan"] = plan_out
    told = told_loss(plan, f"{NOW} ({founded_as(plan.source)}), which stands")
    told += [NO_PLAN_AT_A_LOSS] if is_refused else []
    return Written(written.files, price_document(plan), told, is_refused)


def _plan_towards(target: Overlay, today: Overlay | None, snapshot: Snapshot, wish: Wish) -> Plan:
    """From today's overlay, or from no link where nothing stands."""
    from meshwright.planning.changes.links import building_plan
    from meshwright.planning.changes.proposal import Circumstances, judged_plan
    from meshwright.planning.changes.towards import plan_towards

    plan = (
        building_plan(target, snapshot, wish.weights)
        if today is None
        else plan_towards(today, target, snapshot, wish.weights)
    )
    return judged_plan(plan, (snapshot, snapshot), wish.weights, Circumstances())


def told_loss(plan: Plan, before: str) -> list[str]:
    """That the way to what is recommended is a loss; nothing where it is none."""
    from meshwright.model.plan import told_worth

    if not plan.is_at_a_loss:
        return []
    return [f"But to go there is a loss; before is {before}. {told_worth(plan)}"]


def price_document(plan: Plan) -> dict[str, Any]:
    """The price before and after for a script, and whether the plan is at a loss."""
    if plan.price is None:
        return {}
    return {"price": plan.price, "saved": plan.price.saved, "is_at_a_loss": plan.is_at_a_loss}


def told_price_of(plan: Plan) -> list[Any]:
    """The parts of the price before and after a plan if it has one, and what the plan is worth."""
    from meshwright.model.plan import told_worth
    from meshwright.model.price import PARTS, TOLD

    price = plan.price
    if price is None:
        return [told_worth(plan)]
    columns = {"before": price.before.shown(), "after": price.after.shown()}
    if plan.is_first:
        del columns["before"]  # nothing is delivered then, so that nothing has a price
    named = {**{part: TOLD[part] for part in PARTS}, "price": "price"}
    table = plain_table(
        {"of a publication": False, **dict.fromkeys(columns, True)},
        [[name, *(each[part] for each in columns.values())] for part, name in named.items()],
    )
    return [table, told_worth(plan)]


def told_against(plan: Plan) -> list[str]:
    """What speaks against a plan, if that was asked when it was made."""
    from time import time_ns

    if plan.against is None:
        return []
    told = plan.against.sentences(time_ns() // 1_000, is_first=plan.is_first)
    return ["What speaks against it:", *told]
