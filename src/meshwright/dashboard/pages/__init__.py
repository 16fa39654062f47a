"""One module for each page; they know nothing of each other."""
