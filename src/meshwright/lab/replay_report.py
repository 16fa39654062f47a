"""The report of a replay: one page with its pictures inside, and the comparison as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from meshwright.files.tables import table_bytes
from meshwright.lab.figures.before_after import Pair, Panel, pair_svg
from meshwright.lab.figures.overlay_picture import overlay_svg
from meshwright.lab.figures.replay_pictures import history_picture, map_picture
from meshwright.lab.report_style import SCRIPT, STYLE
from meshwright.model.designs import founded_as
from meshwright.model.overlay import Overlay
from meshwright.model.price import PARTS
from meshwright.model.snapshot import Float64Array
from meshwright.model.wording import counted
from meshwright.planning.evaluation.evaluate import node_degrees
from meshwright.planning.recommendation import Verdict, in_order
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
    "The price is what a publication costs, in messages: messages to interested brokers and on the "
    "way in, relays by brokers that do not want it, delay in hops, management for what brokers "
    "subscribe to, reconfiguration for changes of overlay and of clients' brokers, and links of "
    "the mean broker, each by its weight, and rounded by itself. Subscription changes are "
    "subscriptions that brokers began or ended, load deviation is that of subscriptions over "
    "brokers. A heading sorts the table by its column."
)
TIES = (
    "Each bar is a candidate: a design with a placement. A tie is one whose price differs from the "
    "best one's by no more than chance explains, as the difference varies from slot to slot. One "
    "whose difference varies little is no tie, also if it is cheaper than a tie."
)
HOVER = "A broker or a link under the pointer tells its name."
BARS_MAX = 24


@dataclass(frozen=True, slots=True, eq=False)
class ReplayFindings:
    """What a report tells: of what trace, every line and its verdict, and the histories.

    histories: by placement and metric, slot by slot, under the recommended design. slot_begins: in
    UTC, (slot,). notes: what else is to be said, a sentence each. before: the overlay that stands,
    None where nothing does. after: the one that is recommended, None where nothing fits.
    coordinates: of the brokers, (broker, 2), where they are known.
    """

    title: str
    told: str
    candidates: Sequence[ReplayedCandidate]
    recommendation: ReplayRecommendation
    histories: Mapping[str, Mapping[str, Sequence[float]]]
    slot_begins: NDArray[np.datetime64]
    notes: Sequence[str] = ()
    before: Overlay | None = None
    after: Overlay | None = None
    coordinates: Float64Array | None = None

    def lines(self) -> list[tuple[ReplayedCandidate, Verdict]]:
        """Every line with its verdict, the best first."""
        verdicts = self.recommendation.verdicts
        return [(self.candidates[at], verdicts[at]) for at in in_order(verdicts)]


def report_page(findings: ReplayFindings) -> bytes:
    """A page that needs nothing else: its style, script and pictures are inside."""
    title = escape(findings.title)
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>{title}</title><style>{STYLE}</style></head><body><h1>{title}</h1>",
        f"<p>{escape(findings.told)}</p>",
        f"<p class='answer'><b>Recommendation.</b> {escape(findings.recommendation.reason)}</p>",
        *(f"<p>{escape(note)}</p>" for note in findings.notes),
        "<h2>The price of a publication, part by part</h2>",
        _bars(findings.lines()),
        f"<p>{TIES}</p>",
        *_overlays(findings),
        f"<h2>All placements and designs</h2><p>{EXPLANATION}</p>",
        _table(findings.lines()),
        "<h2>Over time</h2>",
        *_histories(findings),
        f"<script>{SCRIPT}</script></body></html>",
    ]
    return "\n".join(parts).encode("utf-8")


def comparison_csv(findings: ReplayFindings) -> bytes:
    """The comparison as a table for other programs, the best first."""
    columns = ReplayedCandidate.__struct_fields__
    rows = (
        [
            *(_cell(getattr(each, name)) for name in columns),
            *(_cell(verdict.parts.parts()[part]) for part in PARTS),
            _cell(verdict.price),
            verdict.told,
        ]
        for each, verdict in findings.lines()
    )
    return table_bytes((*columns, *(f"price_{part}" for part in PARTS), "price", "fits"), rows)


def folder_guide(findings: ReplayFindings, files: Mapping[str, str]) -> bytes:
    """The README of a folder of results: what stands in each file."""
    lines = [
        f"# {findings.title}",
        "",
        findings.told,
        "",
        findings.recommendation.reason,
        "",
        *(line for note in findings.notes for line in (note, "")),
        *(f"- `{name}`: {what}" for name, what in files.items()),
        "",
    ]
    return "\n".join(lines).encode("utf-8")


def _cell(value: str | float | None) -> str:
    if value is None:
        return ""
    return f"{value:.17g}" if isinstance(value, float) else str(value)


def _bars(lines: Sequence[tuple[ReplayedCandidate, Verdict]]) -> str:
    """A bar for each of the first lines, as long as its price and divided into its parts."""
    shown = lines[:BARS_MAX]
    longest = max((verdict.price for _, verdict in shown), default=0.0) or 1.0
    legend = "".join(f"<span><i class='{part}'></i>{part}</span>" for part in PARTS)
    rows = []
    for each, verdict in shown:
        written = verdict.parts.shown()
        pieces = "".join(
            f"<i class='{part}' style='width:{100 * value / longest:.3f}%' "
            f"title='{part} {written[part]}'></i>"
            for part, value in verdict.parts.parts().items()
            if value > 0.0
        )
        unfit = "" if verdict.fits else ", does not fit"
        name = f"{escape(each.design)} <small>{escape(each.placement)}{unfit}</small>"
        rows.append(
            f"<div class='bar {_kind(verdict)}'><b>{_mark(verdict)}{name}</b>"
            f"<span class='track'>{pieces}</span><em>{written['price']}</em></div>"
        )
    more = len(lines) - len(shown)
    rest = f"<p>{counted(more, 'line')} more in the table below.</p>" if more else ""
    return f"<div class='legend'>{legend}</div><div class='bars'>{''.join(rows)}</div>{rest}"


def _mark(verdict: Verdict) -> str:
    if verdict.is_best:
        return "<mark>best</mark> "
    return "<mark>tie</mark> " if verdict.is_tie else ""


def _kind(verdict: Verdict) -> str:
    if verdict.is_best:
        return "chosen"
    return "fit" if verdict.fits else "unfit"


def _overlays(findings: ReplayFindings) -> list[str]:
    before, after = findings.before, findings.after
    if after is None:
        return []
    if before is None:
        words, shown = "", {"recommended": after}
        told = f"Nothing stands today: {counted(len(after.links), 'link')} are to be built."
        picture = overlay_svg(after)
    else:
        words, shown = ", before and after", {"before": before, "after": after}
        told = _told_change(before, after)
        panels = [
            Panel(
                word,
                f"{founded_as(each)}, {counted(len(each.links), 'link')}",
                each,
                node_degrees(each).astype(np.float64),
            )
            for word, each in shown.items()
        ]
        picture = pair_svg(Pair("links of a broker", *panels))
    parts = [f"<h2>The overlay{words}</h2>", f"<p>{told} {HOVER}</p>", _wide(picture)]
    if findings.coordinates is not None:
        parts += [f"<h2>On the map{words}</h2>", _wide(map_picture(shown, findings.coordinates))]
    return parts


def _wide(picture: str) -> str:
    return f"<div class='wide'>{picture}</div>"


def _told_change(before: Overlay, after: Overlay) -> str:
    old, new = ({frozenset(link) for link in each.links} for each in (before, after))
    if old == new:
        return "No link changes: both are the same."
    coloured = ", in green," if len(old ^ new) <= len(old & new) else ""
    gone = ", in red" if coloured else ""
    return f"{counted(len(new - old), 'link')}{coloured} came and {len(old - new):,} went{gone}."


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
    "hand-overs": lambda each: f"{each.hand_overs:,}",
    "load deviation": lambda each: f"{each.load_deviation:,.1f}",
    "most links": lambda each: f"{each.degree_max}",
}
HEADINGS = ("placement", "design", "fits", "price", "why", *PARTS, *COLUMNS)


def _table(lines: Sequence[tuple[ReplayedCandidate, Verdict]]) -> str:
    head = "".join(f"<th class='{_side(name)}'>{name}</th>" for name in HEADINGS)
    rows = []
    for each, verdict in lines:
        written = verdict.parts.shown()
        cells = (
            each.placement,
            each.design,
            verdict.told,
            written["price"],
            verdict.sentence,
            *(written[part] for part in PARTS),
            *(told(each) for told in COLUMNS.values()),
        )
        named = zip(HEADINGS, cells, strict=True)
        row = "".join(
            f"<td class='{_side(name)}' data-label='{name}'>{escape(cell)}</td>"
            for name, cell in named
        )
        rows.append(f"<tr class='{_kind(verdict)}'>{row}</tr>")
    return (
        f"<div class='wide'><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _side(name: str) -> str:
    """Words stand on the left, numbers on the right; the reason gets room to be read."""
    if name == "why":
        return "why"
    return "word" if name in {"placement", "design", "fits"} else "number"
