// What the network reads of a drawing. The worker computes it, and shows it.

export const SIDE = 8;

// The ink of an RGBA image as the network knows digits: 8 × 8 values from 0 to 1, as high as the digit and in the middle;
// nothing if the paper is empty.
export function ink({ data, width, height }) {
  const dark = (x, y) => 1 - data[4 * (y * width + x)] / 255;
  let [left, right, top, bottom] = [width, -1, height, -1];
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      if (dark(x, y) < 0.5) continue;
      [left, right] = [Math.min(left, x), Math.max(right, x)];
      [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
    }
  }
  if (right < 0) return null;
  const size = Math.max(right - left, bottom - top) + 1;
  const cell = size / SIDE;
  const x0 = (left + right + 1 - size) / 2;
  const y0 = (top + bottom + 1 - size) / 2;
  const sums = new Float32Array(SIDE * SIDE);
  const counts = new Float32Array(SIDE * SIDE);
  for (let y = 0; y < size; y += 1) {
    for (let x = 0; x < size; x += 1) {
      const at = Math.min(Math.floor(y / cell), SIDE - 1) * SIDE + Math.min(Math.floor(x / cell), SIDE - 1);
      const [px, py] = [Math.floor(x0 + x), Math.floor(y0 + y)];
      if (px >= 0 && px < width && py >= 0 && py < height) sums[at] += dark(px, py);
      counts[at] += 1;
    }
  }
  return sums.map((sum, i) => sum / Math.max(counts[i], 1));
}
