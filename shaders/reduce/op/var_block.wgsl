// Block part for var.wgsl: sixteen elements by their own mean and the squared distances from it, without a division.
// An infinity has no distance from any mean: NaN.

fn block(x: vec4<elem>, y: vec4<elem>, z: vec4<elem>, w: vec4<elem>) -> acc {
    // Shares of the mean, so that the sum does not overflow.
    let s = ((x * 0.0625) + (y * 0.0625)) + ((z * 0.0625) + (w * 0.0625));
    let mean = (s.x + s.y) + (s.z + s.w);
    let dx = x - mean;
    let dy = y - mean;
    let dz = z - mean;
    let dw = w - mean;
    let q = (dx * dx + dy * dy) + (dz * dz + dw * dw);
    return acc(16u, mean, (q.x + q.y) + (q.z + q.w), 0u);
}
