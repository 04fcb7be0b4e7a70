#!/usr/bin/env python3
"""Imports, quantizes and certifies many exported architectures; compares with ONNX Runtime's tool.

usage: model_sweep.py --command build/release/bin/sparsebit --work FOLDER [--page docs/model-sweep.md]
                      [--exporters legacy,trace,pt2,dynamo] [--calibration minmax|entropy]
                      [--again | --failed] [--page-only] [NAME ...]

Rows are saved in FOLDER/rows.jsonl, one per model and exporter; existing rows are not computed again,
so an interrupted sweep continues. --failed repeats rows in which Sparsebit failed, --again all that are
named; files are exported once. Needs torch 2, torchvision, timm,
transformers, ultralytics, onnx, onnxscript and onnxruntime from PyPI; scripts/model_sweep_models.py
lists the architectures, scripts/model_sweep_steps.py has the steps for each.
"""

import argparse
import fnmatch
import importlib.metadata
import json
import pathlib
import platform
import subprocess
import sys
import time

import model_sweep_page

EXPORTERS = ["legacy", "trace", "pt2", "dynamo"]
SECONDS_PER_ROW = 600
PACKAGES = ["torch", "torchvision", "timm", "transformers", "ultralytics", "onnx", "onnxruntime"]


def read_rows(file):
    """Rows by model and exporter; the last of each is used."""
    lines = file.read_text().splitlines() if file.exists() else []
    rows = [json.loads(line) for line in lines]
    return {(row["model"], row["exporter"]): row for row in rows}


def write_environment(file, command, calibration):
    def version(package):
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return None
    program = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    found = {"versions": {p: version(p) for p in PACKAGES if version(p)},
             "sparsebit": program.stdout.split()[-1], "python": platform.python_version(),
             "calibration": calibration, "date": time.strftime("%Y-%m-%d", time.gmtime())}
    file.write_text(json.dumps(found))


def make_rows(name, exporters, options):
    """Runs a model in one process. If it dies, the remaining exporters are reported as not made."""
    steps = pathlib.Path(__file__).with_name("model_sweep_steps.py")
    arguments = [options.work, options.command, options.calibration, name, *exporters]
    with open(options.work / "log", "a") as log:
        process = subprocess.Popen([sys.executable, steps, *map(str, arguments)], text=True,
                                   stdout=subprocess.PIPE, stderr=log)
        try:
            text, _ = process.communicate(timeout=SECONDS_PER_ROW * len(exporters))
            reason = f"the process ended with {process.returncode}"
        except subprocess.TimeoutExpired:
            process.kill()
            text, _ = process.communicate()
            reason = f"took more than {SECONDS_PER_ROW} s"
    rows = [json.loads(line) for line in text.splitlines()]
    made = {row["exporter"] for row in rows}
    return rows + [{"model": name, "exporter": e, "not_made": reason} for e in exporters
                   if e not in made]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", help="the program `sparsebit`")
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--exporters", default=",".join(EXPORTERS))
    parser.add_argument("--calibration", default="minmax", choices=["minmax", "entropy"],
                        help="calibration method of ONNX Runtime's tool")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--failed", action="store_true")
    parser.add_argument("--page-only", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME", help="patterns such as 'mobile*'")
    options = parser.parse_args()
    if not options.page_only and not options.command:
        parser.error("--command is required unless --page-only is given")
    return options


def sweep(options, rows):
    from model_sweep_models import MODELS
    options.work = options.work.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    options.command = pathlib.Path(options.command).resolve()
    write_environment(options.work / "environment.json", options.command, options.calibration)
    chosen = [n for n in MODELS if not options.names or
              any(fnmatch.fnmatch(n, pattern) for pattern in options.names)]

    def is_wanted(name, exporter):
        row = rows.get((name, exporter))
        return (row is None or options.again or
                (options.failed and bool(model_sweep_page.problems(row))))

    for name in chosen:
        wanted = [e for e in options.exporters.split(",") if is_wanted(name, e)]
        for row in make_rows(name, wanted, options) if wanted else []:
            rows[name, row["exporter"]] = row
            with open(options.work / "rows.jsonl", "a") as file:
                file.write(json.dumps(row) + "\n")
            print(name, row["exporter"], "; ".join(model_sweep_page.problems(row)) or "good", flush=True)


def main():
    options = parse()
    rows = read_rows(options.work / "rows.jsonl")
    if not options.page_only:
        sweep(options, rows)
    if options.page:
        environment = json.loads((options.work / "environment.json").read_text())
        options.page.write_text(model_sweep_page.page(list(rows.values()), environment))
    return 1 if any(model_sweep_page.problems(row) for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
