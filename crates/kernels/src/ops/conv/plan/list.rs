//! Which kernels convolutions have, for the catalogue.

use ziggurat_core::DType;

use super::super::fold;
use super::super::geometry::Direction;
use super::super::packed::{self, PackedParams};
use super::super::rows::Rows;
use super::super::subpixel;
use super::{ConvParams, Method, Writes, choice};
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
                    let dense = !volume;
                    let write =
                        |writes| choice(direction, dtype, method, volume, dense, bias, writes);
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
            let forward = Direction::Forward;
            all.push(choice(
                forward,
                dtype,
                method,
                false,
                true,
                bias,
                Writes::Results,
            ));
        }
        if dtype != DType::F16 {
            let (forward, wide) = (Direction::Forward, Method::Tiled(Tile::WIDE));
            for writes in [Writes::Flagged, Writes::FlaggedShares] {
                let flagged = |bias| choice(forward, dtype, wide, false, bias, bias, writes);
                all.extend([false, true].map(flagged));
            }
        }
        all.extend([Writes::Results, Writes::Sums].map(|writes| fold::choice(dtype, writes)));
        let [_, others @ ..] = Tile::ALL;
        for tile in others {
            let methods = [Method::Tiled(tile), Method::Pointwise { tile, vec4: true }];
            let forward = Direction::Forward;
            all.extend(
                methods.map(|method| {
                    choice(forward, dtype, method, false, true, true, Writes::Results)
                }),
            );
        }
    }
    all.into_iter()
        .map(|choice| Candidate::new(choice, ConvParams::FIELDS))
        .chain(packed::variants())
        .chain(subpixel::variants())
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
    let forward = [
        rows(true),
        rows(false),
        Method::Direct,
        Method::Tiled(Tile::DEFAULT),
        POINTWISE_VEC4,
        POINTWISE,
    ];
    let mut all = Vec::new();
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_float()) {
        for (i, method) in forward.into_iter().enumerate() {
            let bias = (i % 2 == 0) == (dtype == DType::F32);
            let direction = Direction::Forward;
            let choice = choice(direction, dtype, method, false, true, bias, Writes::Results);
            all.push((dtype, choice, ConvParams::FIELDS, 3 + usize::from(bias)));
        }
        let choice = choice(
            Direction::Transposed,
            dtype,
            Method::Tiled(Tile::DEFAULT),
            true,
            false,
            true,
            Writes::Results,
        );
        all.push((dtype, choice, ConvParams::FIELDS, 4));
    }
    let packed = packed::writing_fused().into_iter();
    all.extend(subpixel::writing_fused());
    all.extend(packed.map(|(dtype, choice, own)| (dtype, choice, PackedParams::FIELDS, own)));
    all
}
