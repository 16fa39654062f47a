"""Compiled loops of the evaluation."""

from meshwright import kernel_cache

kernel_cache.choose_folder()
