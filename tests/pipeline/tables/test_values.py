from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from meshwright.errors import FilterError
from meshwright.files.reading import name_fault
from meshwright.filters.filter import parse_filter
from meshwright.filters.topics import TEXT_BYTES_MAX, check_text, check_topic_name
from meshwright.model.schema import Column, TextForm
from meshwright.pipeline.tables.values import is_unfit
from meshwright.protocol.foundation.client_names import client_name, user_and_id

# Texts are put together of these; some hold what only one form refuses.
PARTS = (
    "", "a", "b c", "/", "//", "+", "#", "$", "$share", "$share/", "$where/n>1/", "$where/",
    "$where/n=+#/", "$share/g/", "$share/g+/", " ", "\u00a0", "\u3000", "\x00", "\r", "\n", "\x85",
    "\x7f", "é", "\U0001f600", "\u2028",
)  # fmt: skip
LONG = (
    "é" * (TEXT_BYTES_MAX // 2),
    "é" * (TEXT_BYTES_MAX // 2) + "ab",
    "a/" * 40_000,
    "/" * 65_000,
    "a" * TEXT_BYTES_MAX,
    "a" * (TEXT_BYTES_MAX + 1),
    client_name("@" * TEXT_BYTES_MAX, "a" * TEXT_BYTES_MAX),
    client_name("u\n", "é@" * TEXT_BYTES_MAX),
)


def texts() -> list[str]:
    rng = np.random.default_rng(7)
    drawn = ["".join(rng.choice(PARTS, size=rng.integers(1, 6))) for _ in range(3000)]
    return [*dict.fromkeys([*PARTS, *drawn]), *LONG]


def allows(check: Callable[[str], object], text: str) -> bool:
    try:
        check(text)
    except FilterError:
        return False
    return True


def is_client(text: str) -> bool:
    """The user of a client stands behind its id, and takes none of its length."""
    return text != "" and allows(check_text, user_and_id(text)[1] or "a") and "\0" not in text


FITS: dict[TextForm, Callable[[str], bool]] = {
    "any": lambda text: text is not None,
    "client": is_client,
    "broker": lambda text: name_fault(text) is None,
    "topic name": lambda text: allows(check_topic_name, text),
    "topic filter": lambda text: allows(parse_filter, text),
}


@pytest.mark.parametrize("form", list(FITS))
def test_spark_refuses_the_texts_that_clients_and_files_may_not_have(
    spark: SparkSession, form: TextForm
) -> None:
    found = texts()
    column = Column("name", "text", "a name", form=form)
    rows = spark.createDataFrame([(text,) for text in found], "name string")
    refused = rows.filter(is_unfit(column, sf.col("name"))).toPandas()["name"]
    assert set(refused) == {text for text in found if not FITS[form](text)}


@pytest.mark.parametrize("form", list(FITS))
def test_text_that_is_not_utf8_is_of_no_form(spark: SparkSession, form: TextForm) -> None:
    column = Column("name", "text", "a name", form=form)
    rows = spark.sql("select cast(x'61ff62' as string) as name union all select null")
    assert rows.filter(is_unfit(column, sf.col("name"))).count() == 1
