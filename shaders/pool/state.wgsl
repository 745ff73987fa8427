// State part: windows that a dispatch before began.

@group(0) @binding(3) var<storage, read> b: array<acc>;

fn begun(i: u32) -> acc {
    return b[i];
}
