// A kernel that is edited, compiled and run here.

const EXAMPLE = `@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn main(
  @builtin(global_invocation_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
) {
  let i = id.x + id.y * groups.x * 64u;
  if i < arrayLength(&y) {
    y[i] = x[i] * x[i];
  }
}
`;

// Of a long result, what is shown.
const SHOWN = 1000;

async function values(file, text) {
  if (file?.name.endsWith(".bin")) {
    const bytes = await file.arrayBuffer();
    if (bytes.byteLength === 0 || bytes.byteLength % 4 !== 0) throw new Error(`${file.name} has ${bytes.byteLength} bytes: no f32 values`);
    return new Float32Array(bytes);
  }
  const words = (file ? await file.text() : text).split(/[\s,;]+/).filter((word) => word !== "");
  const wrong = words.find((word) => Number.isNaN(Number(word)));
  if (wrong !== undefined) throw new Error(`"${wrong}" is no number`);
  if (words.length === 0) throw new Error("there are no values");
  return Float32Array.from(words, Number);
}

// Puts the cursor where the message says that the text is wrong.
function show(text, line, column) {
  const lines = text.value.split("\n");
  const at = lines.slice(0, line - 1).reduce((sum, before) => sum + before.length + 1, 0) + column - 1;
  text.focus();
  text.setSelectionRange(at, at + 1);
}

export function kernel(ask) {
  const [wgsl, input, file, message, result] = ["wgsl", "values", "file", "message", "result"].map((id) => document.getElementById(id));
  wgsl.value = EXAMPLE;
  // What was typed last counts.
  input.addEventListener("input", () => {
    file.value = "";
  });

  document.getElementById("run").addEventListener("click", async () => {
    message.className = "";
    message.textContent = "Running …";
    result.value = "";
    try {
      const given = await values(file.files[0], input.value);
      const told = await ask("messages", wgsl.value);
      const wrong = told.find((line) => line.includes(": error: "));
      if (wrong) throw new Error(told.join("\n"));
      const found = await ask("kernel", wgsl.value, given);
      message.textContent = [`${found.length} values.`, ...told].join("\n");
      result.value = found.slice(0, SHOWN).join(" ") + (found.length > SHOWN ? " …" : "");
    } catch (error) {
      message.className = "wrong";
      const place = /kernel:(\d+):(\d+): error/.exec(error.message);
      message.textContent = place ? `Line ${place[1]}, column ${place[2]}\n${error.message}` : error.message;
      if (place) show(wgsl, Number(place[1]), Number(place[2]));
    }
  });
}
