//! The text of every WGSL part: the only file that embeds shaders.
//!
//! Parts are addressed by their path below `shaders/`, which is also what error messages name. The list is sorted, and
//! a test compares it with the folder, so that no shader is left behind or named in vain. (`params/` belongs to
//! the pipeline layer.)

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::error::KernelError;

macro_rules! parts {
    ($($path:literal,)*) => { &[$(($path, include_str!(concat!("../shaders/", $path))),)*] };
}

const PARTS: &[(&str, &str)] = parts![
    "conv/bias.wgsl",
    "conv/direct.wgsl",
    "conv/gather.wgsl",
    "conv/no_bias.wgsl",
    "conv/params.wgsl",
    "elementwise/address.wgsl",
    "elementwise/arange.wgsl",
    "elementwise/binary/add.wgsl",
    "elementwise/binary/bitwise_and.wgsl",
    "elementwise/binary/bitwise_or.wgsl",
    "elementwise/binary/bitwise_xor.wgsl",
    "elementwise/binary/bool/add.wgsl",
    "elementwise/binary/bool/bitwise_xor.wgsl",
    "elementwise/binary/bool/maximum.wgsl",
    "elementwise/binary/bool/minimum.wgsl",
    "elementwise/binary/bool/mul.wgsl",
    "elementwise/binary/div.wgsl",
    "elementwise/binary/int/maximum.wgsl",
    "elementwise/binary/int/minimum.wgsl",
    "elementwise/binary/int/pow.wgsl",
    "elementwise/binary/maximum.wgsl",
    "elementwise/binary/minimum.wgsl",
    "elementwise/binary/mul.wgsl",
    "elementwise/binary/pow.wgsl",
    "elementwise/binary/sub.wgsl",
    "elementwise/binary_flat.wgsl",
    "elementwise/binary_strided.wgsl",
    "elementwise/cast/float_to_bool.wgsl",
    "elementwise/cast/float_to_i32.wgsl",
    "elementwise/cast/float_to_i8.wgsl",
    "elementwise/cast/float_to_u32.wgsl",
    "elementwise/cast/float_to_u8.wgsl",
    "elementwise/cast/plain.wgsl",
    "elementwise/compare/bool/ge.wgsl",
    "elementwise/compare/bool/gt.wgsl",
    "elementwise/compare/bool/le.wgsl",
    "elementwise/compare/bool/lt.wgsl",
    "elementwise/compare/eq.wgsl",
    "elementwise/compare/ge.wgsl",
    "elementwise/compare/gt.wgsl",
    "elementwise/compare/le.wgsl",
    "elementwise/compare/lt.wgsl",
    "elementwise/compare/ne.wgsl",
    "elementwise/emit.wgsl",
    "elementwise/eye.wgsl",
    "elementwise/fill.wgsl",
    "elementwise/flat_params.wgsl",
    "elementwise/identity.wgsl",
    "elementwise/keep.wgsl",
    "elementwise/scatter.wgsl",
    "elementwise/strided_params.wgsl",
    "elementwise/unary/abs.wgsl",
    "elementwise/unary/bitwise_not.wgsl",
    "elementwise/unary/ceil.wgsl",
    "elementwise/unary/cos.wgsl",
    "elementwise/unary/exp.wgsl",
    "elementwise/unary/exp2.wgsl",
    "elementwise/unary/floor.wgsl",
    "elementwise/unary/gelu.wgsl",
    "elementwise/unary/gelu_tanh.wgsl",
    "elementwise/unary/int/neg.wgsl",
    "elementwise/unary/int/relu.wgsl",
    "elementwise/unary/int/sign.wgsl",
    "elementwise/unary/log.wgsl",
    "elementwise/unary/log2.wgsl",
    "elementwise/unary/logical_not.wgsl",
    "elementwise/unary/neg.wgsl",
    "elementwise/unary/reciprocal.wgsl",
    "elementwise/unary/relu.wgsl",
    "elementwise/unary/round.wgsl",
    "elementwise/unary/rsqrt.wgsl",
    "elementwise/unary/sigmoid.wgsl",
    "elementwise/unary/sign.wgsl",
    "elementwise/unary/silu.wgsl",
    "elementwise/unary/sin.wgsl",
    "elementwise/unary/sqrt.wgsl",
    "elementwise/unary/square.wgsl",
    "elementwise/unary/tanh.wgsl",
    "elementwise/unary/trunc.wgsl",
    "elementwise/unary_flat.wgsl",
    "elementwise/unary_strided.wgsl",
    "elementwise/where.wgsl",
    "elementwise/where_flat.wgsl",
    "elementwise/where_strided.wgsl",
    "functions/erfc.wgsl",
    "functions/exp.wgsl",
    "functions/log.wgsl",
    "functions/sigmoid.wgsl",
    "functions/trig.wgsl",
    "matmul/dot.wgsl",
    "matmul/dot_acc.wgsl",
    "matmul/dot_elem.wgsl",
    "matmul/params.wgsl",
    "matmul/tile.wgsl",
    "matmul/tile_a_quad.wgsl",
    "matmul/tile_a_word.wgsl",
    "matmul/tile_b_quad.wgsl",
    "matmul/tile_b_word.wgsl",
    "matmul/tile_origin.wgsl",
    "matmul/tile_out_cell.wgsl",
    "matmul/tile_out_quad.wgsl",
    "pool/average.wgsl",
    "pool/body.wgsl",
    "pool/max.wgsl",
    "pool/params.wgsl",
    "prelude/cell/byte.wgsl",
    "prelude/cell/half.wgsl",
    "prelude/cell/word.wgsl",
    "prelude/float.wgsl",
    "prelude/load/bf16.wgsl",
    "prelude/load/bits16.wgsl",
    "prelude/load/bool.wgsl",
    "prelude/load/f16.wgsl",
    "prelude/load/f32.wgsl",
    "prelude/load/i32.wgsl",
    "prelude/load/i8.wgsl",
    "prelude/load/u32.wgsl",
    "prelude/load/u8.wgsl",
    "prelude/load_cond.wgsl",
    "prelude/rounded.wgsl",
    "prelude/store/bf16.wgsl",
    "prelude/store/bits16.wgsl",
    "prelude/store/bool.wgsl",
    "prelude/store/f16.wgsl",
    "prelude/store/f32.wgsl",
    "prelude/store/i32.wgsl",
    "prelude/store/i8.wgsl",
    "prelude/store/u32.wgsl",
    "prelude/store/u8.wgsl",
    "reduce/arg/body.wgsl",
    "reduce/arg/input_elem.wgsl",
    "reduce/arg/input_partial.wgsl",
    "reduce/arg/output_index.wgsl",
    "reduce/arg/output_partial.wgsl",
    "reduce/body.wgsl",
    "reduce/index.wgsl",
    "reduce/input_acc.wgsl",
    "reduce/input_elem.wgsl",
    "reduce/key/bool.wgsl",
    "reduce/key/float.wgsl",
    "reduce/key/int.wgsl",
    "reduce/op/extremum.wgsl",
    "reduce/op/mean.wgsl",
    "reduce/op/sum.wgsl",
    "reduce/op/sum_bool.wgsl",
    "reduce/output_acc.wgsl",
    "reduce/output_elem.wgsl",
    "softmax/body.wgsl",
    "softmax/exp.wgsl",
];

static TABLE: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| PARTS.iter().copied().collect());

/// The text of a part.
pub(crate) fn text(path: &'static str) -> Result<&'static str, KernelError> {
    TABLE
        .get(path)
        .copied()
        .ok_or(KernelError::MissingPart { path })
}

/// Whether there is a part of that path.
pub(crate) fn exists(path: &str) -> bool {
    TABLE.contains_key(path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    fn collect(folder: &Path, root: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, root, found);
            } else {
                let relative = path
                    .strip_prefix(root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .replace('\\', "/");
                found.insert(relative);
            }
        }
    }

    #[test]
    fn the_table_is_the_folder() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
        let mut found = BTreeSet::new();
        collect(&root, &root, &mut found);
        // These two folders are the pipeline layer's.
        found.retain(|path| !path.starts_with("params/") && !path.starts_with("copy/"));
        let listed: BTreeSet<String> = PARTS.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(listed, found);
    }

    #[test]
    fn the_table_is_sorted_and_finds_what_it_holds() {
        assert!(PARTS.is_sorted_by(|a, b| a.0 < b.0));
        assert!(
            PARTS
                .iter()
                .all(|(path, held)| exists(path) && text(path).unwrap() == *held)
        );
        assert!(text("no/such.wgsl").is_err());
    }

    #[test]
    fn every_part_is_in_some_variant() {
        let catalogue = crate::catalogue().unwrap();
        let used: BTreeSet<&str> = catalogue
            .iter()
            .flat_map(|variant| variant.descriptor.source.parts())
            .map(|part| part.file.as_ref())
            .collect();
        let unused: Vec<_> = PARTS
            .iter()
            .map(|(path, _)| *path)
            .filter(|path| !used.contains(path))
            .collect();
        assert!(unused.is_empty(), "no variant uses {unused:?}");
    }
}
