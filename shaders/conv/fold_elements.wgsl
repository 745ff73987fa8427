// Part of what adds up windows: up to four outputs, one by one. Requires emit.

fn write(i: u32, channel: u32, v: vec4<acc>, count: u32) {
    emit(i, channel, v.x);
    if count > 1u {
        emit(i + 1u, channel, v.y);
    }
    if count > 2u {
        emit(i + 2u, channel, v.z);
    }
    if count > 3u {
        emit(i + 3u, channel, v.w);
    }
}
