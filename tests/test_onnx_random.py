"""Random sequences of nodes, in all spellings, against exact arithmetic of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("onnx")

import polycarve as pc
from tests.onnx_models import evaluated, model, node, read

relaxed = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])

Array = np.ndarray


@dataclass
class Sequence:
    """A graph in the making, and the functions of exact arrays that its nodes stand for."""

    entry: tuple[Any, ...]
    shape: tuple[int, ...]  # of the newest tensor, for one sample
    nodes: list[Any] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)
    functions: list[Callable[[list[Array]], Array]] = field(default_factory=list)
    relus: list[int] = field(default_factory=list)  # the values that a ReLU reads
    shapes: list[tuple[int, ...]] = field(default_factory=list)

    def name(self, back: int = 0) -> str:
        number = len(self.functions) - back
        return f"v{number}" if number else "x"

    def keep(self, array: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def then(
        self, op: str, inputs: str, function: Callable[[list[Array]], Array], shape: Any = None,
        **attributes: Any,
    ) -> None:  # fmt: skip
        self.shapes.append(self.shape)
        self.nodes.append(node(op, inputs, f"v{len(self.functions) + 1}", **attributes))
        self.functions.append(function)
        self.shape = self.shape if shape is None else tuple(shape)

    def preactivations(self, x: list[Fraction]) -> list[Fraction]:
        """Return what each ReLU reads, of all of them."""
        values = self.values(x)
        return [z for k in self.relus for z in values[k].ravel()]

    def values(self, x: list[Fraction]) -> list[Array]:
        sizes = [1 if isinstance(n, str) else n for n in self.entry]
        found = [np.array(x, dtype=object).reshape(sizes)]
        for function in self.functions:
            found.append(np.asarray(function(found), dtype=object))
        return found


ENTRIES = [("batch", 2), ("N", 3), (1, 2), (2,), (3,), (1, 1, 1, 3), ("n", 2, 2), (1, 1, 2)]


def constants(draw: st.DrawFn, shape: tuple[int, ...], *, nonzero: bool = False) -> Array:
    entry = st.integers(-3, 3).filter(bool) if nonzero else st.integers(-2, 2)
    size = int(np.prod(shape, dtype=int))
    return np.array(draw(st.lists(entry, min_size=size, max_size=size)), float).reshape(shape)


def exactly(array: Array) -> Array:
    found = np.empty(array.shape, dtype=object)
    found.reshape(-1)[:] = [Fraction(value) for value in array.ravel().tolist()]
    return found


def broadcastable(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a constant that leaves a tensor's shape as it is."""
    own = tuple(n if axis and draw(st.booleans()) else 1 for axis, n in enumerate(shape))
    if len(shape) == 1:
        own = draw(st.sampled_from([shape, (1,), ()]))
    return own[draw(st.integers(0, len(own))) :]


def put(draw: st.DrawFn, seq: Sequence, kind: str) -> None:
    """Add nodes of a kind."""
    x, shape = seq.name(), seq.shape
    if kind == "relu":
        seq.relus.append(len(seq.functions))
        seq.then("Relu", x, lambda v: np.maximum(v[-1], 0))
    elif kind == "gemm":
        width = draw(st.integers(1, 3))
        W, turned = constants(draw, (shape[1], width)), draw(st.booleans())
        alpha, beta = draw(st.sampled_from([(1.0, 1.0), (0.5, -2.0), (1.0, 0.25)]))
        b = constants(draw, draw(st.sampled_from([(), (width,), (1, 1), (1, width)])))
        given_ = seq.keep(W.T if turned else W)
        E, e = exactly(W), exactly(b)
        attributes = {"transB": int(turned)}
        if draw(st.booleans()):
            seq.then("Gemm", f"{x} {given_}", lambda v: v[-1] @ E, (shape[0], width), **attributes)
        else:
            A, Be = Fraction(alpha), Fraction(beta)
            seq.then(
                "Gemm", f"{x} {given_} {seq.keep(b)}", lambda v: A * (v[-1] @ E) + Be * e,
                (shape[0], width), alpha=alpha, beta=beta, **attributes,
            )  # fmt: skip
    elif kind in ("matmul", "dense"):
        width = draw(st.integers(1, 3))
        W = constants(draw, (shape[-1], width))
        E = exactly(W)
        seq.then("MatMul", f"{x} {seq.keep(W)}", lambda v: v[-1] @ E, (*shape[:-1], width))
        if kind == "dense":
            put(draw, seq, "add")
    elif kind == "left":
        height = draw(st.integers(1, 3))
        axis = max(len(shape) - 2, 0)
        W = constants(draw, (height, shape[axis]))
        E = exactly(W)
        new = (*shape[:axis], height, *shape[axis + 1 :])
        seq.then("MatMul", f"{seq.keep(W)} {x}", lambda v: E @ v[-1], new)
    elif kind in ("add", "sub", "mul", "div"):
        c = constants(draw, broadcastable(draw, shape), nonzero=kind == "div")
        E, name = exactly(c), seq.keep(c)
        if kind == "div":
            seq.then("Div", f"{x} {name}", lambda v: v[-1] / E)
        elif kind == "sub":
            first = draw(st.booleans())
            names = f"{x} {name}" if first else f"{name} {x}"
            seq.then("Sub", names, lambda v: v[-1] - E if first else E - v[-1])
        else:
            names = f"{x} {name}" if draw(st.booleans()) else f"{name} {x}"
            law = np.add if kind == "add" else np.multiply
            seq.then(kind.title(), names, lambda v: law(v[-1], E))
    elif kind == "neg":
        seq.then("Neg", x, lambda v: -v[-1])
    elif kind == "flatten":
        flat = (shape[0], int(np.prod(shape[1:])))
        seq.then("Flatten", x, lambda v: v[-1].reshape(flat), flat)
    elif kind == "reshape":
        new = (shape[0], int(np.prod(shape[1:])), 1)
        seq.then("Reshape", f"{x} {seq.keep(np.array([-1, *new[1:]]))}",
                 lambda v: v[-1].reshape(new), new)  # fmt: skip
    elif kind == "identity":
        seq.then(draw(st.sampled_from(["Identity", "Dropout"])), x, lambda v: v[-1])
    elif kind == "squeeze":
        axis = shape.index(1, 1)
        new = (*shape[:axis], *shape[axis + 1 :])
        axes = seq.keep(np.array([axis]))
        seq.then("Squeeze", f"{x} {axes}", lambda v: v[-1].reshape(new), new)
    elif kind == "skip":
        backs = [k for k in range(len(seq.shapes)) if seq.shapes[k] == shape]
        k = draw(st.sampled_from(backs))
        other = f"v{k}" if k else "x"
        if draw(st.booleans()):
            seq.then("Add", f"{x} {other}", lambda v: v[-1] + v[k])
        else:
            seq.then("Sub", f"{other} {x}", lambda v: v[k] - v[-1])
    elif kind == "concat":
        backs = [k for k in range(len(seq.shapes)) if seq.shapes[k][:-1] == shape[:-1]]
        k = draw(st.sampled_from(backs))
        other = f"v{k}" if k else "x"
        new = (*shape[:-1], shape[-1] + seq.shapes[k][-1])
        seq.then(
            "Concat", f"{x} {other}", lambda v: np.concatenate([v[-1], v[k]], axis=-1), new,
            axis=-1,
        )  # fmt: skip


def kinds(seq: Sequence) -> list[str]:
    """Return what can follow; what a network is made of comes often."""
    shape, before = seq.shape, [shape[:-1] for shape in seq.shapes]
    found = ["relu", "relu", "relu", "matmul", "dense", "add", "sub", "mul", "div", "neg"]
    found += ["identity"]
    found += ["gemm"] * 6 if len(shape) == 2 else ["left", "left"]
    found += ["flatten", "reshape"] if len(shape) > 1 else []
    found += ["squeeze"] if len(shape) > 2 and 1 in shape[1:] else []
    found += ["skip", "skip"] if shape in seq.shapes else []
    found += ["concat", "concat"] if shape[:-1] in before else []
    return found


@st.composite
def sequences(draw: st.DrawFn) -> Sequence:
    entry = draw(st.sampled_from(ENTRIES))
    seq = Sequence(entry, tuple(1 if isinstance(n, str) else n for n in entry))
    for _ in range(draw(st.integers(1, 8))):
        put(draw, seq, draw(st.sampled_from(kinds(seq))))
    put(draw, seq, draw(st.sampled_from(["relu", "dense", "add"])))
    return seq


@relaxed
@given(seq=sequences(), seed=st.integers(0, 99))
def test_random_sequences(seq: Sequence, seed: int) -> None:
    made = model(
        *seq.nodes, shape=seq.entry, constants=seq.constants, outputs=[seq.name()], dtype="float64"
    )
    net = read(made)
    X = np.random.default_rng(seed).integers(-6, 7, (4, net.input_dim)) / 2.0
    for row, told in zip(X.tolist(), evaluated(made, X), strict=True):
        x = [Fraction(value) for value in row]
        values = seq.values(x)
        # The pre-activations are those of the nodes, exactly, and so is every bit.
        wanted = [values[k].ravel().tolist() for k in seq.relus]
        pattern = [int(z > 0) for layer in wanted for z in layer]
        maps = net.exact_preactivation_maps(pattern)
        point = exactly(np.array(row))
        found = [
            [sum(a * b for a, b in zip(form, point, strict=True)) + c for form, c in zip(
                A.fractions(), shift.fractions(), strict=True)]
            for A, shift in maps
        ]  # fmt: skip
        assert found == wanted
        output = [float(y) for y in values[-1].ravel()]
        scale = 1e-12 * max(1.0, *(abs(float(v)) for part in values for v in part.ravel()))
        np.testing.assert_allclose(net(row), output, rtol=1e-12, atol=scale)
        np.testing.assert_allclose(told, output, rtol=1e-12, atol=scale)


@settings(relaxed, max_examples=60)
@given(seq=sequences(), seed=st.integers(0, 99))
def test_random_sequences_are_carved(seq: Sequence, seed: int) -> None:
    net = read(model(*seq.nodes, shape=seq.entry, constants=seq.constants, outputs=[seq.name()]))
    carving = pc.carve(net, pc.Box.cube(-2, 2, dim=net.input_dim), limits=pc.Limits(300))
    for region in carving:
        if region.point_is_interior:
            zs = seq.preactivations([Fraction(value) for value in region.point.tolist()])
            assert [int(z > 0) for z in zs] == region.pattern.tolist()
    if carving.complete:
        listed = {tuple(row) for row in carving.patterns.tolist()}
        for x in np.random.default_rng(seed).uniform(-2, 2, (40, net.input_dim)).tolist():
            zs = seq.preactivations([Fraction(value) for value in x])
            assert tuple(int(z > 0) for z in zs) in listed  # a random point lies on no cut
