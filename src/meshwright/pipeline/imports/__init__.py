"""Foreign files to the tables of a trace; rows that cannot be used are kept with their reason."""
