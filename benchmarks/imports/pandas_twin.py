"""What `trace import` does with check-ins, by pandas: `python -m benchmarks.imports.pandas_twin`.

Every field is read as text, as a file with one wrong word is otherwise not read at all.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

FIRST, AFTER = pd.Timestamp("1970-01-01", tz="UTC"), pd.Timestamp("2200-01-01", tz="UTC")


def imported_by_pandas(path: Path, out: Path) -> pd.DataFrame:
    """Good rows as a Parquet file, and beside it those that cannot be used."""
    read = pd.read_csv(path, dtype=str, na_filter=False, encoding_errors="surrogateescape")
    time = pd.to_datetime(read["ts_utc"], format="ISO8601", utc=True, errors="coerce")
    table = pd.DataFrame(
        {
            "time": time,
            "client": read["user_id"],
            "latitude": pd.to_numeric(read["lat"], errors="coerce"),
            "longitude": pd.to_numeric(read["lon"], errors="coerce"),
            "venue": read["venue_id"],
        }
    )
    is_good = time.ge(FIRST) & time.lt(AFTER)
    is_good &= table["latitude"].abs().le(90) & table["longitude"].abs().le(180)
    is_good &= read["user_id"].ne("") & read["user_id"].notna()
    for name in ("user_id", "venue_id"):  # bytes that are no text, and what MQTT forbids
        is_good &= ~read[name].str.contains("[\x00\udc80-\udcff]", regex=True, na=False)
    good = table[is_good]
    repeats = good.duplicated()
    good[~repeats].to_parquet(out, compression="zstd")
    refused = read.drop(good.index[~repeats])
    refused = refused.map(lambda field: str(field).encode(errors="replace").decode())
    refused.assign(line=refused.index + 2).to_parquet(out.with_suffix(".refused"))
    return good[~repeats]


if __name__ == "__main__":
    imported_by_pandas(Path(sys.argv[1]), Path(sys.argv[2]))
