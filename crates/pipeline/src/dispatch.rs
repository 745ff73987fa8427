//! All checks of a dispatch before it is recorded, once its arguments are [arranged](crate::arguments).
//!
//! wgpu would find most of these mistakes too, but late, on another thread's error handler, and without the name of
//! the binding. Here each is an error value that names kernel, binding and WGSL line, raised before anything is
//! recorded, and the device stays usable.

use std::sync::Arc;

use ziggurat_device::{Caps, Work};
use ziggurat_memory::{Buffer, Memory};

use crate::arguments::{Arg, BufferArg, resources};
use crate::bind::{Entries, Entry};
use crate::error::{ArgumentError, PipelineError};
use crate::grid::Grid;
use crate::kernel::Kernel;
use crate::place::Place;
use crate::reflect::{Access, Binding, Params, Reflection};
use crate::stated;

/// Marks of the memory that a kernel reads are marks of what it writes: of each buffer whether it is written.
pub(crate) fn carry_marks<'a>(buffers: impl Iterator<Item = (&'a Buffer, bool)> + Clone) {
    let marks: Vec<_> = buffers
        .clone()
        .flat_map(|(buffer, _)| buffer.marks())
        .collect();
    if marks.is_empty() {
        return;
    }
    for (buffer, _) in buffers.filter(|(_, writes)| *writes) {
        marks.iter().for_each(|mark| buffer.mark(mark));
    }
}

/// What a dispatch that this thread records does; what is changed in place counts as written.
pub(crate) fn work(reflection: &Reflection, args: &[Arg<'_>]) -> Work {
    let [read, written] = resources::bytes(reflection, args);
    let mut work = Work {
        read,
        written,
        operations: stated::operations(),
    };
    for arg in buffers(args) {
        match arg.access {
            Access::Read => work.read += arg.touched(),
            Access::ReadWrite => work.written += arg.touched(),
        }
    }
    work
}

/// The buffers among arguments.
pub(crate) fn buffers<'a, 'b>(
    args: &'b [Arg<'a>],
) -> impl Iterator<Item = &'b BufferArg<'a>> + Clone {
    args.iter().filter_map(Arg::as_buffer)
}

/// What can be said without looking at sizes: checked even if there is no work.
pub(crate) fn check_kinds(
    kernel: &Kernel,
    memory: &Memory,
    args: &[Arg<'_>],
    params: &[u8],
) -> Result<(), PipelineError> {
    let reflection = kernel.reflection();
    let bindings = &reflection.bindings;
    if bindings.len() + reflection.resources().len() != args.len() {
        return Err(binding_count(reflection, args.len(), args.len()));
    }
    if !reflection.resources().is_empty() {
        resources::check(reflection, memory, args)?;
    }
    for (binding, arg) in bindings.iter().zip(buffers(args)) {
        if !memory.owns(arg.buffer) {
            return Err(PipelineError::Argument(ArgumentError::ForeignBuffer {
                kernel: reflection.kernel.clone(),
                place: Arc::clone(&binding.place),
                binding: binding.binding,
                name: binding.name.clone(),
            }));
        }
        if binding.access != arg.access {
            return Err(PipelineError::Argument(ArgumentError::BindingAccess {
                kernel: reflection.kernel.clone(),
                place: Arc::clone(&binding.place),
                binding: binding.binding,
                name: binding.name.clone(),
                expected: binding.access,
                got: arg.access,
            }));
        }
        if let Some(got) = arg.element
            && !binding.scalar.holds(got)
        {
            return Err(PipelineError::Argument(ArgumentError::BindingType {
                kernel: reflection.kernel.clone(),
                place: Arc::clone(&binding.place),
                binding: binding.binding,
                name: binding.name.clone(),
                expected: binding.scalar,
                got,
            }));
        }
    }
    if kernel.param_bytes().len() != params.len() {
        return Err(params_size(
            reflection,
            reflection.params.as_ref(),
            params.len(),
        ));
    }
    Ok(())
}

/// The error of so many buffers, of which that of the variable `missing` is not there.
pub(crate) fn binding_count(reflection: &Reflection, got: usize, missing: usize) -> PipelineError {
    let declared = |b: &Binding| format!("`{}` ({})", b.name, b.place);
    let places = reflection.bindings.iter().map(|b| &b.place);
    PipelineError::Argument(ArgumentError::BindingCount {
        kernel: reflection.kernel.clone(),
        place: place_of_missing(reflection, places, missing),
        expected: reflection.bindings.len(),
        got,
        declared: reflection.bindings.iter().map(declared).collect(),
    })
}

/// The place of the variable of that number, else of the last, else of the entry point.
pub(crate) fn place_of_missing<'a>(
    reflection: &'a Reflection,
    places: impl Iterator<Item = &'a Arc<Place>>,
    missing: usize,
) -> Arc<Place> {
    let place = places.take(missing.saturating_add(1)).last();
    Arc::clone(place.unwrap_or(&reflection.place))
}

/// The error of so many bytes for what is declared, or for nothing.
pub(crate) fn params_size(
    reflection: &Reflection,
    declared: Option<&Params>,
    got: usize,
) -> PipelineError {
    PipelineError::Argument(ArgumentError::ParamsSize {
        kernel: reflection.kernel.clone(),
        place: Arc::clone(declared.map_or(&reflection.place, |p| &p.place)),
        name: declared.map_or_else(|| "(none declared)".to_owned(), |p| p.name.clone()),
        expected: declared.map_or(0, |p| p.bytes),
        got,
    })
}

/// A grid that was planned from a number of elements may have several rows only if the entry point can tell them apart.
pub(crate) fn check_fold(
    reflection: &Reflection,
    grid: Grid,
    workgroups: [u32; 3],
    limit: u32,
) -> Result<(), PipelineError> {
    let planned = matches!(grid, Grid::Elements { .. });
    if !planned || reflection.grid_inputs.can_index(workgroups) {
        return Ok(());
    }
    Err(PipelineError::GridNotFolded {
        kernel: reflection.kernel.clone(),
        place: Arc::clone(&reflection.place),
        workgroups,
        limit,
    })
}

/// Adds the ranges to bind, each legal by itself and none in conflict with another.
pub(crate) fn check_ranges<'a>(
    reflection: &Reflection,
    args: &[Arg<'a>],
    caps: &Caps,
    entries: &mut Entries<'a>,
) -> Result<(), PipelineError> {
    for (binding, arg) in reflection.bindings.iter().zip(buffers(args)) {
        let (offset, bytes) = arg.span();
        check_range(&reflection.kernel, binding, arg.buffer, offset, bytes, caps)?;
        entries.push(Entry {
            group: binding.group,
            binding: binding.binding,
            buffer: arg.buffer.wgpu(),
            id: arg.buffer.id(),
            offset,
            bytes,
        });
    }
    if !reflection.resources().is_empty() {
        resources::check_aliases(reflection, args)?;
        entries.resources = resources::entries(reflection, args);
    }
    check_aliases(reflection, args)
}

fn check_range(
    kernel: &str,
    declared: &Binding,
    buffer: &Buffer,
    offset: u64,
    bytes: u64,
    caps: &Caps,
) -> Result<(), PipelineError> {
    let kernel = || kernel.to_owned();
    let place = || Arc::clone(&declared.place);
    let (name, binding) = (|| declared.name.clone(), declared.binding);
    // A placeholder has less than it says.
    let capacity = buffer.capacity().min(buffer.wgpu().size());
    if offset.checked_add(bytes).is_none_or(|end| end > capacity) {
        return Err(PipelineError::Argument(ArgumentError::RangeOutOfBounds {
            kernel: kernel(),
            place: place(),
            binding,
            name: name(),
            offset,
            bytes,
            capacity,
        }));
    }
    let alignment = caps.storage_alignment;
    if !offset.is_multiple_of(u64::from(alignment.max(1))) || !bytes.is_multiple_of(4) {
        return Err(PipelineError::Argument(ArgumentError::MisalignedOffset {
            kernel: kernel(),
            place: place(),
            binding,
            name: name(),
            offset,
            bytes,
            alignment,
        }));
    }
    if bytes > caps.max_binding_bytes {
        return Err(PipelineError::Argument(ArgumentError::BindingTooLarge {
            kernel: kernel(),
            place: place(),
            binding,
            name: name(),
            bytes,
            limit: caps.max_binding_bytes,
        }));
    }
    if bytes < declared.min_bytes {
        return Err(PipelineError::Argument(ArgumentError::BindingTooSmall {
            kernel: kernel(),
            place: place(),
            binding,
            name: name(),
            bytes,
            needed: declared.min_bytes,
        }));
    }
    match declared.stride {
        Some(stride) if !bytes.is_multiple_of(u64::from(stride.max(1))) => {
            Err(PipelineError::Argument(ArgumentError::PartialElement {
                kernel: kernel(),
                place: place(),
                binding,
                name: name(),
                bytes,
                stride,
            }))
        }
        _ => Ok(()),
    }
}

/// One buffer may be bound several times for reading. As soon as one binding writes, every other binding of the
/// buffer is in conflict if it reads (usage is tracked for whole buffers) or if the two ranges overlap.
fn check_aliases(reflection: &Reflection, args: &[Arg<'_>]) -> Result<(), PipelineError> {
    let all = || reflection.bindings.iter().zip(buffers(args));
    for (index, (first, a)) in all().enumerate() {
        for (second, b) in all().skip(index + 1) {
            let writes = [first, second].map(|x| x.access == Access::ReadWrite);
            if !writes.contains(&true) || !a.buffer.same_memory(b.buffer) {
                continue;
            }
            let ((a_at, a_bytes), (b_at, b_bytes)) = (a.span(), b.span());
            let overlap = a_at < b_at + b_bytes && b_at < a_at + a_bytes;
            if overlap || writes.contains(&false) {
                return Err(PipelineError::Argument(ArgumentError::Aliased {
                    kernel: reflection.kernel.clone(),
                    first: first.name.clone(),
                    first_place: Arc::clone(&first.place),
                    second: second.name.clone(),
                    second_place: Arc::clone(&second.place),
                }));
            }
        }
    }
    Ok(())
}
