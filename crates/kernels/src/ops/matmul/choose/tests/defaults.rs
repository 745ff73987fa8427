//! What products take by default on a large GPU, as it was measured there.

use super::*;

#[test]
fn few_tiles_do_not_wait_for_their_inner_extent_on_large_gpus() {
    let of_dtype = |[m, k, n]: [usize; 3], transposed: bool, dtype: DType, ability: &Ability| {
        let b = if transposed {
            layout(&[n, k]).transpose(0, 1).unwrap()
        } else {
            layout(&[k, n])
        };
        let p = Problem::new(&layout(&[m, k]), &b).unwrap().0;
        match default(&p, dtype, ability) {
            Choice::Tile(_) => "tile".to_owned(),
            Choice::Packed(_) => "packed".to_owned(),
            Choice::Scaled(_) => "scaled".to_owned(),
            Choice::Aligned(_) => "aligned".to_owned(),
            Choice::Shared(shared) => format!("{} shares", shared.shares),
            Choice::Narrow(_) => "narrow".to_owned(),
            Choice::Dot(_) => "dot".to_owned(),
        }
    };
    let name =
        |dims, transposed, ability: &Ability| of_dtype(dims, transposed, DType::F32, ability);
    let large = |dims: [usize; 3]| name(dims, false, &Ability::LARGE);
    for cubed in [33, 64, 128, 129, 190, 257] {
        assert_eq!(large([cubed; 3]), "dot");
    }
    assert_eq!(large([64, 4096, 64]), "dot");
    assert_eq!(large([192; 3]), "narrow");
    assert_eq!(large([256; 3]), "narrow");
    assert_eq!(large([320; 3]), "4 shares");
    for dims in [[384; 3], [512; 3], [192, 768, 768], [384, 768, 768]] {
        assert_eq!(large(dims), "8 shares", "{dims:?}");
    }
    assert_eq!(large([512, 768, 768]), "4 shares");
    // In one wave of few rows, and none of whole steps.
    assert_eq!(large([128, 1536, 384]), "narrow");
    assert_eq!(large([256, 784, 512]), "scaled");
    // Deep ones become f16.
    assert_eq!(large([512, 3072, 768]), "scaled");
    assert_eq!(large([128, 16_384, 128]), "scaled");
    // Half of the device is busy already, or the inner extent is short.
    assert_eq!(large([768; 3]), "packed");
    assert_eq!(large([512, 32, 512]), "tile");
    let transposed = |dims: [usize; 3]| name(dims, true, &Ability::LARGE);
    assert_eq!(transposed([128; 3]), "dot");
    assert_eq!(transposed([192; 3]), "4 shares");
    assert_eq!(transposed([197, 768, 64]), "narrow");
    assert_eq!(name([128; 3], false, &Ability::WEBGPU), "tile");
    // Words are slow to read for all others; but lanes want neighbours of both operands.
    assert_eq!(large([197, 768, 65]), "narrow");
    assert_eq!(large([255; 3]), "narrow");
    assert_eq!(large([65, 768, 65]), "dot");
    let halves = |dims| of_dtype(dims, false, DType::F16, &Ability::LARGE);
    for cubed in [33, 65, 129, 190] {
        assert_eq!(halves([cubed; 3]), "dot");
    }
    for cubed in [64, 128, 256] {
        assert_eq!(halves([cubed; 3]), "tile");
    }
    assert_eq!(halves([257; 3]), "aligned");
    assert_eq!(halves([197, 197, 64]), "aligned");
}

/// The name of what a batch of products takes, as the tuner prints it.
fn name([batch, m, k, n]: [usize; 4], transposed: bool, dtype: DType, ability: &Ability) -> String {
    let b = if transposed {
        layout(&[batch, n, k]).transpose(1, 2).unwrap()
    } else {
        layout(&[batch, k, n])
    };
    let p = Problem::new(&layout(&[batch, m, k]), &b).unwrap().0;
    default(&p, dtype, ability).name().to_string()
}

#[test]
fn many_small_outputs_take_tiles_that_they_fill() {
    let of = |dims, dtype| name(dims, false, dtype, &Ability::LARGE);
    let small = "tile 32×32×8";
    for dtype in [DType::F32, DType::F16, DType::BF16, DType::I32] {
        assert_eq!(of([4096, 32, 32, 32], dtype), small, "{dtype}");
        assert_eq!(of([1024, 16, 16, 16], dtype), small, "{dtype}");
        assert_eq!(of([1, 65_536, 3, 64], dtype), small, "{dtype}");
        assert_ne!(of([1024, 64, 64, 64], dtype), small, "{dtype}");
        assert_ne!(of([2048, 48, 48, 48], dtype), small, "{dtype}");
    }
    assert_eq!(of([1024, 32, 256, 32], DType::F32), small);
    // Matrix units do as much at once at any depth.
    assert_eq!(of([1024, 32, 256, 32], DType::F16), "tile 64×64×64");
    assert_eq!(of([512, 96, 256, 96], DType::BF16), "scaled 128×128×1");
    // Few of them, and devices without units, of which none is too small.
    assert_ne!(of([4, 32, 256, 32], DType::F32), small);
    let everywhere = name([4096, 32, 32, 32], false, DType::F16, &Ability::WEBGPU);
    assert_eq!(everywhere, small);
}

#[test]
fn few_columns_of_many_rows_take_tiles_on_gpus() {
    let of = |dims, dtype, ability| name(dims, false, dtype, ability);
    let large = |dims, dtype| of(dims, dtype, &Ability::LARGE);
    assert_eq!(large([1, 50_257, 768, 8], DType::F16), "tile 64×64×64");
    assert_eq!(large([1, 4096, 4096, 8], DType::F32), "scaled 64×64×4");
    assert_eq!(large([1, 4096, 4096, 8], DType::BF16), "scaled 64×64×4");
    for dims in [
        [1, 100_000, 64, 10],
        [1, 50_257, 768, 8],
        [1, 60_000, 784, 10],
    ] {
        assert_eq!(large(dims, DType::F32), "tile 32×32×8", "{dims:?}");
    }
    for dims in [[1, 1000, 64, 10], [1, 256, 512, 10]] {
        assert_eq!(large(dims, DType::F32), "dot", "{dims:?}");
    }
    // A processor computes what a tile leaves empty, too.
    let processor = Ability {
        idle_costs: true,
        ..Ability::WEBGPU
    };
    assert_eq!(of([1, 50_257, 768, 8], DType::F32, &processor), "dot");
}

#[test]
fn few_columns_are_rows_of_the_transposed_product_where_that_pays() {
    let of = |[m, k, n]: [usize; 3], transposed, dtype| {
        name([1, m, k, n], transposed, dtype, &Ability::LARGE)
    };
    for dtype in [DType::F32, DType::BF16, DType::F16] {
        for dims in [
            [4096, 768, 3],
            [2440, 384, 3],
            [16_384, 1024, 2],
            [100_000, 64, 4],
        ] {
            assert_eq!(of(dims, false, dtype), "columns", "{dims:?} {dtype}");
        }
        for dims in [[512, 512, 6], [128, 2048, 10], [64, 128, 10]] {
            assert_eq!(of(dims, false, dtype), "dot", "{dims:?} {dtype}");
        }
        assert_eq!(of([4096, 4096, 4], true, dtype), "columns", "{dtype}");
    }
    for dtype in [DType::F32, DType::BF16] {
        assert_eq!(of([4096, 4096, 4], false, dtype), "columns", "{dtype}");
        assert_eq!(of([1000, 1000, 10], false, dtype), "columns", "{dtype}");
        assert_eq!(of([1000, 4096, 8], true, dtype), "columns", "{dtype}");
    }
    // Matrix units are as fast.
    assert_eq!(of([4096, 4096, 4], false, DType::F16), "shared 64×64×4");
    assert_eq!(of([1000, 4096, 8], false, DType::F16), "shared 64×64×8");
    assert_eq!(of([1000, 1000, 10], false, DType::F16), "aligned 64×64×64");
    let batch = |dims, dtype| name(dims, false, dtype, &Ability::LARGE);
    assert_eq!(batch([16, 1024, 64, 4], DType::F16), "tile 64×64×64");
    assert_eq!(batch([16, 1024, 64, 4], DType::F32), "tile 32×32×8");
    // Read word by word in more steps than lanes take.
    assert_eq!(of([1000, 4096, 8], false, DType::F32), "dot");
    let webgpu = name([1, 4096, 768, 3], false, DType::F32, &Ability::WEBGPU);
    assert_eq!(webgpu, "dot");
}

#[test]
fn a_single_column_is_a_row_of_the_transposed_product() {
    let of = |[m, k]: [usize; 2], dtype, ability: &Ability| {
        let p = Problem::new(&layout(&[m, k]), &layout(&[k, 1])).unwrap().0;
        let p = p.with_rows_for_columns();
        assert_eq!((p.m, p.n, p.flipped), (1, m as u64, true));
        default(&p, dtype, ability).name().to_string()
    };
    for ability in [Ability::LARGE, Ability::WEBGPU] {
        for dims in [[50_257, 768], [4096, 4096], [1000, 1000]] {
            assert_eq!(of(dims, DType::F32, &ability), "narrow", "{dims:?}");
        }
    }
    // Half a word at a time is no faster by few rows.
    assert_eq!(of([1000, 1001], DType::F16, &Ability::LARGE), "dot");
    assert_eq!(of([1000, 1001], DType::F32, &Ability::LARGE), "narrow");
}

#[test]
fn large_tiles_are_as_full_as_small_ones_and_deep_enough() {
    let of = |dims, dtype| name(dims, false, dtype, &Ability::LARGE);
    let half = |dims| of(dims, DType::F16);
    assert_eq!(half([1, 1024, 1024, 1024]), "tile 64×64×64");
    assert_eq!(half([1, 1152, 1152, 1152]), "tile 128×128×32");
    assert_eq!(half([256, 80, 80, 80]), "tile 128×128×32");
    assert_eq!(half([96, 512, 512, 64]), "tile 64×64×64");
    assert_eq!(half([1, 65_536, 16, 64]), "tile 64×64×16");
    for (dims, wide) in [
        ([1, 65_536, 16, 64], false),
        ([12, 512, 64, 512], false),
        ([192, 197, 64, 197], false),
        ([1, 4096, 64, 4096], true),
        ([96, 512, 64, 512], true),
    ] {
        let tile = of(dims, DType::F32);
        assert_eq!(tile == "tile 128×128×16", wide, "{dims:?}: {tile}");
        assert_eq!(tile == "tile 64×64×16", !wide, "{dims:?}: {tile}");
    }
    // Copies pay where they are used often.
    assert_eq!(half([2048, 48, 48, 48]), "tile 64×64×64");
    assert_eq!(half([1, 1000, 1000, 1000]), "aligned 64×64×64");
    assert_eq!(half([512, 49, 32, 49]), "tile 64×64×16");
}

#[test]
fn rows_in_waves_take_matrix_units() {
    let of = |dims, transposed| name(dims, transposed, DType::F32, &Ability::LARGE);
    // One workgroup for each multiprocessor, or two.
    for (dims, one_wave) in [
        ([1, 17, 1024, 1024], true),
        ([1, 17, 512, 8192], false),
        ([1, 16, 1024, 4096], true),
    ] {
        let way = of(dims, false);
        assert_eq!(way == "narrow", one_wave, "{dims:?}: {way}");
        assert_eq!(way.starts_with("scaled"), !one_wave, "{dims:?}: {way}");
    }
    assert_eq!(of([1, 17, 512, 2048], true), "scaled 64×64×4");
    assert_eq!(of([1, 16, 256, 8192], true), "scaled 64×64×1");
    for dims in [[1, 8, 512, 8192], [1, 16, 4096, 50_257]] {
        assert_eq!(of(dims, true), "narrow", "{dims:?}");
    }
    let plain = name([1, 17, 512, 8192], false, DType::F32, &Ability::WEBGPU);
    assert_eq!(plain, "narrow");
    // Shallow shares where each has a multiprocessor of its own.
    assert_eq!(of([1, 320, 1024, 1024], false), "scaled 64×64×4");
    // Tiles that leave a wave of workgroups half empty.
    assert_eq!(of([1, 64, 4096, 11_008], false), "scaled 64×64×4");
    assert_eq!(of([1, 128, 4096, 11_008], false), "scaled 64×64×4");
    assert_eq!(of([1, 128, 4096, 16_384], false), "scaled 64×64×1");
}

#[test]
fn few_outputs_that_take_long_take_lanes() {
    let of = |dims, dtype| name(dims, false, dtype, &Ability::LARGE);
    for dims in [
        [1, 32, 4096, 32],
        [1, 16, 4096, 256],
        [1, 16, 1024, 64],
        [1, 4, 8192, 256],
        [1, 1, 65_536, 64],
        [1, 1, 16_384, 512],
    ] {
        assert_eq!(of(dims, DType::F32), "dot", "{dims:?}");
    }
    for dims in [[1, 1, 4096, 1024], [1, 4, 1024, 256], [1, 1, 1024, 16]] {
        assert_eq!(of(dims, DType::F32), "narrow", "{dims:?}");
    }
    assert_eq!(of([1, 16, 2048, 64], DType::F16), "dot");
    assert_eq!(of([1, 64, 4096, 64], DType::F16), "shared 64×64×8");
    assert_eq!(of([1, 1, 768, 50_257], DType::F16), "dot");
    assert_eq!(of([1, 1, 768, 50_257], DType::F32), "narrow");
}
