// Starts the worker, and shows one tab at a time.

import { digits } from "./digits.js";
import { bench } from "./bench.js";
import { kernel } from "./kernel.js";

const worker = new Worker("worker.js", { type: "module" });
const waiting = new Map();
let next = 0;

// Calls a function of the worker; a promise of what it gives.
function ask(name, ...words) {
  next += 1;
  const id = next;
  worker.postMessage({ id, name, words });
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

worker.addEventListener("message", ({ data: { id, value, error } }) => {
  const { resolve, reject } = waiting.get(id);
  waiting.delete(id);
  if (error === undefined) resolve(value);
  else reject(new Error(error));
});

// The worker's program cannot be loaded, or it broke off: whoever waits must hear of it.
worker.addEventListener("error", (event) => {
  for (const { reject } of waiting.values()) reject(new Error(event.message ?? "the worker did not start"));
  waiting.clear();
});

function tabs(list) {
  const all = [...list.querySelectorAll("[role=tab]")];
  const choose = (tab) => {
    for (const other of all) {
      const chosen = other === tab;
      other.setAttribute("aria-selected", String(chosen));
      other.tabIndex = chosen ? 0 : -1;
      document.getElementById(other.getAttribute("aria-controls")).hidden = !chosen;
    }
  };
  list.addEventListener("click", ({ target }) => {
    if (all.includes(target)) choose(target);
  });
  list.addEventListener("keydown", (event) => {
    const at = all.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const tab = all[(to + all.length) % all.length];
    choose(tab);
    tab.focus();
  });
}

function missing(state, why) {
  state.className = "wrong";
  state.textContent =
    "WebGPU is missing, so nothing can be computed here. It needs a current Chrome, Edge, Firefox or Safari with WebGPU " +
    `switched on, and a page from https: or from this machine. (${why})`;
}

const state = document.getElementById("state");
if (navigator.gpu) {
  try {
    const adapter = await ask("open");
    state.textContent = `Ready on ${adapter}.`;
    document.getElementById("main").hidden = false;
    tabs(document.querySelector("[role=tablist]"));
    digits(ask);
    bench(ask);
    kernel(ask);
  } catch (error) {
    missing(state, error.message);
  }
} else {
  missing(state, "this browser has no navigator.gpu");
}
