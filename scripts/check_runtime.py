"""Shared by openvino_check.py and ncnn_check.py: packages, arrays, comparison, timing."""

import os
import pathlib
import subprocess
import sys
import time


def use_packages(venv, packages, modules):
    """Restarts the script in a venv with the packages, created if needed, if modules are missing."""
    try:
        for module in modules:
            __import__(module)
        return
    except ImportError:
        python = pathlib.Path(venv) / "bin" / "python"
        if os.environ.get("SPARSEBIT_IN_VENV"):
            raise
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        for package in packages:
            subprocess.run([python, "-m", "pip", "install", "--quiet", *package.split()],
                           check=True)
    os.environ["SPARSEBIT_IN_VENV"] = "1"
    os.execv(python, [str(python), *sys.argv])


def load_arrays(folder, kind):
    """The arrays of `inputs.npz`, or of the folder `inputs` with a .npy file each, by name."""
    import numpy
    archive = folder / f"{kind}.npz"
    if archive.exists():
        return dict(numpy.load(archive))
    files = sorted((folder / kind).glob("*.npy"), key=lambda file: (len(file.stem), file.stem))
    if not files:
        raise SystemExit(f"error: {folder} has neither {kind}.npz nor {kind}/*.npy")
    return {file.stem: numpy.load(file) for file in files}


def find_one(folder, pattern):
    files = [file for file in folder.glob(pattern) if "_int8" not in file.name]
    if len(files) != 1:
        raise SystemExit(f"error: expected one {pattern} in {folder}, found {len(files)}")
    return files[0]


def agreement(found, expected):
    """The differences as text. A step is 1/255 of the range of the expected values."""
    import numpy
    found, expected = (x.astype(numpy.float64).ravel() for x in (found, expected))
    step = (expected.max() - expected.min()) / 255
    off = numpy.abs(found - expected)
    cosine = found @ expected / (numpy.linalg.norm(found) * numpy.linalg.norm(expected))
    return (f"max abs diff {off.max():.3g} = {off.max() / step:.2f} steps, "
            f"mean {off.mean() / step:.3f} steps, within a step {numpy.mean(off <= step):.2%}, "
            f"cosine {cosine:.6f}")


def least_milliseconds(runs, rounds):
    """The fastest time of each run; the runs alternate for `rounds` rounds."""
    least = [float("inf")] * len(runs)
    for _ in range(rounds + 3):  # three more to warm up
        for i, run in enumerate(runs):
            start = time.perf_counter()
            run()
            least[i] = min(least[i], (time.perf_counter() - start) * 1e3)
    return least
