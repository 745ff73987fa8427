// Runs the program away from the page, so that nothing it does stops the page. A message is {id, name, words}; the answer has
// the same id, and `value` or `error`.

import init, { App } from "./program/ziggurat_web_demo.js";

let app;

const calls = {
  async open() {
    await init();
    const answer = await fetch("weights.safetensors");
    if (!answer.ok) throw new Error(`weights.safetensors: ${answer.status}`);
    app = await App.open(new Uint8Array(await answer.arrayBuffer()));
    return app.adapter();
  },
  classify: (ink) => app.classify(ink),
  bandwidth: (count) => app.bandwidth(count),
  matmul: (rows) => app.matmul(rows),
  kernel: (wgsl, values) => app.kernel(wgsl, values),
};

addEventListener("message", async ({ data: { id, name, words } }) => {
  try {
    postMessage({ id, value: await calls[name](...words) });
  } catch (error) {
    postMessage({ id, error: error.message ?? String(error) });
  }
});
