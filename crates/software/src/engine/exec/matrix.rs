//! Cooperative matrices: `f32` in registers, spread over the lanes of each subgroup.
//!
//! Sums of products are taken in `f32`, in order of the inner index, each product rounded before it
//! is added; hardware differs in order and rounding.

use super::machine::{LANES, Machine};
use crate::engine::ir::{Addr, Matrix, MatrixShape, Reg, Space};
use crate::engine::scalar::float::{f, f32_from_half, half_from_f32, round_half};

/// Elements of the largest matrix.
const MOST: usize = 256;

impl Machine<'_> {
    pub(super) fn matrix(&mut self, matrix: &Matrix) {
        let size = self.code.subgroup as usize;
        let end = self.to * LANES;
        let mut start = self.from * LANES / size * size;
        while start < end {
            let mut lanes = start..(start + size).min(end);
            if let Some(lane) = lanes.find(|lane| self.is_active(*lane)) {
                match matrix {
                    Matrix::Load {
                        d,
                        at,
                        stride,
                        shape,
                    } => {
                        let elements = self.read_matrix(at, *stride, shape, lane);
                        self.spread(d, start, &elements);
                    }
                    Matrix::Store {
                        v,
                        at,
                        stride,
                        shape,
                    } => {
                        let elements = self.gather(v, start);
                        self.write_matrix(at, *stride, shape, lane, &elements);
                    }
                    Matrix::MultiplyAdd {
                        d,
                        a,
                        b,
                        c,
                        size,
                        half,
                    } => {
                        let (a, b) = (self.gather(a, start), self.gather(b, start));
                        let mut sums = self.gather(c, start);
                        multiply(&a, &b, &mut sums, *size as usize);
                        if *half {
                            for sum in &mut sums {
                                *sum = round_half(*sum);
                            }
                        }
                        self.spread(d, start, &sums);
                    }
                }
            }
            start += size;
        }
    }

    fn gather(&self, regs: &[Reg], start: usize) -> [u32; MOST] {
        let size = self.code.subgroup as usize;
        let mut out = [0; MOST];
        for (row, reg) in out.chunks_mut(size).zip(regs) {
            let place = self.place(*reg);
            for (k, word) in row.iter_mut().enumerate() {
                if start + k < self.chunks * LANES {
                    *word = self.word(place, start + k);
                }
            }
        }
        out
    }

    fn spread(&mut self, regs: &[Reg], start: usize, elements: &[u32; MOST]) {
        let size = self.code.subgroup as usize;
        for (row, reg) in elements.chunks(size).zip(regs) {
            for (k, word) in row.iter().enumerate() {
                if start + k < self.chunks * LANES {
                    self.set_word(*reg, start + k, *word);
                }
            }
        }
    }

    /// Byte addresses of elements in rows, from the pointer and stride of one lane.
    pub(super) fn elements(
        &self,
        at: &Addr,
        stride: Reg,
        shape: &MatrixShape,
        lane: usize,
    ) -> Vec<u32> {
        let first = u64::from(self.address(&self.find(at), lane));
        let step = u64::from(self.word(self.place(stride), lane)) * u64::from(shape.unit);
        let element = u64::from(shape.element);
        let mut out = Vec::with_capacity(MOST);
        for row in 0..u64::from(shape.rows) {
            for column in 0..u64::from(shape.columns) {
                let (far, near) = if shape.row_major {
                    (row, column)
                } else {
                    (column, row)
                };
                let address = first + far * step + near * element;
                out.push(u32::try_from(address).unwrap_or(u32::MAX));
            }
        }
        out
    }

    fn read_matrix(&self, at: &Addr, stride: Reg, shape: &MatrixShape, lane: usize) -> [u32; MOST] {
        let mut out = [0; MOST];
        for (to, address) in out.iter_mut().zip(self.elements(at, stride, shape, lane)) {
            let index = address as usize / 4;
            let word = match at.space {
                Space::Binding(binding) => {
                    let word = self.buffer(binding).get(index);
                    word.map_or(0, |word| word.load(std::sync::atomic::Ordering::Relaxed))
                }
                Space::Workgroup => self.workgroup.get(index).copied().unwrap_or(0),
                Space::Immediate => 0,
            };
            *to = match (shape.half, address & 2) {
                (false, _) => word,
                (true, 0) => f32_from_half(word & 0xffff),
                (true, _) => f32_from_half(word >> 16),
            };
        }
        out
    }

    fn write_matrix(
        &mut self,
        at: &Addr,
        stride: Reg,
        shape: &MatrixShape,
        lane: usize,
        elements: &[u32; MOST],
    ) {
        use std::sync::atomic::Ordering::Relaxed;
        for (value, address) in elements.iter().zip(self.elements(at, stride, shape, lane)) {
            let index = address as usize / 4;
            match at.space {
                Space::Binding(binding) => {
                    let Some(word) = self.buffer(binding).get(index) else {
                        continue;
                    };
                    if shape.half {
                        let shift = (address & 2) * 8;
                        let bits = half_from_f32(*value) << shift;
                        let keep = !(0xffff << shift);
                        let _ =
                            word.fetch_update(Relaxed, Relaxed, |old| Some((old & keep) | bits));
                    } else {
                        word.store(*value, Relaxed);
                    }
                }
                Space::Workgroup => {
                    if let Some(word) = self.workgroup.get_mut(index) {
                        *word = *value;
                    }
                }
                Space::Immediate => {}
            }
        }
    }
}

fn multiply(a: &[u32; MOST], b: &[u32; MOST], sums: &mut [u32; MOST], n: usize) {
    for (row, sums) in a.chunks_exact(n).zip(sums.chunks_exact_mut(n)).take(n) {
        for (x, others) in row.iter().zip(b.chunks_exact(n)) {
            for (sum, y) in sums.iter_mut().zip(others) {
                *sum = (f(*sum) + f(*x) * f(*y)).to_bits();
            }
        }
    }
}
