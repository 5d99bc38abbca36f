"""Class trees: the packaged ones are what they claim, and a broken file is named and refused."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_vicreg.errors import InputError
from sag_vicreg.hierarchy import Hierarchy, hierarchy_names, load_hierarchy


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "sizes"), [("cifar100", [3, 7, 20, 100]), ("shapes", [3, 6, 12, 48])]
)
def test_packaged_trees_have_their_levels(name: str, sizes: list[int]) -> None:
    tree = load_hierarchy(name)
    assert [len(tree.names_at(level)) for level in range(1, 5)] == sizes
    assert np.array_equal(tree.labels_at(4), np.arange(sizes[-1]))


def test_cifar100_superclasses_hold_five_classes_each() -> None:
    assert np.bincount(load_hierarchy("cifar100").labels_at(3)).tolist() == [5] * 20


@pytest.mark.real_data
def test_cifar100_is_the_published_tree(real_cifar100: Path) -> None:
    path = real_cifar100 / "class_hierarchy.csv"
    if not path.is_file():
        pytest.skip(f"no {path.name} beside the images")
    with path.open() as lines:
        published = sorted(csv.DictReader(lines), key=lambda row: int(row["Number"]))
    tree = load_hierarchy("cifar100")
    assert tree.paths == tuple(tuple(row["Path"].split("/")) for row in published)
    assert tree == load_hierarchy(path)


def test_both_halves_of_shapes_hold_every_group_above_the_classes() -> None:
    groups = load_hierarchy("shapes").labels_at(3)
    assert set(groups[:24]) == set(groups[24:]) == set(range(12))


def test_tree_distance_counts_edges() -> None:
    tree = load_hierarchy("cifar100")
    at = {name: index for index, name in enumerate(tree.classes)}
    distance = tree.tree_distance()
    assert distance[at["beaver"], at["beaver"]] == 0
    assert distance[at["beaver"], at["dolphin"]] == 2  # aquatic_mammals
    assert distance[at["beaver"], at["bear"]] == 4  # Mammals
    assert distance[at["beaver"], at["shark"]] == 6  # Animals
    assert distance[at["beaver"], at["bus"]] == 8  # the root


@st.composite
def trees(draw: st.DrawFn) -> Hierarchy:
    """A random nested tree: every class picks its groups by cutting its own path short."""
    depth = draw(st.integers(1, 4))
    n = draw(st.integers(1, 12))
    picks = draw(st.lists(st.tuples(*[st.integers(0, 2)] * (depth - 1)), min_size=n, max_size=n))
    return Hierarchy(
        tuple(
            (*("g" + "".join(map(str, pick[: level + 1])) for level in range(depth - 1)), f"c{i}")
            for i, pick in enumerate(picks)
        )
    )


@given(trees())
def test_levels_nest_and_distance_is_an_ultrametric(tree: Hierarchy) -> None:
    for level in range(2, tree.n_levels + 1):
        up = tree.parents(level)[tree.labels_at(level)]
        assert np.array_equal(up, tree.labels_at(level - 1))
    assert set(tree.parents(1)) == {0}
    distance = tree.tree_distance()
    assert np.array_equal(distance, distance.T)
    assert np.all(distance[:, None, :] <= np.maximum(distance[:, :, None], distance[None]))


def test_encode_takes_names_or_indices() -> None:
    tree = load_hierarchy("cifar100")
    names = ["bus", "apple", "bus"]
    by_name = tree.encode(names, level=2)
    assert np.array_equal(by_name, tree.encode([tree.classes.index(n) for n in names], level=2))
    assert [tree.names_at(2)[group] for group in by_name] == [
        "Artificial_outdoor",
        "Plants",
        "Artificial_outdoor",
    ]
    assert tree.encode([], level=1).shape == (0,)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["bus", "unicorn", "dragon"], r"2 class name\(s\) not in the hierarchy: dragon, unicorn;"),
        ([0, 100, -1], "class indices -1, 100 are outside the hierarchy's 0 to 99"),
        ([[0, 1]], r"not an array of shape \(1, 2\)"),
    ],
)
def test_encode_refuses_labels_it_does_not_know(labels: list[object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_hierarchy("cifar100").encode(labels, level=1)


@pytest.mark.parametrize("level", [0, 5])
def test_levels_outside_the_tree_are_refused(level: int) -> None:
    with pytest.raises(InputError, match=f"level {level} does not exist: levels go from 1 to 4"):
        load_hierarchy("shapes").names_at(level)


def test_a_path_may_leave_the_class_out(tmp_path: Path) -> None:
    full = write(tmp_path / "full.csv", "class,path\ncat,animal/cat\ncup,thing/cup\n")
    short = write(tmp_path / "short.csv", "\ufeffClass, Path, n\ncat, animal, 3\ncup, thing, 4\n")
    assert load_hierarchy(full) == load_hierarchy(str(short))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty: write one line of class,path"),
        ("name,tree\ncat,animal\n", "found name, tree"),
        ("class,path\n", "no classes"),
        ("class,path\ncat,a/cat\ncat,a/cat\n", "class 'cat' appears twice"),
        ("class,path\ncat,a/cat\ndog,a/b/dog\n", "'dog' has 3 levels but 'cat' has 2"),
        ("class,path\ncat,a/cat\ndog,/dog\n", "class 'dog' has an empty name in its path '/dog'"),
        ("class,path\ncat,a/cat\ndog\n", "the path of class 'dog' ends in '' instead"),
        ("class,path\ncat,a/cat\ndog,a/hound\n", "path of class 'dog' ends in 'hound' instead"),
        ("class,path\ncat,a/g/cat\ndog,b/g/dog\n", "'g' at level 2 lies under both 'a' and 'b'"),
    ],
)
def test_a_broken_file_is_named_with_its_fault(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path / "mine.csv", text)
    with pytest.raises(InputError, match=message) as caught:
        load_hierarchy(path)
    assert str(path) in str(caught.value)


def test_unknown_and_missing_trees(tmp_path: Path) -> None:
    assert hierarchy_names() == ("cifar100", "shapes")
    with pytest.raises(InputError, match="did you mean 'cifar100'"):
        load_hierarchy("cifar10")
    with pytest.raises(InputError, match=r"none.csv: there is no such file"):
        load_hierarchy(tmp_path / "none.csv")
    (tmp_path / "latin.csv").write_bytes(b"class,path\nb\xe4r,animal\n")
    with pytest.raises(InputError, match="not UTF-8"):
        load_hierarchy(tmp_path / "latin.csv")


def test_numbers_that_are_names_of_classes_are_taken_as_names() -> None:
    """As a table of text has them: classes called 0 to 3, in another order than by number."""
    tree = Hierarchy((("even", "0"), ("even", "2"), ("odd", "1"), ("odd", "3")))
    assert tree.encode([0, 1, 2, 3], 1).tolist() == [0, 1, 0, 1]
    assert tree.encode(["0", "1", "2", "3"], 1).tolist() == [0, 1, 0, 1]
    from_one = Hierarchy((("a", "1"), ("a", "2"), ("b", "3")))
    assert from_one.encode([1, 2, 3], 1).tolist() == [0, 0, 1]
    assert from_one.encode([0, 1, 2], 1).tolist() == [0, 0, 1], "0 is no name, but a place"
