//! The naive model of a view: every element written out.
//!
//! A model is a list of dimensions and, in row-major order, the element that each index means. A
//! view makes a new list by asking, for each new index, which old index it stands for. There are no
//! strides here, so nothing is shared with the code under test.

/// A view as the list of its elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Model {
    pub(crate) dims: Vec<usize>,
    pub(crate) elements: Vec<usize>,
}

/// Every index of `dims` in row-major order.
pub(crate) fn indices(dims: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for &dim in dims {
        all = all
            .into_iter()
            .flat_map(|front: Vec<usize>| {
                (0..dim).map(move |last| {
                    let mut index = front.clone();
                    index.push(last);
                    index
                })
            })
            .collect();
    }
    all
}

impl Model {
    pub(crate) fn contiguous(dims: &[usize]) -> Self {
        Self {
            dims: dims.to_vec(),
            elements: (0..dims.iter().product()).collect(),
        }
    }

    /// The element at an index, by counting.
    pub(crate) fn at(&self, index: &[usize]) -> usize {
        let mut place = 0;
        for (&index, &dim) in index.iter().zip(&self.dims) {
            place = place * dim + index;
        }
        self.elements[place]
    }

    /// The model with dimensions `dims` whose index `i` means the old index `old(i)`.
    fn gather(&self, dims: Vec<usize>, old: impl Fn(&[usize]) -> Vec<usize>) -> Self {
        let elements = indices(&dims)
            .iter()
            .map(|new| self.at(&old(new)))
            .collect();
        Self { dims, elements }
    }

    pub(crate) fn permute(&self, axes: &[usize]) -> Self {
        let dims = axes.iter().map(|&axis| self.dims[axis]).collect();
        self.gather(dims, |new| {
            let mut old = vec![0; new.len()];
            for (&axis, &index) in axes.iter().zip(new) {
                old[axis] = index;
            }
            old
        })
    }

    /// The listed positions of one axis, in the listed order.
    pub(crate) fn pick(&self, axis: usize, positions: &[usize]) -> Self {
        let mut dims = self.dims.clone();
        dims[axis] = positions.len();
        self.gather(dims, |new| {
            let mut old = new.to_vec();
            old[axis] = positions[new[axis]];
            old
        })
    }

    pub(crate) fn without(&self, axis: usize) -> Self {
        assert_eq!(self.dims[axis], 1);
        let mut dims = self.dims.clone();
        dims.remove(axis);
        self.renamed(dims)
    }

    /// The same elements under other dimensions.
    pub(crate) fn renamed(&self, dims: Vec<usize>) -> Self {
        assert_eq!(dims.iter().product::<usize>(), self.elements.len());
        Self {
            dims,
            elements: self.elements.clone(),
        }
    }

    pub(crate) fn expand(&self, dims: &[usize]) -> Self {
        let added = dims.len() - self.dims.len();
        self.gather(dims.to_vec(), |new| {
            let stretched = new[added..].iter().zip(&self.dims);
            stretched
                .map(|(&index, &dim)| if dim == 1 { 0 } else { index })
                .collect()
        })
    }

    pub(crate) fn is_contiguous(&self) -> bool {
        self.elements.windows(2).all(|pair| pair[1] == pair[0] + 1)
    }

    pub(crate) fn is_injective(&self) -> bool {
        let mut sorted = self.elements.clone();
        sorted.sort_unstable();
        sorted.windows(2).all(|pair| pair[0] != pair[1])
    }

    pub(crate) fn span(&self) -> Option<(usize, usize)> {
        Some((*self.elements.iter().min()?, *self.elements.iter().max()?))
    }

    /// Can any strides give these elements in this order under dimensions `dims`? The first step
    /// along each axis leaves no choice of stride, so one candidate has to be tried.
    pub(crate) fn is_strided_as(&self, dims: &[usize]) -> bool {
        let renamed = self.renamed(dims.to_vec());
        if renamed.elements.is_empty() {
            return true;
        }
        let first = renamed.elements[0] as i64;
        let strides: Vec<i64> = (0..dims.len())
            .map(|axis| {
                if dims[axis] == 1 {
                    return 0;
                }
                let mut step = vec![0; dims.len()];
                step[axis] = 1;
                renamed.at(&step) as i64 - first
            })
            .collect();
        indices(dims).iter().all(|index| {
            let moved: i64 = index.iter().zip(&strides).map(|(&i, s)| i as i64 * s).sum();
            renamed.at(index) as i64 == first + moved
        })
    }
}
