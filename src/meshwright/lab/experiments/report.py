"""The report of experiments: one page, and sections for the papers' pages in the documentation.

What does not reproduce comes first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from textwrap import fill

from meshwright.errors import InputFileError
from meshwright.files.page_style import PAGE
from meshwright.files.writing import make_folder, write_whole
from meshwright.lab.experiments.experiment import Claim, Plot
from meshwright.lab.experiments.findings import Finding, Told, judged
from meshwright.lab.experiments.judging import VERDICTS, Judgement, told
from meshwright.lab.figures.saving import figure_bytes, svg_element
from meshwright.lab.figures.sweep_pictures import Picture, sweep_figure
from meshwright.model.wording import counted

TITLE = "The papers' experiments"
WORDS = {
    "paper": {"reproduces": "reproduces", "does not": "does not reproduce"},
    "ours": {"reproduces": "better", "does not": "not better"},
    "aside": {"reproduces": "would reproduce", "does not": "would not reproduce"},
    "check": {"reproduces": "holds", "does not": "does not hold"},
    "fitted": {"reproduces": "as fitted", "does not": "not as fitted"},
}
STYLE = PAGE + (
    "body{max-width:72rem}table{font-size:.9rem;width:100%}"
    "th,td{padding:.35rem .6rem;text-align:left}td.n{white-space:nowrap}"
    ".quiet{color:var(--quiet);font-size:.85rem}.yes{color:var(--good)}.no{color:var(--bad)}"
    ".unknown{color:var(--warn)}"
    "h2{margin-top:2.5rem;border-top:2px solid var(--line);padding-top:1rem}"
    "h3{margin-bottom:.2rem}nav a{margin-right:1rem}svg{max-width:100%;height:auto}"
    "@media(max-width:40rem){th{display:none}tr{display:block;padding:.5rem 0}"
    "td{display:block;border:0;padding:.1rem .6rem}td:empty{display:none}"
    "td::before{content:attr(data-head)': ';color:var(--quiet)}}"
)
HEADS = ("claim", "paper", "reproduced if", "ours", "by", "verdict", "why")
CLASSES = {"reproduces": "yes", "does not": "no", "cannot be told": "unknown"}
OVERVIEW = "README.md"
LISTS = (
    ("paper", "does not", "What does not reproduce"),
    ("ours", "reproduces", "Where our methods beat the papers'"),
    ("ours", "does not", "Where they do not"),
    ("check", "does not", "What should hold in any case, and does not"),
)
BEGIN, END = "<!-- lab: begin -->", "<!-- lab: end -->"
# A sign such as ± takes two bytes, and some count those.
COLUMNS_MAX = 96


def report_page(found: list[Finding]) -> bytes:
    """A page that needs nothing else: no script, no font, no picture from elsewhere."""
    papers = list(dict.fromkeys(one.experiment.paper for one in found))
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width,initial-scale=1'>",
        f"<title>{TITLE}</title><style>{STYLE}</style></head><body><h1>{TITLE}</h1>",
        f"<p>{escape(_summary(found))} Numbers are means over seeds with 95 % intervals.</p>",
        f"<nav>{''.join(f'<a href=#{name}>{name}</a>' for name in papers)}</nav>",
        *(
            line
            for kind, verdict, heading in LISTS
            for line in _listed(found, kind, verdict, heading)
        ),
    ]
    for paper in papers:
        parts.append(f"<h2 id='{paper}'>{escape(paper)}</h2>")
        for one in found:
            if one.experiment.paper == paper:
                parts += _experiment(one)
    return "\n".join([*parts, "</body></html>"]).encode("utf-8")


def update_papers(found: list[Finding], pages: Path) -> list[Path]:
    """Write figures and numbers into the papers' pages, between their two marks.

    README.md there has what is said in short of all of them.
    """
    pictures = make_folder(pages / "figures")
    overview = pages / OVERVIEW
    contents = {overview: _with_section(overview, "\n".join(_overview(found)))}
    for paper in dict.fromkeys(one.experiment.paper for one in found):
        page = pages / f"{paper}.md"
        own = [one for one in found if one.experiment.paper == paper]
        contents[page] = _with_section(page, "\n".join(_section(own)))
        for one in own:
            contents |= {pictures / f"{name}.svg": svg for name, svg in _figures(one)}
    write_whole(contents)
    return list(contents)


def report_lines(found: list[Finding]) -> Iterator[str]:
    """For a terminal: a line a claim, below its experiment."""
    for one in found:
        claims = sorted(
            (each.judgement for each in one.claims), key=lambda each: VERDICTS.index(each.verdict)
        )
        if claims:
            yield f"\n{one.experiment.name}: {one.experiment.title}"
        width = max((len(_verdict_word(each)) for each in claims), default=0)
        for each in claims:
            number = told(each.estimate, each.claim.unit)
            paper = f" (paper: {each.claim.quoted})" if _is_quoted(each.claim) else ""
            yield f"  {_verdict_word(each):{width}}  {each.claim.says}: {number}{paper}"
    yield f"\n{_summary(found)}"


def _verdict_word(judgement: Judgement) -> str:
    """The verdict in the words of its kind: a paper's number reproduces, ours is better."""
    return WORDS[judgement.claim.kind].get(judgement.verdict, judgement.verdict)


def _summary(found: list[Finding]) -> str:
    counts = {
        verdict: sum(told.judgement.claim.compares for _, told in judged(found, "paper", verdict))
        for verdict in VERDICTS
    }
    better = sum(1 for _ in judged(found, "ours", "reproduces"))
    kinds = [(one, each.judgement.claim) for one in found for each in one.claims]
    ours = sum(claim.compares for _, claim in kinds if claim.kind == "ours")
    printed = {
        (one.experiment.paper, claim.quoted)
        for one, claim in kinds
        if claim.kind == "paper" and claim.compares
    }
    judgements = [each.judgement for one in found for each in one.claims]
    small = sum(each.would is False and each.claim.kind == "paper" for each in judgements)
    asides = [
        each.verdict for each in judgements if each.claim.kind == "aside" and each.claim.compares
    ]
    return (
        f"{counted(sum(counts.values()), 'comparison')} with "
        f"{counted(len(printed), 'statement')} of the papers: {counts['reproduces']} reproduce, "
        f"{counts['does not']} do not, {counts['cannot be told']} cannot be told"
        + (f", of which {small} would not at the smaller size that was run. " if small else ". ")
        + f"In {counted(ours, 'comparison')} of our methods with the papers', ours are better in "
        f"{better}."
        + (
            f" Read otherwise, the same words would reproduce in {asides.count('reproduces')} of "
            f"{counted(len(asides), 'aside')}, and would not in {asides.count('does not')}."
            if asides
            else ""
        )
    )


def _listed(found: list[Finding], kind: str, verdict: str, heading: str) -> Iterator[str]:
    rows = list(judged(found, kind, verdict))
    if rows:
        yield f"<h2>{escape(heading)}</h2>"
        yield _table([told for _, told in rows], [one.experiment.name for one, _ in rows])


def _experiment(one: Finding) -> Iterator[str]:
    experiment = one.experiment
    yield f"<h3 id='{experiment.name}'>{escape(experiment.title)}</h3>"
    yield f"<p class='quiet'>{escape(f'{experiment.name}: {experiment.shows}; {one.told}')}</p>"
    if one.fixed:
        yield f"<p class='quiet'>{escape(f'Not swept: {one.fixed}')}</p>"
    if one.claims:
        yield _table(one.claims)
    for _, figure in _drawn(one):
        yield svg_element(figure)


def _table(claims: Sequence[Told], names: Sequence[str] | None = None) -> str:
    rows, former = [], ""
    for number, one in enumerate(claims):
        each, claim = one.judgement, one.judgement.claim
        origin = f" <a class='quiet' href='#{names[number]}'>{names[number]}</a>" if names else ""
        cells = (
            ("", escape(claim.says) + origin),
            ("", escape(claim.quoted)),
            ("quiet", _accepted(claim)),
            ("n", escape(told(each.estimate, claim.unit))),
            ("quiet", _measured_by(one)),
            (CLASSES[each.verdict], _verdict_word(each)),
            ("", "as above" if each.reason and each.reason == former else escape(each.reason)),
        )
        former = each.reason
        shown = (
            f"<td class='{kind}' data-head='{head}'>{cell}</td>"
            for head, (kind, cell) in zip(HEADS, cells, strict=True)
        )
        rows.append(f"<tr>{''.join(shown)}</tr>")
    head = "".join(f"<th>{name}</th>" for name in HEADS)
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


def _accepted(claim: Claim) -> str:
    """Which numbers count as reproduced, or as better."""
    if not claim.compares:
        return "-"
    least, most = (_limit(one) for one in (claim.least, claim.most))
    if not most:
        return f"{least} or more"
    if not least:
        return f"{most} or less"
    return least if least == most else f"{least} to {most}"


def _limit(number: float | None) -> str:
    return "" if number is None else f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"


def _measured_by(one: Told) -> str:
    """The scale, and the seeds that tell the number."""
    seeds = one.judgement.estimate.seeds if one.judgement.estimate else 0
    return f"{one.run.question.scale}, {counted(seeds, 'seed')}" if seeds else "-"


def _drawn(one: Finding) -> Iterator[tuple[Plot, Picture]]:
    """The plots, each of the largest scale that has what it shows."""
    for plot in one.experiment.plots:
        figures = (sweep_figure(plot, run.rows) for run in one.runs)
        figure = next((figure for figure in figures if figure is not None), None)
        if figure is not None:
            yield plot, figure


def _figures(one: Finding) -> Iterator[tuple[str, bytes]]:
    for plot, figure in _drawn(one):
        own = plot.name.removeprefix(f"{one.experiment.name}-")
        yield f"{one.experiment.name}-{own}", figure_bytes(figure, ".svg")


def _overview(found: list[Finding]) -> Iterator[str]:
    yield _wrapped(f"{_summary(found)} Numbers are means over seeds with 95 % intervals.") + "\n"
    for kind, verdict, heading in LISTS:
        rows = list(judged(found, kind, verdict))
        if rows:
            yield f"### {heading}\n"
            yield from (_wrapped(_in_short(one, told)) for one, told in rows)
            yield ""


def _in_short(one: Finding, claimed: Told) -> str:
    """The link stands at the end: a link that begins a line of a list is a chapter of the book."""
    each = claimed.judgement
    return (
        f"- {_says(each)} Ours: {told(each.estimate, each.claim.unit)} "
        f"([{one.experiment.name}]({one.experiment.paper}.md): {_measured_by(claimed)})."
    )


def _says(one: Judgement) -> str:
    """The claim, and the paper's words if there are any."""
    return f"{one.claim.says}." + (f" Paper: {one.claim.quoted}." if _is_quoted(one.claim) else "")


def _is_quoted(claim: Claim) -> bool:
    """Whether the claim has words of a paper."""
    return claim.quoted not in {"", "-"}


def _section(own: list[Finding]) -> Iterator[str]:
    """One paper's numbers and figures in Markdown."""
    for one in own:
        yield f"### {one.experiment.title}\n"
        yield _wrapped(f"`{one.experiment.name}`: {one.experiment.shows}; {one.told}.") + "\n"
        if one.fixed:
            yield _wrapped(f"Not swept: {one.fixed}.") + "\n"
        for claimed in one.claims:
            each = claimed.judgement
            reason = f" {each.reason}" if each.reason else ""
            yield _wrapped(
                f"- {_says(each)} Ours{_by_which(one, claimed)}: "
                f"{told(each.estimate, each.claim.unit)}; "
                f"**{_verdict_word(each)}**.{reason}"
            )
        if one.claims:
            yield ""
        for name, _ in _figures(one):
            yield f"![figure](figures/{name}.svg)\n"


def _by_which(one: Finding, told: Told) -> str:
    """The scale of a number, where an experiment was run at several."""
    return f" ({told.run.question.scale})" if len(one.runs) > 1 else ""


def _wrapped(text: str) -> str:
    indent = "  " if text.startswith("- ") else ""
    return fill(
        re.sub(r"\.\.(?= |$)", ".", text), COLUMNS_MAX, subsequent_indent=indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _with_section(page: Path, section: str) -> bytes:
    """The page with what stands between its marks written anew."""
    text = page.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise InputFileError(
            str(page), "the page has no place for results",
            remedy=f"put a line {BEGIN} and a line {END} where they are to stand",
        )  # fmt: skip
    before, after = text[: text.index(BEGIN)], text[text.index(END) :]
    return f"{before}{BEGIN}\n\n{section.rstrip()}\n\n{after}".encode()
