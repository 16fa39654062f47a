"""What is done before a release: the wheel is built and tried, and the checklist walked through."""
