
// What kernels with `debug_print` and `assert` say. `GROUP` is the number of a bind group of theirs.
struct ziggurat_debug_Part {
    // Words taken, also by what does not fit.
    used: atomic<u32>,
    dropped: atomic<u32>,
    words: array<u32>,
}
@group(GROUP) @binding(0) var<storage, read_write> ziggurat_debug: ziggurat_debug_Part;
var<private> ziggurat_debug_group: vec3<u32>;
var<private> ziggurat_debug_invocation: vec3<u32>;

// Takes room for a statement with so many words, writes what comes before them, and says where they go: nowhere is all bits.
fn ziggurat_debug_begin(statement: u32, count: u32) -> u32 {
    let room = arrayLength(&ziggurat_debug.words);
    // Without the look before, the number of words could come round to 0.
    if atomicLoad(&ziggurat_debug.used) < room {
        let at = atomicAdd(&ziggurat_debug.used, count + 7u);
        if at < room && count + 7u <= room - at {
            ziggurat_debug.words[at] = statement;
            ziggurat_debug.words[at + 1u] = ziggurat_debug_group.x;
            ziggurat_debug.words[at + 2u] = ziggurat_debug_group.y;
            ziggurat_debug.words[at + 3u] = ziggurat_debug_group.z;
            ziggurat_debug.words[at + 4u] = ziggurat_debug_invocation.x;
            ziggurat_debug.words[at + 5u] = ziggurat_debug_invocation.y;
            ziggurat_debug.words[at + 6u] = ziggurat_debug_invocation.z;
            return at + 7u;
        }
        if at < room {
            // The reader ends here.
            ziggurat_debug.words[at] = 0xffffffffu;
        }
    }
    atomicAdd(&ziggurat_debug.dropped, 1u);
    return 0xffffffffu;
}
