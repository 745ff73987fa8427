// State and output part: windows that another dispatch goes on with.

@group(0) @binding(2) var<storage, read_write> out: array<acc>;

fn begun(i: u32) -> acc {
    if params.resumed == 0u {
        return start();
    }
    return out[i];
}

fn ended(i: u32, v: acc, count: u32) {
    out[i] = v;
}
