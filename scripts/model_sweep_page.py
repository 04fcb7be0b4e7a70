"""Writes docs/model-sweep.md from the rows of scripts/model_sweep.py."""

import re

LIMIT = 1e-4
FASTER, CLEARER = 1.03, 1.0  # thresholds for a loss against the tool: 3 % of time, 1 dB
SLOWER = 0.97  # threshold for slower than float; ratios nearer to 1 are noise
TITLES = {"legacy": "ONNX, legacy", "dynamo": "ONNX, dynamo", "trace": "TorchScript", "pt2": ".pt2"}


def differs(value):
    return isinstance(value, str) or value > LIMIT


def problems(row):
    """Failures of Sparsebit in a row; failures of exporters are not counted."""
    if "not_made" in row:
        return []
    found = []
    if row["inspect"] != "ok":
        found.append("inspect: " + row["inspect"])
    if differs(row["run"]):
        found.append("run: " + difference(row["run"]))
    if isinstance(row.get("run_onnxruntime"), float) and not isinstance(row["run"], str) and \
            differs(row["run_onnxruntime"]):
        found.append("run, against ONNX Runtime: " + difference(row["run_onnxruntime"]))
    ours = row.get("sparsebit", {})
    if "problem" in ours:
        found.append("quantize: " + ours["problem"])
    elif ours and ours.get("verdict") != "passed":
        found.append(f"certificate: {ours.get('verdict')}")
    return found


def difference(value):
    return value if isinstance(value, str) else f"{value:.0e}"


def table(heads, lines):
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    for line in lines:
        yield "| " + " | ".join(str(cell).replace("|", "/") for cell in line) + " |"


def import_cell(row):
    if row is None:
        return ""
    if "not_made" in row:
        return "not made"
    return "**fails**" if isinstance(row["run"], str) else (
        f"**{row['run']:.0e}**" if differs(row["run"]) else f"{row['run']:.0e}")


def import_table(rows):
    by_model = {}
    for row in rows:
        by_model.setdefault(row["model"], {})[row["exporter"]] = row
    exporters = [e for e in TITLES if any(e in found for found in by_model.values())]
    return table(["model"] + [TITLES[e] for e in exporters],
                 ([name] + [import_cell(found.get(e)) for e in exporters]
                  for name, found in by_model.items()))


def megabytes(count):
    return f"{count / 1e6:.1f}" if count else ""


def number(value, form):
    return "" if value is None else format(value, form)


def tool_cells(tool):
    """SNR in dB, speedup, MB."""
    if "problem" in tool and "ms" not in tool:
        return ["fails", "", ""]
    return [number(tool.get("snr"), ".1f"), number(tool.get("ratio"), ".2f"),
            megabytes(tool.get("bytes"))]


def quantize_table(rows):
    heads = ["model", "MB", "float ms", "MACs", "certificate", "dB", "speed", "MB", "dB, tool",
             "speed, tool", "MB, tool"]
    lines = []
    for row in rows:
        ours = row["sparsebit"]
        lines.append([row["model"], megabytes(row["bytes"]), number(row.get("float_ms"), ".2f"),
                      number(ours.get("coverage"), ".0%"), ours.get("verdict") or "none",
                      *tool_cells(ours), *tool_cells(row["onnxruntime"])])
    return table(heads, lines)


def losses(row):
    """Where Sparsebit's file is slower than float, or slower or less precise than the tool's."""
    ours, theirs = row["sparsebit"], row["onnxruntime"]
    if "ratio" not in ours:
        return []
    found = []
    if ours["ratio"] < SLOWER:
        found.append(f"slower than float: {ours['ratio']:.2f} times as fast")
    if "ratio" in theirs and theirs["ratio"] > ours["ratio"] * FASTER:
        found.append(f"slower than the tool's file: {ours['ratio']:.2f} against {theirs['ratio']:.2f}"
                     " times as fast as float")
    a, b = ours.get("snr"), theirs.get("snr")
    if a is not None and b is not None and b > a + CLEARER:
        found.append(f"less precise: {a:.1f} against {b:.1f} dB")
    return found


def clean(text):
    """Removes folder names and terminal colours."""
    text = re.sub("\x1b\\[[0-9;]*m|\\[[0-9;]+m", "", text)
    return re.sub(r"(?:/[^/\s',():]+)+/([^/\s',():]+)", r"\1", text)[:220]


def named(rows, texts):
    lines = [f"- {row['model']} ({TITLES[row['exporter']]}): {'; '.join(map(clean, texts(row)))}"
             for row in rows if texts(row)]
    return lines or ["None."]


def counted(rows):
    """The lines of the summary."""
    made = [row for row in rows if "not_made" not in row]
    for exporter in TITLES:
        of = [row for row in made if row["exporter"] == exporter]
        if of:
            same = sum(not differs(row["run"]) for row in of)
            yield f"- {TITLES[exporter]}: {len(of)} files, {same} agree with torch"
    of = [row for row in made if "sparsebit" in row]
    ours = [row["sparsebit"] for row in of]
    theirs = [row["onnxruntime"] for row in of]
    measured = [tool for tool in ours if "ratio" in tool]
    slower = sum(tool["ratio"] < SLOWER for tool in measured)
    yield (f"- quantized: {sum('coverage' in tool for tool in ours)} of {len(of)} ONNX files, "
           f"{sum(tool.get('verdict') == 'passed' for tool in ours)} certificates passed, "
           f"{slower} {'file' if slower == 1 else 'files'} slower than float")
    yield (f"- ONNX Runtime's tool: {sum('ratio' in tool for tool in theirs)} of {len(of)} files, "
           f"{sum(tool.get('ratio', 1) < SLOWER for tool in theirs)} slower than float")
    both = [row for row in of if "ratio" in row["sparsebit"] and "ratio" in row["onnxruntime"]]
    faster = sum(row["sparsebit"]["ratio"] >= row["onnxruntime"]["ratio"] for row in both)
    compared = [row for row in both if None not in (row["sparsebit"].get("snr"),
                                                    row["onnxruntime"].get("snr"))]
    clearer = sum(row["sparsebit"]["snr"] >= row["onnxruntime"]["snr"] for row in compared)
    yield (f"- ours against the tool's: at least as fast in {faster} of {len(both)}, at least as "
           f"precise in {clearer} of {len(compared)}")


INTRODUCTION = """# Model sweep

Written by `scripts/model_sweep.py`: {models} architectures of torch, torchvision, timm, transformers and ultralytics, with
random weights, exported by today's exporters and read by `sparsebit inspect`, `run` and `quantize --certify`, all with
default settings.

    python3 scripts/model_sweep.py --command build/release/bin/sparsebit --work FOLDER --page docs/model-sweep.md

Measured {date} with sparsebit {sparsebit}; {versions}; Python {python}; processor: {processor}.

"""

IMPORT = """
## Import

Results of `sparsebit run` compared with torch: the largest difference divided by the largest magnitude, at most
1e-04. The detectors of torchvision select boxes by score, and with random weights most scores are the same, so that any order
of the boxes is right: ONNX Runtime and torch differ there as well. Exporters: `torch.onnx.export` with `dynamo=False` and opset 17 (legacy) and with its default settings (dynamo),
`torch.jit.trace`, and `torch.export.save`. "Not made": the exporter itself failed.

"""

QUANTIZE = """
## {title}: quantized

`quantize --certify` with 8 random samples, and ONNX Runtime's `quantize_static` on the same samples (the columns "tool"): uint8
activations, int8 weights per channel, pairs (QDQ), {calibration} calibration, after `quant_pre_process`. MACs: the share computed
in int8. dB: signal to noise of the worst float output against the float file, on 4 other samples, in ONNX Runtime with all
optimizations; empty where the number of detections differs. Speed: CPU time of the float file over that of the quantized one,
one thread, batch 1, the fastest of at least 7 runs in turns; 3 % are noise. MB: the float file, then the quantized ones.

"""


def page(rows, environment):
    from model_sweep_models import MODELS
    order = {name: i for i, name in enumerate(MODELS)}
    rows = sorted((row for row in rows if row["model"] in order), key=lambda r: order[r["model"]])
    quantized = [row for row in rows if "sparsebit" in row]
    processor = next((row["processor"] for row in quantized if row.get("processor")), "unknown")
    versions = ", ".join(f"{name} {version}" for name, version in environment["versions"].items())
    facts = dict(environment, versions=versions, processor=processor,
                 models=len({row["model"] for row in rows}))
    parts = [INTRODUCTION.format(**facts), "\n".join(counted(rows)), "\n", IMPORT,
             "\n".join(import_table(rows)), "\n"]
    for exporter in ("legacy", "dynamo"):
        of = [row for row in quantized if row["exporter"] == exporter]
        if of:
            parts += [QUANTIZE.format(title=TITLES[exporter], **environment),
                      "\n".join(quantize_table(of)), "\n"]
    sections = [("Failures", rows, problems), ("Where sparsebit is worse", quantized, losses),
                ("Where ONNX Runtime's tool fails", quantized,
                 lambda row: [row["onnxruntime"]["problem"]] if "problem" in row["onnxruntime"] else []),
                ("Failures of the exporters", rows,
                 lambda row: [row["not_made"]] if "not_made" in row else [])]
    for title, of, texts in sections:
        parts += [f"\n## {title}\n\n", "\n".join(named(of, texts)), "\n"]
    return "".join(parts)
