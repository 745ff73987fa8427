// Part of what adds up windows: four outputs at once, of rows that have a multiple of four. Requires emit_vec4.

fn write(i: u32, channel: u32, v: vec4<acc>, count: u32) {
    emit_vec4(i, channel, v);
}
