//! What random calls of the executor are made of: operands of any sort, or such as an op accepts.

use ziggurat_kernels::core::decode;
use ziggurat_kernels::{ConvOptions, DType, Executor, PoolOptions, RandomState, View};

use crate::operands::{Arrangement, Output, Random, given, operand, output_in, random};

pub(crate) const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];
pub(crate) const INTEGERS: [DType; 4] = [DType::I32, DType::U32, DType::I8, DType::U8];

/// Random arguments; operands of one call often agree in dtype and extents.
pub(crate) struct Any<'a> {
    pub(crate) exec: &'a Executor,
    pub(crate) rng: Random,
    pub(crate) dtype: DType,
    pub(crate) dims: Vec<usize>,
    pub(crate) agree: bool,
    /// Outputs of the call, poisoned and between guards.
    outputs: Vec<Output>,
    /// What else the call wrote, or gave.
    results: Vec<View>,
    /// Every operand made up for the call.
    touched: Vec<View>,
    /// Whether everything is row-major and dense, of the same values.
    pub(crate) dense: bool,
}

impl<'a> Any<'a> {
    pub(crate) fn new(exec: &'a Executor, seed: u64) -> Self {
        Self {
            exec,
            rng: Random(seed),
            dtype: DType::F32,
            dims: Vec::new(),
            agree: true,
            outputs: Vec::new(),
            results: Vec::new(),
            touched: Vec::new(),
            dense: false,
        }
    }

    pub(crate) fn renew(&mut self) {
        self.outputs.clear();
        self.results.clear();
        self.touched.clear();
        self.dtype = self.rng.pick(&DType::ALL);
        if self.rng.below(2) == 0 {
            self.dtype = self.rng.pick(&[DType::F32, DType::F16]);
        }
        let rank = self.rng.below(6);
        self.dims = (0..rank).map(|_| self.extent()).collect();
        self.agree = self.rng.below(4) > 0;
    }

    pub(crate) fn extent(&mut self) -> usize {
        self.rng.pick(&[0, 1, 1, 2, 2, 3, 4, 5])
    }

    pub(crate) fn some_dims(&mut self) -> Vec<usize> {
        if self.rng.below(8) > 0 && self.agree {
            return self.dims.clone();
        }
        let mut dims = self.dims.clone();
        match self.rng.below(4) {
            0 => {
                let at = self.rng.below(dims.len() + 1);
                let extent = self.extent();
                dims.insert(at, extent);
            }
            1 if !dims.is_empty() => {
                let at = self.rng.below(dims.len());
                dims.remove(at);
            }
            2 if !dims.is_empty() => {
                let at = self.rng.below(dims.len());
                dims[at] = self.extent();
            }
            _ => {
                let rank = self.rng.below(6);
                dims = (0..rank).map(|_| self.extent()).collect();
            }
        }
        dims
    }

    /// A view of a dtype.
    pub(crate) fn of(&mut self, dtype: DType) -> View {
        let dims = self.some_dims();
        self.sized(dtype, &dims)
    }

    fn arrangement(&mut self) -> Arrangement {
        self.rng.pick(&[
            Arrangement::Contiguous,
            Arrangement::Contiguous,
            Arrangement::Contiguous,
            Arrangement::Transposed,
            Arrangement::Sliced,
            Arrangement::Flipped,
            Arrangement::Broadcast,
        ])
    }

    pub(crate) fn sized(&mut self, dtype: DType, dims: &[usize]) -> View {
        let how = self.arrangement();
        let view = random(self.exec, dtype, dims, how, &mut self.rng).view;
        self.touched.push(view.clone());
        self.laid_out(view)
    }

    /// The view, or a dense copy of it.
    fn laid_out(&self, view: View) -> View {
        if !self.dense {
            return view;
        }
        let copy = self.exec.alloc(view.shape(), view.dtype).unwrap();
        drop(self.exec.copy(&view, &copy).unwrap());
        copy
    }

    /// A view, mostly of the call's dtype.
    pub(crate) fn view(&mut self) -> View {
        let dtype = match self.rng.below(10) {
            0 => self.rng.pick(&DType::ALL),
            _ => self.dtype,
        };
        self.of(dtype)
    }

    /// Mostly of this dtype.
    pub(crate) fn mostly(&mut self, dtype: DType) -> View {
        match self.rng.below(10) {
            0 => self.view(),
            _ => self.of(dtype),
        }
    }

    pub(crate) fn vector(&mut self) -> View {
        let len = match self.rng.below(3) {
            0 => self.extent(),
            _ => self.dims.get(1).copied().unwrap_or(2),
        };
        let dtype = self.rng.pick(&[self.dtype, DType::F32, DType::I32]);
        self.sized(dtype, &[len])
    }

    pub(crate) fn index(&mut self) -> View {
        let dtype = self
            .rng
            .pick(&[DType::I32, DType::I32, DType::U32, DType::U8, DType::F32]);
        self.of(dtype)
    }

    pub(crate) fn axis(&mut self) -> usize {
        match self.rng.below(10) {
            0 => usize::MAX,
            1 => self.rng.below(8),
            _ => self.rng.below(self.dims.len().max(1)),
        }
    }

    pub(crate) fn axes(&mut self) -> Vec<usize> {
        (0..self.rng.below(3)).map(|_| self.axis()).collect()
    }

    pub(crate) fn number(&mut self) -> f64 {
        self.rng.pick(&[
            0.0,
            1.0,
            -1.0,
            0.5,
            3.0,
            1e30,
            f64::NAN,
            f64::INFINITY,
            -2.0,
        ])
    }

    pub(crate) fn small(&mut self) -> f32 {
        self.number() as f32
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.rng.below(2) == 0
    }

    pub(crate) fn state(&mut self) -> RandomState {
        RandomState {
            seed: self.rng.bits(),
            counter: self.rng.bits(),
            stream: 0,
        }
    }

    pub(crate) fn several<const N: usize>(&mut self, of: &[usize]) -> [usize; N] {
        std::array::from_fn(|_| self.rng.pick(of))
    }

    pub(crate) fn conv(&mut self) -> ConvOptions<2> {
        ConvOptions {
            same: self.rng.below(8) == 0,
            stride: self.several(&[1, 1, 2, 0, usize::MAX]),
            padding_begin: self.several(&[0, 0, 1, 2, usize::MAX]),
            padding_end: self.several(&[0, 0, 1, 2]),
            dilation: self.several(&[1, 1, 2, 0, usize::MAX]),
            groups: self.rng.pick(&[1, 1, 1, 2, 0, usize::MAX]),
        }
    }

    pub(crate) fn pool(&mut self) -> PoolOptions<2> {
        PoolOptions {
            stride: self.several(&[1, 2, 1, 0, usize::MAX]),
            dilation: self.several(&[1, 1, 2, 0, usize::MAX]),
            padding_begin: self.several(&[0, 0, 1, usize::MAX]),
            padding_end: self.several(&[0, 0, 1, usize::MAX]),
            ceil_mode: self.flag(),
            count_include_pad: self.flag(),
            divisor_override: self.rng.pick(&[None, None, Some(3), Some(0)]),
            ..PoolOptions::new(self.several(&[1, 1, 2, 3, 0, usize::MAX]))
        }
    }
}

/// What an op accepts.
impl Any<'_> {
    /// From 1 on.
    pub(crate) fn extent_of(&mut self, most: usize) -> usize {
        1 + self.rng.below(most)
    }

    /// Extents from 1 to 4.
    pub(crate) fn full(&mut self, ranks: std::ops::RangeInclusive<usize>) -> Vec<usize> {
        let rank = ranks.start() + self.rng.below(ranks.end() - ranks.start() + 1);
        (0..rank).map(|_| self.extent_of(4)).collect()
    }

    /// Extents of which one may be 0.
    pub(crate) fn extents(&mut self, ranks: std::ops::RangeInclusive<usize>) -> Vec<usize> {
        let mut dims = self.full(ranks);
        if self.rng.below(8) == 0 && !dims.is_empty() {
            let at = self.rng.below(dims.len());
            dims[at] = 0;
        }
        dims
    }

    pub(crate) fn float(&mut self) -> DType {
        self.rng.pick(&FLOATS)
    }

    pub(crate) fn integer(&mut self) -> DType {
        self.rng.pick(&INTEGERS)
    }

    pub(crate) fn number_dtype(&mut self) -> DType {
        match self.flag() {
            true => self.float(),
            false => self.integer(),
        }
    }

    /// An operand whose elements come from a function of their place in memory, as a view of any arrangement.
    pub(crate) fn values(
        &mut self,
        dtype: DType,
        dims: &[usize],
        mut value: impl FnMut(&mut Random) -> f64,
    ) -> View {
        let (exec, how) = (self.exec, self.arrangement());
        let rng = &mut self.rng;
        let view = operand(exec, dtype, dims, how, || value(rng)).view;
        self.laid_out(view)
    }

    /// Numbers from 0.5 to 2.5.
    pub(crate) fn positive(&mut self, dtype: DType, dims: &[usize]) -> View {
        self.values(dtype, dims, |rng| 0.5 + rng.value(DType::F32).abs())
    }

    /// Whole numbers below a bound.
    pub(crate) fn below(&mut self, dtype: DType, dims: &[usize], bound: usize) -> View {
        self.values(dtype, dims, |rng| rng.below(bound.max(1)) as f64)
    }

    /// In row-major order, contiguous.
    pub(crate) fn dense(&mut self, dtype: DType, dims: &[usize]) -> View {
        random(
            self.exec,
            dtype,
            dims,
            Arrangement::Contiguous,
            &mut self.rng,
        )
        .view
    }

    /// Matrices with a diagonal that outweighs the rest.
    pub(crate) fn dominant(&mut self, batch: &[usize], n: usize) -> View {
        let dims = [batch, &[n, n]].concat();
        let len: usize = dims.iter().product();
        let values: Vec<f64> = (0..len)
            .map(|i| {
                let diagonal = i % (n * n).max(1) / n.max(1) == i % n.max(1);
                self.rng.value(DType::F32) + if diagonal { 16.0 } else { 0.0 }
            })
            .collect();
        given(self.exec, DType::F32, &dims, &values).view
    }

    /// An output: poisoned, between guards, of any arrangement that shows each element once.
    pub(crate) fn out(&mut self, dtype: DType, dims: &[usize]) -> View {
        let how = self.rng.pick(&[
            Arrangement::Contiguous,
            Arrangement::Contiguous,
            Arrangement::Transposed,
            Arrangement::Sliced,
            Arrangement::Flipped,
        ]);
        let front = self.rng.pick(&[0, 3, 4]);
        let (how, front) = match self.dense {
            true => (Arrangement::Contiguous, 0),
            false => (how, front),
        };
        let out = output_in(self.exec, dtype, dims, front, how);
        let view = out.view.clone();
        self.outputs.push(out);
        view
    }

    /// An output with contents that count.
    pub(crate) fn updated(&mut self, dtype: DType, dims: &[usize]) -> View {
        let view = self.dense(dtype, dims);
        self.results.push(view.clone());
        view
    }

    /// Takes a view as something to be read back.
    pub(crate) fn gives(&mut self, views: impl IntoIterator<Item = View>) {
        self.results.extend(views);
    }

    /// Reads every operand back, of which some were outputs.
    pub(crate) fn read_operands(&self) {
        let views: Vec<&View> = self.touched.iter().collect();
        let bytes = self.exec.download_many(&views).unwrap().wait().unwrap();
        for (view, bytes) in views.iter().zip(bytes) {
            assert_eq!(bytes.len(), view.len() * view.dtype.bytes());
        }
    }

    /// Reads everything back that the call wrote.
    pub(crate) fn read_back(&self) -> Vec<(DType, f64)> {
        let mut all = Vec::new();
        for output in &self.outputs {
            let values = output.read(self.exec);
            assert_eq!(values.len(), output.view.len());
            all.extend(values.into_iter().map(|value| (output.view.dtype, value)));
        }
        for view in &self.results {
            let bytes = self.exec.download(view).unwrap().wait().unwrap();
            let values = decode(view.dtype, &bytes);
            assert_eq!(values.len(), view.len());
            all.extend(values.into_iter().map(|value| (view.dtype, value)));
        }
        all
    }
}
