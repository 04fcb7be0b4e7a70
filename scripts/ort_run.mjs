// Runs models with ONNX Runtime:  node ort_run.mjs MANIFEST.json
//
// The manifest is a list of
//   {"model": path, "inputs": {name: file.npy}, "outputs": folder,
//    "optimize": "disable" | "basic" | "all", "threads": 1, "optimized": file.onnx}
// where the last three may be left out; "optimized" is where the model that really runs is written.
// Outputs are written as folder/INDEX.npy. For each entry one
// line of JSON is printed: {"ok": true, "names": [...]} or {"ok": false, "error": "one line"}.
// SPARSEBIT_ONNXRUNTIME is the folder install_onnxruntime.sh installed into.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const folder =
  process.env.SPARSEBIT_ONNXRUNTIME ?? join(here, '..', 'build', 'release', 'onnxruntime');
const ort = createRequire(join(resolve(folder), 'package.json'))('onnxruntime-node');

// NumPy's name of a type, ONNX Runtime's, and the array that holds it. 16-bit floats are bits in
// versions of node that have no array for them.
const TYPES = [
  ['<f4', 'float32', Float32Array],
  ['<f8', 'float64', Float64Array],
  ['<f2', 'float16', globalThis.Float16Array ?? Uint16Array],
  ['|i1', 'int8', Int8Array],
  ['<i2', 'int16', Int16Array],
  ['<i4', 'int32', Int32Array],
  ['<i8', 'int64', BigInt64Array],
  ['|u1', 'uint8', Uint8Array],
  ['<u2', 'uint16', Uint16Array],
  ['<u4', 'uint32', Uint32Array],
  ['<u8', 'uint64', BigUint64Array],
  ['|b1', 'bool', Uint8Array],
];

function readNpy(path) {
  const file = readFileSync(path);
  const length = file.readUInt16LE(8);
  const header = file.toString('latin1', 10, 10 + length);
  const match = /'descr': '(.*?)', 'fortran_order': False, 'shape': \((.*?)\)/.exec(header);
  const type = match && TYPES.find((entry) => entry[0] === match[1]);
  if (!type) throw Error(`${path}: not an array this runner reads: ${header.trim()}`);
  const dims = match[2].split(',').filter((text) => text.trim()).map(Number);
  const data = file.subarray(10 + length);
  const bytes = new Uint8Array(data).buffer; // a copy, because arrays have to be aligned
  return new ort.Tensor(type[1], new type[2](bytes), dims);
}

function writeNpy(path, tensor) {
  const type = TYPES.find((entry) => entry[1] === tensor.type);
  if (!type) throw Error(`an output of type ${tensor.type} cannot be written`);
  const shape = tensor.dims.join(', ') + (tensor.dims.length === 1 ? ',' : '');
  const text = `{'descr': '${type[0]}', 'fortran_order': False, 'shape': (${shape}), }`;
  const padded = text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11) + '\n';
  const prefix = Buffer.from('\x93NUMPY\x01\x00\x00\x00', 'latin1');
  prefix.writeUInt16LE(padded.length, 8);
  const { buffer, byteOffset, byteLength } = tensor.data;
  const data = Buffer.from(buffer, byteOffset, byteLength);
  writeFileSync(path, Buffer.concat([prefix, Buffer.from(padded, 'latin1'), data]));
}

async function run(entry) {
  const session = await ort.InferenceSession.create(entry.model, {
    graphOptimizationLevel: { disable: 'disabled' }[entry.optimize ?? 'disable'] ?? entry.optimize,
    intraOpNumThreads: entry.threads ?? 1,
    interOpNumThreads: 1,
    logSeverityLevel: 4, // errors come back as exceptions
    ...(entry.optimized ? { optimizedModelFilePath: entry.optimized } : {}),
  });
  try {
    const feeds = {};
    for (const [name, path] of Object.entries(entry.inputs)) feeds[name] = readNpy(path);
    const results = await session.run(feeds);
    mkdirSync(entry.outputs, { recursive: true });
    session.outputNames.forEach((name, index) =>
      writeNpy(join(entry.outputs, `${index}.npy`), results[name]));
    return { ok: true, names: session.outputNames };
  } finally {
    await session.release();
  }
}

for (const entry of JSON.parse(readFileSync(process.argv[2], 'utf8'))) {
  const result = await run(entry).catch((error) => (
    { ok: false, error: String(error.message ?? error).replace(/\s+/g, ' ').trim() }));
  process.stdout.write(JSON.stringify(result) + '\n');
}
