// Floats from 0 up to but not including 1: as many upper bits of a word as the dtype has digits.
// Accuracy: exact.

override DIGITS: u32 = 24u;

fn drawn(words: vec4<u32>) -> vec4<out_elem> {
    let scale = bitcast<f32>((127u - DIGITS) << 23u);
    return vec4<f32>(words >> vec4<u32>(32u - DIGITS)) * scale;
}
