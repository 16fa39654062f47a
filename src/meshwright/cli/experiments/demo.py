"""meshwright demo: a poor network under load, a plan, the change under traffic; one screen."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.console.options import (
    ALL_DESIGNS,
    WITH_PARAMETERS,
    Conf,
    Json,
    Memory,
    OwnK,
    OwnMaster,
    Remote,
    Seed,
    Ui,
    finite,
    known_design,
)
from meshwright.cli.console.screen import CHECK_SAYS_NO, answer, task_bar, working
from meshwright.cli.console.spark import chosen_spark, opened_session, session_work
from meshwright.cli.experiments.check import sentences
from meshwright.model.designs import DEFAULT_DESIGN
from meshwright.model.wording import counted

# What a shell says of a command that was stopped by Ctrl-C.
STOPPED = 130
# How often it is planned again because a tree has redrawn itself meanwhile.
REPLANS_MAX = 5

if TYPE_CHECKING:
    from meshwright.cli.console.screen import TaskBar
    from meshwright.history.history import History
    from meshwright.lab.demo import Act, DemoFolder, DemoParameters, Managed, Prediction, Sight
    from meshwright.lab.demo_report import Story
    from meshwright.lab.live_measures import Window
    from meshwright.lab.scripted import Play, Script
    from meshwright.live.processes.local_network import LocalNetwork
    from meshwright.manager.orders.execution import Sight as PlanSight
    from meshwright.manager.orders.saved_plans import SavedPlan
    from meshwright.model.plan import Plan
    from meshwright.pipeline.spark.session import Session


def demo(
    *,
    brokers: Annotated[
        int, typer.Option("--brokers", "-n", min=2, max=64, help="Live brokers, a process each.")
    ] = 12,
    clients: Annotated[
        int, typer.Option("--clients", min=8, max=5_000, help="MQTT clients on real sockets.")
    ] = 300,
    design: Annotated[
        str,
        typer.Option(
            "--design",
            metavar="DESIGN",
            callback=known_design,
            help=f"How the live brokers are joined: {ALL_DESIGNS}. {WITH_PARAMETERS}",
        ),
    ] = DEFAULT_DESIGN,
    k: OwnK = None,
    seconds: Annotated[
        float,
        typer.Option(
            "--seconds",
            min=2.0,
            max=3_600.0,
            callback=finite,
            help="How long it is measured before the change, and after it.",
        ),
    ] = 15.0,
    rate: Annotated[
        float,
        typer.Option(
            "--rate", min=0.1, max=10_000.0, callback=finite, help="Publications a second, in all."
        ),
    ] = 60.0,
    keep: Annotated[
        bool,
        typer.Option(
            "--keep", help="Leave the brokers running with a manager, and say what to try next."
        ),
    ] = False,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for everything it makes.")
    ] = Path("demo"),
    seed: Seed = 1,
    master: OwnMaster = None,
    remote: Remote = None,
    conf: Conf = None,
    memory: Memory = None,
    ui: Ui = False,
    as_json: Json = False,
) -> None:
    """Run a poor network under load, plan a better one, and change it while messages flow.

    Act 1: live brokers, and hundreds of clients that follow a generated location trace. Act 2: a
    plan, made on Spark of the brokers' own telemetry, with its reasons. Act 3: the change under
    full traffic; then a broker is killed and comes back. Exit code 0 only if nothing acknowledged
    was lost, doubled or reordered, and a delivery costs fewer messages between brokers than before.
    Spark runs on this machine, whatever the environment says of another, unless --master or
    --remote say where.

    Example: meshwright demo --brokers 8 --clients 200 --design gm
    """
    from meshwright.lab.compiling import compiling_kernels
    from meshwright.lab.demo import DemoFolder, DemoParameters, follow_trace
    from meshwright.pipeline.spark.environment import forget_foreign_spark

    spark = chosen_spark(master, remote, conf, memory, ui=ui)
    if master is None and remote is None:
        forget_foreign_spark()
    parameters = DemoParameters(
        brokers=brokers, clients=clients, design=design, k=k, seconds=seconds,
        publications_per_second=rate, seed=seed,
    )  # fmt: skip
    folder = DemoFolder(out)
    parameters.overlay(), parameters.location()
    folder.prepare()
    with (
        _told_when_stopped(folder),
        compiling_kernels(design, k) as compiled,
        opened_session(spark, is_short=True) as session,
    ):
        with (
            _stage("Generated the trace that clients follow"),
            session_work(session, "Generating the trace that clients follow"),
        ):
            script = follow_trace(session, parameters, folder)
        stage = Stage(parameters, folder, session, compiled, is_kept=keep)
        stage.perform(script, as_json=as_json)


class Stage:
    """Where the three acts are performed."""

    def __init__(
        self,
        parameters: DemoParameters,
        folder: DemoFolder,
        session: Session,
        compiled: Callable[[Callable[[tuple[int, int]], None]], None],
        *,
        is_kept: bool,
    ) -> None:
        self._parameters = parameters
        self._folder = folder
        self._session = session
        self._compiled = compiled
        self._is_kept = is_kept
        self._began_s = time.monotonic()
        self._replans = REPLANS_MAX

    def perform(self, script: Script, *, as_json: bool) -> None:
        """All acts, then the judgement of what clients saw."""
        from meshwright.lab.demo import busiest, keep_measured, kill_and_return, live_network
        from meshwright.lab.demo_report import Story
        from meshwright.lab.scripted import playing

        parameters, folder = self._parameters, self._folder
        with ExitStack() as opened:
            with _stage(f"Started {parameters.brokers} brokers"), working("Starting brokers"):
                network = opened.enter_context(
                    live_network(parameters, folder, is_kept=self._is_kept)
                )
            # Who compiles meanwhile would take the time of those that are measured.
            with _stage("Compiled what planning needs"), task_bar("Compiling for the plan") as bar:
                self._compiled(bar.count)
            addresses = {broker.name: str(broker.clients) for broker in network.brokers}
            play = opened.enter_context(playing(script, addresses))
            with _stage(f"{len(script.homes)} clients came"), working("Clients come"):
                play.wait_begun()
            before = self._watched("Act 1, the network as it is", play)
            plan, predicted = self._planned(play, before)
            while (changed := self._changed(plan, predicted, play)) is None:
                plan, predicted = self._planned(play, before)
            saved, switched = changed
            after = self._watched("Act 3, the network as it is now", play)
            name = busiest(folder)
            with (
                _stage(f"{name} was killed and came back"),
                working(f"{name} is killed and comes back"),
            ):
                kill_and_return(network, name)
            with _stage("All that is owed has come"), working("Waiting for all that is owed"):
                history = play.end()
            _refuse_ended(network)
            keep_measured(folder, saved, before, after)
        self._judge(Story(before, plan, predicted, after), saved, history, switched, as_json)

    def _watched(self, title: str, play: Play) -> Act:
        from meshwright.lab.demo import watch

        seen: list[Sight] = []
        with _stage(lambda: f"{title}: {_told_sight(seen)}"), task_bar(title) as bar:

            def tell(sight: Sight) -> None:
                seen.append(sight)
                bar.say(_told_sight(seen[-1:]))

            return watch(play, self._folder, self._parameters.seconds, tell)

    def _planned(self, play: Play, before: Act) -> tuple[Plan, Prediction]:
        from meshwright.cli.experiments.demo_screen import reasons
        from meshwright.lab.demo import make_plan, predict, refuse_nothing
        from meshwright.lab.demo_report import promise

        with (
            _stage("Act 2, planned a better network of the brokers' telemetry"),
            session_work(self._session, "Act 2, planning a better network"),
        ):
            plan = make_plan(self._session, self._parameters, self._folder)
            refuse_nothing(plan)
            predicted = predict(plan, play.seen(), before.window)
        for line in (promise(plan, predicted), *reasons(plan)):
            typer.echo(line, err=True)
        return plan, predicted

    def _changed(
        self, plan: Plan, predicted: Prediction, play: Play
    ) -> tuple[SavedPlan, Window] | None:
        """Carry out the plan; None if the network has redrawn itself since the plan was made."""
        from meshwright.errors import OperatorError
        from meshwright.lab.demo import change, is_in_force, wait_moved
        from meshwright.lab.live_measures import Window

        since_us = play.now_us()
        try:
            with (
                _stage("Act 3, changed the network under traffic"),
                task_bar("Act 3, changing the network under traffic") as bar,
            ):
                saved = change(self._folder, plan, predicted, lambda sight: _show_plan(bar, sight))
        except OperatorError as error:
            if is_in_force(self._folder, plan.source) or not self._replans:
                raise
            self._replans -= 1
            typer.echo(str(error), err=True)
            return None
        switched = Window(since_us, play.now_us())
        with _stage("Clients came to their new brokers"), working("Clients come"):
            wait_moved(play, plan)
        return saved, switched

    def _judge(
        self,
        story: Story,
        saved: SavedPlan,
        history: History,
        switched: Window,
        as_json: bool,
    ) -> None:
        from meshwright.cli.experiments.demo_screen import story_document, story_shown
        from meshwright.files.histories import write_history
        from meshwright.files.writing import write_whole
        from meshwright.history.judgement import totals, violations
        from meshwright.lab.demo_report import demo_page, other_traffic
        from meshwright.lab.live_measures import longest_answer_ms

        parameters, folder, outcome = self._parameters, self._folder, saved.outcome
        assert outcome is not None
        write_history(history, folder.history)
        found = tuple(violations(history))
        counts = totals(history, found)
        waits = (
            longest_answer_ms(history, story.before.window),
            longest_answer_ms(history, switched),
        )
        took = f"The change took {outcome.elapsed_s:.1f} s at {counted(outcome.brokers, 'broker')}"
        moved = f"{counted(outcome.moved, 'client')} moved"
        waited = f"waited {waits[1]:.0f} ms at most for its answer, {waits[0]:.0f} ms before"
        told = [story.promise(), f"{took}; {moved}; a publisher {waited}.", story.outcome()]
        told += other_traffic(story.before, story.after)
        title = f"{parameters.brokers} brokers, {parameters.clients} clients: {parameters.design}"
        write_whole({folder.report: demo_page(story, title, told, counts)})
        elapsed_s = time.monotonic() - self._began_s
        document = story_document(parameters, story, outcome, counts, waits)
        managed = self._managed() if self._is_kept else None
        if managed is not None:
            document["dashboard"] = managed.seen_at
        answer(
            as_json,
            {**document, "seconds": round(elapsed_s, 1), "report": str(folder.report)},
            *story_shown(parameters, story, told, counts),
            *sentences(found),
            f"Report: {folder.report}; plan: {folder.plan}; what clients saw: {folder.history}; "
            f"{elapsed_s:.0f} s in all",
            *(() if managed is None else self._what_next(saved.id, managed)),
        )
        is_better = (
            story.after.measures.messages_per_delivery < story.before.measures.messages_per_delivery
        )
        if found or outcome.end != "done" or not is_better:
            raise typer.Exit(CHECK_SAYS_NO)

    def _managed(self) -> Managed:
        from meshwright.lab.demo import start_manager

        with _stage("Started a manager"), working("Starting a manager"):
            return start_manager(self._folder)

    def _what_next(self, plan: str, managed: Managed) -> list[str]:
        data = self._folder.network
        at_manager = f"--manager {managed.url} --token-file {managed.token_file}"
        return [
            "The brokers go on running, without clients, and a manager with them.",
            f"Look at the network: {managed.seen_at}",
            "What to try next:",
            f"  meshwright status --data {data}",
            f"  meshwright plan show {plan} --data {data}",
            f"  meshwright plan undo {plan} {at_manager}",
            f"  meshwright compare {self._folder.telemetry} --slot 5s",
            f"  meshwright down --data {data}",
        ]


def _told_sight(seen: list[Sight]) -> str:
    if not seen:
        return ""
    deliveries = sum(one.deliveries_per_s for one in seen) / len(seen)
    relays = sum(one.relays_per_s for one in seen) / len(seen)
    return f"{deliveries:.0f} deliveries and {relays:.0f} relays a second"


def _show_plan(bar: TaskBar, sight: PlanSight) -> None:
    bar.say(sight.step or "begins")
    bar.count((sight.in_force, sight.brokers))


def _refuse_ended(network: LocalNetwork) -> None:
    from meshwright.errors import OperatorError

    ended = network.ended()
    if ended is not None:
        raise OperatorError(f"{ended.name} has ended; see {network.log_of(ended.name)}.")


@contextmanager
def _told_when_stopped(folder: DemoFolder) -> Iterator[None]:
    """Say so if the user stops it; whatever runs has ended by then."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"Stopped; what was made so far is in {folder.root}.", err=True)
        raise typer.Exit(STOPPED) from None


@contextmanager
def _stage(done: str | Callable[[], str]) -> Iterator[None]:
    """Say what was done, and how long it took; for those who see no bars too."""
    began_s = time.monotonic()
    yield
    told = done if isinstance(done, str) else done()
    typer.echo(f"{told} ({time.monotonic() - began_s:.1f} s)", err=True)
