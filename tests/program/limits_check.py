#!/usr/bin/env python3
"""Small files that ask for much: the command answers with one message, in bounded time and memory.

usage: limits_check.py SPARSEBIT
"""
import gzip
import os
import resource
import struct
import subprocess
import sys
import tempfile
import zipfile

sparsebit = sys.argv[1]
folder = tempfile.mkdtemp(prefix="sparsebit-limits-")


# --- ONNX files, written by hand ------------------------------------------------------------------

def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def node(operator, inputs, outputs):
    return field(1, b"".join([field(1, name) for name in inputs] +
                             [field(2, name) for name in outputs] + [field(4, operator)]))


def value(number, name, shape):
    dims = b"".join(field(1, field(1, size)) for size in shape)
    return field(number, field(1, name) + field(2, field(1, field(1, 1) + field(2, dims))))


def int64s(name, numbers):
    return field(5, field(1, len(numbers)) + field(2, 7) + field(8, name) +
                 field(9, struct.pack(f"<{len(numbers)}q", *numbers)))


def concat_node(name, out):
    axis = field(5, field(1, "axis") + field(3, 0) + field(20, 2))
    return field(1, field(1, name) + field(1, name) + field(2, out) + field(4, "Concat") + axis)


def model(nodes, last, tensors=b""):
    graph = nodes + field(2, "g") + tensors + value(11, "x", [1]) + field(
        12, field(1, last) + field(2, field(1, field(1, 1))))
    return field(1, 8) + field(7, graph) + field(8, field(2, 13))


def write(name, data):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


# --- runs ---------------------------------------------------------------------------------------

def run(*arguments, limit=None, resource_kind=resource.RLIMIT_AS, environment=None):
    """(exit code, stderr, seconds of CPU, MB of memory)"""
    def before():
        if limit:
            resource.setrlimit(resource_kind, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CPU, (300, 300))
    process = subprocess.Popen([sparsebit, *arguments], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, errors="replace",
                               preexec_fn=before, env=dict(os.environ, **(environment or {})))
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return (process.returncode, errors, usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss * 1024 / 1e6)


def expect(name, found, code, text, seconds=60, megabytes=1500):
    exit_code, errors, cpu, memory = found
    print(f"{name}: exit code {exit_code}, {cpu:.1f} s, {memory:.0f} MB: {errors.strip()[:160]}")
    assert exit_code == code, errors
    assert text in errors, f"{name}: expected {text!r} in {errors!r}"
    assert cpu < seconds, f"{name}: {cpu} s"
    assert memory < megabytes, f"{name}: {memory} MB"


expand = write("expand.onnx", model(node("Expand", ["x", "s"], ["y"]) +
                                    node("ReduceSum", ["y"], ["z"]), "z",
                                    int64s("s", [1 << 42])))
expect("expand, inspect", run("inspect", expand), 0, "17.6 TB")
expect("expand, run", run("run", expand, "--random"), 1,
       "has 4.398e+12 elements, 17.6 TB; the limit is")

doubling = b"".join(concat_node(f"t{i}" if i else "x", f"t{i + 1}") for i in range(40))
doubled = write("doubling.onnx", model(doubling, "t40"))
expect("doubling", run("run", doubled, "--random", "--max-memory", "400MB"), 1,
       "a tensor needs", megabytes=900)
expect("doubling, environment", run("run", doubled, "--random",
                                    environment={"SPARSEBIT_MAX_MEMORY": "400MB"}), 1,
       "the limit is 400 MB", megabytes=900)

bomb = os.path.join(folder, "bomb.npz")
header = b"\x93NUMPY\x01\x00\x76\x00{'descr': '|u1', 'fortran_order': False, 'shape': (400000000,), }"
with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
    with archive.open("x.npy", "w") as record:
        record.write(header.ljust(127) + b"\n")
        for _ in range(400):
            record.write(bytes(1000000))
expect("npz", run("data", bomb, "--max-memory", "300MB"), 1, "bomb.npz: record 'x.npy' needs 400 MB",
       megabytes=600)

parts = os.path.join(folder, "parts.npz")  # more than is unpacked at a time
header = b"\x93NUMPY\x01\x00\x76\x00{'descr': '|u1', 'fortran_order': False, 'shape': (50, 100000), }"
with zipfile.ZipFile(parts, "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("x.npy", header.ljust(127) + b"\n" + bytes(range(250)) * 20000)
expect("npz in parts", run("data", parts), 0, "")

zipped = os.path.join(folder, "images-idx3-ubyte.gz")
with gzip.open(zipped, "wb", compresslevel=1) as file:
    file.write(b"\0\0\x08\x03" + struct.pack(">3I", 400, 1000, 1000))
    for _ in range(400):
        file.write(bytes(1000000))
expect("idx", run("data", zipped, "--max-memory", "300MB"), 1, "needs 400 MB", megabytes=600)

aliases = "a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(20))
config = write("bomb.yaml", aliases.encode())
expect("YAML aliases", run("quantize", "zoo:resnet20", "-c", config, "-o", folder + "/o.onnx"), 1,
       "bomb.yaml", megabytes=900)
# Just below the limit of a file's size, so that the others count.
nested = write("nested.yaml", b"[" * 1_000_000)
expect("YAML nesting", run("quantize", "zoo:resnet20", "-c", nested, "-o", folder + "/o.onnx"), 1,
       "nested.yaml:1: the document is nested too deeply or too large", megabytes=900)
many = write("many.yaml", b"[" + b"a," * 499_000 + b"]")
expect("YAML items", run("quantize", "zoo:resnet20", "-c", many, "-o", folder + "/o.onnx"), 1,
       "many.yaml:1: the document is nested too deeply or too large", megabytes=900)
large = write("large.yaml", b"- a\n" * 1_000_000)
expect("YAML size", run("quantize", "zoo:resnet20", "-c", large, "-o", folder + "/o.onnx"), 1,
       "large.yaml: too large for a configuration", megabytes=900)
expect("endless config", run("quantize", "zoo:resnet20", "-c", "/dev/zero", "-o",
                             folder + "/o.onnx"), 1, "/dev/zero: not a regular file", megabytes=900)

expect("ulimit -v", run("inspect", "zoo:resnet20", limit=600_000_000), 1,
       "error: the limit on virtual memory (ulimit -v) is 600 MB")
expect("ulimit -d", run("inspect", "zoo:resnet20", limit=300_000_000,
                        resource_kind=resource.RLIMIT_DATA), 1,
       "error: the limit on data (ulimit -d) is 300 MB")

fixed = write("fixed.onnx", model(node("Relu", ["x"], ["y"]), "y"))
expect("work of recording shapes", run("quantize", fixed, "-o", folder + "/o.onnx",
                                       environment={"SPARSEBIT_MAX_WORK": "0.5"}), 1,
       "SPARSEBIT_MAX_WORK raises it")
expect("--max-memory 0", run("inspect", "zoo:resnet20", "--max-memory", "0"), 2, "--max-memory")
expect("bad environment", run("inspect", "zoo:resnet20",
                              environment={"SPARSEBIT_MAX_MEMORY": "much"}), 2,
       "SPARSEBIT_MAX_MEMORY: 'much' is not a size of memory")

# A file that another program cuts off while it is mapped.
weights = os.path.join(folder, "weights.bin")
floats = 1 << 24
external = b"".join(field(13, field(1, key) + field(2, text)) for key, text in
                    [("location", "weights.bin"), ("length", str(4 * floats))])
tensor = field(5, field(1, floats) + field(2, 1) + field(8, "w") + external + field(14, 1))
adding = write("adding.onnx", model(node("Add", ["x", "w"], ["y"]), "y", tensor))


def run_while_it_shrinks():
    """(exit code, stderr)"""
    with open(weights, "wb") as file:
        file.truncate(4 * floats)
    process = subprocess.Popen([sparsebit, "run", adding, "--random"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    while process.poll() is None:
        try:
            if "weights.bin" in open(f"/proc/{process.pid}/maps").read():
                os.truncate(weights, 0)
                break
        except OSError:  # it has ended
            break
    errors = process.stderr.read()
    return process.wait(), errors


for _ in range(10):  # it may have read everything before
    code, errors = run_while_it_shrinks()
    if code != 0:
        break
print(f"a file that shrinks: exit code {code}: {errors.strip()}")
assert code == 1 and "weights.bin: the file became shorter while it was read" in errors, errors

subprocess.run(["rm", "-r", folder], check=True)
print("1 passed, 0 failed")
