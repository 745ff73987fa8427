//! Random calls of pipelines: descriptors, grids, buffers, parameters, cache files and traces that fit and that do not. An
//! error names its rule in few words, what is accepted computes what it says, and the device works on.

use std::fs;
use std::path::Path;

use ziggurat_pipeline::device::{Device, DeviceOptions, ziggurat_software::Profile};
use ziggurat_pipeline::memory::{Buffer, Memory, MemoryOptions};
use ziggurat_pipeline::{
    Arg, DType, Grid, Kernel, KernelDescriptor, ParamSpace, PipelineError, Pipelines, ShaderSource,
    Trace, TraceError,
};

use super::campaign::Campaign;
use super::random::Random;

fn on(profile: Profile, options: DeviceOptions) -> Pipelines {
    let device = Device::software(profile, options).unwrap();
    Pipelines::new(&Memory::new(&device, MemoryOptions::default()))
}

/// Pipelines of a device with few workgroups and few kernels, so that grids fold and kernels are forgotten.
fn open(random: &mut Random) -> Pipelines {
    let mut profile = random.pick(&Profile::all()).clone();
    profile.threads = 1;
    profile.memory_budget = 64 << 20;
    let options = DeviceOptions {
        max_workgroups: Some(*random.pick(&[1, 3, 5, 65_535])),
        max_kernels: *random.pick(&[1, 4, 64]),
        pipeline_cache: false,
        ..DeviceOptions::default()
    };
    on(profile, options)
}

fn short(what: &str, error: &impl std::fmt::Display) {
    let text = error.to_string();
    assert!(!text.is_empty() && text.len() <= 1024, "{what}: {text}");
}

/// A kernel that counts how often each element is visited, and how it finds an element's number.
const COUNT: &str = "@group(0) @binding(1) var<storage, read_write> out: array<atomic<u32>>;
override WG: u32 = 4;
override PER: u32 = 1;
@compute @workgroup_size(WG) fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let at = (group.x + groups.x * (group.y + groups.y * group.z)) * WG + lane;
    for (var i = 0u; i < PER; i++) {
        let element = at * PER + i;
        if element < params.len && element < arrayLength(&out) { atomicAdd(&out[element], params.by); }
    }
}
";

/// Every element that the grid covers is visited once, and none behind.
fn count(pipelines: &Pipelines, random: &mut Random) {
    let (len, held) = (random.below(500), random.below(500).max(1));
    let (wg, per) = (1 + random.below(9) as u32, 1 + random.below(4) as u32);
    let part = ziggurat_pipeline::params_part(pipelines.caps(), 8);
    let source = ShaderSource::new("count")
        .part("params.wgsl", "struct Params { len: u32, by: u32 }\n")
        .part(part.0, part.1)
        .part("count.wgsl", COUNT);
    let descriptor = KernelDescriptor::new(source)
        .constant("WG", f64::from(wg))
        .constant("PER", f64::from(per));
    let kernel = pipelines.kernel(&descriptor).unwrap();
    let zeros = vec![0; held * 4];
    let out = pipelines.memory().upload(&zeros).unwrap();
    let by = random.next() as u32;
    let params: Vec<u8> = [len as u32, by]
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .collect();
    let grid = Grid::elements(len as u64, per);
    let done = pipelines.dispatch(&kernel, &[Arg::write(&out)], &params, grid);
    let fits =
        len.div_ceil((wg * per) as usize) <= (pipelines.caps().max_workgroups as usize).pow(3);
    assert_eq!(
        done.is_ok(),
        fits,
        "{len} elements of {wg} x {per}: {done:?}"
    );
    let got = words(pipelines, &out);
    for (element, &got) in got.iter().enumerate() {
        let expected = if fits && element < len { by } else { 0 };
        assert_eq!(got, expected, "element {element} of {len}, {wg} x {per}");
    }
}

fn words(pipelines: &Pipelines, buffer: &Buffer) -> Vec<u32> {
    let read = pipelines.memory().read(buffer, 0..buffer.bytes()).unwrap();
    bytemuck::pod_collect_to_vec(&read.wait().unwrap())
}

/// A text with any number of bindings of any kinds, and of entry points.
fn text(random: &mut Random) -> String {
    let types = [
        "u32",
        "i32",
        "f32",
        "vec4<f32>",
        "vec3<u32>",
        "atomic<u32>",
        "Pair",
    ];
    let mut text =
        String::from("struct Pair { a: u32, b: f32 }\nstruct Params { n: u32, more: vec4<f32> }\n");
    let params = ["var<uniform> params: Params;", "var<uniform> params: u32;"];
    if random.below(2) == 0 {
        let group = *random.pick(&[0, 0, 0, 0, 1]);
        let declared = random.pick(&params);
        text.push_str(&format!("@group({group}) @binding(0) {declared}\n"));
    }
    let mut body = String::new();
    for uniform in 0..random.below(8) / 6 * random.below(12) {
        let (group, kind) = (random.below(4), random.pick(&types[1..4]));
        text.push_str(&format!(
            "@group({group}) @binding({}) var<uniform> u{uniform}: {kind};\n",
            200 + uniform
        ));
        body.push_str(&format!("_ = &u{uniform};\n"));
    }
    for binding in 0..random.below(5) {
        let number = match random.below(12) {
            0 => random.below(3),
            1 => 100,
            _ => binding + 1,
        };
        let kind = *random.pick(&types);
        let writes = kind.starts_with("atomic") || random.below(2) == 0;
        let access = if writes {
            "storage, read_write"
        } else {
            "storage"
        };
        let many = *random.pick(&["array<KIND>", "array<KIND>", "array<KIND, 3>", "KIND"]);
        let kind = many.replace("KIND", kind);
        let group = if random.below(24) == 0 { 2 } else { 0 };
        text.push_str(&format!(
            "@group({group}) @binding({number}) var<{access}> x{binding}: {kind};\n"
        ));
        if many == "array<KIND>" {
            body.push_str(&format!("n += arrayLength(&x{binding});\n"));
        }
        if kind == "array<u32>" && writes {
            body.push_str(&format!("x{binding}[id.x] = n;\n"));
        } else {
            body.push_str(&format!("_ = &x{binding};\n"));
        }
    }
    let size = *random.pick(&["1", "64", "64", "WG", "WG", "WG, 2", "8, 8, 4", "2000", "0"]);
    let must = *random.pick(&["", " = 3", " = 3", " = 3", " = 3"]);
    text.push_str(&format!(
        "override WG: u32 = 8;\noverride MUST: u32{must};\nvar<workgroup> tile: array<u32, 16>;\n"
    ));
    let uses = *random.pick(&[
        "",
        "",
        "n += MUST;",
        "tile[n % 16u] = n; workgroupBarrier();",
        "n /= WG;",
    ]);
    for entry in 0..*random.pick(&[0, 1, 1, 1, 1, 2]) {
        let name = ["main", "other"][entry];
        text.push_str(&format!(
            "@compute @workgroup_size({size}) fn {name}(@builtin(global_invocation_id) id: vec3<u32>) {{\nvar n = 0u;\n{uses}\n{body}}}\n"
        ));
    }
    if random.below(6) == 0 {
        let mut bytes = text.into_bytes();
        let at = random.below(bytes.len());
        bytes[at] = b" ;{}()<>@:0x\n"[random.below(13)];
        text = String::from_utf8(bytes).unwrap();
    }
    text
}

fn descriptor(random: &mut Random) -> KernelDescriptor {
    let name = *random.pick(&["any", "", "n\u{e9}w\nline"]);
    let mut descriptor = KernelDescriptor::new(ShaderSource::wgsl(name, text(random)));
    if random.below(6) == 0 {
        descriptor = descriptor.entry(*random.pick(&["main", "other", "none", ""]));
    }
    for _ in 0..random.below(6) / 4 {
        let name = *random.pick(&["WG", "MUST", "MUST", "NONE", "0", ""]);
        let values = [
            1.0,
            8.0,
            16.0,
            0.0,
            -1.0,
            0.5,
            1e10,
            f64::NAN,
            f64::INFINITY,
            -0.0,
            4097.0,
        ];
        descriptor = descriptor.constant(name, *random.pick(&values));
    }
    descriptor
        .zero_workgroup_memory(random.below(2) == 0)
        .ordered_loads(random.below(2) == 0)
}

fn any_number(random: &mut Random) -> u64 {
    match random.below(12) {
        0 => u64::MAX - random.below(3) as u64,
        1 => 1 << random.below(64),
        _ => random.below(70) as u64,
    }
}

fn grid(random: &mut Random) -> Grid {
    let count = |random: &mut Random| any_number(random).min(u64::from(u32::MAX)) as u32;
    let (len, per) = (any_number(random), count(random));
    match random.below(3) {
        0 => Grid::elements(len, per),
        // Work that really runs must end soon.
        1 => Grid::stride(len, per),
        _ if random.below(2) == 0 => Grid::Workgroups([1, 1, 1]),
        _ => Grid::Workgroups([count(random), count(random), 1 + random.below(2) as u32]),
    }
}

/// Workgroups that would take too long on one core.
fn is_long(kernel: &Kernel, grid: Grid, limit: u32) -> bool {
    let planned = grid.plan(kernel.workgroup_size(), limit);
    let groups = |counts: [u32; 3]| counts.into_iter().map(u64::from).product::<u64>();
    planned
        .ok()
        .flatten()
        .is_some_and(|counts| groups(counts) > 4096)
}

/// A kernel of any text, dispatched with anything.
fn anything(pipelines: &Pipelines, foreign: &Buffer, random: &mut Random) -> bool {
    let kernel = match pipelines.kernel(&descriptor(random)) {
        Ok(kernel) => kernel,
        Err(error) => {
            assert!(!matches!(error, PipelineError::Internal { .. }), "{error}");
            short("kernel", &error);
            return false;
        }
    };
    let reflection = kernel.reflection();
    let wanted = match random.below(8) {
        0 => random.below(6),
        _ => reflection.bindings.len(),
    };
    let sizes = [0, 4, 12, 64, 100, 256, 256, 4096, 4096];
    let buffers: Vec<Buffer> = (0..wanted)
        .map(|_| pipelines.memory().alloc(*random.pick(&sizes)).unwrap())
        .collect();
    let mut args = Vec::with_capacity(wanted);
    for at in 0..wanted {
        let buffer = match random.below(20) {
            0 => foreign,
            1 => random.pick(&buffers),
            _ => &buffers[at],
        };
        let declared = reflection.bindings.get(at);
        let writes = match random.below(12) {
            0 => random.below(2) == 0,
            _ => declared.is_some_and(|b| b.access == ziggurat_pipeline::Access::ReadWrite),
        };
        let mut arg = if writes {
            Arg::write(buffer)
        } else {
            Arg::read(buffer)
        };
        if random.below(8) == 0 {
            arg = arg.range(any_number(random), any_number(random));
        }
        if random.below(8) == 0 {
            arg = arg.element(*random.pick(&DType::ALL));
        }
        args.push(arg);
    }
    let zeros = [0; 64];
    let is_several = reflection.uniforms.len() > 1;
    for uniform in &reflection.uniforms {
        let given = match random.below(40) {
            0 => random.below(64),
            _ => uniform.bytes as usize,
        };
        if is_several && random.below(40) > 0 {
            let arg = Arg::uniform(&zeros[..given]);
            args.push(match (uniform.space, random.below(2)) {
                (ParamSpace::Uniform { group, binding }, 0) => arg.at(group, binding),
                _ => arg,
            });
        }
    }
    if random.below(60) == 0 {
        let last = args.pop().into_iter();
        args.extend(last.map(|arg| arg.at(random.below(3) as u32, random.below(3) as u32)));
    }
    let bytes = match random.below(8) {
        0 => random.below(64),
        _ => reflection.params_bytes() as usize,
    };
    let grid = grid(random);
    if is_long(&kernel, grid, pipelines.caps().max_workgroups) {
        return false;
    }
    let before = pipelines.device().queue_stats().dispatches;
    match pipelines.dispatch(&kernel, &args, &vec![1; bytes], grid) {
        Ok(()) => true,
        Err(error) => {
            assert!(!matches!(error, PipelineError::Internal { .. }), "{error}");
            short("dispatch", &error);
            assert_eq!(
                pipelines.device().queue_stats().dispatches,
                before,
                "{error}"
            );
            false
        }
    }
}

#[test]
fn any_call_gives_results_or_a_typed_error() {
    /// Calls on one device.
    const AT_ONCE: u64 = 64;
    let mut campaign = Campaign::new(700);
    let mut pipelines = open(&mut Random::new(1));
    let other = open(&mut Random::new(2));
    let foreign = other.memory().upload(&[0; 64]).unwrap();
    let mut ran = 0;
    while let Some(seed) = campaign.next() {
        let mut random = Random::new(seed);
        if seed.is_multiple_of(AT_ONCE) {
            pipelines = open(&mut random);
        }
        if random.below(4) == 0 {
            campaign.note(seed, "count");
            count(&pipelines, &mut random);
        } else {
            campaign.note(seed, "anything");
            ran += u64::from(anything(&pipelines, &foreign, &mut random));
        }
        if random.below(8) == 0 {
            pipelines.device().synchronize().wait().unwrap();
        }
    }
    pipelines.device().synchronize().wait().unwrap();
    println!("{} calls, {ran} of any kernels ran", campaign.done());
    assert!(!campaign.is_usual() || ran > 40, "{ran}");
}

fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len() + 1);
        // Headers are at the beginning.
        let at = if random.below(2) == 0 {
            at.min(random.below(64))
        } else {
            at
        };
        match random.below(5) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            2 if at + 8 <= bytes.len() => {
                bytes[at..at + 8].copy_from_slice(&any_number(random).to_le_bytes());
            }
            3 => {
                let end = (at + random.below(40)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => bytes.insert(at, b" 9tkx\n"[random.below(6)]),
        }
    }
}

/// The one file of a cache folder, if the device has a cache.
fn cache_file(folder: &Path) -> Option<std::path::PathBuf> {
    let files = fs::read_dir(folder).ok()?;
    let files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    assert!(files.len() < 2, "{files:?}");
    files.into_iter().next()
}

#[test]
fn any_cache_file_and_trace_is_used_or_refused() {
    let folder = std::env::temp_dir().join(format!("ziggurat-any-cache-{}", std::process::id()));
    let options = DeviceOptions {
        pipeline_cache_dir: Some(folder.clone()),
        ..DeviceOptions::default()
    };
    let device = Device::open_blocking(options).unwrap();
    let memory = Memory::new(&device, MemoryOptions::default());
    let descriptor = KernelDescriptor::new(ShaderSource::wgsl(
        "twice",
        "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) { x[i] *= 2u; }",
    ));
    let first = Pipelines::new(&memory);
    first.kernel(&descriptor).unwrap();
    let is_cached = first.save_cache().unwrap().is_some();
    assert_eq!(is_cached, device.caps().pipeline_cache);
    let whole = cache_file(&folder).map(|path| (fs::read(&path).unwrap(), path));
    let trace = first.trace().to_text();
    assert_eq!(
        Trace::from_text(&trace).unwrap().kernels(),
        std::slice::from_ref(&descriptor)
    );
    let mut campaign = Campaign::new(400);
    while let Some(seed) = campaign.next() {
        let mut random = Random::new(seed);
        let mut damaged = trace.clone().into_bytes();
        campaign.note(seed, "trace");
        damage(&mut damaged, &mut random);
        match Trace::from_text(&String::from_utf8_lossy(&damaged)) {
            // What was read is written and read again.
            Ok(read) => assert_eq!(
                Trace::from_text(&read.to_text()).unwrap().kernels(),
                read.kernels()
            ),
            Err(error) => {
                assert!(matches!(error, TraceError::Format { .. }), "{error}");
                short("trace", &error);
            }
        }
        let Some((good, path)) = &whole else { continue };
        campaign.note(seed, "cache file");
        let mut damaged = good.clone();
        damage(&mut damaged, &mut random);
        fs::write(path, &damaged).unwrap();
        let pipelines = Pipelines::new(&memory);
        let stats = pipelines.stats();
        assert_eq!(stats.disk_rejected, damaged != *good, "seed {seed}");
        assert_eq!(stats.disk_loaded_bytes > 0, damaged == *good, "seed {seed}");
        let kernel = pipelines.kernel(&descriptor).unwrap();
        let out = memory
            .upload(bytemuck::cast_slice(&[1u32, 2, 3, 4]))
            .unwrap();
        let grid = Grid::Workgroups([1, 1, 1]);
        pipelines
            .dispatch(&kernel, &[Arg::write(&out)], &[], grid)
            .unwrap();
        assert_eq!(words(&pipelines, &out), [2, 4, 6, 8]);
        pipelines.save_cache().unwrap();
        assert!(
            !Pipelines::new(&memory).stats().disk_rejected,
            "seed {seed}: it was not replaced"
        );
    }
    println!("{} files", campaign.done());
    drop(first);
    let _ = fs::remove_dir_all(folder);
}
