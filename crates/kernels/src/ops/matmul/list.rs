//! Which kernels products have, for the catalogue.

use ziggurat_core::DType;

use super::MatmulParams;
use super::choose::{self, Choice, Load, Tiled, ways};
use super::dtypes::DTypes;
use super::kernel::{Computes, Writes, align, dot, narrow, pack, tiled};
use super::packed::Packed;
use super::problem::Problem;
use crate::limits::ability::Ability;
use crate::ops::reduce::lanes::{self, Side};
use crate::ops::tile::Tile;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::Params;

/// The ways of the sample problems for all dtypes; the tile that is no default, which is other constants for the same text, for
/// `f32` alone.
pub(crate) fn variants() -> Vec<Candidate> {
    let mut unique: Vec<KernelChoice> = Vec::new();
    let mut add = |choice| {
        if !unique.contains(&choice) {
            unique.push(choice);
        }
    };
    for (dtypes, ability) in
        DTypes::all().flat_map(|dtypes| Ability::SAMPLES.map(|ability| (dtypes, ability)))
    {
        let DTypes { a, b, out } = dtypes;
        let samples = choose::samples().into_iter().map(|p| (p, false));
        let streamed = choose::streamed_samples().into_iter().map(|p| (p, true));
        for (p, only_streamed) in samples.chain(streamed) {
            let p = Problem {
                one_dtype: a == b,
                ..p
            };
            let axes = p.batch.len();
            let ways = ways(&p, dtypes.read(), &ability);
            let wanted = |way: &Choice| !only_streamed || way.is_streamed();
            for way in ways.all().filter(wanted) {
                match way {
                    Choice::Tile(t)
                        if [a, b, out] != [DType::F32; 3] && t.tile == Tile::HALF_64 => {}
                    Choice::Tile(t) => {
                        add(tiled(dtypes, axes, t, Writes::Results, Computes::Every));
                        add(tiled(dtypes, axes, t, Writes::Sums, Computes::Every));
                    }
                    Choice::Packed(packed) => {
                        add(pack(dtypes, axes, packed.operands, packed.tile.tile));
                        let mut add = |axes, tile, computes| {
                            add(tiled(dtypes, axes, tile, Writes::Results, computes));
                        };
                        let [(tile, computes), (flagged, others)] = packed.kernels();
                        add(Packed::batch_axes(&p), tile, computes);
                        add(axes, flagged, others);
                    }
                    Choice::Scaled(scaled) => {
                        let axes = scaled.shared(&p).batch.len();
                        for (tile, computes) in scaled.kernels() {
                            add(tiled(dtypes, axes, tile, scaled.writes(), computes));
                        }
                    }
                    Choice::Aligned(aligned) => {
                        add(align(axes, aligned.along_depth()));
                        for tile in [aligned.tile, aligned.in_vectors()] {
                            add(tiled(dtypes, axes, tile, Writes::Results, Computes::Every));
                        }
                    }
                    Choice::Shared(shared) => add(tiled(
                        dtypes,
                        axes + 1,
                        shared.tile,
                        Writes::Sums,
                        Computes::Every,
                    )),
                    Choice::Narrow(n) => add(narrow(dtypes, axes, &n)),
                    Choice::Dot(lanes) => add(dot(dtypes, axes, &lanes)),
                }
            }
        }
    }
    unique
        .into_iter()
        .map(|choice| Candidate::new(choice, MatmulParams::FIELDS))
        .collect()
}

/// Kernels that write through an epilogue over products of a dtype, for the corpus of those.
pub(crate) fn writing_fused() -> Vec<(DType, KernelChoice)> {
    let mut all = Vec::new();
    for dtypes in DTypes::all().filter(|dtypes| dtypes.a == dtypes.out && dtypes.b == dtypes.out) {
        let dtype = dtypes.out;
        let lanes = lanes::choose(4, 1 << 16, Side::Reduced, false, &Ability::WEBGPU);
        all.push((dtype, dot(dtypes, 1, &lanes)));
        let units = (dtype == DType::F16).then_some(Tile::COOPERATIVE);
        for tile in [Tile::DEFAULT, Tile::WIDE].into_iter().chain(units) {
            for out_vec4 in [false, true] {
                let b = if out_vec4 { Load::Across } else { Load::Words };
                let tile = Tiled {
                    tile,
                    a: Load::Along,
                    b,
                    out_vec4,
                    a_along_depth: true,
                    b_along_depth: false,
                    whole: out_vec4,
                };
                all.push((
                    dtype,
                    tiled(dtypes, 1, tile, Writes::Results, Computes::Every),
                ));
            }
        }
    }
    all
}
