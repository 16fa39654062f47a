"""The page that says what a manager can be asked, made of its OpenAPI document.

It needs nothing from elsewhere: no script, no font; a manager may have no way to the Internet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from meshwright.files.page_style import PAGE

STYLE = PAGE + (
    "body{max-width:60rem}pre{padding:.6rem;overflow-x:auto}h2{margin:2rem 0 .3rem;"
    "font-size:1.1rem}td,th{padding:.2rem .8rem;text-align:left}"
)
HOW = (
    "Every request carries the token; for a GET the key in the link to the dashboard will do, too. "
    "A body is read as JSON, whatever its <code>Content-Type</code> says. A refusal is a "
    "status of 4xx with its <code>reason</code> in one sentence. Long work answers at once with an "
    "<code>id</code>: ask for that plan until its <code>state</code> is no longer making or "
    "applying. <a href='openapi.json'>openapi.json</a> says the same to programs."
)


def reference_page(document: Mapping[str, Any], url: str) -> str:
    """Every question and order with what it takes, and a command that asks it; url: of the door."""
    about = document["info"]
    title = escape(f"{about['title']} {about['version']}")
    shown = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        f"<title>{title}</title><style>{STYLE}</style></head><body><h1>{title}</h1>",
        f"<p>{escape(about['description'])} {HOW}</p>",
    ]
    for path, methods in document["paths"].items():
        for method, asked in methods.items():
            shown += _asked(document, url, f"{method.upper()} {path}", asked)
    return "\n".join([*shown, "</body></html>"])


def _asked(
    document: Mapping[str, Any], url: str, title: str, asked: Mapping[str, Any]
) -> Iterator[str]:
    method, path = title.split(" ", 1)
    fields = fields_of(document, asked)
    yield f"<h2><code>{escape(title)}</code></h2><p>{escape(asked['description'])}</p>"
    if fields:
        rows = "".join(
            f"<tr><td><code>{escape(name)}</code></td><td>{escape(kind_of(field))}</td>"
            f"<td>{escape(field.get('description', ''))}</td></tr>"
            for name, field in fields.items()
        )
        yield f"<table><tr><th>may have</th><th>which is</th><th></th></tr>{rows}</table>"
    verb = "" if method == "GET" else f" -X {method}"
    body = " -d '{}'" if "requestBody" in asked else ""
    command = f'curl{verb} -H "Authorization: Bearer $(cat token)"{body} {url}{path}'
    yield f"<pre>{escape(command)}</pre>"


def fields_of(document: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What the address or the body of a request may have, by name."""
    if "requestBody" not in asked:
        return {
            one["name"]: {**one["schema"], "description": one.get("description", "")}
            for one in asked.get("parameters", ())
            if one["in"] == "query"
        }
    schema = asked["requestBody"]["content"]["application/json"]["schema"]
    name = next(_references(schema)).rsplit("/", 1)[1]
    found: dict[str, dict[str, Any]] = document["components"]["schemas"][name]["properties"]
    return found


def _references(schema: Mapping[str, Any]) -> Iterator[str]:
    """The names of schemas in one that may be optional."""
    if "$ref" in schema:
        yield schema["$ref"]
    for one in (*schema.get("anyOf", ()), *schema.get("allOf", ())):
        yield from _references(one)


def kind_of(field: Mapping[str, Any]) -> str:
    """The type of a field in words, without that it may be left out."""
    if "enum" in field:
        return " or ".join(field["enum"])
    if "const" in field:
        return str(field["const"])
    if field.get("type") == "array":
        return f"a list of {kind_of(field.get('items', {}))}s"
    inner = [one for one in field.get("anyOf", ()) if one.get("type") != "null"]
    if inner:
        return " or ".join(map(kind_of, inner))
    return str(field.get("type", "value"))
