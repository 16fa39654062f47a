"""WHAT ONE BROKER DOES NEXT: state machines without input or output, driven by values."""
