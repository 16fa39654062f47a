"""Places of tables and files: folders of this machine, and addresses that Spark reaches."""
