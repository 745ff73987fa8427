// Rates by size, drawn as they are measured.

const NAMES = {
  bandwidth: { sizes: [10, 12, 14, 16, 18, 20, 22, 24].map((power) => 2 ** power), unit: "GB/s", work: (size) => 12 * size },
  matmul: { sizes: [32, 64, 128, 256, 512, 1024, 2048], unit: "GFLOP/s", work: (size) => 2 * size ** 3 },
};

// Seconds of one pass, above which no larger size is tried. (Compiling does not count: the first kernel may take longer.)
const LONGEST = 0.5;

const XML = "http://www.w3.org/2000/svg";

function element(name, attributes, text = "") {
  const made = document.createElementNS(XML, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

// A line through the points, with sizes on a logarithmic axis; the numbers also stand beside the points.
function plot(place, { sizes, unit }, points) {
  const [width, height, edge] = [360, 220, 40];
  const most = Math.max(...points.map(([, rate]) => rate), 1e-9);
  const x = (size) => edge + ((width - 2 * edge) * Math.log2(size / sizes[0])) / Math.log2(sizes.at(-1) / sizes[0]);
  const y = (rate) => height - edge - ((height - 2 * edge) * rate) / most;
  const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  svg.append(element("title", {}, points.map(([size, rate]) => `${size}: ${rate.toPrecision(3)} ${unit}`).join(", ")));
  svg.append(element("line", { x1: edge, y1: height - edge, x2: width - edge, y2: height - edge }));
  svg.append(element("polyline", { points: points.map(([size, rate]) => `${x(size)},${y(rate)}`).join(" ") }));
  for (const [size, rate] of points) {
    const name = size >= 2 ** 20 ? `${size / 2 ** 20}Mi` : size >= 2 ** 10 ? `${size / 2 ** 10}Ki` : size;
    svg.append(element("circle", { cx: x(size), cy: y(rate), r: 3 }));
    svg.append(element("text", { x: x(size), y: y(rate) - 8, "text-anchor": "middle" }, rate.toPrecision(3)));
    svg.append(element("text", { x: x(size), y: height - edge + 16, "text-anchor": "middle" }, name));
  }
  place.replaceChildren(svg);
}

export function bench(ask) {
  const [measure, stop, progress] = ["measure", "stop", "progress"].map((id) => document.getElementById(id));
  let stopped = false;

  async function series(name) {
    const { sizes, unit, work } = NAMES[name];
    const points = [];
    for (const size of sizes) {
      if (stopped) return;
      progress.textContent = `${name} of ${size} …`;
      const rate = await ask(name, size);
      points.push([size, rate / 1e9]);
      plot(document.getElementById(name), { sizes, unit }, points);
      if (work(size) / rate > LONGEST) break;
    }
  }

  measure.addEventListener("click", async () => {
    stopped = false;
    measure.disabled = true;
    stop.disabled = false;
    try {
      for (const name of Object.keys(NAMES)) await series(name);
      progress.textContent = stopped ? "Stopped." : "Done.";
    } catch (error) {
      progress.textContent = `It could not be measured: ${error.message}`;
    }
    measure.disabled = false;
    stop.disabled = true;
  });
  stop.addEventListener("click", () => {
    stopped = true;
    progress.textContent = "Stopping after this size …";
  });
}
