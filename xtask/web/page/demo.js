// The page that people open, driven as a person would: in a frame, with events of pointers and keys.

// The strokes of a 3 in a square of 256.
const THREE = [
  [80, 60], [110, 42], [150, 45], [170, 75], [150, 105], [115, 120], [155, 135], [178, 170], [155, 205], [115, 215], [78, 196],
];

const PATIENCE = 60_000;
// Longer without a turn of the page's own loop, and it is blocked.
const BLOCKED = 1000;

async function until(what, is) {
  const begin = performance.now();
  for (;;) {
    const value = is();
    if (value) return value;
    if (performance.now() - begin > PATIENCE) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function opened() {
  const frame = document.createElement("iframe");
  frame.style = "width: 900px; height: 800px";
  frame.src = "/demo/index.html";
  document.body.append(frame);
  await until("the page", () => frame.contentDocument?.getElementById("state"));
  return { frame, get: (id) => frame.contentDocument.getElementById(id) };
}

function equal(found, wanted) {
  return found === wanted ? null : `"${found}" in place of "${wanted}"`;
}

// Draws it; what the page answers.
async function draw({ frame, get }) {
  const paper = get("paper");
  get("clear").click();
  const box = paper.getBoundingClientRect();
  const point = (kind, [x, y], buttons) =>
    paper.dispatchEvent(
      new frame.contentWindow.PointerEvent(kind, { clientX: box.left + x, clientY: box.top + y, buttons, bubbles: true }),
    );
  point("pointerdown", THREE[0], 1);
  for (const place of THREE) point("pointermove", place, 1);
  point("pointerup", THREE.at(-1), 0);
  return await until("an answer", () => /^This is a \d/.exec(get("answer").textContent)?.[0]);
}

function press({ frame }, target, key) {
  target.focus();
  target.dispatchEvent(new frame.contentWindow.KeyboardEvent("keydown", { key, bubbles: true }));
}

async function keys(page) {
  press(page, page.get("tab-digits"), "ArrowLeft");
  const wrong = equal(page.frame.contentDocument.activeElement.id, "tab-chat");
  return wrong ?? equal(page.get("chat").hidden || !page.get("digits").hidden, false);
}

async function run({ get }, text) {
  get("wgsl").value = text;
  get("run").click();
  return await until("the kernel", () => get("message").textContent !== "Running …" && get("message").textContent);
}

async function mistake(page) {
  const right = page.get("wgsl").value;
  const text = right.replace("x[i] * x[i]", "x[i] * z[i]");
  const before = text.slice(0, text.indexOf("z[i]")).split("\n");
  const told = await run(page, text);
  page.get("wgsl").value = right;
  return equal(told.split("\n")[0], `Line ${before.length}, column ${before.at(-1).length + 1}`);
}

// Invocations would wait for each other in two branches: only the browser's compiler finds that.
async function barrier(page) {
  const right = page.get("wgsl").value;
  const line = "  if x[id.x] > 1.0 { workgroupBarrier(); }";
  const told = await run(page, right.replace("  let i =", `${line}\n  let i =`));
  page.get("wgsl").value = right;
  const at = right.slice(0, right.indexOf("  let i =")).split("\n").length;
  if (!/uniform control flow/.test(told)) return `nothing of uniform control flow: ${told}`;
  return equal(told.split("\n")[0], `Line ${at}, column ${line.indexOf("workgroupBarrier") + 1}`);
}

async function square(page) {
  await run(page, page.get("wgsl").value);
  return equal(page.get("result").value, "1 4 9 16 25 36 49 64");
}

// How dark the picture is that the worker drew, of the page's canvas: from 0 to 1.
function darkness({ frame, get }) {
  const seen = get("seen");
  const copy = frame.contentDocument.createElement("canvas");
  [copy.width, copy.height] = [seen.width, seen.height];
  const context = copy.getContext("2d");
  context.drawImage(seen, 0, 0);
  const { data } = context.getImageData(0, 0, copy.width, copy.height);
  let dark = 0;
  for (let at = 0; at < data.length; at += 4) dark += 1 - data[at] / 255;
  return (4 * dark) / data.length;
}

async function shown(page) {
  await until("the worker's picture of the digit", () => darkness(page) > 0.1);
  if (darkness(page) > 0.9) return "the worker's picture is black";
  page.get("clear").click();
  await until("an empty picture", () => darkness(page) === 0);
  return null;
}

// The longest time between two turns of the page's own loop so far, in milliseconds.
let longest = 0;

// While `work` goes on in the worker, the page must not stand still.
async function meanwhile(work) {
  let last = performance.now();
  let most = 0;
  const ticks = setInterval(() => {
    most = Math.max(most, performance.now() - last);
    last = performance.now();
  }, 10);
  await work();
  clearInterval(ticks);
  longest = Math.max(longest, most);
  return most < BLOCKED ? null : `the page stood still for ${most.toFixed(0)} ms`;
}

async function measure(page) {
  return await meanwhile(async () => {
    page.get("measure").click();
    await until("two points", () => page.get("bandwidth").querySelectorAll("circle").length >= 2);
    page.get("stop").click();
    await until("the end", () => page.get("progress").textContent === "Stopped.");
  });
}

async function network(page) {
  return await meanwhile(async () => {
    for (let i = 0; i < 20; i += 1) await draw(page);
  });
}

// That standing still is noticed.
async function still() {
  const before = longest;
  const found = await meanwhile(async () => {
    await new Promise((resolve) => setTimeout(resolve, 30));
    const begin = performance.now();
    while (performance.now() - begin < 1.1 * BLOCKED);
    await new Promise((resolve) => setTimeout(resolve, 30));
  });
  longest = before;
  return found ? null : "a page that stood still was not noticed";
}

const STEPS = {
  "a drawn 3": async (page) => equal(await draw(page), "This is a 3"),
  "the worker's picture of the digit": shown,
  "tabs by keys": keys,
  "a kernel's mistake": mistake,
  "a barrier in one branch": barrier,
  "a kernel": square,
  "a benchmark in the worker": measure,
  "the network in the worker, 20 times": network,
  "a page that stands still": still,
};

// While the worker computes, the page goes: nobody is there to hear of it.
export async function leaving(report) {
  const busy = {
    "a benchmark": (page) => page.get("measure").click(),
    // Its answer is waited for in vain.
    "a drawing": (page) => void draw(page).catch(() => {}),
    "a kernel": (page) => page.get("run").click(),
    "a start": () => {},
  };
  const ways = { gone: (frame) => frame.remove(), elsewhere: (frame) => { frame.src = "about:blank"; } };
  let [done, of] = [0, Object.keys(busy).length * Object.keys(ways).length];
  for (const [what, begin] of Object.entries(busy)) {
    for (const [way, leave] of Object.entries(ways)) {
      const page = await opened();
      if (what !== "a start") await until("a device", () => /^Ready/.test(page.get("state").textContent));
      await begin(page);
      await new Promise((resolve) => setTimeout(resolve, 30));
      leave(page.frame);
      await new Promise((resolve) => setTimeout(resolve, 500));
      page.frame.remove();
      done += 1;
      await report("leaving", Math.min(done, of - 1), of, [], `${what}, ${way}`);
    }
  }
  console.error("heard, and on purpose");
  await new Promise((resolve) => setTimeout(resolve, 500));
  await report("leaving", of, of, [], "pages left while they computed");
}

// A language model from a file, asked as a person would.
export async function chat(report) {
  const page = await opened();
  await until("a device", () => /^Ready/.test(page.get("state").textContent));
  const patience = setInterval(() => report("chat", 0, 1, [], page.get("conversation").textContent), 20_000);
  const wait = async (what, is) => {
    while (!is()) await new Promise((resolve) => setTimeout(resolve, 100));
    await report("chat", 0, 1, [], what);
  };
  const bytes = await (await fetch("/model.gguf")).blob();
  const data = new page.frame.contentWindow.DataTransfer();
  data.items.add(new page.frame.contentWindow.File([bytes], "model.gguf"));
  const drop = new page.frame.contentWindow.DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
  page.get("model-place").dispatchEvent(drop);
  const state = page.get("model-state");
  await wait("a model", () => !state.textContent.startsWith("Loading"));
  const failures = [];
  if (state.textContent === "model.gguf is ready.") {
    page.get("question").value = "What is the capital of France?";
    page.get("say").click();
    const [log, wanted] = [page.get("conversation"), "The capital of France is Paris"];
    await wait("an answer", () => log.textContent.includes(wanted) || (!page.get("stop-answer").disabled ? false : log.textContent.length > 60));
    page.get("stop-answer").click();
    if (!log.textContent.includes(wanted)) failures.push(log.textContent);
    await wait("its end", () => page.get("stop-answer").disabled);
    if (!/^\d+\.\d+ tokens per second$/.test(page.get("speed").textContent)) failures.push(page.get("speed").textContent);
  } else {
    failures.push(state.textContent);
  }
  clearInterval(patience);
  const speed = page.get("speed").textContent;
  page.frame.remove();
  await report("chat", 1, 1, failures, speed);
}

export async function demo(report) {
  const page = await opened();
  const state = await until("a device", () => /^(Ready|WebGPU).*/.exec(page.get("state").textContent)?.[0]);
  const names = Object.keys(STEPS);
  const failures = [];
  for (const name of names) {
    try {
      const wrong = await STEPS[name](page);
      if (wrong) failures.push(`${name}: ${wrong}`);
    } catch (error) {
      failures.push(`${name}: ${error.message}`);
    }
    await report("demo", names.indexOf(name) + 1, names.length, [], name);
  }
  page.frame.remove();
  await report("demo", names.length, names.length, failures, `${state} The page's longest pause: ${longest.toFixed(0)} ms`);
}

// In a browser without WebGPU.
export async function missing(report) {
  const { frame, get } = await opened();
  const told = await until("a message", () => /^(Ready|WebGPU).*/.exec(get("state").textContent)?.[0]);
  const failures = [];
  if (!told.startsWith("WebGPU is missing") || !get("main").hidden) failures.push(told);
  frame.remove();
  await report("missing", 1, 1, failures, told.split(",")[0]);
}
