"""What the operating system gives: addresses, a clock, memory, open files."""
