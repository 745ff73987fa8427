// The tests' side in the page; demo.js has the part that drives the page for people. Each message to /report is a line of JSON: {"stage", "done", "of", "failures", "note"}.

import { chat, demo, leaving, missing } from "./demo.js";

const log = document.getElementById("log");

async function post(path, value) {
  await fetch(path, { method: "POST", body: JSON.stringify(value) });
}

async function report(stage, done, of, failures, note = "") {
  log.textContent += `\n${stage}: ${done} of ${of}, ${failures.length} failed ${note}`;
  await post("/report", { stage, done, of, failures, note });
}

globalThis.panicked = (text) => {
  navigator.sendBeacon("/report", JSON.stringify({ stage: "panic", done: 0, of: 0, failures: [text], note: "" }));
};

// How often buffers are mapped: `read_many` is to do it once.
let maps = 0;
globalThis.maps = () => maps;
if (globalThis.GPUBuffer) {
  const { mapAsync } = GPUBuffer.prototype;
  GPUBuffer.prototype.mapAsync = function (...words) {
    maps += 1;
    return mapAsync.apply(this, words);
  };
}

async function text(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return await answer.text();
}

// That the page lives, however long a pipeline takes: it is compiled in another process.
setInterval(() => post("/alive", {}).catch(() => {}), 5000);

async function device() {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) throw new Error("this browser gives no WebGPU adapter");
  const { maxStorageBufferBindingSize, maxBufferSize } = adapter.limits;
  const gpu = await adapter.requestDevice({ requiredLimits: { maxStorageBufferBindingSize, maxBufferSize } });
  gpu.lost.then(() => lost.add(gpu));
  return gpu;
}

// Waits for a GPU's adapter: a browser's first request may come before its process for GPUs has started the driver, and fails then;
// without a GPU, requests may not be answered at all. The software adapter is not what was asked for.
async function gpuStarted() {
  const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds, null));
  const begin = performance.now();
  let adapter = null;
  while (!adapter && performance.now() - begin < 30_000) {
    adapter = await Promise.race([navigator.gpu?.requestAdapter(), pause(30_000)]);
    if (!adapter) await pause(500);
  }
  const { vendor, architecture, isFallbackAdapter } = adapter?.info ?? {};
  const found = adapter ? `${vendor} ${architecture}` : "no adapter";
  if (!adapter || isFallbackAdapter || architecture === "swiftshader") throw new Error(`--gpu needs a GPU, and the browser has ${found}`);
}

// Devices that are gone.
const lost = new WeakSet();

// What the browser's compiler and pipeline creation say about a shader, warnings too; nothing if they accept it without a word.
async function complaint(gpu, { wgsl, constants, entry, pipeline: wanted }, modules) {
  gpu.pushErrorScope("validation");
  let module = modules.get(wgsl);
  const known = module !== undefined;
  if (!known) {
    module = gpu.createShaderModule({ code: wgsl });
    modules.clear();
    modules.set(wgsl, module);
  }
  const compute = { module, entryPoint: entry ?? undefined, constants };
  const pipeline = wanted
    ? gpu.createComputePipelineAsync({ layout: "auto", compute }).then(() => null, (error) => error.message)
    : null;
  const messages = known ? [] : (await module.getCompilationInfo()).messages;
  const [refused, invalid] = await Promise.all([pipeline, gpu.popErrorScope()]);
  if (messages.length > 0) return messages.map(({ type, lineNum, linePos, message }) => `${lineNum}:${linePos} ${type}: ${message}`).join("; ");
  return refused ?? invalid?.message ?? null;
}

// Milliseconds between two signs of life.
const OFTEN = 5000;

// Shaders of one device, whose memory for them comes back when it is gone.
const OF_A_DEVICE = 500;

// What a lane has of a browser.
const fresh = () => ({ gpu: null, modules: new Map(), lost: 0, tried: 0 });

function release(own) {
  own.gpu?.destroy();
  own.gpu = null;
  own.modules.clear();
}

// In its two branches invocations would wait for each other: naga accepts it, WebGPU does not.
const NOT_UNIFORM = `
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
  if out[i] > 1u { workgroupBarrier(); }
  out[i] = i;
}`;

// What is said about a shader by a device, or by another one if the first was lost meanwhile: a browser's process for GPUs may end
// for reasons of the machine, but not twice with the same shader. A browser that gives no other device ends the page: the driver
// opens another, which goes on.
async function heard(own, variant) {
  let error;
  for (const again of [false, true]) {
    if (again) await new Promise((done) => setTimeout(done, 5000));
    own.gpu ??= await device();
    try {
      const wrong = await complaint(own.gpu, variant, own.modules);
      if (!lost.has(own.gpu)) return wrong;
      error = wrong;
    } catch (thrown) {
      error = thrown;
    }
    own.gpu = null;
    own.modules.clear();
    own.lost += 1;
  }
  return `the device was lost twice: ${error}`;
}

// Tries the shaders of a file from one on, so many at once, each on a device of its own.
async function shaders(catalogue, from, lanes) {
  const failures = [];
  const first = fresh();
  const planted = await heard(first, { wgsl: NOT_UNIFORM, constants: {}, pipeline: false });
  release(first);
  if (!planted) failures.push("a barrier in control flow that is not uniform was accepted");
  const lines = (await text(`/${catalogue}`)).trim().split("\n");
  let [next, pipelines, lost, told, ended] = [from, 0, 0, performance.now(), null];
  // What each lane is at. All before the first of them are done.
  const under = new Map();
  const done = () => Math.min(next, ...under.values());
  async function lane(own) {
    while (next < lines.length && !ended) {
      under.set(own, next);
      const variant = JSON.parse(lines[next]);
      next += 1;
      try {
        const wrong = await heard(own, variant);
        if (wrong) failures.push(`${variant.name}: ${wrong}`);
      } catch (error) {
        ended ??= `no device anymore: ${error}`;
        return;
      }
      under.delete(own);
      own.tried += 1;
      if (variant.pipeline) pipelines += 1;
      if (own.tried % OF_A_DEVICE === 0) release(own);
      if (performance.now() - told > OFTEN) {
        told = performance.now();
        await report("shaders", done(), lines.length, [], `${pipelines} pipelines`);
      }
    }
    lost += own.lost;
    release(own);
  }
  await Promise.all(Array.from({ length: lanes }, () => lane(fresh())));
  ended ??= `${lost} times a device was lost; negative control: ${planted}`;
  await report("shaders", done(), lines.length, failures, `${pipelines} pipelines; ${ended}`);
}

async function conformance(program, most) {
  const cases = await program.Cases.open(await text("/conformance/cases.jsonl"));
  const files = cases.files();
  const failures = [];
  const ops = new Set();
  let passed = 0;
  let done = 0;
  for (const file of files) {
    const bytes = new Uint8Array(await (await fetch(`/conformance/${file}`)).arrayBuffer());
    for (const { op, case: name, failure } of JSON.parse(await cases.run(file, bytes, most))) {
      if (failure) failures.push(`${name}: ${failure}`);
      else passed += 1;
      ops.add(op);
    }
    done += 1;
    if (done % 20 === 0) await report("conformance", done, files.length, [], "files");
  }
  await report("conformance", done, files.length, failures, `files; ${passed} cases of ${ops.size} ops passed`);
}

// Milliseconds from nothing to the sums of 256 numbers; on a machine that other programs keep busy, three times what the browser
// alone takes there.
const FIRST_RESULT = 150;

// Milliseconds that the same takes in JavaScript.
async function plainFirstResult() {
  const begin = performance.now();
  const gpu = await device();
  const [U, count] = [GPUBufferUsage, 256];
  const x = gpu.createBuffer({ size: 4 * count, usage: U.STORAGE | U.COPY_SRC, mappedAtCreation: true });
  new Float32Array(x.getMappedRange()).fill(1);
  x.unmap();
  const read = gpu.createBuffer({ size: 4 * count, usage: U.MAP_READ | U.COPY_DST });
  const code = `@group(0) @binding(0) var<storage, read_write> x: array<f32>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) i: vec3<u32>) { x[i.x] += x[i.x]; }`;
  const pipeline = gpu.createComputePipeline({ layout: "auto", compute: { module: gpu.createShaderModule({ code }) } });
  const entries = [{ binding: 0, resource: { buffer: x } }];
  const group = gpu.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  const encoder = gpu.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(count / 64);
  pass.end();
  encoder.copyBufferToBuffer(x, 0, read, 0, 4 * count);
  gpu.queue.submit([encoder.finish()]);
  await read.mapAsync(GPUMapMode.READ);
  const values = new Float32Array(read.getMappedRange());
  if (values.some((value) => value !== 2)) throw new Error(`without the library: ${values}`);
  gpu.destroy();
  return performance.now() - begin;
}

async function behaviours(program) {
  const names = JSON.parse(program.behaviours());
  const failures = [];
  for (const name of names) {
    const wrong = await program.behaviour(name);
    if (wrong) failures.push(`${name}: ${wrong}`);
    await report("behaviour", names.indexOf(name) + 1, names.length, [], name);
  }
  const [times, plain] = [[], []];
  for (let i = 0; i < 5; i += 1) {
    times.push(await program.first_result());
    plain.push(await plainFirstResult());
  }
  // Any of them may have waited for another program of this machine.
  const [fastest, bare] = [Math.min(...times), Math.min(...plain)];
  const most = Math.max(FIRST_RESULT, 3 * bare);
  if (fastest > most) failures.push(`a device and a first result took ${fastest} ms at best, and may take ${most.toFixed(0)}`);
  await report("behaviour", names.length, names.length, failures, `a device and a first result: ${times.join(", ")} ms; without the library ${bare.toFixed(0)} ms`);
}

const MIB = 2 ** 20;

// Tensors of a page in a frame, and what of the browser's memory is left when the frame is gone.
async function memory() {
  const now = async () => Number(await text("/memory")) / MIB;
  const frame = document.createElement("iframe");
  await (await device()).destroy();
  const before = await now();
  frame.src = "/holder.html";
  document.body.append(frame);
  const wait = async (is) => {
    for (let i = 0; i < 600 && !(await is()); i += 1) await new Promise((resolve) => setTimeout(resolve, 100));
  };
  await wait(() => frame.contentDocument?.title === "held");
  const held = (await now()) - before;
  frame.remove();
  await wait(async () => (await now()) - before < 100);
  const left = (await now()) - before;
  const failures = [];
  if (held < 250) failures.push(`tensors of 256 MiB were held, and the browser had ${held.toFixed(0)} MiB more`);
  if (left >= 100) failures.push(`${left.toFixed(0)} of ${held.toFixed(0)} MiB stayed when the page was closed`);
  await report("memory", 1, 1, failures, `${held.toFixed(0)} MiB of a page, ${left.toFixed(0)} when it is closed`);
}

async function all() {
  const asked = new URLSearchParams(location.search);
  const only = asked.get("only");
  const wants = (stage) => !only || only.split(",").includes(stage);
  if (only === "missing") return await missing(report);
  if (asked.has("gpu")) await gpuStarted();
  if (only === "leaving") return await leaving(report);
  if (only === "memory") return await memory();
  // Only by its name: it needs a model.
  if (only?.split(",").includes("chat")) await chat(report);
  if (wants("demo")) await demo(report);
  if (wants("shaders")) {
    // A GPU's driver compiles on as many threads as it is asked on, the software adapter on one.
    await shaders(asked.get("catalogue"), Number(asked.get("from")), asked.has("gpu") ? navigator.hardwareConcurrency : 1);
  }
  if (wants("behaviour") || wants("conformance")) {
    const program = await import("/program/ziggurat_web.js");
    await program.default();
    const { vendor, architecture } = (await navigator.gpu.requestAdapter()).info;
    await report("adapter", 1, 1, [], `${await program.adapter()} ${vendor} ${architecture}`);
    if (wants("behaviour")) await behaviours(program);
    if (wants("conformance")) await conformance(program, asked.has("sample") ? 1 : 2 ** 32 - 1);
  }
}

addEventListener("unhandledrejection", ({ reason }) => globalThis.panicked(`unhandled: ${reason}`));
try {
  await all();
  await post("/end", {});
} catch (error) {
  await report("page", 0, 1, [`${error}\n${error.stack ?? ""}`]);
  await post("/end", {});
}
