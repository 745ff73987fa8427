// Calls of a worker's functions. A message is {id, name, words}; the answer has the same id, and `value` or `error`.

// What calls a function of the worker in a file: a promise of what it gives.
export function caller(file) {
  const worker = new Worker(file, { type: "module" });
  const waiting = new Map();
  let next = 0;

  worker.addEventListener("message", ({ data: { id, value, error } }) => {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) resolve(value);
    else reject(new Error(error));
  });

  const fail = (message) => {
    for (const { reject } of waiting.values()) reject(new Error(message));
    waiting.clear();
  };
  // The worker's program cannot be loaded, or it broke off: whoever waits must hear of it.
  worker.addEventListener("error", (event) => fail(event.message ?? "the worker did not start"));

  function ask(name, words, moved = []) {
    next += 1;
    const id = next;
    worker.postMessage({ id, name, words }, moved);
    return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  }

  // Ends the worker, with all that it has.
  ask.end = () => {
    worker.terminate();
    fail("it was closed");
  };
  return ask;
}

// The worker's side: answers each message by one of these functions.
export function answer(calls) {
  addEventListener("message", async ({ data: { id, name, words } }) => {
    try {
      postMessage({ id, value: await calls[name](...words) });
    } catch (error) {
      postMessage({ id, error: error.message ?? String(error) });
    }
  });
}
