"""HOW A TREE FITS ITS TRAFFIC: local reconfigurations until no broker improves [OCBR]."""
