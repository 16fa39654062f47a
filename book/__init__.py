"""What makes the book of docs/: its contents, the pages that are made of the code, and Sphinx."""
