// Starts the worker, and shows one tab at a time.

import { caller } from "./ask.js";
import { chat } from "./chat.js";
import { digits } from "./digits.js";
import { bench } from "./bench.js";
import { kernel } from "./kernel.js";

const worker = caller("worker.js");
const ask = (name, ...words) => worker(name, words);

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
    digits(worker);
    bench(ask);
    kernel(ask);
    chat();
  } catch (error) {
    missing(state, error.message);
  }
} else {
  missing(state, "this browser has no navigator.gpu");
}
