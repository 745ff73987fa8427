// A conversation with a language model from a file of the visitor's.

import { caller } from "./ask.js";

// Tokens of a conversation.
const CONTEXT = 2048;

export function chat() {
  const [place, file, state, close, form, question, say, stop, log, speed] = [
    "model-place", "model", "model-state", "model-close", "question-form", "question", "say", "stop-answer", "conversation", "speed",
  ].map((id) => document.getElementById(id));
  let ask = null;
  let stopped = false;

  function told(text, wrong = false) {
    state.className = wrong ? "wrong" : "";
    state.textContent = text;
  }

  function end() {
    ask?.end();
    ask = null;
    form.hidden = true;
    close.disabled = true;
    file.disabled = false;
  }

  async function open(model) {
    end();
    log.replaceChildren();
    speed.textContent = "";
    file.disabled = true;
    told(`Loading ${model.name} …`);
    const mine = caller("chat-worker.js");
    ask = mine;
    close.disabled = false;
    try {
      const bytes = await model.arrayBuffer();
      await mine("open", [bytes, CONTEXT], [bytes]);
      told(`${model.name} is ready.`);
      form.hidden = false;
      question.focus();
    } catch (error) {
      if (ask !== mine) return;
      end();
      told(`${model.name} cannot be opened: ${error.message}`, true);
    }
  }

  function line(who, text) {
    const made = document.createElement("p");
    const name = document.createElement("strong");
    name.textContent = `${who}: `;
    const words = document.createElement("span");
    words.textContent = text;
    made.append(name, words);
    log.append(made);
    return words;
  }

  async function answer(text) {
    line("You", text);
    const words = line("Model", "");
    await ask("ask", [text]);
    let [tokens, begin] = [0, performance.now()];
    while (!stopped) {
      const piece = await ask("next", []);
      if (piece === undefined || piece === null) return;
      words.textContent += piece;
      tokens += 1;
      // The first token comes with the reading of the question.
      if (tokens === 1) begin = performance.now();
      else speed.textContent = `${((1e3 * (tokens - 1)) / (performance.now() - begin)).toFixed(2)} tokens per second`;
    }
    await ask("end", []);
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = question.value.trim();
    if (text === "" || say.disabled) return;
    stopped = false;
    say.disabled = true;
    stop.disabled = false;
    question.value = "";
    log.setAttribute("aria-busy", "true");
    try {
      await answer(text);
    } catch (error) {
      line("Error", error.message).className = "wrong";
    }
    log.setAttribute("aria-busy", "false");
    say.disabled = false;
    stop.disabled = true;
  });
  stop.addEventListener("click", () => {
    stopped = true;
  });
  close.addEventListener("click", () => {
    end();
    told("The model is closed.");
  });
  file.addEventListener("change", () => {
    if (file.files[0]) open(file.files[0]);
  });
  place.addEventListener("dragover", (event) => event.preventDefault());
  place.addEventListener("drop", (event) => {
    event.preventDefault();
    const dropped = event.dataTransfer.files[0];
    if (dropped) open(dropped);
  });
}
