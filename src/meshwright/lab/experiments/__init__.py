"""Experiments: what they are, how they are run on Spark, kept, judged and reported."""
