"""Networks read from torch modules: the same function, and the module left as it was."""

from __future__ import annotations

import copy
from fractions import Fraction

import numpy as np
import pytest

import polycarve as pc
from polycarve.errors import NetworkError, UnsupportedLayerError

torch = pytest.importorskip("torch")
nn = torch.nn
Linear, ReLU, Sequential = nn.Linear, nn.ReLU, nn.Sequential


class Shifted(Sequential):
    def forward(self, x):
        return super().forward(x) + 1


class Flipped(Sequential):
    def forward(self, x):
        return -super().forward(x)


class Twice(Linear):
    def forward(self, x):
        return 2 * super().forward(x)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Linear(2, 2)

    def forward(self, x):
        return self.inner(x) + x


class Renamed(Sequential):
    """A subclass that changes nothing."""


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


def build(*parts, dtype=None):
    return Sequential(*parts).to(dtype or torch.float32)


SHARED, SQUARE = ReLU(), Linear(2, 2)
READABLE = {
    "a Linear alone": (lambda: Linear(2, 3), ()),
    "plain": (lambda: build(Linear(2, 3), ReLU(), Linear(3, 1)), (3,)),
    "nested": (
        lambda: build(
            build(build(Linear(2, 3), ReLU())), build(build(Linear(3, 4)), ReLU()), Linear(4, 1)
        ),
        (3, 4),
    ),
    "one ReLU used twice": (lambda: build(Linear(2, 3), SHARED, Linear(3, 4), SHARED), (3, 4)),
    "one Linear used twice": (lambda: build(SQUARE, SHARED, SQUARE, SHARED, SQUARE), (2, 2)),
    "Linear after Linear": (lambda: build(Linear(2, 5), Linear(5, 3), ReLU(), Linear(3, 1)), (3,)),
    "a ReLU of the input": (lambda: build(ReLU(), Linear(2, 3), ReLU()), (2, 3)),
    "a ReLU of a ReLU": (lambda: build(Linear(2, 3), ReLU(), ReLU(), Linear(3, 1)), (3, 3)),
    "a ReLU at the end": (lambda: build(Linear(2, 3), ReLU(), Linear(3, 2), ReLU()), (3, 2)),
    "Flatten": (lambda: build(nn.Flatten(), Linear(2, 3), nn.Flatten(), ReLU()), (3,)),
    "Dropout": (
        lambda: build(nn.Dropout(0.9), Linear(2, 3), nn.Dropout(0.9), ReLU(), Linear(3, 1)),
        (3,),
    ),
    "Identity": (lambda: build(nn.Identity(), Linear(2, 3), nn.Identity(), ReLU()), (3,)),
    "no bias": (lambda: build(Linear(2, 3, bias=False), ReLU(), Linear(3, 1, bias=False)), (3,)),
    "in place": (lambda: build(Linear(2, 3), ReLU(inplace=True), Linear(3, 1)), (3,)),
    "a renamed Sequential": (lambda: Renamed(Linear(2, 3), ReLU()), (3,)),
}
every_module = pytest.mark.parametrize(
    ("make", "widths"), READABLE.values(), ids=list(READABLE.keys())
)


def outputs(module, X):
    """What the module itself says in evaluation, in float64."""
    with torch.no_grad():
        return copy.deepcopy(module).double().eval()(torch.from_numpy(X)).numpy()


@every_module
def test_the_network_computes_what_the_module_computes(make, widths):
    module = make()
    net = pc.Network.from_torch(module)
    assert net.widths == widths
    X = np.random.default_rng(3).normal(scale=3, size=(60, 2))
    np.testing.assert_allclose(net(X), outputs(module, X), rtol=0, atol=1e-12)


@every_module
def test_the_module_and_the_random_numbers_are_left_as_they_were(make, widths):
    module = make().train()
    first = next(module.parameters())
    first.requires_grad_(False)
    first.grad = torch.ones_like(first)
    if len(widths) == 1:
        module.eval()
    names = dict(module.named_parameters())
    before = {name: value.detach().clone() for name, value in names.items()}
    wants = {name: value.requires_grad for name, value in names.items()}
    modes = [part.training for part in module.modules()]
    state, numpy_state = torch.get_rng_state(), np.random.get_state()  # noqa: NPY002

    pc.Network.from_torch(module)

    after = dict(module.named_parameters())
    assert after.keys() == before.keys()
    for name, value in after.items():
        assert value is names[name]
        assert value.dtype == before[name].dtype
        assert torch.equal(value, before[name])
        assert value.requires_grad == wants[name]
    assert torch.equal(first.grad, torch.ones_like(first))
    assert [part.training for part in module.modules()] == modes
    assert torch.equal(torch.get_rng_state(), state)
    later = np.random.get_state()  # noqa: NPY002
    assert np.array_equal(later[1], numpy_state[1])
    assert later[2:] == numpy_state[2:]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_weights_of_every_precision_are_kept_exactly(dtype):
    module = build(Linear(2, 3), ReLU(), Linear(3, 1), dtype=getattr(torch, dtype))
    net = pc.Network.from_torch(module)
    for layer, part in zip(net.layers, (module[0], module[2]), strict=True):
        weight = [[Fraction(float(w)) for w in row] for row in part.weight.detach()]
        assert layer.weight.fractions() == weight
        assert layer.bias.fractions() == [Fraction(float(b)) for b in part.bias.detach()]


def test_the_network_does_not_follow_later_training():
    module = build(Linear(2, 3), ReLU(), Linear(3, 1), dtype=torch.float64)
    net = pc.Network.from_torch(module)
    before, digest = net([1.0, 2.0]), pc.Network.from_torch(module).digest
    with torch.no_grad():
        module[0].weight += 1
    np.testing.assert_array_equal(net([1.0, 2.0]), before)
    assert net.digest == digest
    assert pc.Network.from_torch(module).digest != digest


def test_a_module_is_accepted_wherever_a_network_is():
    module = build(Linear(2, 6), ReLU(), Linear(6, 4), ReLU(), Linear(4, 1))
    net, box = pc.Network.from_torch(module), pc.Box.cube(-2, 2, dim=2)
    carving = pc.carve(module, box)
    assert carving.network == net
    assert len(carving) > 4
    np.testing.assert_array_equal(carving.patterns, pc.carve(net, box).patterns)
    assert pc.count_regions(module, box) == len(carving)
    assert pc.select_method(module, box) == pc.select_method(net, box)
    region = pc.region_at(module, [0.5, -0.5])
    np.testing.assert_array_equal(region.pattern, net.patterns([0.5, -0.5]))


# ---------------------------------------------------------------------- what cannot be read


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (
            lambda: build(Linear(2, 3), nn.Softmax(1), Linear(3, 3), nn.Conv2d(1, 1, 1), Block()),
            ["1 (Softmax)", "3 (Conv2d)", "4 (Block)"],
        ),
        (
            lambda: build(build(Linear(2, 3), nn.GELU()), build(build(nn.Tanh()))),
            ["0.1 (GELU)", "1.0.0 (Tanh)"],
        ),
        (lambda: build(Linear(2, 3), ReLU(), nn.LogSoftmax(1)), ["2 (LogSoftmax)"]),
        (lambda: build(Linear(2, 3), nn.ReLU6(), nn.LeakyReLU()), ["1 (ReLU6)", "2 (LeakyReLU)"]),
        (Block, ["the module (Block)"]),
        (lambda: nn.ModuleList([Linear(2, 3), ReLU()]), ["the module (ModuleList)"]),
    ],
)
def test_all_unsupported_layers_are_named_at_once(make, named):
    with pytest.raises(UnsupportedLayerError) as caught:
        pc.Network.from_torch(make())
    message = str(caught.value)
    assert message.startswith(f"cannot read {', '.join(named)}. Supported: Linear, ReLU,")
    assert "can be dropped" in message


def with_hook(register, hook):
    module = build(Linear(2, 3), ReLU(), Linear(3, 1))
    getattr(module, register)(hook)
    return module


def with_nan(key):
    module = build(Linear(2, 3), ReLU(), Linear(3, 1))
    getattr(module[2], key).data[0] = float("nan")
    return module


def tiny():
    """Outputs so small that only a relative comparison sees the sign."""
    module = Flipped(Linear(2, 3), ReLU(), Linear(3, 1)).double()
    with torch.no_grad():
        for value in module.parameters():
            value *= 1e-10
    return module


def deep():
    """So many layers that error bounds which grow with each of them see nothing any more."""
    module = Flipped(Linear(2, 32), *(part for _ in range(16) for part in (ReLU(), Linear(32, 32))))
    for part in module[::2]:
        nn.init.kaiming_normal_(part.weight)
    return module


def lazy(*before):
    return build(*before, nn.LazyLinear(3), ReLU())


SOMETHING_ELSE = "computes something else than its Linear and ReLU layers say"


@pytest.mark.filterwarnings("ignore:Lazy modules")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sequential(), "no Linear layer"),
        (lambda: build(nn.Identity()), "no Linear layer"),
        (lambda: build(build(), ReLU()), "no Linear layer"),
        (ReLU, "no Linear layer"),
        (lambda: with_nan("weight"), "weights of layer 2: .*[Gg]ive"),
        (lambda: with_nan("bias"), "bias of layer 2: .*[Gg]ive"),
        (lambda: build(Linear(2, 3), ReLU(), Linear(4, 1)), "layer 2 reads 4 values but 3 come in"),
        (lambda: lazy(), "has no weights yet"),
        (lambda: lazy(Linear(2, 3), ReLU()), "layer 2 has no weights yet"),
        (lambda: Linear(2, 3, device="meta"), "has no weights yet"),
        (lambda: Linear(2, 2, dtype=torch.complex64), "complex"),
        (lambda: with_hook("register_forward_hook", lambda m, x, y: y + 1), SOMETHING_ELSE),
        (lambda: with_hook("register_forward_pre_hook", lambda m, x: (x[0] + 1,)), SOMETHING_ELSE),
        (lambda: Shifted(Linear(2, 3), ReLU()), SOMETHING_ELSE),
        (lambda: build(Shifted(Linear(2, 3), ReLU()), Linear(3, 1)), SOMETHING_ELSE),
        (lambda: build(Twice(2, 3), ReLU()), SOMETHING_ELSE),
        (tiny, SOMETHING_ELSE),
        (deep, SOMETHING_ELSE),
        (lambda: build(Linear(2, 3), nn.Flatten(0)), SOMETHING_ELSE),
        (lambda: build(nn.Flatten(0), Linear(2, 3)), "own forward pass fails"),
    ],
)
def test_modules_that_are_no_plain_network_are_refused(make, message):
    with pytest.raises(NetworkError, match=message):
        pc.Network.from_torch(make())


@pytest.mark.parametrize("given", [None, 5, "net", nn.ReLU, torch.eye(2)], ids=repr)
def test_what_is_no_module_is_refused(given):
    with pytest.raises(NetworkError, match="is not a torch module"):
        pc.Network.from_torch(given)
    with pytest.raises(NetworkError, match=r"is not a (network|torch module)"):
        pc.carve(given, pc.Box([0, 0], [1, 1]))


def test_a_hook_that_only_looks_does_no_harm():
    seen = []
    module = with_hook("register_forward_hook", lambda m, x, y: seen.append(y.shape))
    assert pc.Network.from_torch(module).widths == (3,)


def test_large_weights_that_cancel_are_not_taken_for_another_function():
    module = build(Linear(4, 128), ReLU(), Linear(128, 3), dtype=torch.float64)
    with torch.no_grad():
        order = torch.randperm(64)
        for value in (module[0].weight, module[0].bias):
            value *= 1e10
            value[64:] = value[:64][order]
        module[2].weight[:, 64:] = -module[2].weight[:, :64][:, order]
    assert pc.Network.from_torch(module).widths == (128,)
