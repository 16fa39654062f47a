"""Speed and quality of the planners, as tables with the papers' own figures beside ours."""
