"""Which engine a step runs on."""

from dslog.errors import EngineError

ENGINES = ("auto", "local", "spark")


def choose_engine(engine: str) -> str:
    """Return the engine to run on; in this process, for now."""
    if engine not in ENGINES:
        raise EngineError(f"engine {engine!r} is unknown: use one of {', '.join(ENGINES)}")
    if engine == "spark":
        raise EngineError(
            "engine='spark' is not available yet: use 'local', or 'auto', which picks"
        )
    return "local"
