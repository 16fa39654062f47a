"""WHAT CLIENTS SAW: histories, and whether every promise was kept in them."""
