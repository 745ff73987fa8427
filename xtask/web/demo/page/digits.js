// A digit drawn on a canvas, classified at each stroke.

const PEN = 26;

function rows(body) {
  return [...Array(10).keys()].map((digit) => {
    const row = body.insertRow();
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = digit;
    const meter = document.createElement("meter");
    meter.setAttribute("aria-label", `Probability of ${digit}`);
    row.append(head);
    row.insertCell().append(meter);
    const text = row.insertCell();
    return (chance) => {
      meter.value = chance;
      text.textContent = `${(100 * chance).toFixed(1)} %`;
    };
  });
}

// What stands in place of an answer, as in the page.
const NOTHING = "Nothing is drawn yet.";

// `ask` calls the worker, which also draws what it reads of the digit.
export function digits(ask) {
  const seen = document.getElementById("seen").transferControlToOffscreen();
  // Of a worker that fails, the next drawing tells.
  const silently = (...words) => ask(...words).catch(() => {});
  silently("show", [seen], [seen]);
  const paper = document.getElementById("paper");
  const answer = document.getElementById("answer");
  const context = paper.getContext("2d", { willReadFrequently: true });
  const show = rows(document.getElementById("chances"));
  const pen = { x: 128, y: 40, down: false };
  let asked = 0;

  async function classify() {
    asked += 1;
    const turn = asked;
    const image = context.getImageData(0, 0, paper.width, paper.height);
    // The first answer waits for the network's kernels to be compiled.
    if (answer.textContent === NOTHING) answer.textContent = "Reading it …";
    try {
      const chances = await ask("classify", [image], [image.data.buffer]);
      if (!chances) return;
      // A later stroke has been asked about since.
      if (turn !== asked) return;
      chances.forEach((chance, digit) => show[digit](chance));
      const best = chances.indexOf(Math.max(...chances));
      answer.textContent = `This is a ${best} (${(100 * chances[best]).toFixed(0)} %).`;
    } catch (error) {
      answer.textContent = `It could not be classified: ${error.message}`;
    }
  }

  function clear() {
    asked += 1;
    context.fillStyle = "white";
    context.fillRect(0, 0, paper.width, paper.height);
    show.forEach((row) => row(0));
    silently("forget", []);
    answer.textContent = NOTHING;
  }

  function line(x, y) {
    context.lineWidth = PEN;
    context.lineCap = "round";
    context.strokeStyle = "black";
    context.beginPath();
    context.moveTo(pen.x, pen.y);
    context.lineTo(x, y);
    context.stroke();
    [pen.x, pen.y] = [x, y];
  }

  const place = ({ clientX, clientY }) => {
    const box = paper.getBoundingClientRect();
    return [clientX - box.left - paper.clientLeft, clientY - box.top - paper.clientTop];
  };
  paper.addEventListener("pointerdown", (event) => {
    [pen.x, pen.y] = place(event);
    pen.down = true;
    line(...place(event));
  });
  paper.addEventListener("pointermove", (event) => {
    if (event.buttons === 0 || !pen.down) return;
    line(...place(event));
  });
  addEventListener("pointerup", () => {
    if (!pen.down) return;
    pen.down = false;
    classify();
  });
  paper.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-8, 0], ArrowRight: [8, 0], ArrowUp: [0, -8], ArrowDown: [0, 8] }[event.key];
    if (step) {
      const x = Math.min(Math.max(pen.x + step[0], 0), paper.width);
      const y = Math.min(Math.max(pen.y + step[1], 0), paper.height);
      if (pen.down) line(x, y);
      else [pen.x, pen.y] = [x, y];
      answer.textContent = `Pen ${pen.down ? "down" : "up"} at ${x}, ${y}.`;
      if (pen.down) classify();
    } else if (event.key === " ") {
      pen.down = !pen.down;
      if (pen.down) line(pen.x, pen.y);
      else classify();
    } else if (event.key === "Delete") {
      clear();
    } else {
      return;
    }
    event.preventDefault();
  });
  document.getElementById("clear").addEventListener("click", clear);
  clear();
}
