//! Which kernel a convolution takes.

#![allow(clippy::unwrap_used, reason = "tests")]
use super::super::Conv2dOptions;
use super::list::{POINTWISE, POINTWISE_VEC4};
use super::*;
use ziggurat_core::Shape;

fn seen<'a>(x: &'a Layout, w: &'a Layout, dtype: DType) -> Seen<'a> {
    Seen {
        dtype,
        x,
        w,
        w_group: 0,
        bias_step: None,
    }
}

fn method(x: [usize; 4], w: [usize; 4], groups: usize, most: u32) -> Method {
    let options = Conv2dOptions {
        groups,
        ..Conv2dOptions::default()
    };
    let g = options
        .geometry(&Shape::new(x).unwrap(), &Shape::new(w).unwrap(), None)
        .unwrap();
    let ability = Ability {
        invocations: most,
        ..Ability::WEBGPU
    };
    let [x, w] = [x, w].map(|dims| Layout::contiguous(Shape::new(dims).unwrap()));
    ways(&g, seen(&x, &w, DType::F32), &ability).default
}

#[test]
fn many_filters_take_the_tiled_kernel_and_few_the_direct_one() {
    assert_eq!(
        method([1, 16, 28, 28], [32, 16, 3, 3], 1, 256),
        Method::Tiled(Tile::DEFAULT)
    );
    let rows = |vec4, kernel| {
        Method::Rows(Rows {
            vec4,
            kernel,
            stride: [1; 2],
            pad: 0,
        })
    };
    let few = |x, w, groups| method(x, w, groups, 256);
    let small = method([1, 16, 28, 28], [32, 16, 3, 3], 1, 128);
    assert_eq!(small, rows(false, [3; 2]));
    let depthwise = |channels| few([1, channels, 28, 30], [channels, 1, 3, 3], channels);
    assert_eq!(depthwise(256), rows(false, [3; 2]));
    // Groups of one filter have an invocation for each output then.
    assert_eq!(depthwise(32), Method::Direct);
    assert_eq!(few([1, 1, 28, 28], [32, 1, 3, 5], 1), rows(true, [3, 5]));
    assert_eq!(few([1, 16, 3, 3], [32, 16, 3, 3], 1), rows(false, [3; 2]));
    assert_eq!(few([1, 17, 3, 3], [32, 17, 3, 3], 1), Method::Direct);
    assert_eq!(few([1, 1, 28, 28], [8, 1, 9, 9], 1), Method::Direct);
}

#[test]
fn matrix_units_are_used_where_they_pay() {
    let options = Conv2dOptions::default().padding([1, 1]);
    let first = |x: [usize; 4], w: [usize; 4], dtype, ability: &Ability| {
        let [x, w] = [x, w].map(|dims| Shape::new(dims).unwrap());
        let g = options.geometry(&x, &w, None).unwrap();
        let [x, w] = [x, w].map(Layout::contiguous);
        let name = ways(&g, seen(&x, &w, dtype), ability).default.name();
        let [large, deep, small] = [
            Tile::COOPERATIVE,
            Tile::COOPERATIVE_64,
            Tile::COOPERATIVE_64_BY_32,
        ];
        [large, deep, small]
            .into_iter()
            .find(|tile| tile.name("packed").bits() == name.bits())
    };
    let large = &Ability::LARGE;
    let (x, w) = ([32, 256, 28, 28], [256, 256, 3, 3]);
    assert_eq!(first(x, w, DType::F16, large), Some(Tile::COOPERATIVE));
    // Steps of 64 channels are for few tiles.
    let small = Some(Tile::COOPERATIVE_64);
    assert_eq!(
        first([32, 64, 56, 56], [64, 64, 3, 3], DType::F16, large),
        Some(Tile::COOPERATIVE_64_BY_32)
    );
    assert_eq!(
        first([8, 512, 14, 14], [512, 512, 3, 3], DType::F16, large),
        small
    );
    assert_eq!(first(x, w, DType::F16, &Ability::WEBGPU), None);
    // Little work, and channels that fill little of a block.
    assert_eq!(
        first([1, 64, 7, 7], [64, 64, 3, 3], DType::F16, large),
        None
    );
    assert_eq!(
        first([32, 4, 56, 56], [64, 4, 3, 1], DType::F16, large),
        None
    );
}

#[test]
fn few_tiles_are_shared() {
    let options = Conv2dOptions::default().padding([1, 1]);
    let shares = |x: [usize; 4], w: [usize; 4], dtype, ability: &Ability| {
        let [x, w] = [x, w].map(|dims| Shape::new(dims).unwrap());
        let g = options.geometry(&x, &w, None).unwrap();
        let [x, w] = [x, w].map(Layout::contiguous);
        let name = ways(&g, seen(&x, &w, dtype), ability).default.name();
        let is = |kind, shares| WayName::new(kind, [64, 64, shares]).bits() == name.bits();
        let kinds = ["packed shares", "shared"].into_iter();
        let mut all = kinds.flat_map(|kind| [2, 4, 8, 16].map(|shares| (kind, shares)));
        all.find(|&(kind, shares)| is(kind, shares))
    };
    let (large, w) = (&Ability::LARGE, [512, 512, 3, 3]);
    let [f32, f16, bf16] = [DType::F32, DType::F16, DType::BF16];
    for dtype in [f16, bf16] {
        let packed = |x, w| shares(x, w, dtype, large);
        assert_eq!(packed([1, 512, 14, 14], w), Some(("packed shares", 8)));
        assert_eq!(
            packed([1, 256, 28, 28], [256, 256, 3, 3]),
            Some(("packed shares", 4))
        );
        // Enough tiles; and channels that are no two shares of whole blocks.
        assert_eq!(packed([32, 512, 14, 14], w), None);
        assert_eq!(packed([1, 520, 14, 14], [512, 520, 3, 3]), None);
    }
    let gathered = |x, w| shares(x, w, f32, large);
    assert_eq!(gathered([1, 512, 14, 14], w), Some(("shared", 8)));
    assert_eq!(gathered([1, 512, 1, 1], w), Some(("shared", 16)));
    assert_eq!(gathered([8, 512, 7, 7], w), Some(("packed shares", 4)));
    let some = ([1, 64, 28, 28], [64, 64, 3, 3]);
    assert_eq!(gathered(some.0, some.1), Some(("shared", 4)));
    assert_eq!(shares(some.0, some.1, bf16, large), Some(("shared", 4)));
    // Few products, an odd number of channels, and a device that is not large.
    assert_eq!(gathered([1, 32, 28, 28], [64, 32, 3, 3]), None);
    assert_eq!(gathered([1, 63, 28, 28], [64, 63, 3, 3]), None);
    assert_eq!(shares(some.0, some.1, f32, &Ability::WEBGPU), None);
}

#[test]
fn kernels_of_one_element_over_large_planes_are_plain_products() {
    let vec4 = POINTWISE_VEC4;
    assert_eq!(method([2, 16, 28, 28], [32, 16, 1, 1], 1, 256), vec4);
    assert_eq!(method([1, 16, 4, 5], [32, 16, 1, 1], 1, 256), vec4);
    assert_eq!(method([2, 16, 27, 27], [32, 16, 1, 1], 1, 256), POINTWISE);
    // Small planes of many images fill tiles only together.
    assert_eq!(
        method([9, 16, 4, 5], [32, 16, 1, 1], 1, 256),
        Method::Tiled(Tile::DEFAULT)
    );
    assert_eq!(
        method([1, 17, 28, 28], [8, 17, 1, 1], 1, 256),
        Method::Direct
    );
}

#[test]
fn kernels_of_one_element_read_images_as_they_lie_on_matrix_units() {
    let options = Conv2dOptions::default();
    let find = |x: &Layout, w: [usize; 4], dtype| {
        let w = Layout::contiguous(Shape::new(w).unwrap());
        let g = options.geometry(x.shape(), w.shape(), None).unwrap();
        ways(&g, seen(x, &w, dtype), &Ability::LARGE).default
    };
    let image = |dims: [usize; 4]| Layout::contiguous(Shape::new(dims).unwrap());
    let is_planes = |method| matches!(method, Method::Planes(_));
    let (x, w) = (image([32, 256, 56, 56]), [64, 256, 1, 1]);
    assert!(is_planes(find(&x, w, DType::F16)));
    // Channels last.
    let last = image([32, 56, 56, 256]).permute(&[0, 3, 1, 2]).unwrap();
    assert!(is_planes(find(&last, w, DType::F16)));
    for other in [DType::F32, DType::BF16] {
        assert!(!is_planes(find(&x, w, other)));
    }
    // Rows of channels that are no whole vectors, planes that fill little of a tile, few filters.
    assert!(!is_planes(find(
        &image([32, 255, 56, 56]),
        [64, 255, 1, 1],
        DType::F16
    )));
    assert!(!is_planes(find(&image([32, 256, 8, 10]), w, DType::F16)));
    assert!(!is_planes(find(&x, [16, 256, 1, 1], DType::F16)));
}

#[test]
fn transposed_rows_of_a_plane_take_the_general_kernel() {
    let options = Conv2dOptions::default();
    let layout = Layout::contiguous(Shape::new([1, 16, 12, 16]).unwrap())
        .transpose(2, 3)
        .unwrap();
    let w = Layout::contiguous(Shape::new([32, 16, 1, 1]).unwrap());
    let g = options.geometry(layout.shape(), w.shape(), None).unwrap();
    assert_eq!(
        ways(&g, seen(&layout, &w, DType::F32), &Ability::WEBGPU).default,
        Method::Tiled(Tile::DEFAULT)
    );
}

/// What a tuner found to be the fastest on an H200, or as fast.
#[test]
fn defaults_are_those_that_were_measured() {
    let [f32, f16, bf16] = [DType::F32, DType::F16, DType::BF16];
    let half = "pointwise 32×64×16";
    for (dtype, x, w, step, expected) in [
        (f32, [8, 32, 112, 112], [16, 32, 1, 1], 1, half),
        (f16, [8, 32, 112, 112], [16, 32, 1, 1], 1, half),
        (f16, [8, 16, 112, 112], [96, 16, 1, 1], 1, half),
        (
            bf16,
            [8, 64, 56, 56],
            [256, 64, 1, 1],
            1,
            "pointwise 64×64×16",
        ),
        (
            bf16,
            [8, 1024, 14, 14],
            [256, 1024, 1, 1],
            1,
            "packed 64×64×64",
        ),
        (f16, [8, 256, 56, 56], [64, 256, 1, 1], 1, "planes 64×64×32"),
        (
            f32,
            [8, 256, 56, 56],
            [512, 256, 1, 1],
            2,
            "packed 64×64×16",
        ),
        (f32, [1, 256, 56, 56], [512, 256, 1, 1], 2, "tiled 64×64×16"),
        (f32, [8, 3, 224, 224], [32, 3, 3, 3], 2, "tiled 32×32×8"),
        (f16, [8, 3, 224, 224], [32, 3, 3, 3], 2, "rows"),
        (f32, [1, 4, 64, 64], [320, 4, 3, 3], 1, "rows"),
        (f16, [2, 320, 64, 64], [4, 320, 3, 3], 1, "packed 64×64×64"),
        (
            f16,
            [2, 320, 64, 64],
            [320, 320, 3, 3],
            1,
            "packed 128×128×32",
        ),
        (f16, [1, 16, 32, 32], [16, 16, 3, 3], 1, "packed 64×64×32"),
        (f16, [1, 8, 28, 28], [16, 8, 3, 3], 1, "tiled 64×64×16"),
        (
            bf16,
            [1, 3, 224, 224],
            [768, 3, 16, 16],
            16,
            "packed 64×64×32",
        ),
    ] {
        let pads = if step < 16 { w[2] / 2 } else { 0 };
        let options = Conv2dOptions {
            stride: [step; 2],
            ..Conv2dOptions::default().padding([pads; 2])
        };
        let [x, w] = [x, w].map(|dims| Layout::contiguous(Shape::new(dims).unwrap()));
        let g = options.geometry(x.shape(), w.shape(), None).unwrap();
        let found = ways(&g, seen(&x, &w, dtype), &Ability::LARGE).default;
        assert_eq!(found.name().to_string(), expected, "{dtype} {x:?} {w:?}");
    }
}

#[test]
fn layouts_of_images_are_classes_of_their_own() {
    let options = Conv2dOptions::default().padding([1, 1]);
    let w = Shape::new([64, 64, 3, 3]).unwrap();
    let class = |x: &Layout| {
        let g = options.geometry(x.shape(), &w, None).unwrap();
        class(&g, x, DType::F32, false).key
    };
    let contiguous = |dims: [usize; 4]| Layout::contiguous(Shape::new(dims).unwrap());
    let first = class(&contiguous([18, 64, 56, 56]));
    let last = contiguous([18, 56, 56, 64]).permute(&[0, 3, 1, 2]).unwrap();
    assert_ne!(first, class(&last));
    // Many images count by their power of two.
    assert_eq!(first, class(&contiguous([20, 64, 56, 56])));
}
