//! Choices of products, as pure functions.

#![allow(clippy::unwrap_used, reason = "tests")]
use super::*;
use crate::ops::matmul::precision::MatmulPrecision;
use ziggurat_core::{Layout, Shape};

mod defaults;
mod streaming;

fn layout(dims: &[usize]) -> Layout {
    Layout::contiguous(Shape::new(dims).unwrap())
}

fn chosen(a: &Layout, b: &Layout) -> Choice {
    ways(&Problem::new(a, b).unwrap().0, DType::F32, &Ability::WEBGPU).default
}

#[test]
fn aligned_matrices_move_in_vec4() {
    let all = Tiled {
        tile: Tile::DEFAULT,
        a: Load::Along,
        b: Load::Across,
        out_vec4: true,
        a_along_depth: true,
        b_along_depth: false,
        whole: true,
    };
    assert_eq!(
        chosen(&layout(&[64, 32]), &layout(&[32, 64])),
        Choice::Tile(all)
    );
}

#[test]
fn odd_extents_and_offsets_move_word_by_word() {
    let Choice::Tile(t) = chosen(&layout(&[37, 19]), &layout(&[19, 23])) else {
        unreachable!("not tiled")
    };
    assert_eq!((t.a, t.b, t.out_vec4), (Load::Words, Load::Words, false));
    let sliced = layout(&[64, 33]).slice(1, 1, None, 1).unwrap();
    let Choice::Tile(t) = chosen(&sliced, &layout(&[32, 64])) else {
        unreachable!("not tiled")
    };
    assert_eq!((t.a, t.b), (Load::Words, Load::Across));
}

#[test]
fn transposed_operands_load_along_their_contiguous_side() {
    let transposed = |dims: &[usize]| layout(dims).transpose(0, 1).unwrap();
    let (a, b) = (transposed(&[32, 64]), transposed(&[64, 32]));
    let p = Problem::new(&a, &b).unwrap().0;
    let small = tiled(&p, Tile::DEFAULT);
    assert!(!small.a_along_depth && small.b_along_depth);
    assert_eq!((small.a, small.b), (Load::Words, Load::Words));
    for tile in [Tile::WIDE, Tile::COOPERATIVE] {
        let large = tiled(&p, tile);
        assert_eq!((large.a, large.b), (Load::Across, Load::Along));
    }
    let odd = (transposed(&[32, 63]), transposed(&[64, 31]));
    let p = Problem::new(&odd.0, &transposed(&[64, 32])).unwrap().0;
    assert_eq!(tiled(&p, Tile::WIDE).a, Load::Words);
    let p = Problem::new(&layout(&[64, 31]), &odd.1).unwrap().0;
    assert_eq!(tiled(&p, Tile::WIDE).b, Load::Words);
}

#[test]
fn small_products_take_small_tiles_or_rows_of_lanes() {
    let small = chosen(&layout(&[64, 32, 32]), &layout(&[64, 32, 32]));
    assert!(matches!(small, Choice::Tile(t) if t.tile == Tile::DEFAULT));
    let fewer = chosen(&layout(&[8, 32]), &layout(&[32, 32]));
    assert!(matches!(fewer, Choice::Dot(_)));
}

#[test]
fn few_rows_take_the_narrow_kernel() {
    let narrow = |a: &Layout, b: &Layout| match chosen(a, b) {
        Choice::Narrow(narrow) => narrow,
        other => unreachable!("{other:?}"),
    };
    let lies = narrow(&layout(&[1, 512]), &layout(&[512, 300]));
    assert_eq!((lies.lines, lies.vec4, lies.slices), (1, 8, 32));
    assert_eq!((lies.a, lies.b), (Load::Along, Load::Across));
    let weights = layout(&[300, 512]).transpose(0, 1).unwrap();
    let lies = narrow(&layout(&[5, 512]), &weights);
    assert_eq!((lies.lines, lies.vec4, lies.slices), (8, 4, 64));
    assert_eq!((lies.b, lies.b_along_depth), (Load::Along, true));
    // Where k is short, more columns take its place.
    let lies = narrow(&layout(&[20, 64]), &layout(&[64, 64]));
    assert_eq!((lies.lines, lies.vec4, lies.slices), (16, 16, 16));
    assert_eq!(lies.count(20, 65), [2, 2]);
}

#[test]
fn vectors_on_the_right_and_small_devices_take_the_dot_kernel() {
    let side = |a: &Layout, b: &Layout| match chosen(a, b) {
        Choice::Dot(lanes) => lanes.side,
        other => unreachable!("{other:?}"),
    };
    assert_eq!(
        side(&layout(&[300, 512]), &layout(&[512, 1])),
        Side::Reduced
    );
    assert_eq!(side(&layout(&[1, 512]), &layout(&[512, 8])), Side::Kept);
    let p = Problem::new(&layout(&[64, 64]), &layout(&[64, 64]))
        .unwrap()
        .0;
    let small = Ability {
        workgroup_size: 64,
        invocations: 128,
        ..Ability::WEBGPU
    };
    let default = |p, ability| ways(p, DType::F32, ability).default;
    assert!(matches!(default(&p, &small), Choice::Dot(_)));
    let empty = Problem::new(&layout(&[64, 0]), &layout(&[0, 64]))
        .unwrap()
        .0;
    assert!(matches!(default(&empty, &Ability::WEBGPU), Choice::Dot(_)));
}

#[test]
fn a_long_dot_product_is_cut_into_chunks() {
    let Choice::Dot(lanes) = chosen(&layout(&[1, 1 << 20]), &layout(&[1 << 20, 1])) else {
        unreachable!("not the dot kernel")
    };
    assert!(lanes.chunks > 1);
}

#[test]
fn there_is_a_way_for_each_tile_that_fits_and_the_other_kernels() {
    let names = |m: usize, dtype: DType, ability: Ability| -> Vec<String> {
        let p = Problem::new(&layout(&[m, 64]), &layout(&[64, 64]));
        let name = |way| match way {
            Choice::Tile(tiled) => format!("{:?} {}", tiled.tile.kind, tiled.tile.rows),
            Choice::Packed(packed) => format!("Packed {}", packed.tile.tile.rows),
            Choice::Scaled(scaled) => format!("Scaled {}", scaled.shares),
            Choice::Aligned(aligned) => format!("Aligned {}", aligned.tile.tile.rows),
            Choice::Shared(shared) => format!("Shared {}", shared.shares),
            Choice::Narrow(_) => "Narrow".to_owned(),
            Choice::Dot(_) => "Dot".to_owned(),
        };
        ways(&p.unwrap().0, dtype, &ability)
            .all()
            .map(name)
            .collect()
    };
    let some = |invocations| Ability {
        invocations,
        ..Ability::WEBGPU
    };
    let [default, wide, small, half] = ["Vector 64", "Wide 128", "Vector 32", "Vector 32"];
    let (two, four, narrow, dot) = ("Shared 2", "Shared 4", "Narrow", "Dot");
    let f32 = DType::F32;
    assert_eq!(
        names(64, f32, some(256)),
        [default, wide, small, half, two, four, narrow, dot]
    );
    assert_eq!(names(64, f32, some(128)), [dot, small, half]);
    assert_eq!(
        names(8, f32, some(256)),
        [narrow, default, wide, small, half, two, four, dot]
    );
    assert_eq!(names(64, f32, some(32)), [dot]);
    let large = Ability::LARGE;
    let units = names(64, DType::F16, large);
    assert_eq!(
        units.get(..2).unwrap(),
        ["Cooperative 64", "Cooperative 128"]
    );
    assert_eq!(names(8, DType::F16, large).first().unwrap(), narrow);
    let [first, rest @ ..] = &names(64, DType::BF16, large)[..] else {
        unreachable!("no ways")
    };
    assert_eq!(first, dot);
    let count = |names: &[String], kind: &str| {
        let of_kind = names.iter().filter(|name| name.starts_with(kind));
        of_kind.count()
    };
    // In one share, and in none of four: those are 16 deep.
    assert_eq!([count(rest, "Packed"), count(rest, "Scaled")], [1, 4]);
    let of_f32 = names(64, f32, large);
    assert_eq!([count(&of_f32, "Packed"), count(&of_f32, "Scaled")], [1, 2]);
    for names in [names(64, f32, Ability::WEBGPU), units] {
        assert_eq!([count(&names, "Packed"), count(&names, "Scaled")], [0, 0]);
    }
}

/// The rows of a tile that operands become f16 for, and its shares: none where both are packed first.
fn in_halves(
    dims: [usize; 3],
    dtype: DType,
    precision: MatmulPrecision,
    ability: Ability,
) -> Option<(u32, Option<u32>)> {
    let [m, k, n] = dims;
    let p = Problem::new(&layout(&[m, k]), &layout(&[k, n])).unwrap().0;
    let p = Problem { precision, ..p };
    match default(&p, dtype, &ability) {
        Choice::Packed(packed) => Some((packed.tile.tile.rows, None)),
        Choice::Scaled(scaled) => Some((scaled.tile.tile.rows, Some(scaled.shares))),
        _ => None,
    }
}

#[test]
fn packing_pays_for_large_products_on_matrix_units() {
    let of = |dims: [usize; 3], dtype: DType, ability: Ability| {
        in_halves(dims, dtype, MatmulPrecision::Highest, ability)
    };
    let (f32, bf16, large) = (DType::F32, DType::BF16, Ability::LARGE);
    let cubed = |n: usize, dtype: DType| of([n; 3], dtype, large);
    assert_eq!(cubed(512, f32), None);
    assert_eq!(cubed(1024, f32), Some((64, None)));
    assert_eq!(cubed(4096, f32), Some((64, None)));
    assert_eq!(cubed(4096, bf16), Some((128, None)));
    let high = in_halves([4096; 3], f32, MatmulPrecision::High, large);
    assert_eq!(high, Some((128, None)));
    // f16 as it lies, or copied.
    assert_eq!(cubed(4096, DType::F16), None);
    assert_eq!(cubed(4095, DType::F16), None);
    assert_eq!(of([4096; 3], f32, Ability::WEBGPU), None);
    // The room that packed operands would take; others do not take any.
    let small = Ability {
        binding_bytes: 1 << 26,
        ..large
    };
    assert_eq!(of([8192; 3], f32, small), Some((64, Some(1))));
}

#[test]
fn what_is_used_seldom_becomes_f16_tile_by_tile() {
    let of = |dims: [usize; 3], dtype: DType| {
        in_halves(dims, dtype, MatmulPrecision::Highest, Ability::LARGE)
    };
    let (f32, bf16) = (DType::F32, DType::BF16);
    assert_eq!(of([16, 4096, 4096], f32), None);
    assert_eq!(of([32, 4096, 4096], f32), Some((64, Some(4))));
    assert_eq!(of([128, 4096, 4096], f32), Some((64, Some(2))));
    assert_eq!(of([64, 4096, 16384], f32), Some((64, Some(1))));
    assert_eq!(of([8, 4096, 4096], bf16), None);
    assert_eq!(of([64, 4096, 4096], bf16), Some((64, Some(4))));
    assert_eq!(of([128, 4096, 4096], bf16), Some((128, Some(8))));
    assert_eq!(of([512, 4096, 4096], bf16), Some((128, Some(2))));
    assert_eq!(of([1024; 3], bf16), Some((64, Some(1))));
    // Equal shares, read in vectors where the product is.
    assert_eq!(of([64, 4095, 4096], f32), Some((64, Some(5))));
    assert_eq!(of([64, 4097, 4096], f32), Some((64, None)));
    assert_eq!(of([64, 4095, 4096], bf16), Some((128, None)));
    assert_eq!(of([64, 4100, 4096], f32), Some((64, Some(5))));
    let high = in_halves([64, 4096, 4096], f32, MatmulPrecision::High, Ability::LARGE);
    assert_eq!(high, Some((64, Some(4))));
    // Of two dtypes.
    let p = Problem::new(&layout(&[64, 4096]), &layout(&[4096, 4096]));
    let mixed = Problem {
        one_dtype: false,
        ..p.unwrap().0
    };
    assert!(matches!(
        default(&mixed, f32, &Ability::LARGE),
        Choice::Packed(_)
    ));
}

#[test]
fn f16_that_does_not_lie_in_vectors_is_copied_for_matrix_units() {
    let copied = |a: &Layout, b: &Layout, ability: Ability| match default(
        &Problem::new(a, b).unwrap().0,
        DType::F16,
        &ability,
    ) {
        Choice::Aligned(aligned) => Some((aligned.copied, aligned.tile.tile.rows)),
        _ => None,
    };
    let cubed = |n: usize| copied(&layout(&[n, n]), &layout(&[n, n]), Ability::LARGE);
    assert_eq!(cubed(4095), Some(([true; 2], 128)));
    assert_eq!(cubed(257), Some(([true; 2], 64)));
    assert_eq!(cubed(129), None);
    assert_eq!(cubed(4096), None);
    assert_eq!(cubed(65), None);
    let [whole, odd] = [layout(&[1024, 1024]), layout(&[1024, 1023])];
    let only_b = copied(&whole, &odd, Ability::LARGE).unwrap();
    assert_eq!(only_b.0, [false, true]);
    let transposed = odd.transpose(0, 1).unwrap();
    let only_a = copied(&transposed, &whole, Ability::LARGE).unwrap();
    assert_eq!(only_a.0, [true, false]);
    let few = |rows: usize| {
        let weights = layout(&[4096, 50_257]);
        copied(&layout(&[rows, 4096]), &weights, Ability::LARGE)
    };
    assert_eq!(few(8), None);
    assert_eq!(few(9), Some(([false, true], 64)));
    assert_eq!(
        copied(&odd, &odd.transpose(0, 1).unwrap(), Ability::WEBGPU),
        None
    );
    let little = Ability {
        binding_bytes: 1 << 20,
        ..Ability::LARGE
    };
    assert_eq!(copied(&odd, &transposed, little), None);
}

#[test]
fn workgroups_share_deep_products_of_few_tiles() {
    let default = |[m, k, n]: [usize; 3], ability: Ability| {
        let p = Problem::new(&layout(&[m, k]), &layout(&[k, n])).unwrap().0;
        match default(&p, DType::F16, &ability) {
            Choice::Shared(shared) => Some((shared.shares, shared.tile.tile.rows)),
            _ => None,
        }
    };
    let large = Ability::LARGE;
    assert_eq!(default([64, 4096, 4096], large), Some((4, 64)));
    assert_eq!(default([64, 1 << 16, 256], large), Some((16, 64)));
    assert_eq!(default([5, 4096, 4092], large), Some((4, 64)));
    assert_eq!(default([4, 4096, 4092], large), None);
    assert_eq!(default([128, 4096, 4096], large), Some((8, 128)));
    assert_eq!(default([256, 4096, 4096], large), Some((4, 128)));
    // Whole waves of workgroups, in shares of which the last one is shorter.
    assert_eq!(default([128, 4096, 11_008], large), Some((3, 128)));
    assert_eq!(default([256, 4096, 11_008], large), Some((3, 128)));
    assert_eq!(default([384, 5632, 2048], large), Some((5, 128)));
    assert_eq!(default([512, 11_008, 4096], large), Some((2, 128)));
    assert_eq!(default([32, 2048, 4096], large), Some((2, 64)));
    assert_eq!(default([64, 3072, 768], large), Some((8, 64)));
    assert_eq!(default([512, 8192, 8192], large), None);
    // Short ones fill half as many workgroups.
    assert_eq!(default([16, 1024, 1024], large), Some((4, 64)));
    assert_eq!(default([192, 1536, 384], large), Some((6, 64)));
    for few in [
        [512; 3],
        [384, 1024, 1024],
        [192, 768, 3072],
        [520, 2048, 2048],
    ] {
        assert_eq!(default(few, large), None, "{few:?}");
    }
    assert_eq!(default([32, 4100, 4096], large), None);
    assert_eq!(default([1024; 3], large), None);
    let little = Ability {
        binding_bytes: 1 << 19,
        ..large
    };
    assert_eq!(default([32, 4096, 4096], little), None);
}

#[test]
fn samples_reach_every_way_to_load_and_store() {
    let mut loads = std::collections::HashSet::new();
    let mut lines = std::collections::BTreeSet::new();
    let mut copied = std::collections::HashSet::new();
    let mut chunked = [false; 2];
    for p in samples() {
        for way in ways(&p, DType::F16, &Ability::LARGE).all() {
            match way {
                Choice::Tile(t) => {
                    loads.insert((t.tile.kind, t.a, t.b));
                }
                Choice::Narrow(n) => {
                    lines.insert(n.lines);
                }
                Choice::Packed(_) | Choice::Scaled(_) => {}
                Choice::Aligned(aligned) => {
                    copied.insert(aligned.along_depth());
                }
                Choice::Shared(shared) if way.is_streamed() => assert!(shared.shares <= 16),
                Choice::Shared(shared) => assert!([2, 3, 4, 8].contains(&shared.shares)),
                Choice::Dot(lanes) => chunked[usize::from(lanes.chunks > 1)] = true,
            }
        }
    }
    assert_eq!(chunked, [true, true]);
    // Not both sides across at once.
    assert!(copied.len() >= 3, "{copied:?}");
    assert!(lines.into_iter().eq([1, 2, 4, 8, 16]));
    for kind in [TileKind::Wide, TileKind::Cooperative] {
        for load in [Load::Along, Load::Across, Load::Words] {
            assert!(
                loads.iter().any(|l| l.0 == kind && l.1 == load),
                "a {load:?}"
            );
            assert!(
                loads.iter().any(|l| l.0 == kind && l.2 == load),
                "b {load:?}"
            );
        }
    }
}
