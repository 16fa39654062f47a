"""How Spark works on tables of some hundred rows: what is compiled there does not pay."""

from __future__ import annotations

QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
QUICK_QUERIES = {
    "spark.sql.adaptive.enabled": "false",  # else a query is planned anew after each of its stages
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
}
