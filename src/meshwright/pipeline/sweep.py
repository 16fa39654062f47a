"""Any importable function over a grid of parameters and seeds, spread over executors.

Tasks go out in bundles, each a partition of a range: nothing is shuffled, so nothing is coalesced,
and a free core takes the next bundle. Bundles shrink towards the end [guided self-scheduling], so
that a partition's own 30 ms are paid seldom and yet cores end together. Results come in the order
of the grid, whichever task ends first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import islice
from math import gcd, prod
from queue import SimpleQueue
from typing import Any, Generic, Protocol, TypeVar
from uuid import uuid4

import msgspec
import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as spark_functions

from meshwright.errors import MeshwrightError, OperatorError
from meshwright.pipeline.spark.session import cancel_tagged, tag_jobs

Grid = Mapping[str, Sequence[Any]]
Results = list[tuple["Task", Any]]
K = TypeVar("K")

# A bundle is at most this part of a core's fair share of what is left, and never large: whoever
# watches sees progress, and an executor that dies takes little with it.
SHARE_PARTS = 4
BUNDLE_MAX = 32
GOLDEN_SHARE = 0.6180339887
MANY = 1_000_000
SCHEMA = "task long, value binary, error string"
ARROW_SCHEMA = pa.schema([("task", pa.int64()), ("value", pa.binary()), ("error", pa.string())])


@dataclass(frozen=True, slots=True)
class Task:
    """One call: function(**parameters, seed=seed)."""

    parameters: dict[str, Any]
    seed: int

    def __str__(self) -> str:
        settings = [f"{name}={value}" for name, value in self.parameters.items()]
        return ", ".join([*settings, f"seed={self.seed}"])


class Tasks(Protocol):
    """Calls that are known by their number; a grid of them, or a list."""

    def __len__(self) -> int: ...

    def __getitem__(self, number: int, /) -> Task: ...


@dataclass(frozen=True, slots=True)
class TaskGrid:
    """Every combination of values with every seed; seeds turn first, then the last parameter."""

    values: Grid
    seeds: Sequence[int]

    def __len__(self) -> int:
        return prod(len(values) for values in self.values.values()) * len(self.seeds)

    def __iter__(self) -> Iterator[Task]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, number: int) -> Task:
        number, seed = divmod(number, len(self.seeds))
        chosen: dict[str, Any] = {}
        for name in reversed(list(self.values)):
            number, index = divmod(number, len(self.values[name]))
            chosen[name] = self.values[name][index]
        return Task({name: chosen[name] for name in self.values}, self.seeds[seed])


@dataclass(frozen=True, slots=True)
class Part(Generic[K]):
    """Some calls of one function, and what their results are known by."""

    key: K
    function: Callable[..., Any]
    tasks: Tasks


def swept_parts(
    session: SparkSession, parts: Iterable[Part[K]], lanes: int, slots: int
) -> Iterator[tuple[K, Results]]:
    """Each part with its results as soon as all of it is done; so many parts run side by side.

    A part is taken when a lane is free, so that no slot waits for the longest task of others. Who
    takes no more results, or hears that a part failed, waits for none of the others: their jobs are
    cancelled. slots: of each lane.
    """
    coming = iter(parts)
    working = _Lanes[K](session, lanes, slots)
    try:
        working.begin(islice(coming, lanes))
        while working.part_count:
            yield working.ended()
            working.begin(islice(coming, 1))
    finally:
        working.close()


class _Lanes(Generic[K]):
    """Threads that each sweep one part after the other; no process waits for them to end."""

    def __init__(self, session: SparkSession, count: int, slots: int) -> None:
        self.part_count = 0  # begun, and not yet handed out
        self._session = session
        self._slots = slots
        self._tag = f"sweep-{uuid4().hex}"
        self._parts: SimpleQueue[Part[K] | None] = SimpleQueue()
        self._results: SimpleQueue[tuple[K, Future[Results]]] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"sweep-{number}", daemon=True)
            for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def begin(self, parts: Iterable[Part[K]]) -> None:
        """Have parts swept, each by the lane that is free first."""
        for part in parts:
            self.part_count += 1
            self._parts.put(part)

    def ended(self) -> tuple[K, Results]:
        """The results of the part that ends next; raises what it raised."""
        key, outcome = self._results.get()
        self.part_count -= 1
        return key, outcome.result()

    def close(self) -> None:
        """Let the lanes go, and cancel what they are at."""
        for _ in self._threads:
            self._parts.put(None)
        if self.part_count:
            cancel_tagged(self._session, self._tag)

    def _work(self) -> None:
        while (part := self._parts.get()) is not None:
            outcome: Future[Results] = Future()
            try:
                tag_jobs(self._session, self._tag)
                outcome.set_result(sweep(self._session, part.function, part.tasks, self._slots))
            except BaseException as error:  # whatever it is, it is raised where results are taken
                outcome.set_exception(error)
            self._results.put((part.key, outcome))


def sweep(
    session: SparkSession, function: Callable[..., Any], tasks: Tasks, slots: int | None = None
) -> Results:
    """Every task with what the function returned, in the order of the tasks.

    The function must be importable by executors, and return what msgspec encodes: numbers, texts,
    lists, mappings, structs; it comes back as plain values. All tasks run even if one fails; then
    the first that failed is named. slots: tasks that are to run at once, if not as many as can.
    """
    bundles = bundle_ends(len(tasks), slots or slot_count(session)) if len(tasks) else []
    try:
        rows = (
            session.range(0, len(bundles), 1, max(1, len(bundles)))
            .mapInArrow(_runner(function, tasks, bundles), SCHEMA)
            .collect()
        )
    except PySparkException as error:
        reason = str(error).strip().splitlines()[-1]
        raise OperatorError(
            f"The executors could not run the tasks ({reason}); see that they have the function's "
            "module and what it imports."
        ) from error
    failed = sorted((row.task, row.error) for row in rows if row.error is not None)
    if failed:
        number, reason = failed[0]
        others = f" ({len(failed) - 1} more of {len(tasks)} failed)" if len(failed) > 1 else ""
        raise OperatorError(f"The task {tasks[number]} failed: {reason}{others}")
    values = {row.task: row.value for row in rows}
    return [
        (tasks[number], msgspec.msgpack.decode(bytes(values[number])))
        for number in range(len(tasks))
    ]


def bundle_ends(task_count: int, slot_count: int) -> list[int]:
    """Where each bundle of tasks ends: large ones first, single tasks last."""
    ends: list[int] = []
    end = 0
    while end < task_count:
        share = (task_count - end) // (SHARE_PARTS * slot_count)
        end += min(max(share, 1), BUNDLE_MAX)
        ends.append(end)
    return ends


def spread_out(place: int, task_count: int) -> int:
    """The task at a place of the queue: a permutation that parts neighbours of the grid.

    Neighbours share their parameters and so their length; a bundle should hold long and short ones.
    """
    stride = next(
        stride
        for stride in range(max(1, round(task_count * GOLDEN_SHARE)), task_count + 1)
        if gcd(stride, task_count) == 1 or task_count == 1
    )
    return place * stride % task_count


def slot_count(session: SparkSession) -> int:
    """Tasks that run at once: Spark cuts a range into as many partitions by itself."""
    partitions = session.range(MANY).select(spark_functions.spark_partition_id().alias("number"))
    row = partitions.agg(spark_functions.max("number").alias("last")).first()
    return 1 if row is None else int(row["last"]) + 1


def results_table(results: Sequence[tuple[Task, Any]]) -> pa.Table:
    """One row a task: its parameters, its seed, and the entries of a mapping it returned.

    Anything else that is returned stands in a column `result`.
    """
    rows = [
        {**task.parameters, "seed": task.seed, **_entries(task, value)} for task, value in results
    ]
    names = dict.fromkeys(name for row in rows for name in row)
    try:
        return pa.table({name: [row.get(name) for row in rows] for name in names})
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise OperatorError(
            f"The results make no table ({error}); return values of one kind under each name."
        ) from None


def _entries(task: Task, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        value = {"result": value}
    entries = {str(name): entry for name, entry in value.items()}
    taken = [name for name in entries if name == "seed" or name in task.parameters]
    if taken:
        raise OperatorError(
            f"The task {task} returned a value called {taken[0]!r}, as a parameter is; rename one."
        )
    return entries


def _runner(
    function: Callable[..., Any], tasks: Tasks, bundles: Sequence[int]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run_bundles(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for bundle in batch.column(0).to_pylist():
                start = bundles[bundle - 1] if bundle else 0
                numbers = [spread_out(place, len(tasks)) for place in range(start, bundles[bundle])]
                outcomes = [_outcome(function, tasks[number]) for number in numbers]
                columns = [numbers, *zip(*outcomes, strict=True)]
                yield pa.RecordBatch.from_arrays(
                    [
                        pa.array(column, field.type)
                        for column, field in zip(columns, ARROW_SCHEMA, strict=True)
                    ],
                    schema=ARROW_SCHEMA,
                )

    return run_bundles


def _outcome(function: Callable[..., Any], task: Task) -> tuple[bytes | None, str | None]:
    """What the function returned, encoded, or else in one sentence why there is nothing."""
    try:
        returned = function(**task.parameters, seed=task.seed)
        return msgspec.msgpack.encode(returned, enc_hook=_plain), None
    except MeshwrightError as error:
        return None, str(error)
    except Exception as error:  # whatever a user's function raises must name its task
        return None, f"{type(error).__name__}: {error}"


def _plain(value: Any) -> Any:
    """Plain values for what NumPy holds."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be returned from a task")
