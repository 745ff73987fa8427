// Shared by the formats of blocks: halves of planes, and integers of bytes as numbers. A plane has the same field of every block,
// row by row. Requires blocks_at, word_at (operand part), Params of params.wgsl, from_word_scale, NATIVE_HALVES.

// 16 numbers of a row, one vector of four elements after the other.
struct Run {
    v0: vec4<f32>,
    v1: vec4<f32>,
    v2: vec4<f32>,
    v3: vec4<f32>,
}

// The f16 number `i` of a plane.
fn half_at(plane: u32, i: u32) -> f32 {
    return from_word_scale(word_at(plane, i >> 1u), i);
}

// The bytes of a word less `zero`, exactly: as the low bits of 2^10 in f16 they need no integer conversion, of which GPUs do few
// at a time, and half as many integer operations as in f32.
fn numbers_of(bytes: u32, zero: f32) -> vec4<f32> {
    let even = unpack2x16float((bytes & 0x00ff00ffu) | 0x64006400u);
    let odd = unpack2x16float(((bytes >> 8u) & 0x00ff00ffu) | 0x64006400u);
    return vec4<f32>(even.x, odd.x, even.y, odd.y) - (1024.0 + zero);
}

// The bytes of a word, divided by 2^24, exactly: that is what their bits are as f16, which are subnormal. An adapter that has not proved to
// keep these gets the bytes as low bits of 2^10, and a subtraction.
fn small_of(bytes: u32) -> vec4<f32> {
    let even = bytes & 0x00ff00ffu;
    let odd = (bytes >> 8u) & 0x00ff00ffu;
    if NATIVE_HALVES {
        let all = vec4<f32>(unpack2x16float(even), unpack2x16float(odd));
        return all.xzyw;
    }
    let all = vec4<f32>(unpack2x16float(even | 0x64006400u), unpack2x16float(odd | 0x64006400u));
    return all.xzyw * 5.9604644775390625e-8 - 6.103515625e-5;
}
