// Serves requests to ONNX Runtime, one after the other, on standard input and output. A request is
// a line of JSON, followed by the bytes of its tensors; so is a reply.
//
//   {"do": "load", "model": file, "optimize": "disable" | "basic" | "all", "threads": 1,
//    "optimized": file or ""}                    -> {"session": 0, "inputs": [...], "outputs": [...]}
//   {"do": "run", "session": 0, "tensors": [{"name", "type", "shape", "bytes"}, ...]}
//                                                -> {"tensors": [...]}
//   {"do": "time", "sessions": [0, 1], "counts": [1, 1], "rounds": 20, "tensors": [...]}
//        the first counts[0] tensors are for the first session; sessions take turns, and the first
//        round, which warms up, is not counted. Milliseconds of each session's runs:
//                                                -> {"wall": [[...], [...]], "cpu": [[...], [...]]}
//   {"do": "unload", "session": 0}               -> {}
//
// Replies have "ok", and if that is false, "error" in one line. The first line written is
// {"ok": true, "version": ...}. SPARSEBIT_ONNXRUNTIME is a folder with
// node_modules/onnxruntime-node.

import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const ort = createRequire(join(resolve(process.env.SPARSEBIT_ONNXRUNTIME), 'package.json'))(
  'onnxruntime-node');

const ARRAYS = {
  float32: Float32Array, float64: Float64Array,
  // Raw bits in versions of Node.js without Float16Array.
  float16: globalThis.Float16Array ?? Uint16Array,
  int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array,
  bool: Uint8Array,
};

const input = process.stdin[Symbol.asyncIterator]();
let waiting = [];

/// Reads until `enough(chunks)` returns a number of bytes, and returns that many; null at the end
/// of the input.
async function receive(enough) {
  for (;;) {
    const size = enough(waiting);
    if (size !== undefined) {
      const all = Buffer.concat(waiting);
      waiting = [all.subarray(size)];
      return all.subarray(0, size);
    }
    const { value, done } = await input.next();
    if (done) return null;
    waiting.push(value);
  }
}

function endOfLine(chunks) {
  let before = 0;
  for (const chunk of chunks) {
    const end = chunk.indexOf(10);
    if (end >= 0) return before + end + 1;
    before += chunk.length;
  }
}

const total = (chunks) => chunks.reduce((sum, chunk) => sum + chunk.length, 0);

async function receiveTensor({ type, shape, bytes }) {
  const data = await receive((chunks) => (total(chunks) >= bytes ? bytes : undefined));
  const aligned = new Uint8Array(data).buffer; // a copy
  return new ort.Tensor(type, new ARRAYS[type](aligned), shape);
}

function send(bytes) {
  return new Promise((done) => process.stdout.write(bytes, done));
}

const sessions = [];

async function load({ model, optimize, threads, optimized }) {
  const session = await ort.InferenceSession.create(model, {
    graphOptimizationLevel: optimize === 'disable' ? 'disabled' : optimize,
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    logSeverityLevel: 4, // errors come back as exceptions
    ...(optimized ? { optimizedModelFilePath: optimized } : {}),
  });
  sessions.push(session);
  const { inputNames, outputNames } = session;
  return [{ session: sessions.length - 1, inputs: inputNames, outputs: outputNames }];
}

async function run({ session }, tensors) {
  const results = await sessions[session].run(Object.fromEntries(tensors));
  const data = sessions[session].outputNames.map((name) => {
    const { type, dims } = results[name];
    if (!(type in ARRAYS)) throw Error(`an output of type ${type} cannot be read`);
    const { buffer, byteOffset, byteLength } = results[name].data;
    const bytes = Buffer.from(buffer, byteOffset, byteLength);
    return [{ name, type, shape: dims, bytes: byteLength }, bytes];
  });
  return [{ tensors: data.map((entry) => entry[0]) }, ...data.map((entry) => entry[1])];
}

async function time({ sessions: numbers, counts, rounds }, tensors) {
  const feeds = counts.map((count) => Object.fromEntries(tensors.splice(0, count)));
  const wall = numbers.map(() => []), cpu = numbers.map(() => []);
  for (let round = -1; round < rounds; ++round) {
    for (const [i, number] of numbers.entries()) {
      const used = process.cpuUsage();
      const start = performance.now();
      await sessions[number].run(feeds[i]);
      const milliseconds = performance.now() - start;
      const { user, system } = process.cpuUsage(used); // of all threads
      if (round < 0) continue;
      wall[i].push(milliseconds);
      cpu[i].push((user + system) / 1000);
    }
  }
  return [{ wall, cpu }];
}

async function unload({ session }) {
  await sessions[session].release();
  return [{}];
}

const questions = { load, run, time, unload };

await send(JSON.stringify({ ok: true, version: ort.env.versions.node }) + '\n');
for (;;) {
  const line = await receive(endOfLine);
  if (line === null) break;
  const question = JSON.parse(line.toString());
  const tensors = [];
  for (const tensor of question.tensors ?? [])
    tensors.push([tensor.name, await receiveTensor(tensor)]);
  try {
    const [answer, ...data] = await questions[question.do](question, tensors);
    await send(JSON.stringify({ ok: true, ...answer }) + '\n');
    for (const bytes of data) await send(bytes);
  } catch (error) {
    const text = String(error.message ?? error).replace(/\s+/g, ' ').trim();
    await send(JSON.stringify({ ok: false, error: text }) + '\n');
  }
}
process.exit(0);
