"""The circle from reports to a changed network, and where plans are given by hand."""
