//! How large the measured tensors are: enough to fill the adapter, not more than it bears.

use ziggurat_device::{AdapterKind, Caps};

/// Sizes for one adapter.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    /// Elements of an elementwise op.
    pub(crate) elements: usize,
    /// Square matrices.
    pub(crate) matmul: Vec<usize>,
    /// Batch of images in convolutions and pools.
    pub(crate) images: usize,
    /// Bytes of one upload or readback.
    pub(crate) transfer: usize,
}

impl Sizes {
    /// 64 M elements on a discrete GPU, a quarter on an integrated one, 1 M on software.
    pub(crate) fn of(kind: AdapterKind, caps: &Caps, quick: bool) -> Self {
        let mut sizes = match kind {
            AdapterKind::Discrete => Self {
                elements: 64 << 20,
                matmul: vec![512, 1024, 2048, 4096],
                images: 64,
                transfer: 256 << 20,
            },
            AdapterKind::Software => Self {
                elements: 1 << 20,
                matmul: vec![128, 256],
                images: 2,
                transfer: 16 << 20,
            },
            _ => Self {
                elements: 16 << 20,
                matmul: vec![512, 1024],
                images: 16,
                transfer: 64 << 20,
            },
        };
        if quick {
            sizes.elements /= 4;
            sizes.transfer /= 4;
            sizes.matmul.pop();
            sizes.images = (sizes.images / 4).max(1);
        }
        sizes.fit(caps.max_binding_bytes.min(caps.max_buffer_bytes));
        sizes
    }

    /// Keeps every f32 tensor within one binding of so many bytes.
    fn fit(&mut self, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        while self.elements.saturating_mul(4) > bytes && self.elements > 4096 {
            self.elements /= 2;
        }
        while self.transfer > bytes && self.transfer > 4096 {
            self.transfer /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_shrink_to_the_binding_limit() {
        let mut sizes = Sizes {
            elements: 64 << 20,
            matmul: vec![],
            images: 1,
            transfer: 256 << 20,
        };
        sizes.fit(128 << 20);
        assert_eq!((sizes.elements, sizes.transfer), (32 << 20, 128 << 20));
        sizes.fit(1 << 40);
        assert_eq!(sizes.elements, 32 << 20);
    }
}
