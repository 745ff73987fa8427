// Runs the program away from the page, so that nothing it does stops the page.

import { answer } from "./ask.js";
import { SIDE, ink } from "./ink.js";
import init, { App, Weights } from "./program/ziggurat_web_demo.js";

let app;
let seen;

// Paints cells of so much ink, of 8 × 8.
function paint(cells) {
  const { width, height } = seen.canvas;
  seen.fillStyle = "white";
  seen.fillRect(0, 0, width, height);
  cells.forEach((ink, at) => {
    seen.fillStyle = `rgb(0 0 0 / ${ink})`;
    seen.fillRect(((at % SIDE) * width) / SIDE, (Math.floor(at / SIDE) * height) / SIDE, width / SIDE, height / SIDE);
  });
}

// The tensors of a safetensors file: the length of a header in JSON, the header, and the values.
function tensors(file) {
  const length = Number(new DataView(file).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(file, 8, length)));
  const all = new Weights();
  for (const [name, { dtype, shape, data_offsets: [begin, end] }] of Object.entries(header)) {
    if (dtype !== "F32") throw new Error(`weights.safetensors: ${name} is ${dtype}`);
    all.add(name, Uint32Array.from(shape), new Float32Array(file.slice(8 + length + begin, 8 + length + end)));
  }
  return all;
}

const calls = {
  async open() {
    await init();
    const weights = await fetch("weights.safetensors");
    if (!weights.ok) throw new Error(`weights.safetensors: ${weights.status}`);
    app = await App.open(tensors(await weights.arrayBuffer()));
    return app.adapter();
  },
  // The canvas is the page's, and drawn on here.
  show(canvas) {
    seen = canvas.getContext("2d");
    paint([]);
  },
  forget: () => paint([]),
  async classify(image) {
    const cells = ink(image);
    if (!cells) return null;
    paint(cells);
    return app.classify(cells);
  },
  bandwidth: (count) => app.bandwidth(count),
  matmul: (rows) => app.matmul(rows),
  messages: (wgsl) => app.messages(wgsl),
  kernel: (wgsl, values) => app.kernel(wgsl, values),
};

answer(calls);
