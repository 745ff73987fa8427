//! Which kernels convolutions have, for the catalogue.

use ziggurat_core::DType;

use super::super::fold;
use super::super::geometry::Direction;
use super::super::packed::{self, PackedParams};
use super::super::rows::Rows;
use super::super::transposed::{columns, subpixel};
use super::{ConvParams, FilterRows, Method, Sort, Writes};
use crate::ops::tile::Tile;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::{ParamField, Params};

pub(super) const POINTWISE: Method = Method::Pointwise {
    tile: Tile::DEFAULT,
    vec4: false,
};
pub(super) const POINTWISE_VEC4: Method = Method::Pointwise {
    tile: Tile::DEFAULT,
    vec4: true,
};

/// Convolutions over two axes.
const fn forward(dtype: DType, bias: bool) -> Sort {
    Sort {
        direction: Direction::Forward,
        dtype,
        volume: false,
        bias,
    }
}

/// Every kernel, with and without bias, for every float dtype; both directions and volumes where they matter.
pub(crate) fn variants() -> Vec<Candidate> {
    let mut all = Vec::new();
    let rows = [false, true].map(|vec4| {
        Method::Rows(Rows {
            vec4,
            kernel: [3; 2],
            stride: [1; 2],
            pad: 1,
        })
    });
    let methods = [
        (Direction::Forward, Method::Direct),
        (Direction::Forward, Method::Tiled(Tile::DEFAULT)),
        (Direction::Forward, POINTWISE_VEC4),
        (Direction::Forward, POINTWISE),
        (Direction::Transposed, Method::Direct),
        (Direction::Transposed, Method::Tiled(Tile::DEFAULT)),
    ];
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_float()) {
        for (direction, method) in methods {
            for bias in [false, true] {
                for volume in [false, true] {
                    let rows = if volume {
                        FilterRows::Strided
                    } else {
                        FilterRows::Dense
                    };
                    let sort = Sort {
                        direction,
                        dtype,
                        volume,
                        bias,
                    };
                    let write = |writes| sort.choice(method, rows, writes);
                    all.push(write(Writes::Results));
                    if volume && method != POINTWISE_VEC4 {
                        all.push(write(Writes::Sums));
                    }
                    if method != Method::Direct {
                        all.push(write(Writes::Shares));
                    }
                }
            }
        }
        for (method, bias) in rows
            .into_iter()
            .flat_map(|rows| [(rows, false), (rows, true)])
        {
            all.push(forward(dtype, bias).choice(method, FilterRows::Dense, Writes::Results));
        }
        if dtype != DType::F16 {
            let wide = Method::Tiled(Tile::WIDE);
            let forms = [(FilterRows::Strided, false), (FilterRows::Dense, true)];
            for writes in [Writes::Flagged, Writes::FlaggedShares] {
                let flagged = |(rows, bias)| forward(dtype, bias).choice(wide, rows, writes);
                all.extend(forms.map(flagged));
            }
        }
        all.extend(fold::variants(dtype));
        let [_, others @ ..] = Tile::ALL;
        for tile in others {
            let methods = [Method::Tiled(tile), Method::Pointwise { tile, vec4: true }];
            let of =
                |method| forward(dtype, true).choice(method, FilterRows::Dense, Writes::Results);
            all.extend(methods.map(of));
        }
    }
    all.into_iter()
        .map(|choice| Candidate::new(choice, ConvParams::FIELDS))
        .chain(packed::variants())
        .chain(subpixel::variants())
        .chain(columns::variants())
        .collect()
}

/// Kernels that write through an epilogue over sums of a dtype, for the corpus of those, their parameters and bindings.
pub(crate) fn writing_fused() -> Vec<(DType, KernelChoice, &'static [ParamField], usize)> {
    let rows = |vec4| {
        Method::Rows(Rows {
            vec4,
            kernel: [3; 2],
            stride: [2; 2],
            pad: 1,
        })
    };
    let methods = [
        rows(true),
        rows(false),
        Method::Direct,
        Method::Tiled(Tile::DEFAULT),
        POINTWISE_VEC4,
        POINTWISE,
    ];
    let mut all = Vec::new();
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_float()) {
        for (i, method) in methods.into_iter().enumerate() {
            let bias = (i % 2 == 0) == (dtype == DType::F32);
            let choice = forward(dtype, bias).choice(method, FilterRows::Dense, Writes::Results);
            all.push((dtype, choice, ConvParams::FIELDS, 3 + usize::from(bias)));
        }
        let transposed = Sort {
            direction: Direction::Transposed,
            volume: true,
            ..forward(dtype, true)
        };
        let tiled = Method::Tiled(Tile::DEFAULT);
        let choice = transposed.choice(tiled, FilterRows::Strided, Writes::Results);
        all.push((dtype, choice, ConvParams::FIELDS, 4));
    }
    let packed = packed::writing_fused().into_iter();
    all.extend(subpixel::writing_fused());
    all.extend(columns::writing_fused());
    all.extend(packed.map(|(dtype, choice, own)| (dtype, choice, PackedParams::FIELDS, own)));
    all
}
