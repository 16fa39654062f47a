"""meshwright plan: what to change, why, and what it is worth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import msgspec
import typer

from meshwright.cli.console.notes import notes_on
from meshwright.cli.console.options import (
    ALL_DESIGNS,
    TRACE_HELP,
    WITH_PARAMETERS,
    BrokerCount,
    Cell,
    ClusterSize,
    Conf,
    Data,
    DelayWeight,
    Force,
    Json,
    LinkPrice,
    ManagementWeight,
    Master,
    Memory,
    Objective,
    OwnK,
    Placement,
    PlanMethod,
    ReconfigurationWeight,
    RelayWeight,
    Remote,
    Seed,
    Slot,
    SourceOverlay,
    TFree,
    Ui,
    known_design,
)
from meshwright.cli.console.screen import CHECK_SAYS_NO, answer, plain_table
from meshwright.cli.console.times import duration_s, time_us
from meshwright.cli.overlays.overlay_plans import (
    NO_PLAN_AT_A_LOSS,
    answer_plan,
    price_document,
    told_against,
    told_price_of,
)
from meshwright.cli.traces.plan_churn import ChurnWish, Known, churn_plan
from meshwright.cli.traces.plan_goals import DegreeMax, GoalsFile, GoalWords, read_goals
from meshwright.cli.traces.plan_orders import abort, apply, undo
from meshwright.cli.traces.plan_saved import (
    DEFAULT_DATA,
    ManagerUrl,
    PlanName,
    RestPlace,
    TokenFile,
    desk_at,
    listed,
    make_at_manager,
    named_plan,
    told_costs,
)
from meshwright.model.wording import amount, counted
from meshwright.pipeline.places.place import Place, place_of

if TYPE_CHECKING:
    from meshwright.model.identifiers import ClientName
    from meshwright.model.overlay import Overlay
    from meshwright.model.plan import Plan
    from meshwright.model.price import PriceWeights
    from meshwright.pipeline.replays.snapshots import TraceMoment
    from meshwright.planning.changes.broker_change import BrokerChange
    from meshwright.planning.changes.differences import PlanDifference
    from meshwright.planning.changes.expectation import DeliveryCost
    from meshwright.planning.changes.network import PlanWish

# What a delivery costs is predicted of the last slots, and of so many topics and their publishers.
PREDICTED_SLOTS = 5
PREDICTED_ROWS = 20_000

app = typer.Typer(
    no_args_is_help=True, help="Plan from a trace; show, compare, apply and undo plans."
)
app.command("list")(listed)
app.command()(apply)
app.command()(abort)
app.command()(undo)


@app.callback()
def plan() -> None:
    """Plan from a trace; show, compare, apply and undo plans."""


@app.command()
def create(
    context: typer.Context,
    trace: Annotated[
        str | None,
        typer.Argument(
            metavar="TRACE",
            help=TRACE_HELP,
            show_default="the telemetry of the manager",
        ),
    ] = None,
    *,
    design: Annotated[
        str | None,
        typer.Option(
            "--design",
            metavar="DESIGN",
            callback=known_design,
            show_default="the manager's, or as the overlay in force",
            help=f"How brokers are joined: {ALL_DESIGNS}. {WITH_PARAMETERS}",
        ),
    ] = None,
    manager: ManagerUrl = None,
    token_file: TokenFile = None,
    early: Annotated[
        bool, typer.Option("--early", help="At a manager that still collects telemetry.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            show_default="saved under an id in the network's folder",
            help="The plan.json to write.",
        ),
    ] = None,
    source: SourceOverlay = None,
    interests: Annotated[
        Path | None,
        typer.Option(
            "--interests",
            metavar="FILE",
            show_default="as brokers that run say",
            help="With --method churn and no TRACE: CSV of broker,topic.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FOLDER",
            show_default="no brokers are asked",
            help="Plan from the overlay in force at the brokers that run here.",
        ),
    ] = None,
    objective: Objective = "net",
    placement: Placement = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="TIME",
            show_default="the end of the trace",
            help="Plan for the network as it was then (ISO 8601, UTC).",
        ),
    ] = None,
    t_free: TFree = "10h",
    slot: Slot = "1h",
    method: PlanMethod = None,
    delay_weight: DelayWeight = 1.0,
    k: OwnK = None,
    cluster_size: ClusterSize = 10,
    cell: Cell = 1.0,
    brokers: BrokerCount = None,
    goal: GoalWords = None,
    goals_file: GoalsFile = None,
    degree_max: DegreeMax = None,
    add_broker: Annotated[
        list[str] | None,
        typer.Option("--add-broker", metavar="NAME", help="What if this broker came, too?"),
    ] = None,
    remove_broker: Annotated[
        list[str] | None,
        typer.Option(
            "--remove-broker",
            metavar="NAME",
            help="What if this broker went? Its clients are placed at others.",
        ),
    ] = None,
    staying: Annotated[
        Path | None,
        typer.Option(
            "--staying",
            metavar="FILE",
            show_default="as brokers of --data say, else nobody",
            help="Clients that cannot be told to go to another broker: a JSON list of names.",
        ),
    ] = None,
    is_predicted: Annotated[
        bool,
        typer.Option("--predict", help="Say what a delivery will cost; of a live network's trace."),
    ] = False,
    force: Force = False,
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
    """Plan the network of a trace as it stands at the end, or at a time, for any design.

    Where nothing saves more than it takes, by the price of a publication whose parts are shown, the
    plan has no steps. One at a loss that is asked for by --objective cost or a goal is not written
    without --force: exit code 1. A plan that breaks a goal is refused with the goal's name. With
    --manager instead of a trace: the network that runs, of the telemetry collected there. With
    --method churn a trace is not needed: what brokers want is asked of those that run in --data, or
    read from --interests.

    Example: meshwright plan create city --design dynatops --from overlay.json --out plan.json

    Example: meshwright plan create --manager http://127.0.0.1:8090 --token-file token

    Example: meshwright plan create --method churn --data .meshwright --add-broker broker9
    """
    if manager is not None:
        make_at_manager(context, RestPlace(manager, token_file), is_early=early)
        return
    from meshwright.cli.console.spark import chosen_spark, is_short_work, spark_work
    from meshwright.errors import OperatorError
    from meshwright.files.reading import blaming
    from meshwright.pipeline.replays.snapshots import Moment, TraceMoment
    from meshwright.planning.changes.expectation import expected_cost
    from meshwright.planning.changes.network import PlanWish
    from meshwright.planning.changes.proposal import Circumstances, propose

    change = _change(add_broker, remove_broker)
    _refuse_no_place(out, data)
    goals = read_goals(goals_file, goal, degree_max)
    if trace is None and method == "churn":
        wished = ChurnWish(design, change, goals, delay_weight, seed)
        _answer_churn(wished, Known(source, data, interests), out, as_json=as_json)
        return
    if trace is None or design is None:
        raise OperatorError("Give a TRACE and its --design, or a manager with --manager URL.")
    spark = chosen_spark(master, remote, conf, memory, ui=ui)
    place, broker_count = _checked(trace, brokers)
    today, stuck = _today(source, data), _stuck(staying, data)
    weights = _weights(relay_weight, management_weight, reconfiguration_weight, link_weight)
    wish = PlanWish(design, objective, method, delay_weight, k, weights=weights)
    moment = Moment(
        at_us=None if at is None else time_us(at),
        slot_s=duration_s(slot),
        horizon_s=duration_s(t_free),
        cell_degrees=cell,
        broker_count=broker_count,
        seed=seed,
    )
    with spark_work("Reading the trace", spark, is_short=is_short_work(place)) as work:
        state = TraceMoment(work.session, place, moment, None if today is None else today.brokers)
        snapshot, wish = state.snapshot(), _with_subscriptions(wish, state)
        needs_clients = placement or goals.clients_max or remove_broker or is_predicted
        population = state.population(snapshot, cluster_size) if needs_clients else None
        if population is not None:
            population = replace(population, staying=stuck)
        published = state.published(PREDICTED_SLOTS, PREDICTED_ROWS) if is_predicted else ()
    around = Circumstances(
        source=today,
        population=population,
        placement=placement,
        horizon_s=moment.horizon_s,
        data_until_us=state.at_us,
        change=change,
        seed=seed,
    )
    with blaming(source or place):
        made = propose(snapshot, wish, around, goals)
    predicted = None
    if population is not None and published:
        predicted = expected_cost(made, snapshot, population, published)
    if made.is_at_a_loss and change.is_none and not force:
        _refuse_loss(as_json, made, seed)
    kept = _kept(made, predicted, out, data)
    notes = notes_on(snapshot)
    answer_plan(as_json, "plan create", made, kept, seed, notes=notes, predicted=predicted)


def _checked(trace: str, brokers: int | None) -> tuple[Place, int]:
    """Where a trace is, and brokers if it names none; refused before Spark starts, if it can be."""
    from meshwright.pipeline.replays.wishes import broker_count
    from meshwright.pipeline.tables.traces import check_trace

    place = place_of(trace)
    count = broker_count(place, brokers)
    if isinstance(place, Path):
        check_trace(place)
    return place, count


def _weights(relay: float, management: float, reconfiguration: float, link: float) -> PriceWeights:
    from meshwright.model.price import PriceWeights

    return PriceWeights(
        relay=relay, management=management, reconfiguration=reconfiguration, link=link
    )


def _with_subscriptions(wish: PlanWish, state: TraceMoment) -> PlanWish:
    """The wish with how often interest changes, where a design is planned by that."""
    if wish.row.forwarding != "partition":
        return wish
    return replace(wish, subscriptions=state.subscriptions())


@app.command()
def show(
    plan: PlanName,
    *,
    steps: Annotated[
        int, typer.Option("--steps", min=0, help="How many lines of steps are shown to people.")
    ] = 20,
    data: Data = DEFAULT_DATA,
    manager: ManagerUrl = None,
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """Show a plan: what it is worth, then its steps with their reasons.

    Of a saved plan also what has become of it, and what it was to save and did.

    Example: meshwright plan show plan.json

    Example: meshwright plan show p7
    """
    from meshwright.files.plans import read_plan

    file = named_plan(plan)
    if file is None:
        saved = desk_at(data, manager, token_file).plan(plan)
        named: dict[str, Any] = {"saved": msgspec.structs.replace(saved, plan=None)}
        found = saved.whole()
        told = told_costs(saved)
    else:
        found, named, told = read_plan(file), {"file": plan}, []
    answer(
        as_json,
        {"command": "plan show", **named, "plan": found},
        *told,
        found.summary,
        *([] if found.price else [_cost_table(found)]),
        *told_price_of(found),
        *_told_steps(found, steps),
        f"{counted(len(found.steps), 'step')}; to move: {counted(found.moved, 'broker')} and "
        f"{counted(len(found.client_moves()), 'client')}.",
        *told_against(found),
    )


@app.command()
def diff(
    first: PlanName,
    second: PlanName,
    *,
    lines: Annotated[
        int, typer.Option("--lines", min=0, help="How many differences are shown to people.")
    ] = 20,
    data: Data = DEFAULT_DATA,
    manager: ManagerUrl = None,
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """Compare two plans: what they are worth, where they lead and whom they move.

    Example: meshwright plan diff monday.json tuesday.json

    Example: meshwright plan diff p6 p7
    """
    from meshwright.files.plans import read_plan
    from meshwright.planning.changes.differences import plan_difference

    def read(name: str) -> Plan:
        file = named_plan(name)
        if file is not None:
            return read_plan(file)
        return desk_at(data, manager, token_file).plan(name).whole()

    plans = read(first), read(second)
    found = plan_difference(*plans)
    answer(
        as_json,
        {
            "command": "plan diff",
            "first": first,
            "second": second,
            "same": found.is_none,
            "difference": found,
        },
        f"- {first}",
        f"+ {second}",
        _worth_table(found, plans),
        *_told(found, lines),
    )


def _change(added: list[str] | None, removed: list[str] | None) -> BrokerChange:
    from meshwright.planning.changes.broker_change import BrokerChange

    return BrokerChange(tuple(added or ()), tuple(removed or ()))


def _answer_churn(wished: ChurnWish, known: Known, out: Path | None, *, as_json: bool) -> None:
    """Plan for who came or went, of what brokers want now."""
    made = churn_plan(wished, known)
    kept = _kept(made, None, out, known.data)
    seed = wished.seed
    answer_plan(as_json, "plan create", made, kept, seed)


def _today(source: Path | None, data: Path | None) -> Overlay | None:
    """The overlay that a plan begins at: of a file, or of brokers that run."""
    from meshwright.errors import OperatorError
    from meshwright.files.plans import read_overlay_or_target
    from meshwright.manager.network.running import RunningNetwork

    if source is not None and data is not None:
        raise OperatorError("Give --from FILE or --data FOLDER; both say what the plan begins at.")
    if data is not None:
        return RunningNetwork(data).in_force()
    return None if source is None else read_overlay_or_target(source)


def _stuck(file: Path | None, data: Path | None) -> frozenset[ClientName]:
    """Clients that no plan can move: of a file, or as brokers that run say."""
    from meshwright.errors import InputFileError
    from meshwright.files.decoding import decoded
    from meshwright.files.reading import read_bytes
    from meshwright.manager.network.running import RunningNetwork
    from meshwright.model.identifiers import ClientName

    if file is None:
        return frozenset(map(ClientName, () if data is None else RunningNetwork(data).staying()))
    try:
        return frozenset(map(ClientName, decoded(read_bytes(file), tuple[str, ...])))
    except msgspec.MsgspecError as error:
        raise InputFileError(
            str(file), f"this is no list of clients ({error})", remedy='write ["name", "other"]'
        ) from None


def _refuse_no_place(out: Path | None, data: Path | None) -> None:
    """Say why a plan could not be kept before it is made."""
    from meshwright.files.writing import refuse_folder, refuse_unwritable

    if out is None:
        refuse_folder(data or DEFAULT_DATA)
    else:
        refuse_unwritable(out)


def _kept(plan: Plan, predicted: DeliveryCost | None, out: Path | None, data: Path | None) -> str:
    """Keep a plan in its file, or save it; the file or its id."""
    from meshwright.files.plans import write_plan
    from meshwright.manager.circle.desk import FolderDesk
    from meshwright.manager.orders.saved_plans import Cost

    if out is None:
        cost = None if predicted is None else Cost(**predicted._asdict())
        return FolderDesk(data or DEFAULT_DATA).save(plan, cost).id
    write_plan(plan, out)
    return str(out)


def _refuse_loss(as_json: bool, made: Plan, seed: int) -> NoReturn:
    """No plan that takes more than it saves, unless it is asked for."""
    answer(
        as_json,
        {"command": "plan create", "seed": seed, "plan": None, **price_document(made)},
        *told_price_of(made),
        NO_PLAN_AT_A_LOSS,
    )
    raise typer.Exit(CHECK_SAYS_NO)


def _cost_table(plan: Plan) -> Any:
    """What a plan that nobody has priced does to the cost that its algorithm lowers."""
    cost = plan.cost
    rows = [
        ("cost: relays and weighed hops", cost.before, cost.after),
        (
            "messages to brokers that only relay",
            cost.overhead_external_before,
            cost.overhead_external_after,
        ),
        ("hops to brokers that want it", cost.delay_before, cost.delay_after),
        ("missed deliveries", cost.missed_before, cost.missed_after),
    ]
    if cost.delay_ms_before is not None and cost.delay_ms_after is not None:
        rows.append(("mean delay in ms", cost.delay_ms_before, cost.delay_ms_after))
    return plain_table(
        {"over the period": False, "before": True, "after": True},
        [[name, amount(before), amount(after)] for name, before, after in rows],
    )


def _told_steps(plan: Plan, count: int) -> list[str]:
    """The first lines of steps, those alike in one, and how many more there are."""
    from meshwright.planning.changes.grouping import grouped

    groups = grouped(plan.steps)
    lines = [f"{at:5}. {group.sentence}" for at, group in enumerate(groups[:count], start=1)]
    more = len(groups) - len(lines)
    return lines if more <= 0 else [*lines, f"       and {counted(more, 'line')} more"]


def _worth_table(found: PlanDifference, plans: tuple[Plan, Plan]) -> Any:
    from meshwright.model.price import SHOWN_DIGITS

    prices = found.price_after
    first = (
        ["relays and weighed hops after", *map(amount, found.cost_after)]
        if prices is None
        else ["price of a publication after", *(f"{each:,.{SHOWN_DIGITS}f}" for each in prices)]
    )
    saved = [
        "nothing stands before" if plan.is_first else amount(benefit)
        for plan, benefit in zip(plans, found.net_benefit, strict=True)
    ]
    rows = [
        first,
        ["messages of the change", *map(amount, found.reconfiguration_cost)],
        ["messages saved, less those", *saved],
    ]
    return plain_table({"": False, "-": True, "+": True}, rows)


def _told(found: PlanDifference, count: int) -> list[str]:
    """Differences, those alike in one line; - is the first plan's alone, + the second's.

    Of each kind as many are shown as of the others, if it has as many.
    """
    from meshwright.planning.changes.grouping import grouped_links, grouped_moves, some

    if found.is_none:
        return ["Both plans lead to the same network."]
    one, other = found.designs
    kinds = [
        [] if found.same_source else ["They start from different overlays."],
        [] if one == other else [f"- design {one}", f"+ design {other}"],
        [f"- {clause}" for clause in grouped_links(found.links_first)],
        [f"+ {clause}" for clause in grouped_links(found.links_second)],
        [f"~ position of {some(found.positions)}"] if found.positions else [],
        [f"- {clause}" for clause in grouped_moves(found.moves_first)],
        [f"+ {clause}" for clause in grouped_moves(found.moves_second)],
    ]
    lines = []
    for kind, shown in zip(kinds, _shares([len(kind) for kind in kinds], count), strict=True):
        more = len(kind) - shown
        lines += kind[:shown]
        lines += [f"{kind[0][0]}      and {counted(more, 'line')} more"] if more else []
    return lines


def _shares(sizes: list[int], count: int) -> list[int]:
    """How many of each size are among so many, all alike as far as they go."""
    shares = [0] * len(sizes)
    while count > 0 and shares != sizes:
        for at, size in enumerate(sizes):
            if count > 0 and shares[at] < size:
                shares[at] += 1
                count -= 1
    return shares
