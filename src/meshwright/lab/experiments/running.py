"""Runs experiments: tasks go to executors in parts, and each part's rows are kept when it is done.

A task's rows depend on its parameters and its seed alone, so neither the number of executors nor
how a run was cut in parts can be seen in the results.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from meshwright import __version__
from meshwright.errors import OperatorError
from meshwright.files.decoding import converted, decoded
from meshwright.lab.experiments.experiment import Experiment, Measure, Scale, Sweep
from meshwright.lab.experiments.results import (
    CPU_COLUMN,
    OWN_COLUMNS,
    SEED_COLUMN,
    TASK_COLUMN,
    Again,
    Question,
    ResultFolder,
)
from meshwright.pipeline.replays.keeping import source_digest
from meshwright.pipeline.spark.session import Session
from meshwright.pipeline.sweep import Grid, Part, Task, TaskGrid, slot_count, swept_parts
from meshwright.pipeline.tables.traces import check_trace

# Short enough that little is lost when a run is stopped, long enough for Spark to be worth while.
PART_S = 30.0
LANES_MAX = 16


# The tasks of an order that one call measures, for each call.
_Numbers = tuple["Order", list[list[int]]]


@dataclass(frozen=True, slots=True)
class SeedBySeed:
    """Every combination of a grid's values with the first seed, then with the next.

    Claims are told seed by seed, so a run that was stopped tells something, and more seeds can be
    asked for later: each task keeps its number.
    """

    grid: Grid
    seeds: int

    @property
    def tasks_each(self) -> int:
        """Tasks of a seed."""
        return len(TaskGrid(self.grid, [0]))

    def __len__(self) -> int:
        return self.tasks_each * self.seeds

    def __getitem__(self, number: int) -> Task:
        seed, place = divmod(number, self.tasks_each)
        return TaskGrid(self.grid, [seed])[place]


@dataclass(frozen=True, slots=True)
class Order:
    """One experiment to run: at which scale, with how many seeds, and on which traces if on any.

    changes: values of parameters that are swept in place of its own.
    """

    experiment: Experiment
    scale: Scale
    seeds: int
    traces: tuple[str, ...] = ()
    changes: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def sweep(self) -> Sweep:
        """The experiment's own sweep at the scale."""
        return self.experiment.scales[self.scale]

    @property
    def grid(self) -> dict[str, list[Any]]:
        """What is swept."""
        traces = {"trace": list(self.traces)} if self.experiment.needs_trace else {}
        swept = {**self.sweep.grid, **self.changes}
        return {**traces, **{name: list(values) for name, values in swept.items()}}

    @property
    def fixed(self) -> dict[str, Any]:
        """What is not swept, and what it is."""
        return {
            name: value for name, value in self.experiment.usual().items() if name not in self.grid
        }

    @property
    def tasks(self) -> SeedBySeed:
        """Every call."""
        return SeedBySeed(self.grid, self.seeds)

    def done_of(self, folder: ResultFolder) -> set[int]:
        """The tasks of it that have rows."""
        return folder.done() & set(range(len(self.tasks)))

    def core_minutes(self, done: int = 0) -> float:
        """What the tasks that are left take of one core."""
        each = range(self.tasks.tasks_each)
        left = (len(self.tasks) - done) * len(self.calls(each)) / len(each)
        return left * self.sweep.task_cpu_s / 60

    def calls(self, numbers: Iterable[int]) -> list[list[int]]:
        """Tasks by the call that measures them."""
        found: dict[tuple[int, str], list[int]] = {}
        for number in numbers:
            task = self.tasks[number]
            deciding = self.experiment.deciding({**self.fixed, **task.parameters})
            found.setdefault((task.seed, repr(sorted(deciding.items()))), []).append(number)
        return list(found.values())


def ordered(
    experiments: Sequence[Experiment],
    scale: Scale,
    seeds: int | None = None,
    traces: Sequence[Path] = (),
    changes: Mapping[str, Sequence[Any]] | None = None,
) -> list[Order]:
    """The experiments at a scale; seeds: instead of as many as each has at it.

    traces: for those that need one. changes: values of parameters, swept in place of their own.
    """
    for one in experiments:
        if one.needs_trace and not traces:
            raise OperatorError(
                f"The experiment {one.name} is about a trace; name its folder with --trace."
            )
    for trace in traces:
        check_trace(trace)
    folders = tuple(str(trace.resolve()) for trace in traces)
    missing = [one.name for one in experiments if scale not in one.scales]
    if missing:
        has = ", ".join(next(one for one in experiments if one.name == missing[0]).scales)
        raise OperatorError(
            f"The experiment {missing[0]} has no scale {scale}; it has {has}. Leave it out, or "
            "choose another scale."
        )
    orders = [
        Order(one, scale, seeds or one.scales[scale].seeds, folders, changes or {})
        for one in experiments
    ]
    for order in orders:
        for name, values in order.changes.items():
            _refuse_strange(order, name, values)
    return orders


def _refuse_strange(order: Order, name: str, values: Sequence[Any]) -> None:
    """Say which parameter an experiment has not, or which value it cannot have."""
    own = {**order.sweep.grid, **{key: [one] for key, one in order.experiment.usual().items()}}
    if name not in own:
        near = get_close_matches(name, own, n=1)
        advice = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(sorted(own))}."
        raise OperatorError(
            f"--grid {name}: {order.experiment.name} has no such parameter; {advice}"
        )
    usual = own[name][0]
    kind = get_type_hints(order.experiment.measure).get(name) or _kind_of(usual)
    for value in values:
        try:
            converted(value, kind)
        except msgspec.ValidationError as error:
            raise OperatorError(
                f"--grid {name}={value}: {str(error).lower()}; one of {order.experiment.name} is "
                f"{usual}."
            ) from None
        if isinstance(value, float | int) and value < 0:
            raise OperatorError(f"--grid {name}={value}: there is no less than none of it.")
    if len(values) > len({str(value) for value in values}):
        raise OperatorError(f"--grid {name}: a value stands twice; name each once.")


def _kind_of(usual: object) -> Any:
    """What a value may be that no signature names."""
    if isinstance(usual, int | float) and not isinstance(usual, bool):
        return int | float
    return str if isinstance(usual, str) else Any


def run(
    session: Session,
    orders: Sequence[Order],
    out: Path,
    *,
    asked_at: str,
    again: Again = "nothing",
    tell: Callable[[Order, int], None],
) -> None:
    """Run the tasks that have no rows yet; tell: how many of an order have, whenever more do.

    The last tasks of an order run beside the first of the next.
    """
    slots = slot_count(session)
    lanes = min(slots, LANES_MAX)
    counts: dict[str, int] = {}

    def parts() -> Iterator[Part[_Numbers]]:
        for order in orders:
            folder = _folder(out, order)
            folder.open(asked(order, asked_at), again=again)
            done = order.done_of(folder)
            counts[order.experiment.name] = len(done)
            tell(order, len(done))
            function = partial(measured, order.experiment.measure)
            for calls in _parts(order, done, slots // lanes):
                tasks = [order.tasks[numbers[0]] for numbers in calls]
                yield Part((order, calls), function, tasks)

    for (order, calls), found in swept_parts(session, parts(), lanes, slots // lanes):
        _folder(out, order).add(
            [
                row
                for numbers, (_, outcome) in zip(calls, found, strict=True)
                for number in numbers
                for row in _labelled(
                    number, order.tasks[number], outcome, is_measured=number == numbers[0]
                )
            ]
        )
        counts[order.experiment.name] += sum(map(len, calls))
        tell(order, counts[order.experiment.name])


def standing(order: Order, out: Path, *, again: Again = "nothing") -> int:
    """How many tasks of an order have rows that stay; refuses a folder that cannot be used."""
    folder, question = _folder(out, order), asked(order, "now")
    folder.refuse(question, again=again)
    return len(order.done_of(folder)) if again != "all" and folder.answers(question) else 0


def _folder(out: Path, order: Order) -> ResultFolder:
    return ResultFolder(out / order.experiment.name)


def _parts(order: Order, done: set[int], slots: int) -> Iterator[list[list[int]]]:
    """The calls that are left, as many at once as a lane is to be given."""
    left = order.calls(number for number in range(len(order.tasks)) if number not in done)
    at_once = slots * ceil(PART_S / order.sweep.task_cpu_s)
    return (left[first : first + at_once] for first in range(0, len(left), at_once))


def asked(order: Order, asked_at: str) -> Question:
    """The order as it is written beside its results."""
    return Question(
        experiment=order.experiment.name,
        scale=order.scale,
        grid=_as_read(order.grid),
        fixed=_as_read(order.fixed),
        seeds=order.seeds,
        version=__version__,
        sources=source_digest(),
        asked_at=asked_at,
    )


def _as_read(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as a file has them, in which a tuple is a list."""
    return decoded(msgspec.json.encode(values), dict[str, Any])


def tasks_of(question: Question) -> SeedBySeed:
    """Every call that a question asks for."""
    return SeedBySeed(question.grid, question.seeds)


def measured(measure: Measure, *, seed: int, **parameters: Any) -> dict[str, Any]:
    """On an executor: the rows of one call, and the time that it took of a core."""
    began_s = time.process_time()
    found = measure(seed=seed, **parameters)
    rows = [found] if isinstance(found, Mapping) else list(found)
    return {"rows": rows, "cpu_s": time.process_time() - began_s}


def _labelled(
    number: int, task: Task, outcome: Mapping[str, Any], *, is_measured: bool
) -> list[dict[str, Any]]:
    """The rows of a call with what it was called with; a task that it was not made for is free."""
    cpu_s = outcome["cpu_s"] if is_measured else 0.0
    labels = {TASK_COLUMN: number, SEED_COLUMN: task.seed, CPU_COLUMN: cpu_s}
    for row in outcome["rows"]:
        taken = [name for name in row if name in OWN_COLUMNS or name in task.parameters]
        if taken:
            raise OperatorError(
                f"The task {task} returned a value called {taken[0]!r}, as a parameter is; "
                "rename one."
            )
    return [{**labels, **task.parameters, **row} for row in outcome["rows"]]
