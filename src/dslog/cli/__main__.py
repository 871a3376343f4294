"""``python -m dslog.cli``: the same as ``dslog``."""

from dslog.cli.main import app

if __name__ == "__main__":
    app(prog_name="dslog")
