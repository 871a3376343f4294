"""What decides how much a question looks at; see :mod:`dslog.cost`."""

from dataclasses import dataclass

from dslog.cost import CostModel


@dataclass(frozen=True, slots=True)
class QuestionsCost(CostModel):
    """Limits of ``questions``; beyond them an answer says less, never something else."""

    values: int = 1000  # values of one array that an answer carries
    pairs: int = 20_000_000  # pairs of a relation that ``diff`` compares one by one
