#!/usr/bin/env python3
"""Writes tests/frontends/torchscript/fixtures/torch2.traced.pt: operators that only torch 2 has.

usage: scripts/make_torch2_fixture.py [file]

Needs torch 2 (the committed file is of 2.15). The file holds its input and torch's result, as
float32 bytes in the extra records `input` and `expected`, since libtorch 1.13 cannot run it.
"""

import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional as F

FILE = (pathlib.Path(__file__).resolve().parent.parent /
        "tests/frontends/torchscript/fixtures/torch2.traced.pt")


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 2, 24, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.norm = nn.RMSNorm(16)
        self.project = nn.Linear(16, 32)

    def forward(self, x):
        x = self.norm(self.encoder(x))
        q, k, v = self.project(x).split([16, 8, 8], -1)
        q, k, v = (y.reshape(y.shape[0], y.shape[1], -1, 4).transpose(1, 2) for y in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return x + y.transpose(1, 2).flatten(2)


def main():
    torch.manual_seed(0)
    model, x = Model().eval(), torch.randn(2, 5, 16)
    with torch.no_grad():
        expected = model(x)
        traced = torch.jit.trace(model, x)
    extra = {"input": x.numpy().tobytes(), "expected": expected.numpy().tobytes()}
    torch.jit.save(traced, sys.argv[1] if len(sys.argv) > 1 else str(FILE), _extra_files=extra)


main()
