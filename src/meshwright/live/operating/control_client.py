"""The other end of operators' doors: which brokers there are in a folder, and what they say."""

from __future__ import annotations

import http.client
import ssl
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import msgspec

from meshwright.errors import OperatorError
from meshwright.files.decoding import converted, decoded
from meshwright.live.operating.unix_sockets import SOCKET_NAME, connected_socket
from meshwright.live.system.addresses import Address
from meshwright.model.plan import Plan
from meshwright.protocol.inspection import BrokerView

TIMEOUT_S = 10.0
# Who hangs is waited for so long when brokers are looked for.
FIND_S = 5.0
ASKED_AT_ONCE_MAX = 32

T = TypeVar("T")
Views = dict[str, tuple["BrokerControl", BrokerView]]


class NoAnswerError(OperatorError):
    """A broker was told to do something, and nobody knows whether it heard that."""


class PlanBegun(msgspec.Struct, frozen=True, kw_only=True):
    """A broker leads a plan from now on, or has it aborted."""

    broker: str
    plan: str
    epoch: int


class BrokerControl:
    """One broker that may run: by the socket in its folder, or else by its address and token."""

    def __init__(self, folder: Path) -> None:
        self.where = str(folder / SOCKET_NAME)
        self._dial: Callable[..., http.client.HTTPConnection] = partial(
            _UnixConnection, folder / SOCKET_NAME
        )
        self._headers: dict[str, str] = {}
        # The name is what it calls itself, if it runs, and else that of its folder.
        self.name = folder.name
        # True if it was there and did not answer in time.
        self.is_hanging = False

    @classmethod
    def at(cls, address: Address, token: bytes, tls: ssl.SSLContext | None = None) -> BrokerControl:
        """A broker whose control.listen is this; tls: if it has control.tls."""
        control = cls(Path(str(address)))
        control.where = str(address)
        control._headers = {"Authorization": f"Bearer {token.decode('latin-1')}"}
        control._dial = (
            partial(http.client.HTTPConnection, *address)
            if tls is None
            else partial(http.client.HTTPSConnection, *address, context=tls)
        )
        return control

    def view(self, timeout_s: float = TIMEOUT_S) -> BrokerView | None:
        """All that is to be seen of it; None if it does not run, or hangs."""
        try:
            found = decoded(self._ask("GET", "/view", timeout_s=timeout_s), BrokerView)
        except PermissionError:
            raise OperatorError(
                f"{self.where}: this broker's socket may not be opened (permission denied); ask "
                "as the user who runs the broker."
            ) from None
        except OSError as error:
            self.is_hanging = isinstance(error, TimeoutError)
            return None
        self.name = found.broker
        return found

    def get(self, path: str, kind: type[T]) -> T:
        """The answer to a question."""
        return decoded(self._ask("GET", path), kind)

    def report(self, table: str, name: str) -> bytes:
        """A finished file of its telemetry, as GET /reports names them."""
        return self._ask("GET", f"/reports/file?{urlencode({'table': table, 'name': name})}")

    def order(self, path: str, **options: str) -> dict[str, Any]:
        """Have it do something; refused with its own reason if it will not."""
        return self._order(path, options)

    def decide(
        self, action: str, plan: Plan | None = None, *, lease: int | None = None
    ) -> PlanBegun:
        """Have a plan applied, aborted or undone; tells under which name and epoch that begins.

        lease: the number of the manager's lease, so that no order of a former one is taken.
        """
        body = b"" if plan is None else msgspec.json.encode(plan)
        options = {} if lease is None else {"lease": str(lease)}
        return converted(self._order(f"/plan/{action}", options, body), PlanBegun)

    def _order(self, path: str, options: dict[str, str], body: bytes = b"") -> dict[str, Any]:
        asked = f"{path}?{urlencode(options)}" if options else path
        try:
            return decoded(self._ask("POST", asked, body), dict[str, Any])
        except OSError as error:
            # Where nobody listens nobody heard it.
            is_unheard = isinstance(error, ConnectionRefusedError | FileNotFoundError)
            kind = OperatorError if is_unheard else NoAnswerError
            raise kind(f"{self.name} does not answer ({error}); see its log.") from error

    def _ask(
        self, method: str, path: str, body: bytes = b"", timeout_s: float = TIMEOUT_S
    ) -> bytes:
        connection = self._dial(timeout=timeout_s)
        try:
            connection.request(method, path, body or None, self._headers)
            response = connection.getresponse()
            body = response.read()
        except http.client.HTTPException as error:
            raise OSError(f"its answer makes no sense: {error!r}") from error
        finally:
            connection.close()
        is_refused = HTTPStatus.BAD_REQUEST <= response.status < HTTPStatus.INTERNAL_SERVER_ERROR
        if is_refused and response.headers.get_content_type() == "application/json":
            reason = decoded(body, dict[str, str])["reason"]
            raise OperatorError(f"{self.name} will not: {reason}.")
        if response.status not in (HTTPStatus.OK, HTTPStatus.ACCEPTED):
            raise OSError(f"it answers {response.status} to {path}")
        return body


class Finder:
    """Finds out which brokers answer; one that hangs keeps nobody waiting twice.

    It is asked again in the background, and found again once it has answered there.
    """

    def __init__(self) -> None:
        self._asked_again: dict[str, Future[BrokerView | None]] = {}

    def answering(self, controls: Iterable[BrokerControl]) -> Views:
        """Those that answer, by name, sorted; all are asked at once."""
        asked = list(controls)
        with ThreadPoolExecutor(max(1, min(ASKED_AT_ONCE_MAX, len(asked)))) as threads:
            views = list(threads.map(self._view, asked))
        found = {
            view.broker: (control, view)
            for control, view in zip(asked, views, strict=True)
            if view is not None
        }
        return dict(sorted(found.items()))

    def _view(self, control: BrokerControl) -> BrokerView | None:
        again = self._asked_again.get(control.where)
        if again is not None and not again.done():
            return None
        self._asked_again.pop(control.where, None)
        # What it answered in the background may be old by now.
        is_hanging_still = again is not None and again.result() is None
        view = None if is_hanging_still else control.view(FIND_S)
        if control.is_hanging or is_hanging_still:
            self._asked_again[control.where] = _in_background(partial(control.view, FIND_S))
        return view


def _in_background(ask: Callable[[], T]) -> Future[T]:
    """What is asked by a thread that keeps no process from its end."""
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(ask())
        except Exception as error:  # raised where the answer is read
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return answer


def running_brokers(folder: Path, finder: Finder | None = None) -> Views:
    """All brokers that run in a folder or in folders under it, by name, sorted; refused if none."""
    found = answering_brokers(folder, finder)
    if not found:
        raise OperatorError(
            f"No broker runs in {folder}; start some with meshwright up, "
            "or say where they keep their data with --data FOLDER."
        )
    return found


def answering_brokers(folder: Path, finder: Finder | None = None) -> Views:
    """The same, also where there are none."""
    places = (folder, *_folders_in(folder))
    return (finder or Finder()).answering(map(BrokerControl, places))


def _folders_in(folder: Path) -> list[Path]:
    try:
        return sorted(one for one in folder.iterdir() if one.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise OperatorError(
            f"{folder}: nobody can tell what runs here ({(error.strerror or str(error)).lower()}); "
            "ask as the user who owns it."
        ) from None


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a socket that is a file."""

    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path, self._timeout_s = path, timeout

    def connect(self) -> None:
        self.sock = connected_socket(self._path, self._timeout_s)
