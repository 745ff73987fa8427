//! What shaders say through `debug_print(value);`, kept on the device until it is asked for.

use ziggurat_core::debug_print::{DebugPrint, DebugPrints};

use super::device::Device;
use super::pipeline::PipelineData;
use super::state::State;

/// Prints that a device keeps; more are only counted.
const MOST: usize = 1 << 20;

/// What shaders printed on a software device since the last call. `None` if it is another device.
///
/// ```
/// use ziggurat_software::{Profile, open, take_debug_prints};
///
/// let (_, device, queue) = open(Profile::webgpu_default())?;
/// let text = "@compute @workgroup_size(2)
///     fn main(@builtin(local_invocation_index) i: u32) { debug_print(f32(i) / 2.0); }";
/// let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
///     label: None,
///     source: wgpu::ShaderSource::Wgsl(text.into()),
/// });
/// let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
///     label: Some("halves"),
///     layout: None,
///     module: &module,
///     entry_point: None,
///     compilation_options: Default::default(),
///     cache: None,
/// });
/// let mut encoder = device.create_command_encoder(&Default::default());
/// let mut pass = encoder.begin_compute_pass(&Default::default());
/// pass.set_pipeline(&pipeline);
/// pass.dispatch_workgroups(1, 1, 1);
/// drop(pass);
/// queue.submit([encoder.finish()]);
///
/// let printed = take_debug_prints(&device).unwrap_or_default().prints;
/// let second = "halves:2: workgroup (0, 0, 0), invocation (1, 0, 0): 0.5";
/// assert_eq!(printed[1].to_string(), second);
/// # Ok::<(), ziggurat_software::OpenError>(())
/// ```
#[must_use]
pub fn take_debug_prints(device: &wgpu::Device) -> Option<DebugPrints> {
    let device = device.as_custom::<Device>()?;
    Some(std::mem::take(&mut *device.state().prints.lock()))
}

impl State {
    /// Takes over what a program has printed.
    pub(super) fn collect_prints(&self, pipeline: &PipelineData) {
        let (lines, dropped) = pipeline.program.take_printed();
        if lines.is_empty() {
            return;
        }
        let kernel = &pipeline.label;
        let text = pipeline.text();
        let mut kept = self.prints.lock();
        kept.dropped = kept.dropped.saturating_add(dropped);
        for line in lines {
            let (file, number) = text.place(line.line);
            let Some(statement) = pipeline.module.statements.get(line.statement) else {
                continue;
            };
            let mut values = line.values;
            // One without values has a variable all the same.
            values.truncate(statement.values.len());
            let print = DebugPrint {
                kind: statement.kind,
                kernel: kernel.clone(),
                file: file.to_owned(),
                line: number,
                workgroup: line.workgroup,
                invocation: line.invocation,
                label: statement.label.clone(),
                values,
            };
            if self.profile.echo_prints {
                eprintln!("{print}");
            }
            if kept.prints.len() < MOST {
                kept.prints.push(print);
            } else {
                kept.dropped = kept.dropped.saturating_add(1);
            }
        }
    }
}
