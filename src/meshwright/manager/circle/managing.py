"""One manager: it holds the lease, collects, plans when asked or by its policy, and orders.

Threads renew the lease, look at the network, make a plan and carry one out, each by itself. All
that must outlive the process is in its folder.
"""

from __future__ import annotations

import secrets
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from typing import Literal, TypeVar

import msgspec

from meshwright.errors import MeshwrightError, OperatorError
from meshwright.files.tokens import read_token
from meshwright.live.access.tls import dialling_context
from meshwright.live.operating.control_client import PlanBegun
from meshwright.live.system.addresses import parse_address
from meshwright.live.telemetry.log import Log
from meshwright.manager.circle.desk import PLANS_FOLDER, made, now_us, only_one
from meshwright.manager.circle.status import Adaptation, Status, UnderWay
from meshwright.manager.collecting.collection import Collected, Collection
from meshwright.manager.collecting.measuring import Measuring, look_of, traffic_of
from meshwright.manager.collecting.windows import Windows, windows_of
from meshwright.manager.deciding.churning import Churning, is_topic_connected
from meshwright.manager.deciding.planner import (
    NetworkView,
    Planner,
    PlanRequest,
    SparkPlanner,
    goals_of,
)
from meshwright.manager.deciding.policy import (
    changed,
    decide,
    decide_churn,
    is_in_hours,
    remembered,
    trust_in,
)
from meshwright.manager.deciding.wanted import wanted_of
from meshwright.manager.network.leasing import Leasing, read_identity
from meshwright.manager.network.running import RunningNetwork
from meshwright.manager.orders.execution import Action, Sight
from meshwright.manager.orders.orders import Orders
from meshwright.manager.orders.saved_plans import (
    Cost,
    Origin,
    PlanEntry,
    PlanState,
    PlanStore,
    SavedPlan,
)
from meshwright.manager.settings import ManagerSettings
from meshwright.manager.views.watching import Watching
from meshwright.model.designs import check_k, design
from meshwright.model.times import SECOND_US
from meshwright.planning.changes.broker_change import BrokerChange
from meshwright.planning.changes.differences import PlanDifference, plan_difference

# A plan, whole or as a line of a list.
Shown = TypeVar("Shown", PlanEntry, SavedPlan)

# Who gives an order, and what else it may be than about a plan.
Giver = Literal["operator", "policy"]
Told = Literal["apply", "undo", "abort", "hold", "release"]

# A lease is renewed so often while it lasts.
RENEWALS = 3
LEASE_ASKED_WITHIN_S = 5.0
# The last of what it has to say stand in its status.
NOTES_MAX = 20


class Manager:
    """Answers and takes orders from any thread; planner: makes plans of the trace.

    watching: what is to be seen of the network. log: gets a line for what was done and found.
    """

    def __init__(
        self,
        settings: ManagerSettings,
        *,
        network: RunningNetwork | None = None,
        planner: Planner | None = None,
        say: Callable[[str], None] = lambda _text: None,
        log: Log | None = None,
    ) -> None:
        self._settings = settings
        self._say = say
        self._log = log
        self._network = network or network_of(settings)
        folder = settings.folder
        self._store = PlanStore(folder / PLANS_FOLDER)
        self._orders = Orders(self._store, self._network, now_us)
        self.watching = Watching(folder, self._network, self._store)
        self._planner = planner or SparkPlanner(folder, settings.planning, settings.goals)
        self._collection = Collection(folder, self._network, settings.windows)
        self._measuring = Measuring(round(settings.measure_s * SECOND_US))
        self._policy = remembered(settings.policy, ())
        self._collected = Collected(files=0, silent={})
        # By what is done from time to time: why it does not go on.
        self._troubles: dict[str, str] = {}
        self._last = "no plan was made yet"
        self._sight: Sight | None = None
        self._planned_us = 0
        self._notes: deque[str] = deque(maxlen=NOTES_MAX)
        self._churning = Churning(folder)
        # Brokers that nobody sees, since when, and those that a plan was made without.
        self._lost_us: dict[str, int] = {}
        self._planned_without: frozenset[str] = frozenset()
        # Whoever changes plans holds it.
        self._lock = threading.Lock()
        self._making: tuple[str, float] | None = None
        self._is_over = threading.Event()
        self._is_lease_asked = threading.Event()
        self._opened = ExitStack()
        self._threads: dict[str, ThreadPoolExecutor] = {}
        self._leasing: Leasing | None = None

    def open(self) -> None:
        """Take the folder, and begin."""
        self.take()
        self.begin()

    def take(self) -> None:
        """Take the folder, and say what was left there."""
        folder = self._settings.folder
        self._opened.enter_context(only_one(folder))
        identity, is_new = read_identity(folder, lambda: f"manager-{secrets.token_hex(4)}")
        seconds = self._settings.lease.seconds
        self._leasing = Leasing(folder, identity, self._network, seconds)
        if is_new:
            self._note(
                f"{folder} was empty, so {identity.name} begins anew: plans that were made before "
                "are not known, and telemetry is collected from now on."
            )
        self._fail_unmade("the manager ended while it was made; make it again")
        known = self._store.entries()
        self._policy = remembered(self._settings.policy, known)
        if known:
            self._last = (
                f"{known[-1].id}, of before this manager was started: {known[-1].state.value}"
            )
        for name in ("lease", "look", "plan", "order"):
            self._threads[name] = ThreadPoolExecutor(1, thread_name_prefix=f"manager-{name}")

    def begin(self) -> None:
        """Begin to hold the lease and to look at the network, once the folder is taken."""
        # By itself, since collecting may take longer than a lease lasts.
        seconds = self._settings.lease.seconds
        self._threads["lease"].submit(self._always, self._renew, seconds / RENEWALS)
        every_s = self._settings.windows.collect_every_s
        self._threads["look"].submit(self._always, self._look, every_s)

    def close(self) -> None:
        """End; an order that is under way goes on at the brokers, and is followed later."""
        self._is_over.set()
        self._planner.stop()
        self._threads["look"].shutdown()
        self._threads["lease"].shutdown()
        self._threads["plan"].shutdown(cancel_futures=True)
        self._threads["order"].shutdown(wait=False, cancel_futures=True)
        with suppress(MeshwrightError, OSError):
            self._lease().give_back()
        self._opened.close()

    def entries(self) -> tuple[PlanEntry, ...]:
        """All plans, oldest first; of one that is being made, how far that is."""
        return tuple(map(self._as_of_now, self._store.entries()))

    def plan(self, name: str) -> SavedPlan:
        """One plan; while it is made, how far that is."""
        return self._as_of_now(self._store.plan(name))

    def _as_of_now(self, saved: Shown) -> Shown:
        making = self._making
        if making is not None and making[0] == saved.id and saved.state is PlanState.MAKING:
            elapsed_s = time.monotonic() - making[1]
            detail = f"Spark reads the trace and plans, {elapsed_s:.0f} s so far"
            return msgspec.structs.replace(saved, detail=detail)
        return saved

    def difference(self, first: str, second: str) -> PlanDifference:
        """How two plans differ."""
        return plan_difference(self.plan(first).whole(), self.plan(second).whole())

    def make(self, request: PlanRequest, origin: Origin = "running", why: str = "") -> SavedPlan:
        """Begin to make a plan for the network as it runs; returns at once. why: now."""
        self._refuse_waiting()
        windows = self.windows()
        is_whole = request.method is None
        if is_whole and not windows.is_enough and not request.early:
            raise OperatorError(
                f"No plan is made yet, {windows.told()}; ask again then, or for an early one."
            )
        self._refuse_impossible(request)
        with self._lock:
            if self._making is not None:
                raise OperatorError(f"Plan {self._making[0]} is being made; wait for it.")
            saved = msgspec.structs.replace(self._store.add(now_us(), origin), detail=why)
            self._making = (saved.id, time.monotonic())
        if is_whole:
            self._planned_us = now_us()
        self._event("plan_begun", plan=saved.id, origin=origin, why=why, asked=request)
        self._threads["plan"].submit(self._make, saved, request)
        return saved

    def _refuse_impossible(self, request: PlanRequest) -> None:
        """What no plan can reach is said at once, not after minutes of Spark."""
        brokers = self._network.in_force().brokers
        added = request.add_brokers
        if request.method == "churn":  # who has come already is placed
            added = tuple(name for name in added if name not in brokers)
        BrokerChange(added, request.remove_brokers).check(brokers)
        goals_of(request, self._settings.goals).check()
        if request.design is not None:
            design(request.design)
            check_k(request.design, request.k)

    def carry_out(
        self, action: Action, name: str, leader: str | None = None, *, by: Giver = "operator"
    ) -> SavedPlan:
        """Begin to apply or undo a plan; returns at once, refused if it cannot be."""
        with self._telling_refusal(action, by, plan=name):
            self._refuse_waiting()
            with self._lock:
                cost = self._measuring.cost()
                saved = self._orders.begin(action, name, leader=leader, cost_before=cost)
        asked = None if saved.order is None else saved.order.leader
        self._event("order_given", action=action, by=by, plan=name, leader=asked)
        # It is read again there: whoever looks meanwhile may have brought it to its end already.
        self._threads["order"].submit(self._finish_unfinished)
        return saved

    def abort(self) -> PlanBegun:
        """End the plan under way at the brokers, unless it is decided."""
        with self._telling_refusal("abort", "operator"):
            self._refuse_waiting()
            aborted = self._orders.abort()
        self._event("order_given", action="abort", by="operator", leader=aborted.broker)
        return aborted

    def hold(self, *, is_held: bool) -> Adaptation:
        """Have brokers that fit their tree to their traffic leave it as it is, or go on."""
        self._refuse_waiting()
        told, refused = [], {}
        for name, control in self._network.controls().items():
            try:
                self._network.order(control, f"/adaptation/{'hold' if is_held else 'release'}")
                told.append(name)
            except OperatorError as error:
                refused[name] = str(error)
        action: Told = "hold" if is_held else "release"
        with self._telling_refusal(action, "operator"):
            if not told:
                raise OperatorError(next(iter(refused.values())))
        self._event(
            "order_given", action=action, by="operator", brokers=told, refused=sorted(refused)
        )
        return Adaptation(is_held=is_held, brokers=tuple(told), refused=refused)

    def windows(self) -> Windows:
        """How much telemetry there is."""
        return windows_of(self._collection.span(), self._settings.windows)

    def status(self) -> Status:
        """What it does and waits for."""
        under_way = self._store.under_way()
        windows, lease = self.windows(), self._lease()
        return Status(
            manager=lease.identity.name,
            telemetry=windows.told(),
            windows=windows,
            lease=lease.told(now_us()),
            policy=self._settings.policy.mode,
            last=self._last,
            trust=trust_in(self._store.entries()),
            cost=self._measuring.cost(),
            under_way=None
            if under_way is None
            else UnderWay(id=under_way.id, state=under_way.state, sight=self._sight),
            silent=self._collected.silent,
            trouble=self._trouble(),
            notes=tuple(self._notes),
        )

    def _always(self, deed: Callable[[int], None], every_s: float) -> None:
        """Do something from time to time; what goes wrong is said once, and tried again."""
        while not self._is_over.is_set():
            try:
                deed(now_us())
            except Exception as error:  # a thread that ends would end in silence
                is_ours = not isinstance(error, MeshwrightError | OSError)
                told = traceback.format_exc() if is_ours else str(error)
                if told != self._troubles.get(deed.__name__):
                    self._say(told)
                self._troubles[deed.__name__] = told
            else:
                self._troubles.pop(deed.__name__, None)
            self._is_over.wait(every_s)

    def _trouble(self) -> str:
        """Why something does not go on; "" if all does."""
        return next(iter(tuple(self._troubles.values())), "")

    def _renew(self, now: int) -> None:
        try:
            self._lease().renew(now)
        finally:
            self._is_lease_asked.set()

    def _look(self, now: int) -> None:
        """See to the telemetry, what is unfinished, what was measured, and the policy."""
        traffic = traffic_of(self._network)
        counted_us = now_us()  # later than the look began, if a broker that hangs was waited for
        self._measuring.see(look_of(traffic, counted_us))
        change = self.watching.see(counted_us, traffic)
        for event, names in (("broker_lost", change.lost), ("broker_back", change.back)):
            for name in names:
                self._event(event, broker=name)
        if self._lease().is_held(now):
            self._collected = self._collection.collect(now, is_read=self._making is not None)
            self._fail_unmade("it was made and could not be kept; make it again")
            self._resume()
            self._keep_measured()
            self._follow_churn(now)
            self._follow_policy(now)
            self._plan_without_lost(now)

    def _fail_unmade(self, why: str) -> None:
        """End plans that are in the making and that nobody makes."""
        with self._lock:
            made_now = None if self._making is None else self._making[0]
            for entry in self._store.entries():
                if entry.state is PlanState.MAKING and entry.id != made_now:
                    saved = self._store.plan(entry.id)
                    self._store.write(saved.become(PlanState.FAILED, why))

    def _lease(self) -> Leasing:
        assert self._leasing is not None
        return self._leasing

    def _refuse_waiting(self) -> None:
        # An order may come as soon as somebody listens, before brokers were asked for the lease.
        self._is_lease_asked.wait(LEASE_ASKED_WITHIN_S)
        if not self._lease().is_held(now_us()):
            why = self._lease().waiting or self._trouble() or "its lease has run out"
            raise OperatorError(f"This manager gives no orders now: {why.rstrip('.')}.")

    def _event(self, name: str, **fields: object) -> None:
        """One line in the log."""
        if self._log is not None:
            self._log.event(now_us(), name, manager=self._lease().identity.name, **fields)

    @contextmanager
    def _telling_refusal(self, action: Told, by: Giver, **fields: object) -> Iterator[None]:
        """An order that is refused is told of in the log, too."""
        try:
            yield
        except OperatorError as error:
            self._event("order_refused", action=action, by=by, **fields, reason=str(error))
            raise

    def _note(self, text: str) -> None:
        self._notes.append(text)
        self._say(text)

    def _make(self, saved: SavedPlan, request: PlanRequest) -> None:
        try:
            span = self._collection.span()
            view = NetworkView(
                trace=self._collection.trace,
                until_us=now_us() if span is None else span.until_us,
                source=self._network.in_force(),
                slot_s=self._settings.windows.length_s,
                wanted=wanted_of(view for _, view in self._network.views().values())
                if request.method == "churn"
                else {},
                staying=self._network.staying(),
            )
            found = self._planner.make(view, request)
            ready = made(saved, found.plan, found.predicted)
        except (MeshwrightError, OSError) as error:
            ready = saved.become(PlanState.FAILED, str(error))
        except Exception as error:  # or it would be in the making for ever
            self._say(traceback.format_exc())
            ready = saved.become(PlanState.FAILED, f"the manager made a mistake ({error!r})")
        is_decided = ready.origin in {"policy", "churn"} and ready.plan is not None
        verdict = ""
        try:
            if is_decided:
                verdict, ready = self._judged(ready)
            with self._lock:
                self._store.write(ready)
        except Exception as error:  # or it would be in the making for ever
            self._note(f"{ready.id} could not be kept: {error}")
            return
        finally:
            self._making = None
        self._event(
            "plan_failed" if ready.plan is None else "plan_made",
            plan=ready.id,
            state=ready.state,
            why=ready.detail,
            summary="" if ready.plan is None else ready.plan.summary,
        )
        if not is_decided:
            self._last = f"{ready.id}: {ready.detail or ready.whole().summary}"
        if verdict == "apply":
            try:
                self.carry_out("apply", ready.id, by="policy")
            except (MeshwrightError, OSError) as error:
                self._last = f"{ready.id}: not applied ({error})"

    def _judged(self, saved: SavedPlan) -> tuple[str, SavedPlan]:
        """What the policy decides on a plan that it had made, and the plan with the reason."""
        trust = trust_in(self._store.entries())
        state = msgspec.structs.replace(self._policy, trust=trust)
        policy, plan = self._settings.policy, saved.whole()
        verdict, reason, self._policy = (
            decide_churn(policy, state, plan)
            if saved.origin == "churn"
            else decide(policy, state, plan, now_us())
        )
        why = f"{saved.detail}; {reason}" if saved.detail else reason
        self._last = f"{saved.id}: {verdict}, as {why}"
        if saved.state is PlanState.PROPOSED:
            saved = msgspec.structs.replace(saved, detail=why)
        return verdict, saved

    def _finish(self, saved: SavedPlan) -> None:
        """Carry an order to its end; what keeps it from there is tried again with the next look."""

        def tell(sight: Sight) -> None:
            self._sight = sight
            if self._is_over.is_set():
                raise SystemExit

        try:
            ended = self._orders.finish(saved, tell)
        except (MeshwrightError, OSError) as error:
            self._say(f"{saved.id}: {error}")
            if self._store.under_way() is None:
                self._event("order_ended", plan=saved.id, end="refused", reason=str(error))
            return
        except Exception:  # a mistake of ours, which nobody would hear of in this thread
            self._say(traceback.format_exc())
            return
        finally:
            self._sight = None
        self._event("order_ended", plan=ended.id, state=ended.state, outcome=ended.outcome)
        self._measuring.forget()
        if saved.origin != "churn":  # a whole plan need not wait for it
            self._policy = changed(self._settings.policy, self._policy, now_us())

    def _resume(self) -> None:
        """Go on with an order that a former life, or a network that did not answer, left."""
        with self._lock:
            unfinished = self._store.under_way()
        if unfinished is not None and self._sight is None:
            self._threads["order"].submit(self._finish_unfinished)

    def _finish_unfinished(self) -> None:
        unfinished = self._store.under_way()
        if unfinished is not None:
            self._finish(unfinished)

    def _keep_measured(self) -> None:
        """Once it was measured long enough after a change, write down what the change was worth."""
        after = self._measuring.cost()
        if after is None:
            return
        with self._lock:
            applied = [one for one in self.entries() if one.state is PlanState.APPLIED]
            if not applied or applied[-1].measured is not None:
                return
            saved = self._store.plan(applied[-1].id)
            order = saved.order
            is_in_force = saved.whole().target == self._network.in_force()
            if order is not None and order.cost_before is not None and is_in_force:
                measured = Cost(before=order.cost_before, after=after)
                self._store.write(saved.become(PlanState.APPLIED, saved.detail, measured=measured))

    def _follow_policy(self, now: int) -> None:
        policy = self._settings.policy
        is_due = now >= self._planned_us + round(policy.every_s * SECOND_US)
        is_automatic = policy.mode == "automatic"
        if is_automatic and is_due and self._is_free() and self.windows().is_enough:
            with suppress(OperatorError):
                self.make(PlanRequest(), "policy")

    def _follow_churn(self, now: int) -> None:
        """Have brokers placed that came, and gaps closed that others left, in a few links."""
        policy = self._settings.policy
        views = [view for _, view in self._network.views().values()]
        found = self._churning.seen(views, now, round(policy.lost_after_s * SECOND_US))
        if found is None or not self._is_free():
            return
        if policy.mode == "automatic" and not is_in_hours(policy, now):
            return
        request = PlanRequest(
            method="churn", add_brokers=found.came, remove_brokers=found.left, early=True
        )
        saved = self.make(request, "churn", found.why)
        self._churning.planned(found)
        self._note(f"Plan {saved.id} is made now: {found.why}.")

    def _plan_without_lost(self, now: int) -> None:
        """Propose where the roles and clients go of brokers that have been lost for long."""
        views = [view for _, view in self._network.views().values()]
        overlay = max(views, key=lambda view: view.epoch).overlay
        if is_topic_connected(overlay):  # see _follow_churn
            return
        seen = {name for view in views for name in view.alive}
        self._lost_us = {
            name: self._lost_us.get(name, now) for name in overlay.brokers if name not in seen
        }
        before_us = now - round(self._settings.policy.lost_after_s * SECOND_US)
        lost = frozenset(name for name, since_us in self._lost_us.items() if since_us <= before_us)
        self._planned_without &= lost
        if lost == self._planned_without or not self._is_free() or not self.windows().is_enough:
            return
        names = tuple(sorted(lost))
        saved = self.make(PlanRequest(remove_brokers=names, objective="cost"), "lost")
        self._planned_without = lost
        self._note(f"Lost: {', '.join(names)}. Plan {saved.id} is made without.")

    def _is_free(self) -> bool:
        """True if no plan is being made or carried out."""
        return self._making is None and self._store.under_way() is None


def network_of(settings: ManagerSettings) -> RunningNetwork:
    """The brokers that settings name."""
    brokers = settings.brokers
    if not brokers.addresses:
        return RunningNetwork(brokers.data)
    assert brokers.token_file is not None
    token = read_token(brokers.token_file, 1).encode()
    tls = None if brokers.tls is None else dialling_context(brokers.tls)
    return RunningNetwork.at(tuple(map(parse_address, brokers.addresses)), token, tls)
