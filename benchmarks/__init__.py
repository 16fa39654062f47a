"""Speed, and what comes out in that time, as tables; what the papers say is in the lab."""
