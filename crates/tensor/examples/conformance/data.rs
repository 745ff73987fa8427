//! Input data: stored tensors, generated tensors, views of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use safetensors::SafeTensors;
use ziggurat_tensor::{AxisRange, Device, Element, Tensor};

use super::Trouble;
use super::case::{Case, Dtype, Generator, Input, ViewStep};

/// dtype, shape and little-endian bytes by name.
type Stored = BTreeMap<String, (safetensors::Dtype, Vec<usize>, Vec<u8>)>;

/// The tensor files of a folder; the one used last is kept.
#[derive(Debug)]
pub(crate) struct Files {
    folder: PathBuf,
    current: Option<(String, Stored)>,
}

impl Files {
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
            current: None,
        }
    }

    /// The bytes of one stored tensor, which must have this dtype and shape.
    pub(crate) fn tensor(
        &mut self,
        file: &str,
        name: &str,
        dtype: Dtype,
        shape: &[usize],
    ) -> Result<Vec<u8>, Trouble> {
        if self
            .current
            .as_ref()
            .is_none_or(|(current, _)| current != file)
        {
            self.current = Some((file.to_owned(), self.read(file)?));
        }
        let tensors = self.current.as_ref().map(|(_, tensors)| tensors);
        let (stored, dims, bytes) = tensors
            .and_then(|tensors| tensors.get(name))
            .ok_or_else(|| Trouble::Vectors(format!("{file} has no tensor {name}")))?;
        if *stored != name_in_file(dtype) || dims != shape {
            return Err(Trouble::Vectors(format!(
                "{name} in {file} is {stored:?} {dims:?}, not {dtype:?} {shape:?}"
            )));
        }
        Ok(bytes.clone())
    }

    /// Takes the bytes of a file that somebody else has read, in place of the file.
    #[cfg(target_arch = "wasm32")]
    pub(crate) fn put(&mut self, file: &str, bytes: &[u8]) -> Result<(), Trouble> {
        self.current = Some((file.to_owned(), parsed(file, bytes)?));
        Ok(())
    }

    fn read(&self, file: &str) -> Result<Stored, Trouble> {
        let path = self.folder.join(file);
        let name = path.display().to_string();
        let bytes =
            fs::read(&path).map_err(|error| Trouble::Vectors(format!("{name}: {error}")))?;
        parsed(&name, &bytes)
    }
}

/// The tensors of a file.
fn parsed(file: &str, bytes: &[u8]) -> Result<Stored, Trouble> {
    let parsed = SafeTensors::deserialize(bytes)
        .map_err(|error| Trouble::Vectors(format!("{file}: {error}")))?;
    let owned = parsed.iter().map(|(name, view)| {
        (
            name.to_owned(),
            (view.dtype(), view.shape().to_vec(), view.data().to_vec()),
        )
    });
    Ok(owned.collect())
}

fn name_in_file(dtype: Dtype) -> safetensors::Dtype {
    match dtype {
        Dtype::F32 => safetensors::Dtype::F32,
        Dtype::F16 => safetensors::Dtype::F16,
        Dtype::I32 => safetensors::Dtype::I32,
        Dtype::U32 => safetensors::Dtype::U32,
        Dtype::Bool => safetensors::Dtype::BOOL,
        Dtype::U8 => safetensors::Dtype::U8,
        Dtype::I8 => safetensors::Dtype::I8,
    }
}

/// One operand as the op is to see it.
pub(crate) fn input(
    device: &Device,
    files: &mut Files,
    case: &Case,
    input: &Input,
) -> Result<Tensor, Trouble> {
    let bytes = match (&input.tensor, &input.generated) {
        (Some(name), None) => files.tensor(&case.file, name, input.dtype, &input.shape)?,
        (None, Some(generator)) => generate(generator, input)?,
        _ => {
            return Err(Trouble::Vectors(format!(
                "input {} needs a tensor or a generator",
                input.name
            )));
        }
    };
    let mut tensor = Tensor::from_bytes(device, &bytes, &input.shape, input.dtype.stored())?;
    for step in &input.view {
        tensor = apply(&tensor, step)?;
    }
    let seen = input.view_shape.as_ref().unwrap_or(&input.shape);
    if tensor.dims() != seen.as_slice() {
        return Err(Trouble::Wrong(format!(
            "the view of {} is {}, not {seen:?}",
            input.name,
            tensor.shape()
        )));
    }
    Ok(tensor)
}

fn apply(tensor: &Tensor, step: &ViewStep) -> Result<Tensor, Trouble> {
    Ok(match step {
        ViewStep::Permute { perm } => tensor.permute(perm)?,
        ViewStep::Expand { shape } => tensor.broadcast_to(shape)?,
        ViewStep::Slice {
            starts,
            steps,
            sizes,
        } => slice(tensor, starts, steps, sizes)?,
    })
}

/// `out[i] = x[start + i · step]` along every axis.
pub(crate) fn slice(
    tensor: &Tensor,
    starts: &[usize],
    steps: &[isize],
    sizes: &[usize],
) -> Result<Tensor, Trouble> {
    let mut tensor = tensor.clone();
    for (axis, ((&start, &step), &size)) in starts.iter().zip(steps).zip(sizes).enumerate() {
        let axis = axis as isize;
        tensor = if size == 0 {
            tensor.narrow(axis, 0, 0)?
        } else {
            let start = start as isize;
            let last = start + (size as isize - 1) * step;
            // One past the last element; before the first element an end is open.
            let end = Some(last + step.signum()).filter(|&end| end >= 0);
            let range = AxisRange {
                start: Some(start),
                end,
            };
            tensor.slice_step(axis, range, step)?
        };
    }
    Ok(tensor)
}

fn generate(generator: &Generator, input: &Input) -> Result<Vec<u8>, Trouble> {
    let len: usize = input.shape.iter().product();
    match (generator, input.dtype) {
        (&Generator::HashF32 { seed, scale }, Dtype::F32) => {
            let value = |i| ((hash(i, seed) >> 8) as f32 * 2.0f32.powi(-24) - 0.5) * scale;
            Ok(f32::write_bytes(&(0..len).map(value).collect::<Vec<f32>>()).into_owned())
        }
        (
            &Generator::HashI32 {
                seed,
                modulo,
                offset,
            },
            Dtype::I32,
        ) if modulo > 0 => {
            let value = |i| ((hash(i, seed) % modulo) as i32).wrapping_add(offset);
            Ok(i32::write_bytes(&(0..len).map(value).collect::<Vec<i32>>()).into_owned())
        }
        _ => Err(Trouble::Vectors(format!(
            "generator {generator:?} for {:?}",
            input.dtype
        ))),
    }
}

/// The hash of position `i`, all in wrapping u32.
fn hash(i: usize, seed: u32) -> u32 {
    let mut h = (i as u32)
        .wrapping_mul(2_654_435_761)
        .wrapping_add(seed.wrapping_mul(0x9E37_79B9));
    h ^= h >> 16;
    h = h.wrapping_mul(0x85EB_CA6B);
    h ^= h >> 13;
    h = h.wrapping_mul(0xC2B2_AE35);
    h ^ (h >> 16)
}
