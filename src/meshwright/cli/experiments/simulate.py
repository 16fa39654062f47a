"""meshwright simulate: the brokers' own code in a world where everything goes wrong."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meshwright.cli.console.options import (
    BrokerCosts,
    BrokerWeight,
    Conf,
    DesignName,
    Iterations,
    Json,
    LinkCosts,
    LinkWeight,
    Master,
    Memory,
    MoveClients,
    MovesTried,
    OwnK,
    Remote,
    Ui,
    finite,
)
from meshwright.cli.console.screen import CHECK_SAYS_NO, answer, plain_table, tracked
from meshwright.model.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from meshwright.cli.console.spark import SparkChoice
    from meshwright.sim.runs.simulation import Failure, SimulationResult
    from meshwright.sim.scenario.parameters import SimulationParameters

STORIES_SHOWN_MAX = 3
SEED_RANGE = re.compile(r"(\d{1,18})(?:\.\.(\d{1,18}))?")


def simulate(
    *,
    design: DesignName,
    brokers: Annotated[int, typer.Option("--brokers", min=1, help="Number of brokers.")] = 8,
    clients: Annotated[int, typer.Option("--clients", min=1, help="Number of clients.")] = 24,
    duration: Annotated[
        float,
        typer.Option("--duration", min=0.1, callback=finite, help="Seconds of traffic and faults."),
    ] = 10.0,
    faults: Annotated[
        str,
        typer.Option(
            "--faults",
            metavar="A,B,...",
            show_default="none",
            help="What goes wrong: crash, partition, disconnect, slow, stuck, skew, disk_full, "
            "never_returns, ambush; or joins: brokers of new names come.",
        ),
    ] = "",
    seeds: Annotated[
        str, typer.Option("--seeds", metavar="A..B", help="Seeds, first and last included.")
    ] = "0..0",
    reconfigure: Annotated[
        bool, typer.Option("--reconfigure", help="Change the overlay under traffic.")
    ] = False,
    adapt: Annotated[
        bool, typer.Option("--adapt", help="Have brokers fit their tree to the traffic.")
    ] = False,
    alpha: LinkWeight = 1,
    beta: BrokerWeight = 1,
    link_costs: LinkCosts = None,
    broker_costs: BrokerCosts = None,
    iterations: Iterations = 50,
    moves: MovesTried = 50,
    move_clients: MoveClients = False,
    mobility: Annotated[
        str | None,
        typer.Option(
            "--mobility",
            metavar="M",
            show_default="clients stay",
            help="Let clients move; how their sessions follow them: standard, prefetching, "
            "logging, home, device, watching, joined by '+'.",
        ),
    ] = None,
    k: OwnK = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            show_default="as usual",
            help="Another parameter of the run, such as changes_per_s=5; may be given repeatedly.",
        ),
    ] = None,
    on_spark: Annotated[
        bool, typer.Option("--on-spark", help="Spread the seeds over Spark's executors.")
    ] = False,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    memory: Memory = None,
    ui: Ui = False,
    as_json: Json = False,
) -> None:
    """Simulate seeds; exit with 1 if anything was lost, doubled, reordered or sent astray.

    Example: meshwright simulate --design chord --brokers 8 --clients 24 --duration 5
    --faults crash,partition --seeds 0..9
    """
    from meshwright.files.costs import read_costs
    from meshwright.model.adaptation import AdaptationOptions
    from meshwright.sim.runs.replay import read_settings
    from meshwright.sim.runs.simulation import summed
    from meshwright.sim.scenario.parameters import SimulationParameters

    chosen = seed_range(seeds)
    options = AdaptationOptions(
        link_weight=alpha,
        broker_weight=beta,
        iterations=iterations,
        moves_max=moves,
        move_clients=move_clients,
    )
    costs = read_costs(link_costs, broker_costs)
    parameters = SimulationParameters(
        design=design,
        brokers=brokers,
        clients=clients,
        duration_s=duration,
        faults=tuple(name.strip() for name in faults.split(",") if name.strip()),
        reconfigure=reconfigure,
        adapts=adapt,
        mobility=mobility,
        k=k,
        # A failure is run again with all of its settings by name.
        **({"adaptation": options, "costs": costs} | read_settings(settings or ())),
    )
    if on_spark:
        from meshwright.cli.console.spark import chosen_spark

        spark = chosen_spark(master, remote, conf, memory, ui=ui)
        results = _simulated_on_spark(parameters, chosen, spark)
    else:
        results = list(tracked(_simulated(parameters, chosen), len(chosen), "Simulating seeds"))
    totals, messages = summed(results)
    failures = [failure for result in results for failure in result.failures]
    dropped = sum(result.dropped_in_changes for result in results)
    answer(
        as_json,
        {
            "command": "simulate",
            "totals": totals,
            "messages": messages,
            "qos0_dropped_in_changes": dropped,
            "failures": failures,
        },
        f"{design}, {counted(brokers, 'broker')}, {counted(clients, 'client')}, "
        f"seeds {chosen[0]} to {chosen[-1]}",
        plain_table(dict.fromkeys(totals, True), [[f"{count:,}" for count in totals.values()]]),
        plain_table(dict.fromkeys(messages, True), [[f"{count:,}" for count in messages.values()]]),
        *([f"QoS 0 dropped in changes of overlay: {dropped:,}"] if reconfigure else []),
        *told(failures),
    )
    if failures:
        raise typer.Exit(CHECK_SAYS_NO)


def seed_range(text: str) -> range:
    """Seeds of a text such as 3..7, or 3 for a single one."""
    from meshwright.errors import OperatorError

    found = SEED_RANGE.fullmatch(text.strip())
    if found is None:
        raise OperatorError(f"{text!r} names no seeds; write the first and the last, as in 0..9.")
    first = int(found[1])
    last = int(found[2] or first)
    if last < first:
        raise OperatorError(f"{text!r} ends before it begins; write the smaller seed first.")
    return range(first, last + 1)


def told(failures: list[Failure]) -> list[Any]:
    """Failures as people read them; the stories of the first few."""
    if not failures:
        return ["No checker found anything."]
    lines: list[Any] = []
    for number, failure in enumerate(failures):
        lines += ["", f"seed {failure.seed}, {failure.checker}: {failure.count}"]
        lines += [f"  {sentence}" for sentence in failure.sentences]
        if number < STORIES_SHOWN_MAX:
            lines += ["  what happened:", *(f"    {line}" for line in failure.story)]
        lines.append(f"  again: {failure.command}")
    return lines


def simulated_seed(parameters: SimulationParameters, seed: int) -> SimulationResult:
    """One seed, as an executor simulates it."""
    return next(_simulated(parameters, range(seed, seed + 1)))


def _simulated(parameters: SimulationParameters, seeds: range) -> Iterator[SimulationResult]:
    from meshwright.sim.runs.collector import rare_collections
    from meshwright.sim.runs.simulation import simulate as simulate_seed

    with rare_collections():
        for seed in seeds:
            yield simulate_seed(parameters, seed)


def _simulated_on_spark(
    parameters: SimulationParameters, seeds: range, spark: SparkChoice
) -> list[SimulationResult]:
    from meshwright.cli.console.spark import spark_work
    from meshwright.files.decoding import converted
    from meshwright.pipeline.sweep import TaskGrid, sweep
    from meshwright.sim.runs.simulation import SimulationResult

    # Java only hands out seeds here.
    with spark_work("Simulating seeds", spark, is_short=True) as work:
        found = sweep(work.session, partial(simulated_seed, parameters), TaskGrid({}, seeds))
    return [converted(value, SimulationResult) for _, value in found]
