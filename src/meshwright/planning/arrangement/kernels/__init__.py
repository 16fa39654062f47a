"""Compiled loops of broker arrangement; arrays and numbers in, arrays and numbers out."""
