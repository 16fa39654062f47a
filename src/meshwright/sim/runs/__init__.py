"""One seed, one run: how it is run, judged, told as a story, and run again."""
