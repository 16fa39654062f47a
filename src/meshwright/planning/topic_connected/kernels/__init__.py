"""Compiled loops of the topic-connected builders: arrays and numbers in, arrays and numbers out."""

from meshwright import kernel_cache

kernel_cache.choose_folder()
