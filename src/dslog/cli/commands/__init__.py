"""One module per group of commands; each has a `commands` app, see `dslog.cli.command`."""
