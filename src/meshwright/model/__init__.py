"""WHAT THINGS ARE: the frozen values that every room speaks."""
