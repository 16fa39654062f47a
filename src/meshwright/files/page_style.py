"""How every page looks that is written or served: one set of colours, light and dark."""

from __future__ import annotations

from collections.abc import Mapping

LIGHT = {
    "page": "#f3f6f9",
    "card": "#ffffff",
    "ink": "#1d2b3a",
    "quiet": "#57677a",
    "line": "#dbe3ec",
    "accent": "#2467b3",
    "good": "#2c8650",
    "bad": "#bf2f33",
    "warn": "#b4610f",
    "link": "#6f87a3",
    "tint": "#e8f0fa",
    "bad-tint": "#fbeaea",
    "good-tint": "#e7f4ec",
    "warn-tint": "#fdf1e3",
}
DARK = {
    "page": "#0e141b",
    "card": "#17202a",
    "ink": "#e3ebf3",
    "quiet": "#9aabbc",
    "line": "#2a3744",
    "accent": "#79b4f5",
    "good": "#6cc98f",
    "bad": "#f08285",
    "warn": "#eaae66",
    "link": "#7f97b2",
    "tint": "#1c2d40",
    "bad-tint": "#3a2124",
    "good-tint": "#1b3326",
    "warn-tint": "#3a2d1b",
}


def _named(colours: Mapping[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())


# Figures are drawn in dark ink on white paper, whatever lies around them.
PAGE = (
    f":root{{color-scheme:light dark;{_named(LIGHT)}}}"
    f"@media(prefers-color-scheme:dark){{:root{{{_named(DARK)}}}}}"
    "body{font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--page);"
    "margin:2rem auto;padding:0 1rem}a{color:var(--accent)}h1{font-size:1.6rem}"
    "h2{font-size:1.2rem;margin-top:2rem}table{border-collapse:collapse;background:var(--card)}"
    "th,td{border-bottom:1px solid var(--line);vertical-align:top}"
    "code,pre{background:var(--tint);padding:.1rem .3rem;border-radius:.2rem}"
    "svg{max-width:100%;height:auto;background:#fff;border-radius:.4rem}"
)


def switched_colours(dark: str) -> str:
    """The colours of a page that is dark where a selector fits, whatever the system likes."""
    return f":root{{{_named(LIGHT)}}}{dark}{{{_named(DARK)}}}"
