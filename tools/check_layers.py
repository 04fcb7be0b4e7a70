#!/usr/bin/env python3
"""Fails when a file includes a header of a layer that it may not use.

The layers are those of docs/concepts/architecture.md: each folder of src/ and include/sparsebit/
may use the folders listed here and, transitively, those that they use.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

USES = {
    "core": [],
    "io": ["core"],
    "text": ["core"],
    "metrics": ["core"],
    "fx/ops": ["core"],
    "fx": ["core", "fx/ops"],
    "data": ["io", "text", "fx"],
    "passes": ["fx"],
    "platforms": ["core"],
    "quant/spec": ["core"],
    "quant/kernels": ["quant/spec", "fx", "platforms"],
    "quant/observers": ["quant/kernels"],
    "quant/quantizers": ["quant/observers"],
    "quant/config": ["quant/quantizers", "passes"],
    "quant/regions": ["quant/quantizers"],
    "quant/lowering": ["fx"],
    "quant/placement": ["quant/config", "quant/regions"],
    "quant/calibration": ["quant/regions", "passes"],
    "quant/rounding": ["quant/calibration"],
    "quant": ["quant/placement", "quant/rounding", "quant/lowering"],
    "nn": ["fx"],
    "zoo": ["nn"],
    "frontends": ["fx", "nn", "io"],
    "export": ["fx", "nn", "io", "frontends", "quant"],
    "deploy": ["quant", "export"],
    "report": ["quant"],
    "easy": ["zoo", "data", "frontends", "export", "deploy", "report"],
    "cli": ["easy", "deploy", "zoo", "io", "data", "passes", "frontends", "export", "quant", "report",
            "metrics"],
}

INCLUDE = re.compile(r'^\s*#\s*include\s+[<"](?:sparsebit/)?([^">]+)[">]')


def layer_of(path: str) -> str | None:
    """The layer of a path such as fx/ops/value.h; the longest matching name wins."""
    matches = [layer for layer in USES if path.startswith(layer + "/")]
    return max(matches, key=len) if matches else None


def reachable(layer: str) -> set[str]:
    found = {layer}
    for used in USES[layer]:
        found |= reachable(used)
    return found


def check(file: pathlib.Path, base: pathlib.Path) -> list[str]:
    layer = layer_of(str(file.relative_to(base)))
    if layer is None:
        return [f"{file.relative_to(ROOT)}: belongs to no layer; add its folder to {__file__}"]
    errors = []
    for number, line in enumerate(file.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        target = layer_of(match.group(1)) if match else None
        if target and target not in reachable(layer):
            errors.append(
                f"{file.relative_to(ROOT)}:{number}: '{layer}' may not use '{target}' "
                f"(it uses {', '.join(USES[layer]) or 'nothing'})")
    return errors


def main() -> int:
    errors = []
    for base in (ROOT / "src", ROOT / "include" / "sparsebit"):
        for file in sorted(base.rglob("*")):
            if file.suffix in (".cpp", ".h"):
                errors += check(file, base)
    print("\n".join(errors) if errors else "layers: ok")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
