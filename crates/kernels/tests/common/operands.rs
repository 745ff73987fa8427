//! Operands in every arrangement of memory, outputs between guards, and a comparison that names the worst element.
//!
//! Values are f64, exactly representable in the operand's dtype, and row-major as the op sees them.

#![allow(dead_code, reason = "each test file uses its part")]

use ziggurat_kernels::core::{decode, encode};
use ziggurat_kernels::{DType, Executor, Layout, Shape, View};

/// How an operand lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrangement {
    /// Row-major from the first element.
    Contiguous,
    /// Axes stored in reverse order.
    Transposed,
    /// Every second element of the last axis, from element 1, with margins on the first axis.
    Sliced,
    /// The first axis (of extent > 1) stored once.
    Broadcast,
    /// Every axis stored backwards.
    Flipped,
}

impl Arrangement {
    pub(crate) const ALL: [Self; 5] = [
        Self::Contiguous,
        Self::Transposed,
        Self::Sliced,
        Self::Broadcast,
        Self::Flipped,
    ];
}

/// A view and what it holds.
pub(crate) struct Operand {
    pub(crate) view: View,
    pub(crate) values: Vec<f64>,
}

/// A small deterministic generator (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `n - 1`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// A value that the dtype holds exactly; integers over their whole range.
    pub(crate) fn value(&mut self, dtype: DType) -> f64 {
        let bits = self.bits();
        let raw = match dtype {
            DType::I32 => f64::from(bits as i32),
            DType::U32 => f64::from(bits as u32),
            DType::I8 => f64::from(bits as i8),
            DType::U8 => f64::from(bits as u8),
            DType::Bool => (bits & 1) as f64,
            DType::F32 | DType::F16 | DType::BF16 => (bits >> 40) as f64 / f64::from(1 << 22) - 2.0,
        };
        decode(dtype, &encode(dtype, &[raw]))[0]
    }
}

pub(crate) fn shape(dims: &[usize]) -> Shape {
    Shape::new(dims).unwrap()
}

/// The layout of these extents over memory that it covers.
pub(crate) fn arrange(arrangement: Arrangement, dims: &[usize]) -> Layout {
    let rank = dims.len();
    let contiguous = |dims: &[usize]| Layout::contiguous(shape(dims));
    match arrangement {
        Arrangement::Contiguous => contiguous(dims),
        Arrangement::Transposed => {
            let stored: Vec<usize> = dims.iter().rev().copied().collect();
            let axes: Vec<isize> = (0..rank as isize).rev().collect();
            contiguous(&stored).permute(&axes).unwrap()
        }
        Arrangement::Sliced if rank > 0 => {
            let mut stored = dims.to_vec();
            stored[rank - 1] = stored[rank - 1] * 2 + 1;
            if rank > 1 {
                stored[0] += 2;
            }
            let layout = contiguous(&stored).slice(-1, 1, None, 2).unwrap();
            if rank > 1 {
                layout.narrow(0, 1, dims[0]).unwrap()
            } else {
                layout
            }
        }
        Arrangement::Sliced => contiguous(dims),
        Arrangement::Broadcast => {
            let mut stored = dims.to_vec();
            if let Some(dim) = stored.iter_mut().find(|dim| **dim > 1) {
                *dim = 1;
            }
            contiguous(&stored).expand(shape(dims)).unwrap()
        }
        Arrangement::Flipped => {
            let axes: Vec<isize> = (0..rank as isize).collect();
            contiguous(dims).flip(&axes).unwrap()
        }
    }
}

/// Elements of memory up to the last that the layout shows.
pub(crate) fn len_in_memory(layout: &Layout) -> usize {
    layout.span().map_or(0, |(_, high)| high + 1)
}

/// An operand whose stored elements come from `value`, called in memory order.
pub(crate) fn operand(
    exec: &Executor,
    dtype: DType,
    dims: &[usize],
    arrangement: Arrangement,
    mut value: impl FnMut() -> f64,
) -> Operand {
    let layout = arrange(arrangement, dims);
    assert_eq!(layout.dims(), dims, "{arrangement:?}");
    // Three elements in front, so that nothing starts at an aligned place; poison (NaN, 255) around the span.
    let front = if arrangement == Arrangement::Sliced {
        3
    } else {
        0
    };
    let len = len_in_memory(&layout);
    let mut values: Vec<f64> = (0..len).map(|_| value()).collect();
    let mut seen = vec![false; len];
    layout.offsets().for_each(|at| seen[at] = true);
    let mut stored = vec![f64::NAN; front + len];
    stored[front..].copy_from_slice(&values);
    for (i, slot) in stored.iter_mut().enumerate() {
        if i < front || !seen[i - front] {
            *slot = if dtype.is_float() { f64::NAN } else { 77.0 };
        }
    }
    let bytes = encode(dtype, &stored);
    values = decode(dtype, &bytes)[front..].to_vec();
    let dense = exec
        .upload_bytes(dtype, &bytes, &shape(&[front + len]))
        .unwrap();
    let layout = behind(&layout, front);
    let values = layout.offsets().map(|i| values[i - front]).collect();
    Operand {
        view: dense.with_layout(layout).unwrap(),
        values,
    }
}

/// Random values in an arrangement.
pub(crate) fn random(
    exec: &Executor,
    dtype: DType,
    dims: &[usize],
    arrangement: Arrangement,
    rng: &mut Random,
) -> Operand {
    operand(exec, dtype, dims, arrangement, || rng.value(dtype))
}

/// These values, contiguous.
pub(crate) fn given(exec: &Executor, dtype: DType, dims: &[usize], values: &[f64]) -> Operand {
    let mut next = values.iter().copied();
    operand(exec, dtype, dims, Arrangement::Contiguous, move || {
        next.next().unwrap()
    })
}

/// An output in the middle of bytes that must not change, filled with 0xFF (NaN in every float dtype).
pub(crate) struct Output {
    pub(crate) whole: View,
    pub(crate) view: View,
}

/// Guard elements behind an output.
const BACK: usize = 9;

/// An output of these extents after `front` guard elements: aligned for vec4 if `front` is a multiple of 4.
pub(crate) fn output(exec: &Executor, dtype: DType, dims: &[usize], front: usize) -> Output {
    output_in(exec, dtype, dims, front, Arrangement::Contiguous)
}

/// [`output`] in an arrangement that shows every element once.
pub(crate) fn output_in(
    exec: &Executor,
    dtype: DType,
    dims: &[usize],
    front: usize,
    arrangement: Arrangement,
) -> Output {
    let layout = arrange(arrangement, dims);
    let len = front + len_in_memory(&layout) + BACK;
    let bytes = vec![0xff_u8; len * dtype.bytes()];
    // As bytes: those of a bool that is uploaded must be 0 or 1.
    let raw = exec.upload(&bytes, &shape(&[bytes.len()])).unwrap();
    let whole = View::new(raw.buffer, Layout::contiguous(shape(&[len])), dtype).unwrap();
    let view = whole.with_layout(behind(&layout, front)).unwrap();
    Output { whole, view }
}

/// The layout `front` elements further on.
pub(crate) fn behind(layout: &Layout, front: usize) -> Layout {
    Layout::new(*layout.shape(), layout.strides(), layout.offset() + front).unwrap()
}

impl Output {
    /// The values written, row-major; the guards must be as they were.
    pub(crate) fn read(&self, exec: &Executor) -> Vec<f64> {
        self.values(&exec.download(&self.whole).unwrap().wait().unwrap())
    }

    /// [`Self::read`] from the bytes of the whole.
    pub(crate) fn values(&self, bytes: &[u8]) -> Vec<f64> {
        let dtype = self.view.dtype;
        let mut seen = vec![false; bytes.len() / dtype.bytes()];
        self.view.layout.offsets().for_each(|at| seen[at] = true);
        let untouched = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0xff);
        assert!(
            (bytes.chunks(dtype.bytes()).zip(&seen)).all(|(bytes, &seen)| seen || untouched(bytes)),
            "wrote outside the output {:?}",
            self.view.layout
        );
        let all = decode(dtype, bytes);
        self.view.layout.offsets().map(|at| all[at]).collect()
    }
}

/// Relative rounding of a dtype: the distance from 1 to the next value.
pub(crate) fn epsilon(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => f64::from(f32::EPSILON),
        DType::F16 => 2f64.powi(-10),
        DType::BF16 => 2f64.powi(-7),
        _ => 0.0,
    }
}

/// An expected value and how far the actual one may be from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    pub(crate) value: f64,
    pub(crate) bound: f64,
}

impl Expected {
    /// Exactly this value.
    pub(crate) fn exact(value: f64) -> Self {
        Self { value, bound: 0.0 }
    }

    /// A sum of `len` terms of this magnitude in f32, rounded to `dtype`; 0 where it is a subnormal number.
    pub(crate) fn sum(value: f64, magnitude: f64, len: usize, dtype: DType) -> Self {
        let bound =
            (len as f64 + 2.0) * f64::from(f32::EPSILON) * magnitude + epsilon(dtype) * value.abs();
        Self {
            value,
            bound: bound + f64::from(f32::MIN_POSITIVE),
        }
        .rounded(dtype)
    }

    /// The value as the dtype holds it.
    pub(crate) fn rounded(self, dtype: DType) -> Self {
        Self {
            value: decode(dtype, &encode(dtype, &[self.value]))[0],
            ..self
        }
    }
}

/// The worst element: how many times its bound it is off (infinite where NaN or infinity do not match), and its index.
pub(crate) fn worst(actual: &[f64], expected: &[Expected]) -> Option<(f64, usize)> {
    let mut worst: Option<(f64, usize)> = None;
    for (i, (&a, e)) in actual.iter().zip(expected).enumerate() {
        let equal = a == e.value || (a.is_nan() && e.value.is_nan());
        let off = if equal {
            0.0
        } else if a.is_finite() && e.value.is_finite() && e.bound > 0.0 {
            (a - e.value).abs() / e.bound
        } else {
            f64::INFINITY
        };
        if worst.is_none_or(|(most, _)| off > most) {
            worst = Some((off, i));
        }
    }
    worst
}

/// Fails with the worst element if any is further from its expected value than it may be.
pub(crate) fn check(what: &str, actual: &[f64], expected: &[Expected]) {
    assert_eq!(actual.len(), expected.len(), "{what}: element count");
    if let Some((off, i)) = worst(actual, expected) {
        assert!(
            off <= 1.0,
            "{what}: worst element {i}: got {}, expected {:?} ({off} times the bound)",
            actual[i],
            expected[i]
        );
    }
}
