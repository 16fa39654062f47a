"""Everything that can be set for a manager; docs/manager.toml explains each key.

Without a file it manages the brokers of .meshwright on this machine, answers on this machine only,
and changes nothing by itself.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Literal

import msgspec

from meshwright.errors import SettingError
from meshwright.files.settings import blaming_settings, of_setting, read_settings
from meshwright.files.shapes import Place
from meshwright.live.settings import TlsSettings
from meshwright.live.system.addresses import is_loopback, parse_address
from meshwright.model.designs import check_k, design
from meshwright.model.goals import Goals

DOCUMENTED_IN = "docs/manager.toml"
# In the folder of a network; what a manager and operators' commands keep there.
MANAGER_FOLDER = "manager"
DEFAULT_LISTEN = "127.0.0.1:8090"

_HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-4]):([0-5]\d)")
DAY_MINUTES = 24 * 60


class BrokerAccess(msgspec.Struct, frozen=True, kw_only=True):
    """Where brokers are: their folders on this machine, or their control.listen elsewhere.

    tls: where they have control.tls; they show certificates of the same authorities.
    """

    data: Path = Path(".meshwright")
    addresses: tuple[str, ...] = ()
    token_file: Path | None = None
    tls: TlsSettings | None = None


class RestSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where operators ask; without a file of its own, a token is made in the manager's folder."""

    listen: str = DEFAULT_LISTEN
    token_file: Path | None = None


class WindowSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How much telemetry there must be before a plan is made of it, and how much is kept."""

    length_s: float = 60.0
    needed: int = 5
    kept: int = 60
    collect_every_s: float = 5.0
    apart_s: float = 300.0
    bytes_max: int = 4 << 30


class PlanningSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What plans are to reach, and where Spark works; design None: that of the overlay in force."""

    design: str | None = None
    objective: Literal["net", "cost"] = "net"
    placement: Literal["none", "static", "location", "similarity", "similarity-bounded"] = (
        "similarity-bounded"
    )
    k: int | None = None
    horizon_s: float = 36_000.0
    delay_weight: float = 1.0
    seed: int = 0
    limit_s: float = 3_600.0
    master: str | None = None
    remote: str | None = None


class PolicySettings(msgspec.Struct, frozen=True, kw_only=True):
    """Who decides: an operator, or the manager within limits; 0 is no limit, but for benefit_min.

    hours: the part of a day, in UTC, in which a plan may begin. lost_after_s: for how long a broker
    must be lost before a plan without it is proposed.
    """

    mode: Literal["manual", "automatic"] = "manual"
    every_s: float = 600.0
    clients_max: int = 100
    messages_max: float = 100_000.0
    benefit_min: float = 1_000.0
    confirmations: int = 2
    cool_down_s: float = 1_800.0
    hours: str = "00:00-24:00"
    lost_after_s: float = 300.0


class LeaseSettings(msgspec.Struct, frozen=True, kw_only=True):
    """For how long a manager that was lost keeps another one waiting."""

    seconds: float = 15.0


class ManagerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One manager; measure_s: how long traffic is measured before a change, and after it."""

    folder: Path = Path(".meshwright/manager")
    measure_s: float = 60.0
    brokers: BrokerAccess = BrokerAccess()
    rest: RestSettings = RestSettings()
    windows: WindowSettings = WindowSettings()
    planning: PlanningSettings = PlanningSettings()
    goals: Goals = Goals()
    policy: PolicySettings = PolicySettings()
    lease: LeaseSettings = LeaseSettings()


def read_manager_settings(path: Path) -> ManagerSettings:
    """The settings of a file, whole and possible."""
    settings = read_settings(path, ManagerSettings, documented_in=DOCUMENTED_IN)
    with blaming_settings(path, frozenset()):
        return check_settings(settings)


def check_settings(settings: ManagerSettings) -> ManagerSettings:
    """Refuse what cannot work before anything is started."""
    _check_brokers(settings.brokers)
    _check_rest(settings.rest)
    windows, planning = settings.windows, settings.planning
    _check_above(("measure_s",), settings.measure_s, 0)
    _check_above(("windows", "length_s"), windows.length_s, 0)
    _check_above(("windows", "needed"), windows.needed, 0)
    _check_above(("windows", "collect_every_s"), windows.collect_every_s, 0)
    for name in ("apart_s", "bytes_max"):
        _check_above(("windows", name), getattr(windows, name), -1)
    if windows.kept < windows.needed:
        raise SettingError(
            ("windows", "kept"),
            f"windows.kept is {windows.kept}, and {windows.needed} are needed for a plan",
            remedy="keep as many at least",
        )
    if planning.design is not None:
        with of_setting(("planning", "design")):
            design(planning.design)
        with of_setting(("planning", "k")):
            check_k(planning.design, planning.k)
    for name in ("horizon_s", "limit_s"):
        _check_above(("planning", name), getattr(planning, name), 0)
    if planning.horizon_s < windows.length_s:
        raise SettingError(
            ("planning", "horizon_s"),
            f"planning.horizon_s is {planning.horizon_s:g}, less than a window of "
            f"{windows.length_s:g} s",
            remedy="plan for a window at least",
        )
    if planning.master is not None and planning.remote is not None:
        raise SettingError(
            ("planning", "remote"),
            "planning.master and planning.remote are set, and Spark works in one place",
            remedy="leave out one of them",
        )
    settings.goals.check(("goals",))
    check_policy(settings.policy)
    _check_above(("lease", "seconds"), settings.lease.seconds, 0)
    return settings


def check_policy(policy: PolicySettings) -> None:
    """Refuse a policy that contradicts itself."""
    for name in ("every_s", "confirmations"):
        _check_above(("policy", name), getattr(policy, name), 0)
    for name in ("clients_max", "messages_max", "benefit_min", "cool_down_s", "lost_after_s"):
        value = getattr(policy, name)
        if not (math.isfinite(value) and value >= 0):
            raise SettingError(
                ("policy", name), f"policy.{name} is {value:g}", remedy="choose 0 or more"
            )
    begin, end = hours_of(policy.hours)
    if begin == end:
        raise SettingError(
            ("policy", "hours"),
            f"policy.hours {policy.hours!r} leaves no time in which a plan may begin",
            remedy="write 00:00-24:00 for any time",
        )
    lasting_s = ((end - begin) % DAY_MINUTES or DAY_MINUTES) * 60
    if policy.mode == "automatic" and policy.every_s > lasting_s:
        raise SettingError(
            ("policy", "every_s"),
            f"A plan is made every {policy.every_s:g} s, and may begin in only {lasting_s} s of a "
            "day, so that hardly any would",
            remedy="make policy.hours longer or policy.every_s shorter",
        )


def hours_of(text: str) -> tuple[int, int]:
    """The minutes of a day from which and until which a part of it lasts; it may pass midnight."""
    found = _HOURS.fullmatch(text)
    if found is None or (found[3] == "24" and found[4] != "00"):
        raise SettingError(
            ("policy", "hours"),
            f"policy.hours {text!r} is no part of a day",
            remedy="write 22:00-04:30, in UTC",
        )
    begin, end = (60 * int(found[at]) + int(found[at + 1]) for at in (1, 3))
    return begin, end


def _check_brokers(brokers: BrokerAccess) -> None:
    for number, text in enumerate(brokers.addresses):
        _check_address(("brokers", "addresses"), text)
        if text in brokers.addresses[:number]:
            raise SettingError(
                ("brokers", "addresses"), f"{text} is there twice", remedy="name each broker once"
            )
    if brokers.addresses and brokers.token_file is None:
        raise SettingError(
            ("brokers", "addresses"),
            "Brokers at an address want a token",
            remedy="name the file of their control.token_file in brokers.token_file",
        )
    if brokers.tls is not None and brokers.tls.authorities is None:
        raise SettingError(
            ("brokers", "tls"),
            "Brokers that show certificates could be anybody's",
            remedy="name those who signed them in brokers.tls.authorities",
        )


def _check_rest(rest: RestSettings) -> None:
    _check_address(("rest", "listen"), rest.listen)
    if not is_loopback(parse_address(rest.listen)):
        raise SettingError(
            ("rest", "listen"),
            f"The token would go to {rest.listen} for others to read",
            remedy="listen on 127.0.0.1, behind a server that encrypts",
        )


def _check_address(place: Place, text: str) -> None:
    with of_setting(place):
        parse_address(text)


def _check_above(place: Place, value: float, least: float) -> None:
    if not (math.isfinite(value) and value > least):
        named = ".".join(map(str, place))
        raise SettingError(place, f"{named} is {value:g}", remedy=f"choose more than {least:g}")
