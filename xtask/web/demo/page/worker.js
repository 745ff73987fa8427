// Runs the program away from the page, so that nothing it does stops the page.

import { answer } from "./ask.js";
import init, { App } from "./program/ziggurat_web_demo.js";

let app;

const calls = {
  async open() {
    await init();
    const weights = await fetch("weights.safetensors");
    if (!weights.ok) throw new Error(`weights.safetensors: ${weights.status}`);
    app = await App.open(new Uint8Array(await weights.arrayBuffer()));
    return app.adapter();
  },
  classify: (ink) => app.classify(ink),
  bandwidth: (count) => app.bandwidth(count),
  matmul: (rows) => app.matmul(rows),
  messages: (wgsl) => app.messages(wgsl),
  kernel: (wgsl, values) => app.kernel(wgsl, values),
};

answer(calls);
