"""Compiled loops of broker arrangement; arrays and numbers in, arrays and numbers out."""

from meshwright import kernel_cache

kernel_cache.choose_folder()
