// The taps of an output that may read something: along each axis every `tap_steps`-th, from `first_taps` on.
// Requires: tap_step and first_tap (walk part).

fn tap_steps() -> vec3<u32> {
    return vec3<u32>(
        tap_step(params.stride.x, params.dilation.x),
        tap_step(params.stride.y, params.dilation.y),
        tap_step(params.stride.z, params.dilation.z),
    );
}

fn first_taps(start: vec4<u32>, step: vec3<u32>) -> vec3<u32> {
    return vec3<u32>(
        first_tap(start.x, params.stride.x, params.dilation.x, min(step.x, params.kernel.x)),
        first_tap(start.y, params.stride.y, params.dilation.y, min(step.y, params.kernel.y)),
        first_tap(start.z, params.stride.z, params.dilation.z, min(step.z, params.kernel.z)),
    );
}
