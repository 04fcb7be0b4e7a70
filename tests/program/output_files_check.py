#!/usr/bin/env python3
"""Files that the command writes: all or none, whatever ends it.

usage: output_files_check.py SPARSEBIT KILL_AT_RENAME_LIBRARY
"""
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sparsebit, kill_library = sys.argv[1:]
QUANTIZE = [sparsebit, "quantize", "zoo:resnet20", "--samples", "8", "-q", "-o"]
CERTIFY = ["--certify", "--without-runtime", "--allow-useless"]


def names(folder):
    return sorted(os.listdir(folder))


def quantize(folder, *more, check=True):
    done = subprocess.run([*QUANTIZE, f"{folder}/net.onnx", *more], capture_output=True, text=True)
    assert not check or done.returncode == 0, done.stderr
    return done


def contents(folder):
    return {name: open(f"{folder}/{name}", "rb").read() for name in names(folder)
            if not name.startswith(".sparsebit-")}


def is_certified(files):
    """Whether the certificate is about the file beside it."""
    certificate = json.loads(files["net.certificate.json"])
    return certificate["sha256"]["file"] == hashlib.sha256(files["net.onnx"]).hexdigest()


def make_old(path):
    """As if it had been made some time ago: it is house-keeping of the next run."""
    for folder, folders, files in os.walk(path):
        for name in folders + files:
            os.utime(os.path.join(folder, name), (1000, 1000))


# A new file without --certify does not stay beside the old certificate.
with tempfile.TemporaryDirectory() as folder:
    quantize(folder, *CERTIFY)
    assert names(folder) == ["net.certificate.json", "net.onnx"], names(folder)
    quantize(folder, "--seed", "7")
    assert names(folder) == ["net.onnx"], names(folder)

# A certificate that cannot be written keeps the model from being written.
with tempfile.TemporaryDirectory() as folder:
    done = quantize(folder, *CERTIFY, "--certificate", f"{folder}/missing/c.json", check=False)
    assert done.returncode == 1 and "missing" in done.stderr, done
    assert names(folder) == [], names(folder)

# An output keeps the access mode of the file that it replaces.
with tempfile.TemporaryDirectory() as folder:
    open(f"{folder}/net.onnx", "w").close()
    os.chmod(f"{folder}/net.onnx", 0o600)
    quantize(folder)
    assert os.stat(f"{folder}/net.onnx").st_mode & 0o777 == 0o600

# Interrupted or killed at any time: the old set or the new set, and the next run cleans up.
with tempfile.TemporaryDirectory() as folder:
    quantize(folder, *CERTIFY)
    old = contents(folder)
    command = [*QUANTIZE, f"{folder}/net.onnx", "--seed", "9", "--force", *CERTIFY]
    begun = time.time()
    subprocess.run(command, check=True, capture_output=True)
    whole = time.time() - begun
    new = contents(folder)
    assert old["net.onnx"] != new["net.onnx"]
    for kill in (signal.SIGINT, signal.SIGKILL):
        for share in (0.3, 0.6, 0.8, 0.9, 0.95):
            for name, content in old.items():
                open(f"{folder}/{name}", "wb").write(content)
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            time.sleep(share * whole)
            process.send_signal(kill)
            process.wait()
            found = contents(folder)
            assert set(found) == set(old), (kill, share, sorted(found))
            assert is_certified(found), (kill, share)
            assert found["net.onnx"] in (old["net.onnx"], new["net.onnx"]), (kill, share)
            if kill == signal.SIGINT:
                assert names(folder) == sorted(old), names(folder)
    make_old(folder)
    subprocess.run(command, check=True, capture_output=True)
    assert names(folder) == sorted(new), names(folder)

# A file of `convert` does not stay beside the certificate of the one that it replaces.
with tempfile.TemporaryDirectory() as folder:
    quantize(folder, *CERTIFY)
    done = subprocess.run([sparsebit, "convert", "zoo:resnet20", "-o", f"{folder}/net.onnx"],
                          capture_output=True, text=True)
    assert done.returncode == 0 and "net.certificate.json is removed" in done.stderr, done
    assert names(folder) == ["net.onnx"], names(folder)


def convert(folder, seed, **environment):
    return subprocess.run([sparsebit, "convert", "zoo:resnet20", "--external-data", "--seed", seed,
                           "-q", "-o", f"{folder}/net.onnx"], capture_output=True,
                          env=dict(os.environ, **environment)).returncode


# Killed before any rename, link or removal: a model has its own weights and no other certificate.
with tempfile.TemporaryDirectory() as folder:
    assert convert(folder, "1") == 0
    certificate = json.dumps({"file": "net.onnx", "comparisons": [], "sha256": {}}).encode()
    old = {**contents(folder), "net.certificate.json": certificate}
    assert convert(folder, "2") == 0
    new = contents(folder)
    assert sorted(new) == ["net.onnx", "net.onnx.data"], sorted(new)
    assert old["net.onnx.data"] != new["net.onnx.data"]
    killed = finished = 0
    while not finished:
        for name, content in old.items():
            open(f"{folder}/{name}", "wb").write(content)
        code = convert(folder, "2", LD_PRELOAD=kill_library, KILL_AT=str(killed + 1))
        assert code in (0, -signal.SIGKILL), code
        found = contents(folder)
        what = f"killed at call {killed + 1}: {sorted(found)}"
        if code == 0:
            finished = True
            assert found == new, what
        elif "net.onnx" in found:
            model = new if found["net.onnx.data"] == new["net.onnx.data"] else old
            assert found["net.onnx"] == model["net.onnx"], what
            assert found["net.onnx.data"] == model["net.onnx.data"], what
            assert model is old or "net.certificate.json" not in found, what
        killed += not finished
    assert killed >= 6, killed
    make_old(folder)
    assert convert(folder, "2") == 0
    assert names(folder) == sorted(new), names(folder)

print("1 passed, 0 failed")
