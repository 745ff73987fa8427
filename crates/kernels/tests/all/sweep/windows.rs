//! Convolutions, pooling and resampling.

use ziggurat_kernels::reference::conv;
use ziggurat_kernels::reference::pool;
use ziggurat_kernels::{
    ConvOptions, ConvTransposeOptions, DType, GridMode, GridPadding, GridSampleOptions,
    NearestMode, Pool, PoolOptions, ResizeAxis, ResizeMode, ResizeOptions,
};

use crate::expect;
use crate::operands::shape;
use crate::sweep::case::{Case, Fit, Kind, Rule, any, fit};

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];
const AXES: &str = "it has a batch, a channel and spatial axes";

/// The last extents.
fn spatial<const N: usize>(dims: &[usize]) -> [usize; N] {
    dims[dims.len() - N..].try_into().unwrap()
}

/// The same for all axes but the last.
fn but_last<const N: usize>(others: usize, last: usize) -> [usize; N] {
    std::array::from_fn(|axis| if axis + 1 == N { last } else { others })
}

pub(crate) fn cases() -> Vec<Case> {
    let mut all = vec![
        conv_case::<1>("conv2d", 1, 5),
        conv_case::<2>("conv2d", 1, 5),
        conv_case::<2>("conv2d", 1, 17),
        conv_case::<2>("conv2d", 2, 2),
        conv_case::<3>("conv3d", 1, 5),
        pointwise(),
        transposed::<2>("conv_transpose2d", 0),
        transposed::<2>("conv_transpose2d", 1).form("phases"),
        columns(),
        transposed::<3>("conv_transpose3d", 0),
        fold(),
    ];
    all.extend(pools::<1>());
    all.extend(pools::<2>());
    all.extend(pools::<3>());
    all.extend(adaptive::<1>());
    all.extend(adaptive::<2>());
    all.extend(
        [
            ("linear", ResizeMode::Linear, false),
            ("cubic", ResizeMode::Cubic(-0.75), false),
            ("linear, antialiased", ResizeMode::Linear, true),
            ("floor", ResizeMode::Nearest(NearestMode::Floor), false),
            ("ceil", ResizeMode::Nearest(NearestMode::Ceil), false),
        ]
        .map(resize),
    );
    for mode in GridMode::ALL {
        for padding in GridPadding::ALL {
            all.push(grid_samples(GridSampleOptions {
                mode,
                padding,
                align_corners: padding == GridPadding::Border,
            }));
        }
    }
    all
}

/// Batch, channels per group and spatial extents.
fn images<const N: usize>(kind: Kind) -> Result<(usize, usize, [usize; N]), &'static str> {
    Ok(match kind {
        Kind::Views => (2, 3, but_last(6, 7)),
        Kind::Scalar => return Err(AXES),
        Kind::Empty => (2, 0, but_last(3, 4)),
        Kind::Hollow => (0, 3, but_last(3, 4)),
        Kind::Ones => (1, 1, [1; N]),
        Kind::Size(n) => (1, 2, but_last(1, n)),
    })
}

fn taps<const N: usize>(kind: Kind) -> [usize; N] {
    match kind {
        Kind::Views => but_last(2, 3),
        _ => but_last(1, 3),
    }
}

fn conv_case<const N: usize>(op: &'static str, groups: usize, filters: usize) -> Case {
    let options = ConvOptions::<N> {
        padding_begin: but_last(0, 1),
        padding_end: but_last(0, 1),
        stride: but_last(2, 1),
        // With several groups what few channels without dilation have a kernel for takes another one.
        dilation: but_last(groups, 1),
        groups,
        ..ConvOptions::default()
    };
    let extents = move |kind| -> Fit {
        let (batch, channels, size) = images::<N>(kind)?;
        let x = [&[batch, channels * groups], &size[..]].concat();
        let w = [&[filters * groups, channels], &taps::<N>(kind)[..]].concat();
        let out = options.output_shape(&shape(&x), &shape(&w), None).unwrap();
        fit(&[&x, &w, &[filters * groups]], &[out.dims()])
    };
    let reference = options;
    Case::new(op, FLOATS)
        .form(format!("{N} axes, {groups} groups of {filters} filters"))
        .reads(any())
        .reads(any())
        .reads(any())
        .extents(extents)
        .up_to(3000)
        .call(move |exec, a, out| exec.conv(&a[0], &a[1], Some(&a[2]), &options, &out[0]))
        .gives(move |g| {
            let terms = conv::conv(
                (&g.values[0], &g.dims[0]),
                (&g.values[1], &g.dims[1]),
                Some(&g.values[2]),
                &reference,
                spatial(&g.out[0]),
            );
            let len: usize = g.dims[1][1..].iter().product();
            expect::sums(&terms, len + 1, g.dtype)
        })
}

/// Filters of one tap, without a bias: they have kernels of their own.
fn pointwise() -> Case {
    let options = ConvOptions::<2>::default();
    let reference = options;
    Case::new("conv2d", FLOATS)
        .form("filters of one tap")
        .reads(any())
        .reads(any())
        .extents(|kind| {
            let (batch, channels, size) = images::<2>(kind)?;
            let x = [&[batch, channels], &size[..]].concat();
            let out = [&[batch, 20], &size[..]].concat();
            fit(&[&x, &[20, channels, 1, 1]], &[&out])
        })
        .up_to(3000)
        .call(move |exec, a, out| exec.conv(&a[0], &a[1], None, &options, &out[0]))
        .gives(move |g| {
            let (x, w) = (
                (&g.values[0][..], &g.dims[0][..]),
                (&g.values[1][..], &g.dims[1][..]),
            );
            let terms = conv::conv(x, w, None, &reference, spatial(&g.out[0]));
            expect::sums(&terms, g.dims[1][1], g.dtype)
        })
}

/// Taps that are looked for, and as the second way phases that are interleaved.
fn transposed<const N: usize>(op: &'static str, way: u8) -> Case {
    let options = ConvTransposeOptions::<N> {
        // Which also tells one way from the other.
        stride: but_last(1, 2 + usize::from(way)),
        output_padding: but_last(0, 1),
        ..ConvTransposeOptions::default()
    };
    let extents = move |kind| -> Fit {
        let (batch, channels, size) = images::<N>(kind)?;
        let x = [&[batch, channels], &size[..]].concat();
        let w = [&[channels, 4], &taps::<N>(kind)[..]].concat();
        let out = options.output_shape(&shape(&x), &shape(&w), None).unwrap();
        fit(&[&x, &w], &[out.dims()])
    };
    let reference = options;
    Case::new(op, FLOATS)
        .reads(any())
        .reads(any())
        .extents(extents)
        .up_to(3000)
        .call(move |exec, a, out| {
            let exec = exec.in_way(way);
            exec.conv_transpose(&a[0], &a[1], None, &options, &out[0])
        })
        .gives(move |g| {
            let (x, w) = (
                (&g.values[0][..], &g.dims[0][..]),
                (&g.values[1][..], &g.dims[1][..]),
            );
            let terms = conv::conv_transpose(x, w, None, &reference, spatial(&g.out[0]));
            let len: usize = g.dims[0][1] * g.dims[1][2..].iter().product::<usize>();
            expect::sums(&terms, len + 1, g.dtype)
        })
}

/// Filters of each tap, whose sums are added where they overlap.
fn columns() -> Case {
    const OPTIONS: ConvTransposeOptions<2> = ConvTransposeOptions {
        stride: [2, 2],
        padding_begin: [0, 1],
        padding_end: [0, 0],
        dilation: [1, 1],
        output_padding: [0, 0],
        groups: 1,
    };
    Case::new("conv_transpose2d", FLOATS)
        .form("columns")
        .reads(any())
        .reads(any())
        .reads(any())
        .extents(|kind| {
            let (batch, channels, size) = images::<2>(kind)?;
            let x = [&[batch, channels * 8], &size[..]].concat();
            let w = [&[channels * 8, 6], &taps::<2>(kind)[..]].concat();
            let out = OPTIONS.output_shape(&shape(&x), &shape(&w), None).unwrap();
            fit(&[&x, &w, &[6]], &[out.dims()])
        })
        .up_to(3000)
        .call(|exec, a, out| {
            let exec = exec.in_way(1);
            exec.conv_transpose(&a[0], &a[1], Some(&a[2]), &OPTIONS, &out[0])
        })
        .gives(|g| {
            let (x, w) = (
                (&g.values[0][..], &g.dims[0][..]),
                (&g.values[1][..], &g.dims[1][..]),
            );
            let terms =
                conv::conv_transpose(x, w, Some(&g.values[2]), &OPTIONS, spatial(&g.out[0]));
            let len: usize = g.dims[0][1] * g.dims[1][2..].iter().product::<usize>();
            expect::sums(&terms, len + 1, g.dtype)
        })
}

/// Windows of two by two, one step apart, back into images.
fn fold() -> Case {
    const KERNEL: [usize; 2] = [1, 2];
    let options = ConvOptions::<2>::default();
    let reference = options;
    Case::new("fold", FLOATS)
        .reads(any())
        .extents(|kind| {
            let (batch, channels, size) = match kind {
                // There is no window in an image that is narrower.
                Kind::Ones => (1, 1, [1, 2]),
                Kind::Size(n) => (1, 2, [1, n + 1]),
                _ => images::<2>(kind)?,
            };
            let columns = [batch, channels * 2, size[0] * (size[1] - 1)];
            let out = [&[batch, channels], &size[..]].concat();
            fit(&[&columns], &[&out])
        })
        .up_to(3000)
        .call(move |exec, a, out| exec.fold(&a[0], KERNEL, &options, &out[0]))
        .gives(move |g| {
            let out = spatial::<2>(&g.out[0]);
            let (planes, windows) = (g.out[0][0] * g.out[0][1], [out[0], out[1] - 1]);
            let terms = conv::fold(&g.values[0], planes, KERNEL, windows, &reference, out);
            expect::sums(&terms, 2, g.dtype)
        })
}

fn windows<const N: usize>() -> PoolOptions<N> {
    PoolOptions {
        stride: but_last(1, 2),
        padding_begin: but_last(0, 1),
        padding_end: but_last(0, 1),
        ceil_mode: true,
        count_include_pad: true,
        ..PoolOptions::new(but_last(1, 3))
    }
}

fn pooled<const N: usize>(kind: Kind) -> Fit {
    let (batch, channels, size) = images::<N>(kind)?;
    let x = [&[batch, channels], &size[..]].concat();
    let out = windows::<N>().output_shape("pool", &shape(&x)).unwrap();
    fit(&[&x], &[out.dims()])
}

fn pools<const N: usize>() -> Vec<Case> {
    let case = |op: &'static str, dtypes: Vec<DType>| {
        Case::new(op, dtypes)
            .form(format!("{N} axes"))
            .reads(any())
            .extents(pooled::<N>)
            .up_to(3000)
    };
    let dtypes = |op: Pool| {
        DType::ALL
            .into_iter()
            .filter(move |&d| op.accepts(d))
            .collect()
    };
    let mut all: Vec<Case> = Pool::ALL
        .into_iter()
        .map(|op| {
            case(op.name(), dtypes(op))
                .call(move |exec, a, out| exec.pool(op, &a[0], &windows::<N>(), &out[0]))
                .gives(move |g| {
                    let (from, to) = (spatial(&g.dims[0]), spatial(&g.out[0]));
                    expect::pool(op, &g.values[0], from, &windows::<N>(), to, g.dtype)
                })
        })
        .collect();
    all.push(
        case("max_pool_indices", dtypes(Pool::Max))
            .writes(&[Rule::Is(DType::I32)])
            .call(|exec, a, out| exec.max_pool_indices(&a[0], &windows::<N>(), &out[0]))
            .gives(|g| {
                let (from, to) = (spatial(&g.dims[0]), spatial(&g.out[0]));
                expect::exact(&pool::max_indices(&g.values[0], from, &windows::<N>(), to))
            }),
    );
    all.push(
        case("lp_pool", dtypes(Pool::Average))
            .call(|exec, a, out| exec.lp_pool(&a[0], 3.0, &windows::<N>(), &out[0]))
            .gives(|g| {
                let (from, to) = (spatial(&g.dims[0]), spatial(&g.out[0]));
                expect::lp_pool(&g.values[0], 3.0, from, &windows::<N>(), to, g.dtype)
            }),
    );
    all
}

/// To three along the last axis, or to as many as there are and two more.
fn adapted<const N: usize>(kind: Kind) -> Fit {
    let (batch, channels, size) = images::<N>(kind)?;
    let last = match kind {
        Kind::Size(n) => n + 2,
        _ => 3,
    };
    let x = [&[batch, channels], &size[..]].concat();
    let out = [&[batch, channels], &but_last::<N>(2, last)[..]].concat();
    fit(&[&x], &[&out])
}

fn adaptive<const N: usize>() -> Vec<Case> {
    let names = |op| match op {
        Pool::Max => "adaptive_max_pool",
        Pool::Average => "adaptive_avg_pool",
    };
    let case = |op: Pool, name| {
        Case::new(name, DType::ALL.into_iter().filter(move |&d| op.accepts(d)))
            .form(format!("{N} axes"))
            .reads(any())
            .extents(adapted::<N>)
            .up_to(3000)
    };
    let mut all: Vec<Case> = Pool::ALL
        .into_iter()
        .map(|op| {
            case(op, names(op))
                .call(move |exec, a, out| exec.adaptive_pool::<N>(op, &a[0], &out[0]))
                .gives(move |g| {
                    let (from, to) = (spatial::<N>(&g.dims[0]), spatial(&g.out[0]));
                    expect::adaptive_pool(op, &g.values[0], from, to, g.dtype).0
                })
        })
        .collect();
    all.push(
        case(Pool::Max, "adaptive_max_pool_indices")
            .writes(&[Rule::Is(DType::I32)])
            .call(|exec, a, out| exec.adaptive_max_pool_indices::<N>(&a[0], &out[0]))
            .gives(|g| {
                let (from, to) = (spatial::<N>(&g.dims[0]), spatial(&g.out[0]));
                expect::adaptive_pool(Pool::Max, &g.values[0], from, to, g.dtype).1
            }),
    );
    all
}

fn resize((form, mode, antialias): (&'static str, ResizeMode, bool)) -> Case {
    let nearest = matches!(mode, ResizeMode::Nearest(_));
    let options = ResizeOptions {
        mode,
        antialias,
        ..ResizeOptions::default()
    };
    let dtypes = DType::ALL
        .into_iter()
        .filter(move |d| nearest || d.is_float());
    Case::new(if nearest { "resize_nearest" } else { "resize" }, dtypes)
        .form(form)
        .reads(any())
        .extents(|kind| match kind {
            Kind::Views => fit(&[&[2, 5, 3, 4]], &[&[2, 7, 3, 3]]),
            Kind::Scalar => fit(&[&[]], &[&[]]),
            Kind::Empty => Err("nothing cannot be stretched"),
            Kind::Hollow => fit(&[&[0, 3]], &[&[0, 5]]),
            Kind::Ones => fit(&[&[1, 1]], &[&[1, 2]]),
            Kind::Size(n) => fit(&[&[2, n]], &[&[2, n + 3]]),
        })
        .up_to(3000)
        .call(move |exec, a, out| {
            let axes = vec![ResizeAxis::default(); a[0].rank()];
            exec.resize(&a[0], &axes, &options, &out[0])
        })
        .gives(move |g| {
            let axes = vec![ResizeAxis::default(); g.dims[0].len()];
            expect::resize(
                &g.values[0],
                &g.dims[0],
                &g.out[0],
                &axes,
                &options,
                g.dtype,
            )
        })
}

/// Places of a grid, some of them outside of the image.
fn grid_samples(options: GridSampleOptions) -> Case {
    let name = match options.mode {
        GridMode::Nearest => "grid_sample_nearest",
        GridMode::Linear => "grid_sample",
        GridMode::Cubic => "grid_sample_cubic",
    };
    let dtypes = DType::ALL
        .into_iter()
        .filter(move |&d| options.mode.accepts(d));
    Case::new(name, dtypes)
        .form(format!("{:?}, {:?}", options.mode, options.padding))
        .reads(any())
        // Multiples of 1/16, so that f32 finds the places that f64 finds, none of them half way.
        .reads_as(Rule::Is(DType::F32), &[], |_, dims, rng| {
            let len = dims.iter().product();
            (0..len)
                .map(|_| (rng.below(40) as f64 - 20.0) / 16.0 + 1.0 / 64.0)
                .collect()
        })
        .extents(|kind| {
            let (batch, channels, places) = match kind {
                Kind::Views => (2, 3, 7),
                Kind::Scalar => return Err(AXES),
                Kind::Empty => (2, 3, 0),
                Kind::Hollow => (0, 3, 4),
                Kind::Ones => (1, 1, 1),
                Kind::Size(n) => (1, 2, n),
            };
            let grid = [batch, 3, places, 2];
            let out = [batch, channels, 3, places];
            fit(&[&[batch, channels, 5, 4], &grid], &[&out])
        })
        .up_to(3000)
        .call(move |exec, a, out| exec.grid_sample(&a[0], &a[1], &options, &out[0]))
        .gives(move |g| {
            let images = (&g.values[0][..], &g.dims[0][..]);
            expect::grid_sample(images, &g.values[1], &options, g.dtype)
        })
}
