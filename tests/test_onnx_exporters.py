"""Networks as others export them: torch, scikit-learn, and the verification competition."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest

import polycarve as pc
from polycarve.errors import UnsupportedLayerError

onnx = pytest.importorskip("onnx")
from onnx import numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

from tests.onnx_models import evaluated, results, vnncomp  # noqa: E402

# ---------------------------------------------------------------------- torch


def chain():
    from torch.nn import Dropout, Flatten, Identity, Linear, ReLU, Sequential

    parts = Flatten(), Linear(2, 6), ReLU(), Dropout(0.5), Linear(6, 5, bias=False), Identity()
    return Sequential(*parts, ReLU(), Linear(5, 2))


def relu_last():
    from torch.nn import Linear, ReLU, Sequential

    return Sequential(Linear(2, 6), ReLU(), Linear(6, 4), ReLU())


def affine():
    from torch.nn import Linear, Sequential

    return Sequential(Linear(2, 3), Linear(3, 2))


def branched():
    """Return a module that normalises, adds, views, and puts side by side."""
    import torch
    from torch import nn

    class Branched(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(2, 3), nn.Linear(3, 3, bias=False)
            self.register_buffer("std", torch.tensor([[0.3], [7.0]]))

        def forward(self, x):
            x = (x.unsqueeze(-1) - 0.5) / self.std
            x = x.view(x.size(0), -1)
            h = torch.relu(self.first(x))
            h = nn.functional.dropout(torch.relu(self.second(h) + h), 0.5, self.training)
            return torch.cat([1 - h, x * 2], dim=1)

    return Branched()


MODULES = {"chain": chain, "relu_last": relu_last, "affine": affine, "branched": branched}
LEGACY = [("legacy", opset) for opset in range(13, 21)]
DYNAMO = [("dynamo", opset) for opset in (18, 20, 22)]


def exported(name, exporter, opset, batch="open"):
    """Return a module and the model that torch makes of it."""
    torch = pytest.importorskip("torch")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4)
        module = MODULES[name]().eval()
    example = (torch.zeros(1 if batch == "one" else 3, 2),)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporters warn about themselves
        if exporter == "legacy":
            options = {
                "input_names": ["x"],
                "dynamic_axes": {"x": {0: "n"}} if batch == "open" else None,
            }
            file = io.BytesIO()
            torch.onnx.export(module, example, file, dynamo=False, opset_version=opset, **options)
            return module, onnx.load_model_from_string(file.getvalue())
        pytest.importorskip("onnxscript")
        shapes = ({0: torch.export.Dim("n")},) if batch == "open" else None
        program = torch.onnx.export(
            module, example, dynamo=True, opset_version=opset, dynamic_shapes=shapes, verbose=False
        )
        return module, program.model_proto


def outputs(module, X):
    import torch

    with torch.no_grad():
        return module.double()(torch.from_numpy(X.copy())).numpy()


@pytest.mark.parametrize("batch", ["open", "one", "three"])
@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize(("exporter", "opset"), [LEGACY[0], LEGACY[-1], DYNAMO[0]])
def test_torch_modules_of_all_kinds(name, exporter, opset, batch):
    module, made = exported(name, exporter, opset, batch)
    check_against_torch(name, module, made)


@pytest.mark.parametrize(("exporter", "opset"), LEGACY[1:-1] + DYNAMO[1:])
def test_torch_exports_of_all_operator_sets(exporter, opset):
    for name in ("chain", "branched"):
        check_against_torch(name, *exported(name, exporter, opset))


def check_against_torch(name, module, made):
    net = pc.Network.from_onnx(made)
    X = np.random.default_rng(3).normal(scale=2, size=(60, 2))
    if name == "branched":
        assert net.widths == (3, 3)
        np.testing.assert_allclose(net(X), outputs(module, X), rtol=0, atol=1e-12)
        return
    direct = pc.Network.from_torch(module)
    assert net == direct  # the same exact numbers
    np.testing.assert_array_equal(net.patterns(X), direct.patterns(X))
    box = pc.Box.cube(-2, 2, dim=2)
    ours, theirs = pc.carve(net, box), pc.carve(module, box)
    assert len(ours) == len(theirs) > (8 if net.widths else 0)
    np.testing.assert_array_equal(ours.patterns, theirs.patterns)


def test_a_network_with_branches_is_carved():
    module, made = exported("branched", *LEGACY[0])
    net = pc.Network.from_onnx(made)
    carving = pc.carve(net, pc.Box.cube(-2, 2, dim=2))
    X = np.random.default_rng(3).uniform(-2, 2, size=(4000, 2))
    seen = {tuple(row) for row in net.patterns(X).tolist()}
    assert seen <= {tuple(row) for row in carving.patterns.tolist()}
    assert (carving.locate(X) >= 0).all()
    region = carving[3]
    W, c = region.affine_map()
    np.testing.assert_allclose(
        W @ region.point + c, outputs(module, region.point[None])[0], rtol=0, atol=1e-12
    )


# ---------------------------------------------------------------------- scikit-learn


@pytest.fixture(scope="module")
def learned():
    """Fitted models of scikit-learn, and the type of their inputs."""
    pytest.importorskip("skl2onnx")
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X = np.random.default_rng(0).normal(size=(60, 3))
    positive = (X > 0).astype(int)
    options = {"hidden_layer_sizes": (5, 4), "max_iter": 15, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few steps do not converge
        return {
            "two classes": MLPClassifier(**options).fit(X, positive[:, 0]),
            "three classes": MLPClassifier(**options).fit(X, positive[:, 0] + positive[:, 1]),
            "named classes": MLPClassifier(**options).fit(
                X, np.array(["a", "b", "c"])[positive[:, 0] + positive[:, 1]]
            ),
            "labels": MLPClassifier(**options).fit(X, positive[:, :2]),
            "one number": MLPRegressor(**options).fit(X, X[:, 0]),
            "two numbers": MLPRegressor(**options).fit(X, X[:, :2]),
            "scaled": make_pipeline(StandardScaler(), MLPRegressor(**options)).fit(X, X[:, 0]),
        }


def converted(estimator, dtype=np.float32, **options):
    from skl2onnx import to_onnx

    return to_onnx(
        estimator, np.zeros((1, 3), dtype), options={id(estimator): options} if options else None
    )


def scores(estimator, X, dtype=np.float32):
    """Return what the last layer says, from the numbers as they are converted, in float64."""
    if hasattr(estimator, "steps"):
        scaler, estimator = (step for _, step in estimator.steps)
        offset, scale = scaler.mean_.astype(np.float32), (1 / scaler.scale_).astype(np.float32)
        X = (X - offset.astype(float)) * scale.astype(float)
    for k, (W, b) in enumerate(zip(estimator.coefs_, estimator.intercepts_, strict=True)):
        X = X if k == 0 else np.maximum(X, 0)
        X = X @ W.astype(dtype).astype(float) + b.astype(dtype).astype(float)
    return X


LEARNED = [
    "two classes",
    "three classes",
    "named classes",
    "labels",
    "one number",
    "scaled",
]


@pytest.mark.parametrize("name", LEARNED)
def test_scikit_learn(name, learned):
    estimator = learned[name]
    made = converted(estimator)
    classifies = hasattr(estimator, "classes_")
    if classifies:
        with pytest.raises(UnsupportedLayerError, match=r"drop_tail=True \(--drop-tail\) leaves"):
            pc.Network.from_onnx(made)
    net = pc.Network.from_onnx(made, drop_tail=classifies)
    X = np.random.default_rng(1).normal(size=(50, 3))
    assert net.widths == (5, 4)
    np.testing.assert_allclose(net(X), scores(estimator, X), rtol=0, atol=1e-12)
    if classifies:
        assert results(made, drop_tail=True)[-1] == "dropped"


@pytest.mark.parametrize("zipmap", [False, "columns"])
def test_scikit_learn_without_a_map_of_probabilities(zipmap, learned):
    plain = pc.Network.from_onnx(converted(learned["three classes"]), drop_tail=True)
    made = converted(learned["three classes"], zipmap=zipmap)
    assert pc.Network.from_onnx(made, drop_tail=True) == plain


def test_scikit_learn_in_double(learned):
    estimator = learned["one number"]
    net = pc.Network.from_onnx(converted(estimator, np.float64))
    assert net.layers[0].weight.float64.tolist() == estimator.coefs_[0].T.tolist()


def test_scikit_learn_with_several_numbers(learned):
    """The converter makes one column of them, of all samples: right for one sample alone."""
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType

    estimator = learned["two numbers"]
    made = converted(estimator)
    column = ReferenceEvaluator(made).run(None, {"X": np.zeros((4, 3), np.float32)})[0]
    if column.shape == (8, 1):
        with pytest.raises(UnsupportedLayerError, match=r"Reshape \(Reshape\): it mixes the batch"):
            pc.Network.from_onnx(made)
    else:  # a later version of the converter
        assert pc.Network.from_onnx(made).n_outputs == 2
    net = pc.Network.from_onnx(to_onnx(estimator, initial_types=[("X", FloatTensorType([1, 3]))]))
    X = np.random.default_rng(1).normal(size=(50, 3))
    np.testing.assert_allclose(net(X), scores(estimator, X), rtol=0, atol=1e-12)


# ---------------------------------------------------------------------- verification competition


def competition(name):
    path = vnncomp(name)
    if path is None:
        pytest.skip(f"{name} of the verification competition is not in shared/data/vnncomp")
    return path


@pytest.mark.parametrize("name", ["1_1", "3_3"])
def test_acas_xu(name):
    path = competition(f"ACASXU_run2a_{name}_batch_2000.onnx")
    net, made = pc.Network.from_onnx(path), onnx.load(path)
    assert net.widths == (50,) * 6
    assert (net.input_dim, net.n_outputs, len(net.layers)) == (5, 5, 8)
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (40, 5))
    X = X.astype(np.float32).astype(float)
    np.testing.assert_allclose(net(X), evaluated(made, X), rtol=0, atol=2e-6)
    stored = {t.name: numpy_helper.to_array(t).astype(float) for t in made.graph.initializer}
    values = X - stored["input_AvgImg"].ravel()
    layers = [*(f"Operation_{k}" for k in range(1, 7)), "linear_7"]
    for k, layer in enumerate(layers):
        values = np.maximum(values, 0) if k else values
        values = values @ stored[f"{layer}_MatMul_W"] + stored[f"{layer}_Add_B"]
    np.testing.assert_allclose(net(X), values, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "widths", "function"),
    [
        ("test_nano", (1,), lambda x: np.maximum(x / 2, 0)),
        ("test_tiny", (1,), lambda x: np.maximum(x, 0)),
        (
            "test_small",
            (2, 2),
            lambda x: 6 * np.maximum(4 * np.maximum(x + 1.5, 0) + 2.5, 0) + 3.5,
        ),
    ],
)
def test_small_files_of_the_competition(name, widths, function):
    net = pc.Network.from_onnx(competition(f"{name}.onnx"))
    assert net.widths == widths
    X = np.arange(-8.0, 8)[:, None] / 4
    np.testing.assert_array_equal(net(X), function(X))
