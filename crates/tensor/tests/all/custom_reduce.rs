//! Reductions by a user's own WGSL: like the built-in ones of the same operator, over every shape, layout and pass.

use crate::common;
use crate::custom_op::{bits, numbers};
use crate::tensor_kernel::{devices, values, views};
use ziggurat_tensor::software::assert_clean;
use ziggurat_tensor::{CustomOp, CustomReduce, DType, Device, Error, FusionPolicy, Tensor};

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

fn reduction(name: &str, identity: f32, text: &str) -> CustomReduce {
    CustomReduce::new(name, identity, text).unwrap()
}

/// The operator of the built-in sum.
fn total() -> CustomReduce {
    let text = "fn combine(a: f32, b: f32) -> f32 { return a + b; }";
    reduction("total", 0.0, text)
}

/// The greatest magnitude, and 100 beside it. Names of the library, and of members.
fn widest() -> CustomReduce {
    reduction(
        "widest",
        0.0,
        "struct start { elem: f32, acc: f32 }
         const more = 100.0;
         fn lift(x: f32) -> f32 { return abs(x); }
         fn combine(out_elem: f32, b: f32) -> f32 { let params = start(out_elem, b); return larger(params); }
         fn larger(v: start) -> f32 { return max(v.elem, v.acc); }
         fn finish(a: f32) -> f32 { return a + more; }",
    )
}

/// All sets of axes of a tensor of up to three.
fn axes(rank: usize) -> Vec<Vec<isize>> {
    let all = (0..1_u32 << rank).map(|set| {
        let axes = (0..rank as isize).filter(|axis| set >> axis & 1 == 1);
        axes.collect()
    });
    all.collect()
}

#[test]
fn it_has_the_bits_of_the_built_in_reduction_of_the_same_operator() {
    for device in devices() {
        for dtype in FLOATS {
            for x in views(&numbers(&device, &[3, 5, 7], dtype)) {
                for axes in axes(x.rank()) {
                    let (own, known) = (total().call(&x, &axes, true), x.sum(&axes, true));
                    let (own, known) = (own.unwrap(), known.unwrap());
                    assert_eq!((own.dims(), own.dtype()), (known.dims(), dtype));
                    assert_eq!(bits(&own), bits(&known), "{dtype} {:?} {axes:?}", x.dims());
                }
            }
        }
    }
}

#[test]
fn long_rows_and_columns_and_nothing_at_all() {
    let device = common::device();
    for dims in [[1, 300_001], [70_000, 4], [3, 5000], [257, 64]] {
        let x = numbers(&device, &dims, DType::F32);
        let x = x.is_finite().unwrap().where_(&x, 0.25).unwrap();
        // A built-in sum over no axes does not add 0, which makes 0 of -0.
        for axes in axes(2).into_iter().skip(1) {
            let (own, known) = (total().call(&x, &axes, false), x.sum(&axes, false));
            assert_eq!(
                bits(&own.unwrap()),
                bits(&known.unwrap()),
                "{dims:?} {axes:?}"
            );
            let own = widest().call(&x, &axes, false).unwrap();
            let known = x
                .abs()
                .unwrap()
                .max(&axes, false)
                .unwrap()
                .add(100)
                .unwrap();
            assert_eq!(bits(&own), bits(&known), "{dims:?} {axes:?}");
        }
    }
    let none = Tensor::zeros(&device, [2, 0], DType::F16).unwrap();
    assert_eq!(
        values(&widest().call(&none, [1], false).unwrap()),
        [100.0; 2]
    );
    assert!(values(&widest().call(&none, [0], false).unwrap()).is_empty());
    let whole = Tensor::from_slice(&device, &[-3i8, 2], [2]).unwrap();
    let result = widest().call(&whole, [-1], false).unwrap();
    assert_eq!((result.dtype(), values(&result)), (DType::F32, vec![103.0]));
}

/// The variance of Welford, Chan, Golub and LeVeque: accumulators of three words.
fn variance() -> CustomReduce {
    CustomReduce::from_wgsl(
        "welford",
        "struct Seen { count: f32, mean: f32, spread: f32 }
         fn identity() -> Seen { return Seen(0.0, 0.0, 0.0); }
         fn lift(x: f32) -> Seen { return Seen(1.0, x, 0.0); }
         fn combine(a: Seen, b: Seen) -> Seen {
             let count = a.count + b.count;
             if count == 0.0 { return a; }
             let away = b.mean - a.mean;
             let mean = a.mean + away * b.count / count;
             return Seen(count, mean, a.spread + b.spread + away * away * a.count * b.count / count);
         }
         fn finish(a: Seen) -> f32 { return a.spread / a.count; }",
    )
    .unwrap()
}

/// How many are 0, negative, positive and odd: accumulators of four words, of integers of every dtype.
fn census() -> CustomReduce {
    CustomReduce::from_wgsl(
        "census",
        "fn identity() -> vec4<u32> { return vec4<u32>(); }
         fn lift(x: i32) -> vec4<u32> { return vec4(u32(x == 0), u32(x < 0), u32(x > 0), u32(x & 1)); }
         fn combine(a: vec4<u32>, b: vec4<u32>) -> vec4<u32> { return a + b; }
         fn finish(v: vec4<u32>) -> u32 { return v.x + 100u * v.y + 10000u * v.z + 1000000u * v.w; }",
    )
    .unwrap()
}

#[test]
fn accumulators_of_several_words_and_integers() {
    for device in devices() {
        for dims in [[3, 5, 7], [2, 1, 9001]] {
            let raw: Vec<f32> = (0..dims.iter().product())
                .map(|i: usize| (i * 37 % 23) as f32 - 9.0)
                .collect();
            let x = Tensor::from_slice(&device, &raw, dims).unwrap();
            let small = x.slice(2, ..7).unwrap();
            for axes in [vec![0], vec![1, 2], vec![2], vec![0, 1, 2]] {
                let (own, known) = (variance().call(&x, &axes, false), x.var(&axes, 0.0, false));
                for (own, known) in values(&own.unwrap()).iter().zip(values(&known.unwrap())) {
                    assert!(
                        (own - known).abs() < 1e-3,
                        "{own} {known} {dims:?} {axes:?}"
                    );
                }
                let odd = [DType::I32, DType::I8].map(|dtype| {
                    let x = small.to_dtype(dtype).unwrap();
                    (census().call(&x, &axes, false).unwrap(), x)
                });
                for (own, x) in odd {
                    assert_eq!(own.dtype(), DType::U32);
                    let count = |kind: Tensor| kind.sum_to(&axes, false, DType::I32).unwrap();
                    let bit = x.remainder(2).unwrap();
                    let known = (count(x.eq(0).unwrap()))
                        .add(count(x.lt(0).unwrap()).mul(100).unwrap())
                        .unwrap()
                        .add(count(x.gt(0).unwrap()).mul(10_000).unwrap())
                        .unwrap()
                        .add(count(bit.ne(0).unwrap()).mul(1_000_000).unwrap())
                        .unwrap();
                    assert_eq!(values(&own), values(&known), "{:?} {axes:?}", x.dtype());
                }
            }
        }
    }
}

#[test]
fn every_dtype_is_taken_as_its_type_says() {
    let device = common::device();
    let or = |ty: &str| {
        let text = format!("fn combine(a: {ty}, b: {ty}) -> {ty} {{ return a | b; }}");
        CustomReduce::new(&format!("or {ty}"), 0, &text).unwrap()
    };
    let x = Tensor::from_slice(&device, &[1.0f32, 0.0, 4.0, 12.0], [2, 2]).unwrap();
    for dtype in DType::ALL {
        let x = x.to_dtype(dtype).unwrap();
        let [of_i32, of_u32] = ["i32", "u32"].map(|ty| or(ty).call(&x, [0], false));
        let bits = if dtype == DType::Bool {
            vec![1.0, 1.0]
        } else {
            vec![5.0, 12.0]
        };
        let taken = [
            (
                of_i32,
                DType::I32,
                [DType::I32, DType::I8, DType::U8, DType::Bool].contains(&dtype),
            ),
            (
                of_u32,
                DType::U32,
                [DType::U32, DType::U8, DType::Bool].contains(&dtype),
            ),
        ];
        for (result, to, takes) in taken {
            match result {
                Ok(result) => assert_eq!(
                    (values(&result), result.dtype(), takes),
                    (bits.clone(), to, true)
                ),
                Err(error) => assert!(error.is_dtype() && !takes, "{error}"),
            }
        }
        let sums = total().call(&x, [0], false).unwrap();
        assert_eq!(
            sums.dtype(),
            if dtype.is_float() { dtype } else { DType::F32 }
        );
    }
    let every = CustomReduce::new(
        "every",
        1,
        "fn lift(x: bool) -> u32 { return u32(x); }
         fn combine(a: u32, b: u32) -> u32 { return a & b; }
         fn finish(a: u32) -> bool { return a == 1u; }",
    )
    .unwrap();
    let truth = every.call(&x.ne(0.0).unwrap(), [1], false).unwrap();
    assert_eq!(truth.to_vec_blocking::<bool>().unwrap(), [false, true]);
    assert_eq!(
        truth
            .logical_not()
            .unwrap()
            .explain()
            .unwrap()
            .kernels()
            .len(),
        1
    );
}

/// With neighbours on both sides, elementwise and others of a user's.
fn chain(x: &Tensor) -> Result<Vec<Tensor>, Error> {
    let text = "fn apply(x: f32, k: f32) -> f32 { return k * x + x * x; }";
    let bend = CustomOp::elementwise("bend", text)?;
    let rows = total().call(&bend.call(&[x, &0.3])?, [1], true)?;
    let behind = bend.call(&[&rows, &-0.7])?.add(1.5)?;
    let columns = widest().call(&x.mul(&behind)?, [0], false)?.relu()?;
    Ok(vec![behind, columns])
}

#[test]
fn fused_unfused_and_captured_give_equal_bits() {
    for device in devices() {
        for dtype in FLOATS {
            let x = numbers(&device, &[24, 40], dtype);
            let all = |results: &[Tensor]| results.iter().map(bits).collect::<Vec<_>>();
            let fused = all(&chain(&x).unwrap());
            let captured = device.capture(&[&x], |inputs| chain(&inputs[0])).unwrap();
            assert_eq!(all(&captured.run(&[&x]).unwrap()), fused);
            let _unfused = FusionPolicy::Unfused.enter();
            assert_eq!(all(&chain(&x).unwrap()), fused, "{dtype}");
        }
    }
}

#[test]
fn it_is_one_kernel_with_its_neighbours() {
    let device = common::device();
    let x = numbers(&device, &[8, 16], DType::F32);
    let y = widest().call(&x.exp().unwrap(), [1], false).unwrap();
    let explained = y.relu().unwrap().explain().unwrap();
    let [kernel] = explained.kernels() else {
        panic!("{explained}");
    };
    assert_eq!(kernel.ops(), ["exp", "widest", "relu"]);
    assert!(kernel.wgsl().unwrap().contains("---- user/widest/"));
}

#[test]
fn the_sanitizer_finds_nothing() {
    assert_clean(|device: &Device| {
        for dtype in FLOATS {
            let x = numbers(device, &[9, 70], dtype);
            let spread = variance().call(&x, [0], false).unwrap();
            for result in chain(&x).unwrap().iter().chain([&spread]) {
                let _ = values(result);
            }
        }
        let long = Tensor::ones(device, [20_000], DType::F32).unwrap();
        assert_eq!(values(&variance().call(&long, [0], false).unwrap()), [0.0]);
        let small = long.to_dtype(DType::I8).unwrap();
        assert_eq!(
            values(&census().call(&small, [0], false).unwrap()),
            [20_000_u32.wrapping_mul(1_010_000) as f32]
        );
        assert_eq!(
            values(&total().call(&long, [0], false).unwrap()),
            [20_000.0]
        );
    });
}

#[test]
fn mistakes_in_a_text_have_line_and_column() {
    let refused = |text: &str, place: &str, words: &str| {
        let error = CustomReduce::new("own", 0.0, text).unwrap_err();
        let shown = error.to_string();
        assert!(
            error.is_kernel() && shown.contains(&format!("own:{place}: ")),
            "{shown}"
        );
        assert!(shown.contains(words), "{shown}");
    };
    let combine = "fn combine(a: f32, b: f32) -> f32 { return a + b; }";
    refused(
        "fn combine(a: f32, b: f32) -> f32 {\n return c; }",
        "2:9",
        "c",
    );
    refused(
        "fn other(a: f32) -> f32 { return a; }",
        "1:38",
        "no function `combine`",
    );
    refused(
        "fn combine(a: i32, b: i32) -> u32 { return 0u; }",
        "1:4",
        "takes two of a type",
    );
    refused(
        "fn combine(a: f32) -> f32 { return a; }",
        "1:4",
        "takes two of a type",
    );
    refused(
        "fn combine(a: bool, b: bool) -> bool { return a; }",
        "1:4",
        "use u32",
    );
    refused(
        &format!("{combine}\nfn lift(a: u32) -> i32 {{ return 0; }}"),
        "2:4",
        "write `fn lift(x: f32) -> f32`",
    );
    refused(
        "fn combine(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> { return a; }",
        "1:4",
        "write `fn lift(x: f32) -> vec2<f32>`",
    );
    refused(
        &format!("{combine}\nfn finish(a: f32) {{ }}"),
        "2:19",
        "expected `-`",
    );
    refused(
        &format!("{combine}\nfn f() {{ loop {{ break; }} }}"),
        "2:10",
        "no loops",
    );
    refused(&format!("{combine}\nvar<private> n: u32;"), "2:1", "`var`");
    assert!(CustomReduce::new("a/b", 0.0, combine).is_err());
    let device = common::device();
    let x = Tensor::ones(&device, [3], DType::F32).unwrap();
    assert!(total().call(&x, [1], false).unwrap_err().is_shape());
    assert!(total().call(&x, [0, 0], false).unwrap_err().is_shape());
}
