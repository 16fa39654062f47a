"""What commands share: options, the screen, times, work on Spark."""
