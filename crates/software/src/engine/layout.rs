//! How values and memory are split into scalars.
//!
//! *Host* layout is WGSL's: bytes as the host sees them. *Flat* layout, for memory that the host
//! never sees, gives each scalar whole words, one after another (two for 64 bits; 16 bits and
//! `bool` take one), as registers do.

use naga::proc::IndexableLength;
use naga::{ArraySize, Module, Scalar, ScalarKind, Type, TypeInner};

/// A scalar within a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    /// In bytes in host layout, in words in flat layout.
    pub(super) offset: u32,
    pub(super) scalar: Scalar,
}

/// Which layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    Host,
    Flat,
}

/// Words of a value in registers, above which a value is refused.
pub(super) const MAX_WORDS: u64 = 1 << 14;

/// Registers that a scalar takes.
pub(super) fn scalar_words(scalar: Scalar) -> u32 {
    if scalar.width == 8 { 2 } else { 1 }
}

/// Types of a module, and the size of its subgroups.
#[derive(Clone, Copy, Debug)]
pub(super) struct Types<'a> {
    pub(super) module: &'a Module,
    pub(super) subgroup: u32,
}

impl<'a> Types<'a> {
    pub(super) fn inner(self, ty: naga::Handle<Type>) -> &'a TypeInner {
        &self.module.types[ty].inner
    }

    /// Elements of an array, unless only its buffer says.
    pub(super) fn len(self, size: ArraySize) -> Option<u32> {
        match size.resolve(self.module.to_ctx()) {
            Ok(IndexableLength::Known(len)) => Some(len),
            Ok(IndexableLength::Dynamic) | Err(_) => None,
        }
    }

    /// Bytes between columns of a host matrix.
    pub(super) fn column_bytes(rows: naga::VectorSize, scalar: Scalar) -> u32 {
        let rows = if rows == naga::VectorSize::Bi { 2 } else { 4 };
        rows * u32::from(scalar.width)
    }

    /// Words that a value takes in registers; nothing for types without values.
    pub(super) fn words(self, inner: &TypeInner) -> Option<u64> {
        Some(match *inner {
            TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => scalar_words(scalar).into(),
            TypeInner::Vector { size, scalar } => u64::from(scalar_words(scalar)) * size as u64,
            TypeInner::Matrix {
                columns,
                rows,
                scalar,
            } => u64::from(scalar_words(scalar)) * columns as u64 * rows as u64,
            TypeInner::CooperativeMatrix { columns, rows, .. } => {
                (columns as u64 * rows as u64).div_ceil(self.subgroup.into())
            }
            TypeInner::Array { base, size, .. } => self
                .words(self.inner(base))?
                .checked_mul(self.len(size)?.into())?,
            TypeInner::Struct { ref members, .. } => {
                let mut sum = 0u64;
                for member in members {
                    sum = sum.checked_add(self.words(self.inner(member.ty))?)?;
                }
                sum
            }
            _ => return None,
        })
    }

    /// The scalars of a value that starts at `base`, in order; nothing for types without values or
    /// values that are too large.
    pub(super) fn leaves(self, inner: &TypeInner, layout: Layout) -> Option<Vec<Leaf>> {
        if self.words(inner)? > MAX_WORDS {
            return None;
        }
        let mut out = Vec::new();
        self.push(inner, 0, &mut out)?;
        if layout == Layout::Flat {
            let mut at = 0;
            for leaf in &mut out {
                leaf.offset = at;
                at += scalar_words(leaf.scalar);
            }
        }
        Some(out)
    }

    fn push(self, inner: &TypeInner, base: u32, out: &mut Vec<Leaf>) -> Option<()> {
        match *inner {
            TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => {
                out.push(Leaf {
                    offset: base,
                    scalar,
                });
            }
            TypeInner::Vector { size, scalar } => {
                for i in 0..size as u32 {
                    let offset = base.wrapping_add(i * u32::from(scalar.width));
                    out.push(Leaf { offset, scalar });
                }
            }
            TypeInner::Matrix {
                columns,
                rows,
                scalar,
            } => {
                let column = Self::column_bytes(rows, scalar);
                for i in 0..columns as u32 {
                    let vector = TypeInner::Vector { size: rows, scalar };
                    self.push(&vector, base.wrapping_add(i * column), out)?;
                }
            }
            TypeInner::CooperativeMatrix { scalar, .. } => {
                for _ in 0..self.words(inner)? {
                    out.push(Leaf {
                        offset: base,
                        scalar,
                    });
                }
            }
            TypeInner::Array {
                base: element,
                size,
                stride,
            } => {
                for i in 0..self.len(size)? {
                    let offset = base.wrapping_add(i.wrapping_mul(stride));
                    self.push(self.inner(element), offset, out)?;
                }
            }
            TypeInner::Struct { ref members, .. } => {
                for member in members {
                    let offset = base.wrapping_add(member.offset);
                    self.push(self.inner(member.ty), offset, out)?;
                }
            }
            _ => return None,
        }
        Some(())
    }
}

/// Whether a scalar is an `i16` or `u16`.
pub(super) fn is_short(scalar: Scalar) -> bool {
    scalar.width == 2 && matches!(scalar.kind, ScalarKind::Sint | ScalarKind::Uint)
}

/// Whether the engine computes with a scalar type.
pub(super) fn is_supported(scalar: Scalar) -> bool {
    match scalar.kind {
        ScalarKind::Bool => true,
        ScalarKind::Float | ScalarKind::Sint | ScalarKind::Uint => {
            matches!(scalar.width, 2 | 4 | 8)
        }
        ScalarKind::AbstractInt | ScalarKind::AbstractFloat => false,
    }
}
