"""What decides how much a store remembers and how long it waits; see :mod:`dslog.cost`."""

from dataclasses import dataclass

from dslog.cost import CostModel


@dataclass(frozen=True, slots=True)
class StoreCost(CostModel):
    """Limits of ``store``; answers don't depend on them."""

    cache_bytes: int = 256 << 20  # rows of loaded lineages that are kept
    headers: int = 256  # headers of many parts that are kept, so that not each query reads them
    plans: int = 256  # plans of paths that are kept
    patience: float = 60.0  # seconds a writer waits for another one's lock
    grace: float = 3600.0  # seconds for which a file without a row may belong to a writer
    log_bytes: int = 16 << 20  # of the catalog's log, after which it is emptied
    hashed_bytes: int = 64 << 20  # of a source, beyond which its content is not hashed
