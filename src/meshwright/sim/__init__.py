"""THE SAME CORES IN ONE THREAD: virtual clock, modelled network, named faults, checkers."""
