//! Every kind of finding: a kernel that has it, and its neighbour that does not.
//!
//! The lines of `sanitizer/*.wgsl` that end in `// FINDS kind` are those, and all those, that the
//! sanitizer must report; other comments at the top say how the kernel is run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use wgpu::BufferUsages;
use ziggurat_software::{
    Checks, Finding, Kind, Opened, Profile, Report, assert_clean, mark_own, mark_undefined,
    name_lines, sanitize, sanitize_with,
};

const BYTES: u64 = 1024;

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/sanitizer");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

fn source(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/sanitizer");
    std::fs::read_to_string(folder.join(format!("{name}.wgsl"))).unwrap()
}

/// Runs a kernel as its comments ask.
fn run(Opened { device, queue, .. }: &Opened, name: &str, source: &str) {
    let says = |word: &str| {
        let mut head = source.lines().take_while(|line| line.starts_with("//"));
        head.any(|line| line.trim_start_matches("// ").starts_with(word))
    };
    let usage = BufferUsages::STORAGE
        | BufferUsages::UNIFORM
        | BufferUsages::COPY_SRC
        | BufferUsages::COPY_DST;
    let buffer = |first: u32| {
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: BYTES,
            usage,
            mapped_at_creation: false,
        });
        let words: Vec<u8> = (0..BYTES as u32 / 4)
            .flat_map(|i| (first * i).to_le_bytes())
            .collect();
        queue.write_buffer(&buffer, 0, &words);
        buffer
    };
    let buffers = [buffer(1), buffer(0)];
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(name),
        source: wgpu::ShaderSource::Wgsl(source.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(name),
        layout: None,
        module: &module,
        entry_point: None,
        compilation_options: wgpu::PipelineCompilationOptions {
            zero_initialize_workgroup_memory: !says("unzeroed"),
            ..wgpu::PipelineCompilationOptions::default()
        },
        cache: None,
    });
    let entries: Vec<_> = [0, 1]
        .into_iter()
        .filter(|binding| source.contains(&format!("@binding({binding})")))
        .map(|binding| {
            let buffer = if says("aliased") { 0 } else { binding as usize };
            wgpu::BindGroupEntry {
                binding,
                resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer: &buffers[buffer],
                    offset: 0,
                    size: says("part").then_some(wgpu::BufferSize::new(64).unwrap()),
                }),
            }
        })
        .collect();
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &entries,
    });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    if says("undefined") {
        for buffer in &buffers {
            mark_undefined(&encoder, buffer, 64..128);
        }
    }
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &group, &[]);
    pass.dispatch_workgroups(if says("workgroups: 4") { 4 } else { 1 }, 1, 1);
    drop(pass);
    queue.submit([encoder.finish()]);
}

fn report(name: &str, source: &str) -> Report {
    let mut checks = Checks::default();
    if source.starts_with("// all") {
        checks = Checks::all();
    }
    sanitize_with(Profile::nvidia(), checks, |device: &Opened| {
        run(device, name, source);
    })
    .unwrap()
}

#[test]
fn exactly_the_marked_lines_are_found() {
    let mut kinds = BTreeSet::new();
    let mut failures = Vec::new();
    for path in files() {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let source = std::fs::read_to_string(&path).unwrap();
        let wanted: BTreeSet<(u32, Kind)> = (1..)
            .zip(source.lines())
            .filter_map(|(line, text)| {
                let (_, kind) = text.split_once("// FINDS ")?;
                Some((line, kind.parse().unwrap()))
            })
            .collect();
        assert_eq!(wanted.is_empty(), name.ends_with("_not"), "{name}");
        let report = report(&name, &source);
        let found: BTreeSet<_> = report.findings().iter().map(|f| (f.line, f.kind)).collect();
        assert_eq!(report.kernels(), [name.as_str()]);
        if found != wanted {
            failures.push(format!("{name}: wanted {wanted:?}\n{report}"));
        }
        kinds.extend(wanted.iter().map(|(_, kind)| *kind));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let missing: Vec<_> = Kind::ALL
        .into_iter()
        .filter(|kind| !kinds.contains(kind))
        .collect();
    assert!(missing.is_empty(), "no example of {missing:?}");
}

#[test]
fn every_kernel_with_a_finding_has_a_neighbour_without() {
    let names: BTreeSet<String> = files()
        .iter()
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    for name in names.iter().filter(|name| !name.ends_with("_not")) {
        assert!(names.contains(&format!("{name}_not")), "{name}");
    }
}

#[test]
fn a_race_names_both_sides_their_values_and_lines() {
    let text = report("swap", &source("race_after_read")).to_string();
    let wanted = "\
race: kernel swap, swap:9: no barrier for this memory lies between
    tile[i] = left; // FINDS race
    workgroup [0, 0, 0] invocation [0, 0, 0] writes byte 0 of tile = 63
    workgroup [0, 0, 0] invocation [1, 0, 0] read 0 at swap:8: let left = tile[(i + 63u) % 64u];
    seen 64 times
1 findings in 1 kernels
";
    assert_eq!(text, wanted);
}

/// Numbers are not shown together with their neighbour in the word, nor as what memory held before.
#[test]
fn a_race_on_16_bits_shows_numbers_of_16_bits() {
    for (name, line, code, [now, before]) in [
        ("race_half", 9, "out[i / 2u] = f16(i);", ["3.0", "2.0"]),
        (
            "race_int16",
            9,
            "out[i / 2u] = i16(i) - i16(70);",
            ["-67", "-68"],
        ),
    ] {
        // Only the second element, whose bits are the upper ones of the first word.
        let source = source(name).replace(
            "    out[i / 2u]",
            "    if i / 2u != 1u { return; } out[i / 2u]",
        );
        let text = report(name, &source).to_string();
        let code = format!("if i / 2u != 1u {{ return; }} {code} // FINDS race");
        let wanted = format!(
            "\
race: kernel {name}, {name}:{line}: no barrier for this memory lies between
    {code}
    workgroup [0, 0, 0] invocation [3, 0, 0] writes byte 2 of out = {now}
    workgroup [0, 0, 0] invocation [2, 0, 0] wrote {before}
    seen once
1 findings in 1 kernels
"
        );
        assert_eq!(text, wanted);
    }
}

/// Runs a module after `prepare`.
fn run_module(device: &Opened, source: &str, prepare: impl Fn(&wgpu::ShaderModule)) {
    let module = device
        .device
        .create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(source.into()),
        });
    prepare(&module);
    let buffer = device.device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: BYTES,
        usage: BufferUsages::STORAGE,
        mapped_at_creation: false,
    });
    let pipeline = device
        .device
        .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("joined"),
            layout: None,
            module: &module,
            entry_point: None,
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
    let group = device.device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[wgpu::BindGroupEntry {
            binding: 0,
            resource: buffer.as_entire_binding(),
        }],
    });
    let mut encoder = device
        .device
        .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &group, &[]);
    pass.dispatch_workgroups(1, 1, 1);
    drop(pass);
    device.queue.submit([encoder.finish()]);
}

#[test]
fn lines_are_those_of_the_parts_of_a_module() {
    let source = source("shift");
    let report = sanitize(|device: &Opened| {
        run_module(device, &source, |module| {
            name_lines(module, [("top.wgsl", 4), ("bottom.wgsl", 3)].into_iter());
        });
    })
    .unwrap();
    let places: Vec<_> = report
        .findings()
        .iter()
        .map(|f| (f.file.as_str(), f.line, f.count))
        .collect();
    assert_eq!(places, [("bottom.wgsl", 1, 32)]);
}

/// A program cannot mend what is wrong in a kernel of the library.
#[test]
fn what_is_found_in_own_kernels_is_internal() {
    let source = source("shift");
    assert_clean(|device: &Opened| run_module(device, &source, mark_own));
    let report = sanitize(|device: &Opened| {
        run_module(device, &source, mark_own);
        run_module(device, &source, |_| ());
    })
    .unwrap();
    let lines = |findings: &[Finding]| findings.iter().map(|f| f.line).collect::<Vec<_>>();
    assert_eq!(lines(report.internal()), lines(report.findings()));
    assert_eq!(report.internal().len(), 1);
}

#[test]
fn a_report_is_the_same_every_time() {
    for name in ["race_workgroup", "race_between_workgroups", "bounds_local"] {
        let source = source(name);
        let first = report(name, &source).to_string();
        assert_eq!(report(name, &source).to_string(), first);
    }
}

#[test]
fn checks_can_be_switched_off() {
    for name in [
        "race_workgroup",
        "bounds_buffer",
        "shift",
        "aliasing",
        "divergence",
    ] {
        let source = source(name);
        let report = sanitize_with(Profile::nvidia(), Checks::none(), |device: &Opened| {
            run(device, name, &source);
        });
        assert!(report.unwrap().is_clean(), "{name}");
    }
}

#[test]
fn the_test_helper_passes_clean_kernels() {
    let source = source("race_workgroup_not");
    assert_clean(|device: &Opened| run(device, "clean", &source));
}

#[test]
#[should_panic(expected = "race: kernel dirty")]
fn the_test_helper_fails_with_the_report() {
    let source = source("race_workgroup");
    assert_clean(|device: &Opened| run(device, "dirty", &source));
}

#[test]
#[should_panic(expected = "no kernel run")]
fn the_test_helper_fails_where_nothing_ran() {
    assert_clean(|_: &Opened| {});
}
