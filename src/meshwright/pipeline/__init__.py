"""PYSPARK: traces and telemetry in, tables and plans out."""
