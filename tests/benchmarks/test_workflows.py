"""Workflows fit together, and every engine gives the same cells."""

import numpy as np
import pytest
from tiny import TINY

from benchmarks.baselines.engine import LimitError, Query
from benchmarks.experiment import Setting
from benchmarks.experiments.queries import ENGINES, FEW, Group, groups, measure_group, random_box
from benchmarks.size import FULL
from benchmarks.workloads.part import Part, Workflow
from benchmarks.workloads.relations import moved, reduction
from benchmarks.workloads.workflows import (
    QUERY_OPS,
    apply,
    draw_arguments,
    image,
    pairs_at_most,
    random_workflow,
    relational,
    resnet,
)
from dslog.compress.encoder import compress
from dslog.testing import naive

WORKFLOWS = {
    "image": lambda: image((27, 48), 20),
    "relational": lambda: relational(60),
    "resnet": lambda: resnet((12, 10)),
    "numpy": lambda: random_workflow(5, 3, TINY),
    "sort first": lambda: random_workflow(5, 3, TINY, first="sort"),
}


def follow(workflow, query):
    """The cells at the other end, by scans over sets."""
    cells = {tuple(index) for index in np.argwhere(painted(workflow, query)).tolist()}
    steps = workflow.steps[::-1] if query.backward else workflow.steps
    for step in steps:
        pairs = naive.pairs_of(step.relation, len(step.out_shape))
        cells = (naive.backward if query.backward else naive.forward)(pairs, cells)
    return cells


def painted(workflow, query):
    mask = np.zeros(workflow.shapes[-1 if query.backward else 0], bool)
    mask[query.slices] = True
    return mask


@pytest.mark.parametrize("name", list(WORKFLOWS))
def test_steps_fit_together(name):
    workflow = WORKFLOWS[name]()
    assert len(workflow.steps) == len(workflow.labels) == (7 if name == "resnet" else 5)
    for before, after in zip(workflow.steps, workflow.steps[1:], strict=False):
        assert before.out_shape == after.in_shape


@pytest.mark.parametrize("name", list(WORKFLOWS))
@pytest.mark.parametrize("backward", [False, True])
def test_every_engine_gives_the_cells_of_a_scan(name, backward, tmp_path):
    workflow = WORKFLOWS[name]()
    rng = np.random.default_rng(0)
    shape = workflow.shapes[-1 if backward else 0]
    queries = [random_box(shape, share, rng, backward=backward) for share in (0, 0.05, 1)]
    goal = workflow.shapes[0 if backward else -1]
    for engine in ENGINES:
        prepared = engine.prepare(workflow, tmp_path, limit=60)
        for query in queries:
            expected = follow(workflow, query)
            for answer in (prepared.cold(query), prepared.warm(query)):
                mask = prepared.mask(answer, goal)
                assert {tuple(i) for i in np.argwhere(mask).tolist()} == expected, engine.name
        prepared.close()


def test_the_list_is_the_papers():
    assert len(QUERY_OPS) == 77
    assert all(hasattr(np, function) for function, _ in QUERY_OPS.values())


@pytest.mark.parametrize("name", sorted(QUERY_OPS))
def test_every_operation_of_the_list_is_captured_exactly(name):
    rng = np.random.default_rng(5)
    array = rng.random((12, 9))
    tries = (apply(name, draw_arguments(name, rng), array, 100_000) for _ in range(50))
    applied = next((one for one in tries if one is not None), None)
    assert applied is not None
    assert applied.result.ndim == 2
    assert applied.part.out_shape == applied.result.shape
    assert (applied.part.relation < (*applied.result.shape, *array.shape)).all()


def test_seeds_fix_a_workflow():
    first, again = (random_workflow(5, 11, TINY) for _ in range(2))
    assert first.labels == again.labels
    assert first.shapes == again.shapes
    assert random_workflow(5, 12, TINY).labels != first.labels


def test_large_relations_are_drawn_again():
    array = np.random.default_rng(0).random((30, 20))
    assert apply("cumsum", {"axis": 0}, array, 1000) is None
    assert apply("cumsum", {"axis": 0}, array, 10_000) is not None


def test_pairs_are_counted_through_folds_and_products():
    for relation, out_shape, in_shape in (
        moved((6, 8), np.fliplr),
        moved((6, 8), lambda p: np.tile(p, (2, 3))),
        reduction((6, 8), 1),
    ):
        assert pairs_at_most(compress(relation, out_shape, in_shape)) == len(relation)


def test_boxes_have_the_asked_share():
    rng = np.random.default_rng(0)
    query = random_box((1000, 200), 0.01, rng, backward=False)
    assert (
        np.prod([high - low + 1 for low, high in zip(query.low, query.high, strict=True)]) == 2000
    )
    assert random_box((50, 9), 1.0, rng, backward=True).slices == np.s_[0:50, 0:9]
    one = random_box((50, 9), 0, rng, backward=True)
    assert one.low == one.high
    columns = random_box((1000, 9), 0.1, rng, backward=False)  # rows of a table, all columns
    assert columns.high[1] - columns.low[1] == 8


def test_a_group_is_summarised_per_point(tmp_path):
    group = Group("numpy", [lambda seed=seed: random_workflow(3, seed, TINY) for seed in (0, 1)])
    rows = list(measure_group(group, Setting(TINY, tmp_path)))
    assert {row.engine for row in rows} == set(FEW)
    assert all(row.wrong == 0 for row in rows)
    assert all(row.cold.low <= row.cold.mean <= row.cold.high for row in rows if row.cold)
    assert len(rows) == len(FEW) * 2 * len(TINY.selectivities)


def test_a_slow_baseline_stops(tmp_path):
    relation, out_shape, in_shape = moved((400, 400), lambda p: p)
    part = Part(out_shape, in_shape, lambda: relation)
    workflow = Workflow("identity", (part,), ("identity",))
    engine = next(e for e in ENGINES if e.name == "Array, ==")
    prepared = engine.prepare(workflow, tmp_path, limit=0.0)
    with pytest.raises(LimitError):
        prepared.cold(Query((0, 0), (399, 399), backward=False))


def test_there_are_twenty_workflows_of_each_length():
    found = {group.name: len(group.makers) for group in groups(FULL)}
    assert found["numpy, 5 operations"] == found["numpy, 10 operations"] == 20
    assert set(found) >= {"image", "relational", "ResNet block"}
