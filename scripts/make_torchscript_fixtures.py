#!/usr/bin/env python3
"""Writes tests/frontends/torchscript/fixtures: small models, traced and scripted.

usage: scripts/make_torchscript_fixtures.py [folder]

Needs torch (the committed files are of 1.13). The inputs of each model are described in the file
itself, in the extra record `inputs`: one line per input, `float 2 3 8 8` or `long 4 2 3` (values
below 4, shape 2 x 3). Expected results are not stored: the tests run the file with libtorch.
"""

import os
import pathlib
import sys
import warnings
from typing import Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

NAME = "make_torchscript_fixtures.py"
FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests/frontends/torchscript/fixtures"


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3, padding="same", bias=False)
        self.bn1 = nn.BatchNorm2d(4)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(4, 8, 3, stride=2, padding=1, groups=2, padding_mode="reflect")
        self.act = nn.PReLU()
        self.norm = nn.GroupNorm(2, 8)
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.deconv = nn.ConvTranspose2d(8, 4, 2, stride=2, dilation=1)
        self.pool = nn.Sequential(nn.MaxPool2d(2), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1))
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.25), nn.Linear(4, 5))

    def forward(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.norm(self.act(self.conv2(x)))
        return self.head(self.pool(self.deconv(self.up(x))))


class Residual(nn.Module):
    """One block called twice and shared with a second path, one weight used in two layers."""

    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())
        self.again = self.block
        self.tied = nn.Conv2d(4, 4, 3, padding=1)
        self.tied.weight = self.block[0].weight

    def forward(self, x):
        y = self.block(x) + x
        y = self.again(y) + y
        y = self.tied(y).add_(y)
        return y.mean([2, 3])


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(6, 8, padding_idx=0)
        self.norm = nn.LayerNorm(8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))

    def forward(self, ids):
        x = self.norm(self.embed(ids))
        y, _ = self.attention(x, x, x, need_weights=False)
        x = x + y
        return torch.softmax(self.mlp(x) + x, dim=-1)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 3, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(6, 5)
        self.rnn = nn.RNN(5, 4, nonlinearity="relu", bias=False)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        y, g = self.gru(y)
        y, _ = self.rnn(y, torch.ones(1, y.size(1), 4))
        return y, h + c, g


class Functions(nn.Module):
    """Functions, methods, indexing and arithmetic on shapes."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6, 3, 3, 3))
        self.register_buffer("scale", torch.rand(1, 6, 1, 1))

    def forward(self, x):
        y = F.conv2d(x, self.weight, padding=1) * self.scale
        y = F.hardswish(F.relu6(F.leaky_relu(y, 0.2)))
        b, c, h, w = y.shape
        y = y.view(b, 2, c // 2, h, w).transpose(1, 2).reshape(b, c, h * w)
        a, z = y.chunk(2, dim=1)
        y = torch.cat([a[:, :, 1:], z[..., :-1]], dim=1).permute(0, 2, 1)
        y = F.layer_norm(y, [6])
        top, where = y.max(dim=1)
        return F.interpolate(y.unsqueeze(1), size=(4, 4)).clamp(-1, 1).sum((2, 3)), top - where


class Containers(nn.Module):
    """Loops over a module list, lists that grow, a dict as the result."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.names = ["first", "second", "third"]
        self.wide: int = 2

    def forward(self, x) -> Dict[str, Tensor]:
        seen: List[Tensor] = []
        for layer in self.layers:
            x = torch.tanh(layer(x))
            seen.append(x)
        out: Dict[str, Tensor] = {}
        for i in range(len(seen)):
            out[self.names[i]] = seen[i] * float(i + self.wide)
        out["all"] = torch.stack(seen, dim=1)
        return out


class Branches(nn.Module):
    """Control flow with constant conditions, checks of shapes, an optional input and a flag."""

    def __init__(self, depth: int = 2):
        super().__init__()
        self.depth = depth
        self.line = nn.Linear(4, 4)
        self.extra: Optional[nn.Linear] = None
        self.drop = nn.Dropout(0.5)

    def step(self, x: Tensor, times: int) -> Tensor:
        i = 0
        while i < times:
            x = self.line(x)
            i += 1
        return x

    def forward(self, x, mask: Optional[Tensor] = None, twice: bool = False):
        if x.dim() != 2:
            raise ValueError("expected a matrix")
        if self.training:
            x = x * 2
        else:
            x = x + 1
        x = self.step(x, self.depth)
        if mask is not None:
            x = x * mask
        if twice:
            x = x + x
        if isinstance(x, Tensor) and not torch.jit.is_scripting():
            x = x - 1
        return self.drop(F.dropout(x, 0.3, self.training))


class DataDependent(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(4, 4)
        self.inner = Choice()

    def forward(self, x):
        return self.inner(self.line(x))


class Choice(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x + 1
        return x - 1


class Stateful(nn.Module):
    count: int

    def __init__(self):
        super().__init__()
        self.count = 0

    def forward(self, x):
        self.count += 1
        return x + self.count


class Method(nn.Module):
    @torch.jit.export
    def infer(self, x):
        return x + 1


class Layers(nn.Module):
    """The layers that the other models do not have."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(
            nn.ReflectionPad2d(1), nn.InstanceNorm2d(3, affine=True), nn.ELU(0.5), nn.Hardtanh(-2.0, 2.0),
            nn.ZeroPad2d((1, 0, 0, 1)), nn.Softplus(2), nn.LocalResponseNorm(2), nn.Hardsigmoid(),
            nn.LeakyReLU(0.3), nn.SiLU(), nn.Mish(), nn.Dropout2d(0.2), nn.Identity(),
            nn.ConstantPad2d(1, 0.5), nn.Softmax(dim=1), nn.PixelUnshuffle(1), nn.Unfold(3, stride=2))
        self.second = nn.Sequential(
            nn.Conv1d(27, 6, 3, dilation=2), nn.BatchNorm1d(6, momentum=0.2, eps=1e-3), nn.Tanh(),
            nn.MaxPool1d(2, ceil_mode=True), nn.LayerNorm([16], elementwise_affine=False), nn.GLU(1),
            nn.Sigmoid(), nn.LogSoftmax(dim=-1), nn.AdaptiveMaxPool1d(2), nn.Unflatten(1, (3, 1)))
        self.bag = nn.EmbeddingBag(5, 4, mode="mean")
        self.bilinear = nn.Bilinear(2, 4, 3)
        self.cell = nn.LSTMCell(3, 2)

    def forward(self, x, ids):
        x = self.second(self.first(x)).flatten(1, 2).mean(1)
        h, c = self.cell(self.bilinear(x, self.bag(ids)))
        return h * c


def randomized(model):
    """Randomizes statistics of normalization layers, since errors would not show with 0 and 1."""
    for module in model.modules():
        if getattr(module, "running_mean", None) is not None:
            module.running_mean.uniform_(-1, 1)
            module.running_var.uniform_(0.5, 1.5)
    return model


IMAGE = ("float 2 3 8 8", lambda: torch.randn(2, 3, 8, 8))
MATRIX = ("float 3 4", lambda: torch.randn(3, 4))
MODELS = {
    "convnet": (ConvNet, [IMAGE]),
    "residual": (Residual, [("float 2 4 5 5", lambda: torch.randn(2, 4, 5, 5))]),
    "attention": (Attention, [("long 6 2 5", lambda: torch.randint(0, 6, (2, 5)))]),
    "recurrent": (Recurrent, [("float 3 7 4", lambda: torch.randn(3, 7, 4))]),
    "functions": (Functions, [IMAGE]),
    "containers": (Containers, [MATRIX]),
    "branches": (Branches, [MATRIX]),
    "layers": (Layers, [IMAGE, ("long 5 2 3", lambda: torch.randint(0, 5, (2, 3)))]),
}
ONLY_SCRIPTED = {
    "data_dependent": (DataDependent, [MATRIX]),
    "stateful": (Stateful, [MATRIX]),
    "no_forward": (Method, [MATRIX]),
}


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x)


class CrossAttention(SelfAttention):
    def forward(self, x, memory):
        return self.attention(x, memory, memory)


def encoder(**how):
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 8, **how), 2)


SEQUENCE = ("float 2 5 8", lambda: torch.randn(2, 5, 8))
DECIDED_BY_SHAPES = {
    "encoder": (lambda: encoder(batch_first=True), [SEQUENCE]),
    "encoder.norm_first": (lambda: encoder(norm_first=True), [SEQUENCE]),
    "encoder.frozen": (lambda: encoder(batch_first=True), [SEQUENCE]),
    "self_attention.frozen": (SelfAttention, [SEQUENCE]),
    "cross_attention.frozen": (CrossAttention, [SEQUENCE, SEQUENCE]),
    "instance_norm1d.frozen": (lambda: nn.InstanceNorm1d(5), [SEQUENCE]),
    "instance_norm2d.frozen": (lambda: nn.InstanceNorm2d(3, affine=True), [IMAGE]),
}


def save(module, name, inputs):
    torch.jit.save(module, str(FOLDER / f"{name}.pt"),
                   _extra_files={"inputs": "\n".join(text for text, _ in inputs)})


def main():
    global FOLDER
    FOLDER = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    FOLDER.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for name, (build, inputs) in {**MODELS, **ONLY_SCRIPTED}.items():
        torch.manual_seed(7)
        model = randomized(build()).eval()
        scripted = torch.jit.script(model)
        save(scripted, name if name in ONLY_SCRIPTED else f"{name}.scripted", inputs)
        if name in ONLY_SCRIPTED:
            continue
        example = tuple(make() for _, make in inputs)
        save(torch.jit.trace(model, example, check_trace=False, strict=False), f"{name}.traced", inputs)
        if name in ("convnet", "residual"):
            model.train()
            save(torch.jit.script(model), f"{name}.train.scripted", inputs)
            save(torch.jit.trace(model, example, check_trace=False), f"{name}.train.traced", inputs)
    for name, (build, inputs) in DECIDED_BY_SHAPES.items():
        torch.manual_seed(7)
        scripted = torch.jit.script(randomized(build()).eval())
        save(torch.jit.freeze(scripted) if name.endswith("frozen") else scripted, name, inputs)
    with torch.no_grad():  # attention uses its fast path
        torch.manual_seed(7)
        ids = torch.randint(0, 6, (2, 5))
        fast = torch.jit.trace(Attention().eval(), ids, check_trace=False)
    save(fast, "attention.fast.traced", MODELS["attention"][1])
    torch.save(randomized(ConvNet()).state_dict(), FOLDER / "state_dict.pt")


# TorchScript files store the path of their source. To keep it independent of the machine, the script
# runs itself again under its bare file name.
AGAIN = """
import linecache, pathlib, sys
__file__, source = "{name}", pathlib.Path(sys.argv.pop(1)).read_text()
linecache.cache[__file__] = (len(source), None, source.splitlines(keepends=True), __file__)
exec(compile(source, __file__, "exec"))
"""

if __name__ == "__main__":
    if __file__ == NAME:
        main()
    else:
        folder = sys.argv[1] if len(sys.argv) > 1 else str(FOLDER)
        os.execv(sys.executable, [sys.executable, "-c", AGAIN.format(name=NAME), __file__, folder])
