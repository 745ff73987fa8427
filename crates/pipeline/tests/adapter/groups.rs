//! Several uniforms and several bind groups: what each variable gets, recorded, replayed and while a kernel is compiled.

use super::*;
use ziggurat_pipeline::{KernelKey, PipelineError};

/// Uniforms and buffers in three groups, numbered against the order of their declaration.
const SPREAD: &str = "
    struct Size { width: u32, height: u32 }
    @group(2) @binding(1) var<uniform> add: vec4<u32>;
    @group(0) @binding(1) var<storage, read_write> out: array<u32>;
    @group(0) @binding(4) var<uniform> size: Size;
    @group(2) @binding(0) var<storage, read> b: array<u32>;
    @group(0) @binding(0) var<storage, read> a: array<u32>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < size.width * size.height {
            out[id.x] = a[id.x] + 10u * b[id.x] + add[id.x % 4u] + 1000u * size.height;
        }
    }
";

struct Setup {
    pipelines: Pipelines,
    kernel: Kernel,
    a: Buffer,
    b: Buffer,
    out: Buffer,
}

const SIZE: [u32; 2] = [3, 2];
const EXPECTED: [u32; 6] = [2010 + 1, 2021 + 2, 2032 + 3, 2043 + 4, 2054 + 1, 2065 + 2];

impl Setup {
    fn new() -> Self {
        let pipelines = open(DeviceOptions::default());
        let kernel = kernel(&pipelines, ShaderSource::wgsl("spread", SPREAD));
        let upload = |words: &[u32]| pipelines.memory().upload(bytemuck::cast_slice(words));
        Self {
            a: upload(&[0, 1, 2, 3, 4, 5]).unwrap(),
            b: upload(&[1, 2, 3, 4, 5, 6]).unwrap(),
            out: pipelines.memory().alloc_zeroed(24).unwrap(),
            kernel,
            pipelines,
        }
    }

    fn buffers(&self) -> [Arg<'_>; 3] {
        [
            Arg::read(&self.a),
            Arg::write(&self.out),
            Arg::read(&self.b),
        ]
    }

    fn run(&self, args: &[Arg<'_>], params: &[u8]) -> Result<Vec<u32>, PipelineError> {
        self.pipelines
            .dispatch(&self.kernel, args, params, Grid::elements(6, 1))?;
        Ok(words(&self.pipelines, &self.out))
    }
}

fn bytes(words: &[u32]) -> &[u8] {
    bytemuck::cast_slice(words)
}

#[test]
fn every_variable_gets_its_argument_whatever_the_order() {
    let setup = Setup::new();
    let [a, out, b] = setup.buffers();
    let size = Arg::uniform(bytes(&SIZE));
    let add = Arg::uniform(bytes(&[1, 2, 3, 4]));
    let orders: [&[Arg<'_>]; 6] = [
        &[a, out, b, size, add],
        &[size, a, add, out, b],
        &[
            add.at(2, 1),
            b.at(2, 0),
            out.at(0, 1),
            a.at(0, 0),
            size.at(0, 4),
        ],
        &[add.at(2, 1), b.at(2, 0), size, a, out],
        // The first two are of one type: nothing but their names tells which is which.
        &[
            b.named("b"),
            a.named("a"),
            add.named("add"),
            size.named("size"),
            out.named("out"),
        ],
        &[b.named("b"), a, add.named("add"), size, out],
    ];
    for (at, args) in orders.into_iter().enumerate() {
        assert_eq!(setup.run(args, &[]).unwrap(), EXPECTED, "order {at}");
    }
    // Swapped without names they are in each other's place.
    assert_ne!(setup.run(&[b, out, a, size, add], &[]).unwrap(), EXPECTED);
    // Bytes without an argument are those of the only uniform that is left.
    let left = setup.run(&[a, out, b, size.at(0, 4)], bytes(&[1, 2, 3, 4]));
    assert_eq!(left.unwrap(), EXPECTED);
}

#[test]
fn a_wrong_argument_names_the_variable_and_its_place() {
    let setup = Setup::new();
    let [a, out, b] = setup.buffers();
    let size = Arg::uniform(bytes(&SIZE));
    let add = Arg::uniform(bytes(&[1, 2, 3, 4]));
    let short = Arg::uniform(bytes(&[1]));
    let refusals: [(&[Arg<'_>], &[u8], &str); 12] = [
        (
            &[a, out, b, size],
            &[],
            "expected 2 uniforms for `size` (spread:5:27), `add` (spread:3:27), got 1; give the bytes of each as `Arg::uniform`",
        ),
        (&[a, out, b, size, add, add], &[], "got 3"),
        (&[a, out, size, add], &[], "expected 3 buffers"),
        (&[a, out, b, b, size, add], &[], "got 4"),
        (
            &[a, out, b, size, short],
            &[],
            "spread:3:27: the parameters `add` take 16 bytes, got 4",
        ),
        (&[a, out, b, size, add], &[0; 4], "(none declared)"),
        (
            &[a, out, b.at(1, 0), size, add],
            &[],
            "no storage buffer at group 1, binding 0; it has `a` (group 0, binding 0), `out` (group 0, binding 1), `b` (group 2, binding 0)",
        ),
        (
            &[a, out, b, size, add.at(2, 0)],
            &[],
            "no uniform at group 2, binding 0; it has `size` (group 0, binding 4), `add` (group 2, binding 1)",
        ),
        (
            &[a, out, b.at(2, 0), b.at(2, 0), size, add],
            &[],
            "spread:6:27: `b` (group 2, binding 0) was given twice",
        ),
        (
            &[a.named("a"), b.named("c"), out, size, add],
            &[],
            "no storage buffer `c`; it has `a` (group 0, binding 0), `out` (group 0, binding 1), `b` (group 2, binding 0)",
        ),
        (
            &[a.named("add"), out, b, size, add],
            &[],
            "no storage buffer `add`",
        ),
        (
            &[a.named("b"), b.named("b"), out, size, add],
            &[],
            "spread:6:27: `b` (group 2, binding 0) was given twice",
        ),
    ];
    let before = setup.pipelines.device().queue_stats().dispatches;
    for (args, params, text) in refusals {
        let error = setup.run(args, params).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
    assert_eq!(setup.pipelines.device().queue_stats().dispatches, before);
    assert_eq!(setup.run(&[a, out, b, size, add], &[]).unwrap(), EXPECTED);
}

#[test]
fn uniforms_stay_with_their_dispatch_over_batches_replays_and_late_kernels() {
    let setup = Setup::new();
    let text = "
        @group(0) @binding(0) var<uniform> at: u32;
        @group(1) @binding(0) var<uniform> value: vec2<u32>;
        @group(1) @binding(1) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(1) fn main() { out[at] = value.x * 1000u + value.y; }";
    let pipelines = &setup.pipelines;
    let source = ShaderSource::wgsl("late", text);
    let key = KernelKey::new("late");
    let late = pipelines
        .kernel_for(&key, || KernelDescriptor::new(source))
        .unwrap();
    let out = pipelines.memory().alloc_zeroed(400 * 4).unwrap();
    let record = |to: &Pipelines, add: u32| {
        for at in 0..400_u32 {
            let (place, value) = ([at], [at, at + add]);
            let args = [
                Arg::write(&out),
                Arg::uniform(bytes(&place)),
                Arg::uniform(bytes(&value)),
            ];
            to.dispatch(&late, &args, &[], Grid::Workgroups([1; 3]))
                .unwrap();
        }
    };
    let expected = |add: u32| -> Vec<u32> { (0..400).map(|at| at * 1001 + add).collect() };
    record(pipelines, 7);
    assert_eq!(words(pipelines, &out), expected(7));

    let taping = pipelines.taping();
    record(&taping, 9);
    let tape = taping.take_tape().unwrap();
    assert_eq!(words(pipelines, &out), expected(7), "nothing ran yet");
    for _ in 0..2 {
        record(pipelines, 1);
        tape.replay().unwrap();
        assert_eq!(words(pipelines, &out), expected(9));
    }
    let groups = pipelines.stats().bind_groups;
    assert!(
        groups <= 16,
        "bind groups are shared between batches: {groups}"
    );
}

#[test]
fn more_uniforms_than_have_dynamic_offsets() {
    let setup = Setup::new();
    let pipelines = &setup.pipelines;
    let count = pipelines
        .caps()
        .limits
        .max_uniform_buffers_per_shader_stage
        .min(12);
    let dynamic = pipelines
        .caps()
        .limits
        .max_dynamic_uniform_buffers_per_pipeline_layout;
    println!("{count} uniforms, {dynamic} dynamic");
    let declared = |i| format!("@group({}) @binding({i}) var<uniform> u{i}: u32;\n", i % 3);
    let text: String = (0..count).map(declared).collect();
    let sum: Vec<String> = (0..count).map(|i| format!("(u{i} << {i}u)")).collect();
    let text = format!(
        "{text}@group(3) @binding(0) var<storage, read_write> out: array<u32>;
         @compute @workgroup_size(1) fn main() {{ out[0] = {}; }}",
        sum.join(" + ")
    );
    let many = kernel(pipelines, ShaderSource::wgsl("many", text));
    let values = [[1_u32], [0_u32]];
    for pattern in [0b1010_1010_1010_u32, 0b0111_0011_0001, 0b1111_1111_1111] {
        let pattern = pattern & ((1 << count) - 1);
        let mut args = vec![Arg::write(&setup.out)];
        args.extend((0..count).map(|i| {
            let value = &values[usize::from(pattern >> i & 1 == 0)];
            Arg::uniform(bytes(value)).at(i % 3, i)
        }));
        pipelines
            .dispatch(&many, &args, &[], Grid::Workgroups([1; 3]))
            .unwrap();
        assert_eq!(words(pipelines, &setup.out)[0], pattern);
    }
}

#[test]
fn an_immediate_variable_may_stand_beside_uniforms() {
    let setup = Setup::new();
    let pipelines = &setup.pipelines;
    if pipelines.caps().immediate_bytes < 8 {
        return println!("no immediates here");
    }
    let text = "
        @group(0) @binding(0) var<uniform> a: u32;
        @group(0) @binding(1) var<uniform> b: vec3<u32>;
        @group(0) @binding(2) var<storage, read_write> out: array<u32>;
        var<immediate> more: vec2<u32>;
        @compute @workgroup_size(1) fn main() { out[0] = a + b.z * 10u + more.y * 100u; }";
    let both = kernel(pipelines, ShaderSource::wgsl("both", text));
    let args = [
        Arg::write(&setup.out),
        Arg::uniform(bytes(&[1])),
        Arg::uniform(bytes(&[0, 0, 2])),
    ];
    let grid = Grid::Workgroups([1; 3]);
    pipelines
        .dispatch(&both, &args, bytes(&[0, 3]), grid)
        .unwrap();
    assert_eq!(words(pipelines, &setup.out)[0], 321);
    let error = pipelines
        .dispatch(&both, &args, &[], grid)
        .unwrap_err()
        .to_string();
    assert!(error.contains("`more` take 8 bytes, got 0"), "{error}");
}
