#!/usr/bin/env python3
"""Writes tests/frontends/pt2/fixtures: programs of torch.export, and torch's results.

usage: scripts/make_pt2_fixtures.py [folder]

Needs torch 2 (the committed files are of 2.15). NAME.pt2 is the program, NAME.npz has its inputs x0,
x1, ... and its results y0, y1, ..., flattened.
"""

import pathlib
import sys
import warnings

import numpy
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional as F

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests/frontends/pt2/fixtures"


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU())
        self.block = nn.ModuleDict({"conv": nn.Conv2d(4, 4, 3, padding=1, groups=2), "act": nn.SiLU()})
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(4, 5)

    def forward(self, x):
        x = self.stem(x)
        x = x + self.block["act"](self.block["conv"](x))
        return self.head(self.pool(x).flatten(1))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 2, 24, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.norm = nn.RMSNorm(16)

    def forward(self, x):
        q = self.norm(self.encoder(x)).unflatten(2, (2, 8)).transpose(1, 2)
        return F.scaled_dot_product_attention(q, q, q, is_causal=True)


class Tokens(nn.Module):
    """Two inputs, a dict of results, a shared weight, a buffer and a constant."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.norm = nn.LayerNorm(8)
        self.head = nn.Linear(8, 11, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("shift", torch.linspace(-1, 1, 8))

    def forward(self, ids, mask):
        x = self.norm(self.embed(ids) + self.shift) * mask.unsqueeze(-1)
        return {"logits": self.head(x), "pooled": (x.sum(1) / torch.tensor(3.0), mask.sum(1))}


class Functions(nn.Module):
    def forward(self, x):
        a, b = x.chunk(2, 1)
        y = torch.cat([F.interpolate(a, scale_factor=2.0, mode="nearest"), F.pad(b, (0, b.shape[3], 0, b.shape[2]))], 1)
        return y[:, 1:, ::2].clamp(-1, 1).mean((2, 3), keepdim=True), torch.where(x > 0, x, x.exp() - 1)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 8, 1, batch_first=True)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        return y, h


def models():
    batch = {0: Dim("batch", min=1, max=64)}
    yield "convnet", ConvNet(), (torch.randn(2, 3, 8, 8),), (batch,)
    yield "attention", Attention(), (torch.randn(2, 5, 16),), None
    ids = torch.randint(0, 11, (2, 7))
    yield "tokens", Tokens(), (ids, torch.ones(2, 7)), (batch, batch)
    yield "functions", Functions(), (torch.randn(1, 4, 6, 6),), None
    yield "recurrent", Recurrent(), (torch.randn(2, 5, 6),), None
    yield "half", nn.Sequential(nn.Linear(6, 4), nn.GELU()).half(), (torch.randn(3, 6).half(),), None


def leaves(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [leaf for part in (value.values() if isinstance(value, dict) else value) for leaf in leaves(part)]


def save(program, file):
    for module in program.graph_module.modules():
        for node in module.graph.nodes if hasattr(module, "graph") else []:
            node.meta.pop("stack_trace", None)  # paths of the machine
    torch.export.save(program, file)


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    warnings.filterwarnings("ignore")
    for name, model, inputs, dynamic in models():
        torch.manual_seed(0)
        model.eval()
        for module in model.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean.normal_()
        program = torch.export.export(model, inputs, dynamic_shapes=dynamic)
        save(program, folder / f"{name}.pt2")
        with torch.no_grad():
            results = leaves(model(*inputs))
        numpy.savez(folder / f"{name}.npz", **{f"x{i}": t.numpy() for i, t in enumerate(inputs)},
                    **{f"y{i}": t.numpy() for i, t in enumerate(results)})
    changing = nn.BatchNorm2d(2).train()
    save(torch.export.export(changing, (torch.randn(2, 2, 3, 3),)), folder / "training.pt2")


main()
