//! The same calls on devices with tiny limits: the same values, or a typed error.

use super::calls::{Args, CALLS, Call, random};
use super::*;
use ziggurat_tensor::{Device, DeviceOptions, Error, Generator, Tensor};

/// Bytes of a binding, and iterations of the loops of an invocation.
const TIGHT: [(u64, u32); 6] = [
    (512, 1 << 15),
    (640, 7),
    (2048, 1),
    (256, 1 << 15),
    (516, 3),
    (1024, 1),
];

/// Calls that have several right results, with arguments for which there is one: where an element is named twice, any of its
/// values may stay, a search in what is not sorted finds any place, and weights that are negative or not finite draw anything.
const WITH_ONE_RESULT: &[(&str, Call)] = &[
    ("index_put", |a, b, p| {
        let values = if p.flag { a.clone() } else { a.ones_like()? };
        a.index_put(&[b], &values, p.flag)
    }),
    ("scatter", |a, b, p| a.scatter(p.axis, b, &a.ones_like()?)),
    ("index_copy", |a, b, p| {
        a.index_copy(p.axis, b, &a.ones_like()?)
    }),
    ("searchsorted", |a, b, p| {
        a.sort(-1, false)?.0.searchsorted(b, p.flag)
    }),
    ("max_unpool1d", |a, b, p| {
        a.ones_like()?.max_unpool1d(b, [p.count])
    }),
    ("max_unpool2d", |a, b, p| {
        a.ones_like()?.max_unpool2d(b, [p.count, 5])
    }),
    ("multinomial", |a, _b, p| {
        a.ones_like()?
            .multinomial(p.count, p.flag, &mut Generator::new(4))
    }),
];

/// Calls whose second operand is finite here: filters that are not may or may not count where they lie over padding.
const WITH_FINITE: [&str; 2] = ["conv1d", "conv2d"];

/// What is wrong with a result under limits, if anything; whether there were values.
fn under_limits(
    name: &str,
    roomy: Result<Tensor, Error>,
    tight: Result<Tensor, Error>,
) -> Result<bool, String> {
    let read = |result: Result<Tensor, Error>| -> Result<_, Error> {
        let tensor = result?;
        let values = decode(tensor.dtype(), &tensor.to_bytes_blocking()?);
        Ok((tensor.dims().to_vec(), tensor.dtype(), values))
    };
    let (wanted, got) = match (read(roomy), read(tight)) {
        (_, Err(error)) if error.is_too_large() => return Ok(false),
        (Err(wanted), Err(got)) if wanted.to_string() == got.to_string() => return Ok(false),
        (Ok(wanted), Ok(got)) => (wanted, got),
        (wanted, got) => {
            let brief = |result: Result<(Vec<usize>, DType, _), Error>| match result {
                Ok((dims, dtype, _)) => format!("{dims:?} of {dtype}"),
                Err(error) => error.to_string(),
            };
            return Err(format!(
                "{name}: {}, with room {}",
                brief(got),
                brief(wanted)
            ));
        }
    };
    if (&wanted.0, wanted.1) != (&got.0, got.1) {
        return Err(format!("{name}: {:?} of {}", got.0, got.1));
    }
    let epsilon = match wanted.1 {
        DType::F32 => 1e-4,
        DType::F16 => 2f64.powi(-9),
        DType::BF16 => 2f64.powi(-6),
        _ => 0.0,
    };
    let finite = wanted.2.iter().filter(|x| x.is_finite());
    let largest = finite.fold(1.0, |most: f64, x| most.max(x.abs()));
    let near =
        |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= epsilon * largest;
    let mut pairs = got.2.iter().zip(&wanted.2);
    match pairs.position(|(&a, &b)| !near(a, b)) {
        None => Ok(true),
        Some(at) => Err(format!(
            "{name}: element {at} of {:?} is {}, with room {}",
            wanted.0, got.2[at], wanted.2[at]
        )),
    }
}

/// Calls on one device that found something: a plan that was found again bound memory whole that no binding holds.
const FOUND: std::ops::Range<u64> = 20_000_280..20_000_316;

#[test]
fn any_call_is_right_or_refused_under_tiny_limits() {
    /// Calls on one device.
    const AT_ONCE: u64 = 40;
    let roomy = common::device();
    let mut campaign = Campaign::new(400);
    let mut tight = None;
    let (mut gave, mut wrong) = (0, Vec::new());
    let mut found = if campaign.is_usual() { FOUND } else { 0..0 };
    while let Some(seed) = campaign.next().or_else(|| found.next()) {
        let which = (seed / AT_ONCE) as usize % TIGHT.len();
        let device = match tight.take() {
            Some((limits, device)) if limits == which => device,
            _ => {
                let (bytes, turns) = TIGHT[which];
                let options = DeviceOptions {
                    pipeline_cache: false,
                    max_binding_bytes: Some(bytes),
                    max_loop_iterations: Some(turns),
                    ..DeviceOptions::default()
                };
                Device::open_blocking(options).unwrap()
            }
        };
        let mut unit = Unit(seed);
        let mut below = |end: usize| (unit.next() * end as f64) as usize;
        let (name, call) = CALLS[below(CALLS.len())];
        let one = WITH_ONE_RESULT.iter().find(|(other, _)| *other == name);
        let call = one.map_or(call, |(_, call)| *call);
        campaign.note(seed, name);
        let dtype = DType::ALL[below(DType::ALL.len())];
        let rank = below(5);
        let mut extent = || [1, 2, 3, 5, 7, 9, 33][below(7)];
        let mut dims: Vec<usize> = (0..rank).map(|_| extent()).collect();
        // Within what a test may take: parts of one operand meet parts of another, in `unique` in each step of a sort, and there
        // are as many of those of `index_put` as it names elements.
        let bytes = TIGHT[which].0 as usize;
        let most = 6000.min(if name == "unique" {
            bytes / 2
        } else {
            bytes * 4
        });
        while dims.iter().product::<usize>() > most {
            dims.pop();
        }
        let (fit, transposed) = (below(2) == 0, below(2) == 0);
        let other: Vec<usize> = (0..below(4)).map(|_| [1, 2, 3, 5][below(4)]).collect();
        let args = Args {
            axis: below(6).cast_signed() - 2,
            other: below(6).cast_signed() - 2,
            count: below(4),
            number: [0.0, 0.5, 1.0, -2.0, 300.0][below(5)],
            flag: below(2) == 0,
            dtype: DType::ALL[below(DType::ALL.len())],
        };
        let more = if fit { &dims } else { &other };
        let row: usize = dims.iter().skip(1).product();
        if name == "index_put" && row * more.iter().product::<usize>() > most {
            tight = Some((which, device));
            continue;
        }
        let results = [&roomy, &device].map(|device| {
            let mut a = random(device, dtype, &dims, seed);
            if transposed && a.rank() > 1 {
                a = a.transpose(0, -1)?;
            }
            let more = if fit { a.dims() } else { &other };
            let mut b = random(device, dtype, more, seed ^ 1);
            if WITH_FINITE.contains(&name) {
                b = b.nan_to_num()?.clamp(-4.0, 4.0)?;
            }
            call(&a, &b, &args)
        });
        let [wanted, got] = results;
        match under_limits(name, wanted, got) {
            Ok(values) => gave += u64::from(values),
            Err(text) => {
                let text = format!("seed {seed}, {:?}: {text}", TIGHT[which]);
                println!("{text}");
                wrong.push(text);
            }
        }
        tight = Some((which, device));
    }
    println!("{gave} of {} calls gave values", campaign.done());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(!campaign.is_usual() || gave > campaign.done() / 6, "{gave}");
}

#[test]
fn the_comparison_under_limits_sees_wrong_values_and_refusals() {
    let device = common::device();
    let ones = |n: usize| Tensor::ones(&device, [n], DType::F32);
    let refused = || Err(ones(3).unwrap().reshape([2]).unwrap_err());
    assert_eq!(under_limits("ones", ones(3), ones(3)), Ok(true));
    assert_eq!(under_limits("ones", refused(), refused()), Ok(false));
    for (roomy, tight) in [
        (ones(3), ones(2)),
        (ones(3), refused()),
        (refused(), ones(3)),
    ] {
        assert!(under_limits("ones", roomy, tight).is_err());
    }
    let wrong = ones(3).unwrap().mul(1.001);
    assert!(under_limits("ones", ones(3), wrong).is_err());
}
