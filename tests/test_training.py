"""Regions while training: what is carved when, and that the training does not notice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polycarve as pc
from polycarve.errors import DomainError, InputError, NetworkError
from polycarve.networks import examples

SQUARE = pc.Box.cube(-3, 3, dim=2)


def train(callback: Any = None) -> tuple[Any, list[float]]:
    torch = pytest.importorskip("torch")
    torch.manual_seed(3)
    model = torch.nn.Sequential(
        torch.nn.Linear(2, 6),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.2),
        torch.nn.Linear(6, 6),
        torch.nn.ReLU(),
        torch.nn.Linear(6, 1),
    )
    x = torch.randn(40, 2)
    y = (x[:, :1] * x[:, 1:] > 0).float()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    losses = []
    for step in range(20):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        if callback is not None:
            callback(step, model, loss=loss)
            assert model.training
            assert model[0].weight.grad is not None
        optimizer.step()
        losses.append(loss.item())
    return model, losses


def test_counts_are_those_of_carving_at_these_steps() -> None:
    seen = {}
    callback = pc.CarveCallback(SQUARE, every=6)

    def both(step: int, model: Any, loss: Any) -> None:
        record = callback(step, model, loss=loss)
        if step % 6:
            assert record is None
        else:
            carving = pc.carve(model, SQUARE)
            seen[step] = carving.layer_counts
            assert record is callback.records[-1]

    _, losses = train(both)
    assert callback.steps.tolist() == [0, 6, 12, 18]
    assert [record.layer_counts for record in callback.records] == list(seen.values())
    assert callback.counts.tolist() == [counts[-1] for counts in seen.values()]
    assert len(set(callback.counts.tolist())) > 1
    assert [record.values["loss"] for record in callback.records] == losses[::6]
    assert callback.complete
    assert not callback.carvings


def test_training_does_not_notice() -> None:
    plain, plain_losses = train()
    watched, losses = train(pc.CarveCallback(SQUARE, every=1))
    assert losses == plain_losses
    for a, b in zip(plain.parameters(), watched.parameters(), strict=True):
        assert (a == b).all()


def test_what_is_kept() -> None:
    net = examples.moons()
    counts, kept, total = (
        pc.CarveCallback(SQUARE, keep=keep) for keep in ("counts", "carvings", "total")
    )
    for step in (3, 5):
        for callback in (counts, kept, total):
            callback(step, net)
    assert counts.counts.tolist() == kept.counts.tolist() == total.counts.tolist() == [66, 66]
    assert counts.records[0].layer_counts == (13, 43, 66)
    assert total.records[0].layer_counts == ()
    assert [len(carving) for carving in kept.carvings] == [66, 66]


def test_limits_are_kept_and_said() -> None:
    callback = pc.CarveCallback(SQUARE, limits=pc.Limits(max_regions=10))
    record = callback(0, examples.moons())
    assert record is not None
    assert not record.complete
    assert record.regions == 10
    assert not callback.complete


@pytest.mark.parametrize(
    ("choice", "carved"),
    [
        ({}, [0, 1, 2, 3, 4]),
        ({"every": 2}, [0, 2, 4]),
        ({"steps": [1, 4, 9]}, [1, 4]),
        ({"steps": np.array([3])}, [3]),
        ({"steps": []}, []),
    ],
)
def test_chosen_steps(choice: dict[str, Any], carved: list[int]) -> None:
    callback = pc.CarveCallback(SQUARE, **choice)
    for step in range(5):
        callback(step, examples.moons())
    assert callback.steps.tolist() == carved


def test_frame() -> None:
    pytest.importorskip("pandas")
    callback = pc.CarveCallback(SQUARE)
    callback(7, examples.moons(), loss=0.5, accuracy=np.float32(1))
    frame = callback.to_frame()
    assert frame.iloc[0].to_dict() == {
        "step": 7,
        "regions": 66,
        "layer1": 13,
        "layer2": 43,
        "layer3": 66,
        "complete": True,
        "doubtful": 0,
        "loss": 0.5,
        "accuracy": 1.0,
    }
    assert len(pc.CarveCallback(SQUARE).to_frame()) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"every": 0}, "at least 1"),
        ({"every": 2.5}, "whole number"),
        ({"every": True}, "whole number"),
        ({"every": 2, "steps": [1]}, "one of them"),
        ({"steps": 3}, "list of whole numbers"),
        ({"steps": [1.5]}, "whole number"),
        ({"keep": "all"}, "'carvings'"),
        ({"keep": "total", "limits": pc.Limits(max_regions=1)}, "limits need"),
        ({"limits": 3}, "Limits"),
        ({"method": "none"}, "method 'none'"),
        ({"workers": 0}, "workers is 0"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        pc.CarveCallback(SQUARE, **arguments)


def test_errors_name_the_step() -> None:
    callback = pc.CarveCallback(SQUARE)
    with pytest.raises(NetworkError, match=r"at step 12: .*finite"):
        callback(12, ([[[np.nan, 1]], [[1]]], [[0], [0]]))
    with pytest.raises(InputError, match="whole number"):
        callback("first", examples.moons())  # type: ignore[arg-type]
    with pytest.raises(InputError, match="loss is no single number"):
        callback(1, examples.moons(), loss=np.zeros(3))  # type: ignore[arg-type]
    assert not callback.records


@pytest.mark.parametrize("domain", [None, 3, "box", [(1, -1)], [1, 2]])
def test_bad_domains_are_refused_before_the_training(domain: Any) -> None:
    with pytest.raises(DomainError):
        pc.CarveCallback(domain)


@pytest.mark.parametrize("name", ["regions", "complete", "doubtful", "layer1", "layer12"])
def test_values_do_not_take_the_place_of_counts(name: str) -> None:
    callback = pc.CarveCallback(SQUARE)
    with pytest.raises(InputError, match=f"a value is named {name}"):
        callback(0, examples.moons(), **{name: 1.0})
    assert not callback.records
    record = callback(0, examples.moons(), layers=1.0)
    assert record is not None
    assert record.values == {"layers": 1.0}


def test_a_frame_without_records_has_its_columns() -> None:
    pytest.importorskip("pandas")
    frame = pc.CarveCallback(SQUARE).to_frame()
    assert frame["step"].tolist() == frame["regions"].tolist() == []
