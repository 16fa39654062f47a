"""Compiled loops of the topic-connected builders: arrays and numbers in, arrays and numbers out."""
