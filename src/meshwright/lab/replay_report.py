"""The report of a replay: one page with its pictures inside, and the comparison as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from meshwright.files.tables import table_bytes
from meshwright.lab.figures.replay_pictures import costs_picture, history_picture
from meshwright.planning.replay_judgement import ReplayedCandidate, ReplayRecommendation

HISTORIES = {
    "subscription_changes": ("Broker subscriptions that began or ended", "changes"),
    "hand_overs": ("Clients handed over to another broker", "hand-overs"),
    "load_deviation": ("Deviation of subscriptions over brokers", "subscriptions"),
    "notification_overhead": (
        "Messages of a publication, under the recommended design",
        "messages",
    ),
    "management_messages": ("Messages for subscriptions, under the recommended design", "messages"),
}
EXPLANATION = (
    "Subscription changes are subscriptions that brokers began or ended, management messages are "
    "those for them and between brokers of a cluster, load deviation is that of subscriptions over "
    "brokers, reconfiguration messages are those for changes of overlay; price is all messages and "
    "weighted delay for each publication."
)
STYLE = (
    "body{font-family:system-ui,sans-serif;color:#1d2b3a;max-width:75rem;margin:2rem auto;"
    "padding:0 1rem}table{border-collapse:collapse;font-size:.85rem}th,td{padding:.25rem .6rem;"
    "text-align:right;border-bottom:1px solid #dfe6ee}th:nth-child(-n+2),td:nth-child(-n+2),"
    "td:last-child,th:last-child{text-align:left}tr.chosen{background:#eaf5ee;font-weight:600}"
    "tr.unfit{color:#8a96a3}svg{max-width:100%;height:auto}.answer{font-size:1.1rem}"
)


@dataclass(frozen=True, slots=True)
class ReplayFindings:
    """What a report tells: of what trace, every line and its verdict, and the histories.

    histories: by placement and metric, slot by slot, under the recommended design. slot_begins: in
    UTC, (slot,).
    """

    title: str
    told: str
    candidates: Sequence[ReplayedCandidate]
    recommendation: ReplayRecommendation
    histories: Mapping[str, Mapping[str, Sequence[float]]]
    slot_begins: NDArray[np.datetime64]


def report_page(findings: ReplayFindings) -> bytes:
    """A page that needs nothing else: no script, no font, no picture from elsewhere."""
    title = escape(findings.title)
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        f"<title>{title}</title><style>{STYLE}</style></head><body><h1>{title}</h1>",
        f"<p>{escape(findings.told)}</p>",
        f"<p class='answer'><b>Recommendation.</b> {escape(findings.recommendation.reason)}</p>",
        "<h2>What every design costs</h2>",
        costs_picture(_points(findings.candidates), _chosen(findings)),
        "<h2>Over time</h2>",
        *_histories(findings),
        f"<h2>All placements and designs</h2><p>{EXPLANATION}</p>",
        _table(findings),
        "</body></html>",
    ]
    return "\n".join(parts).encode("utf-8")


def comparison_csv(candidates: Sequence[ReplayedCandidate]) -> bytes:
    """The comparison as a table for other programs."""
    columns = ReplayedCandidate.__struct_fields__
    rows = ([_cell(getattr(each, name)) for name in columns] for each in candidates)
    return table_bytes(columns, rows)


def _cell(value: str | float | None) -> str:
    if value is None:
        return ""
    return f"{value:.17g}" if isinstance(value, float) else str(value)


def _points(candidates: Sequence[ReplayedCandidate]) -> dict[str, list[tuple[str, float, float]]]:
    points: dict[str, list[tuple[str, float, float]]] = {}
    for each in candidates:
        dot = (each.design, each.notification_overhead, each.delay_hops)
        points.setdefault(each.placement, []).append(dot)
    return points


def _chosen(findings: ReplayFindings) -> tuple[str, str] | None:
    """The placement and design that are recommended, if any fits."""
    found = findings.recommendation
    if found.placement is None or found.design is None:
        return None
    return found.placement, found.design


def _histories(findings: ReplayFindings) -> list[str]:
    return [
        history_picture(
            title,
            findings.slot_begins,
            {placement: metrics[name] for placement, metrics in findings.histories.items()},
            label,
        )
        for name, (title, label) in HISTORIES.items()
    ]


COLUMNS: dict[str, Callable[[ReplayedCandidate], str]] = {
    "messages of a publication": lambda each: f"{each.notification_overhead:,.2f}",
    "delay, hops": lambda each: f"{each.delay_hops:.2f}",
    "delay, ms": lambda each: "-" if each.delay_ms is None else f"{each.delay_ms:.1f}",
    "subscription changes": lambda each: f"{each.subscription_changes:,}",
    "management messages": lambda each: f"{each.management_messages:,}",
    "hand-overs": lambda each: f"{each.hand_overs:,}",
    "load deviation": lambda each: f"{each.load_deviation:,.1f}",
    "reconfiguration messages": lambda each: f"{each.reconfiguration_messages:,.0f}",
    "most links": lambda each: f"{each.degree_max}",
}


def _table(findings: ReplayFindings) -> str:
    head = "".join(f"<th>{name}</th>" for name in ("placement", "design", *COLUMNS, "price", "why"))
    rows = []
    for each, verdict in zip(findings.candidates, findings.recommendation.verdicts, strict=True):
        is_chosen = (each.placement, each.design) == _chosen(findings)
        kind = "chosen" if is_chosen else "fit" if verdict.fits else "unfit"
        cells = (
            each.placement,
            each.design,
            *(told(each) for told in COLUMNS.values()),
            f"{verdict.price:,.1f}",
            verdict.sentence,
        )
        rows.append(f"<tr class='{kind}'>" + "".join(f"<td>{escape(c)}</td>" for c in cells))
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"
