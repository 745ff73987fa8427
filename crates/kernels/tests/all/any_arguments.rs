//! Every method of the `Executor` with random operands, good and bad: it records or returns a typed error that names an
//! operation, never panics, and never makes the device unusable; and with operands that it accepts, whose results are read
//! back, also under limits far below those of any device. [`Campaign`] says how to ask for more calls.

mod any;
mod calls;
mod limits;
mod valid;

use crate::common;
use std::collections::BTreeMap;

use crate::campaign::Campaign;
use any::Any;
use valid::Gives;
use ziggurat_kernels::{ASSEMBLED, DType, Executor, KernelError, Layout};

pub(crate) type Outcome = Result<(), KernelError>;

/// Of each op how many calls were accepted, and how many refused.
type Tally = BTreeMap<&'static str, [usize; 2]>;

/// Ops of whose calls less than a third were accepted.
fn lacking(told: &Tally) -> Vec<&'static str> {
    let few = told
        .iter()
        .filter(|(_, [done, refused])| done * 3 < done + refused || *done == 0);
    few.map(|(&name, _)| name).collect()
}

/// A call with anything: what it says, where it refuses.
fn anything(any: &mut Any<'_>, &(name, call): &calls::Call, told: &mut Tally) {
    any.renew();
    let counts = told.entry(name).or_default();
    match call(any.exec, any) {
        Ok(()) => {
            counts[0] += 1;
            any.read_operands();
        }
        Err(error) => {
            counts[1] += 1;
            let text = error.to_string();
            // An operation, then what is wrong; nothing of the layers below, which would be a mistake of the op's own.
            let below = matches!(
                error,
                KernelError::Device(_) | KernelError::Pipeline(_) | KernelError::MissingPart { .. }
            );
            assert!(!below && text.contains(": "), "{name}: {text}");
        }
    }
}

/// Whether two results of the same values are further apart than orders of adding can make them.
fn differ((dtype, a): (DType, f64), (_, b): (DType, f64)) -> bool {
    let epsilon = match dtype {
        DType::F32 => 1e-5,
        DType::F16 => 2f64.powi(-10),
        DType::BF16 => 2f64.powi(-7),
        _ => 0.0,
    };
    let equal = a == b || (a.is_nan() && b.is_nan());
    // Of NaN or infinities, which are near nothing, the distance is none of these.
    let near = (0.0..=8.0 * epsilon * b.abs().max(1.0)).contains(&(a - b).abs());
    !(equal || (near && b.is_finite()))
}

/// A call with what the op accepts: why it refuses, or what is wrong with its results.
fn accepted(any: &mut Any<'_>, &(name, gives, call): &valid::Call) -> Result<(), String> {
    let before = any.rng.0;
    any.renew();
    if let Err(error) = call(any.exec, any) {
        return Err(format!("{name} refuses what it should accept: {error}"));
    }
    let results = any.read_back();
    let wild = results.iter().filter(|(_, value)| !value.is_finite());
    let wild = wild.count();
    if gives == Gives::Finite && wild > 0 {
        let len = results.len();
        return Err(format!("{name}: {wild} of {len} results are not finite"));
    }
    // Once more over dense memory.
    any.rng.0 = before;
    any.dense = true;
    any.renew();
    let again = call(any.exec, any);
    any.dense = false;
    if let Err(error) = again {
        return Err(format!("{name} refuses dense operands: {error}"));
    }
    let dense = any.read_back();
    if results.len() != dense.len() {
        let (some, others) = (results.len(), dense.len());
        return Err(format!(
            "{name}: {some} results, of dense operands {others}"
        ));
    }
    let mut pairs = results.into_iter().zip(dense);
    match pairs.find(|&(a, b)| gives != Gives::Loose && differ(a, b)) {
        Some((a, b)) => Err(format!("{name}: {a:?}, of dense operands {b:?}")),
        None => Ok(()),
    }
}

/// Cases of one executor: drivers keep some megabytes per pipeline.
const AT_ONCE: u64 = 4096;

/// Calls with random arguments, each from a seed of its own, which also says which call it is.
fn run<C>(
    open: impl Fn() -> Executor,
    usual: usize,
    calls: &[C],
    name: impl Fn(&C) -> &'static str,
    mut each: impl FnMut(&mut Any<'_>, &C, u64),
) -> Campaign {
    let mut campaign = Campaign::new((usual * calls.len()) as u64);
    let mut exec = open();
    while let Some(seed) = campaign.next() {
        if campaign.done().is_multiple_of(AT_ONCE) {
            exec = open();
        }
        let call = &calls[(seed % calls.len() as u64) as usize];
        campaign.note(seed, name(call));
        each(&mut Any::new(&exec, seed), call, seed);
        if campaign.done().is_multiple_of(256) {
            exec.synchronize().wait().unwrap();
        }
    }
    // Whatever was recorded is legal: the device has not been poisoned.
    exec.synchronize().wait().unwrap();
    println!("{} calls", campaign.done());
    campaign
}

#[test]
fn any_arguments_give_a_result_or_an_error_that_names_the_rule() {
    const ROUNDS: usize = 60;
    let mut told = Tally::new();
    let name = |call: &calls::Call| call.0;
    let campaign = run(
        common::fresh_executor,
        ROUNDS,
        calls::CALLS,
        name,
        |any, call, _| {
            anything(any, call, &mut told);
        },
    );
    if !campaign.is_usual() {
        return;
    }
    for (name, [done, refused]) in &told {
        println!("{name}: {done} done, {refused} refused");
        assert_eq!(done + refused, ROUNDS, "{name}");
    }
    // The arguments are good often enough, and bad often enough, that both ways are walked.
    let total = told
        .values()
        .fold([0, 0], |sum, each| [sum[0] + each[0], sum[1] + each[1]]);
    assert!(total[0] > 400 && total[1] > 400, "{total:?}");
}

fn accept_all(open: impl Fn() -> Executor, usual: usize) {
    let mut told = Tally::new();
    let mut wrong = Vec::new();
    let name = |call: &valid::Call| call.0;
    let campaign = run(open, usual, valid::CALLS, name, |any, call, seed| {
        let outcome = accepted(any, call);
        told.entry(call.0).or_default()[usize::from(outcome.is_err())] += 1;
        wrong.extend(outcome.err().map(|text| format!("seed {seed}: {text}")));
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    if campaign.is_usual() {
        assert_eq!(lacking(&told), [""; 0]);
    }
}

#[test]
fn every_op_accepts_what_fits_it_and_gives_numbers() {
    accept_all(common::fresh_executor, 12);
}

#[test]
fn every_op_accepts_what_fits_it_within_the_default_limits() {
    accept_all(common::fresh_plain_executor, 3);
}

#[test]
fn no_op_is_left_out() {
    let mut valid: Vec<&str> = valid::CALLS.iter().map(|call| call.0).collect();
    let mut any: Vec<&str> = calls::CALLS.iter().map(|call| call.0).collect();
    valid.sort_unstable();
    any.sort_unstable();
    assert_eq!(valid, any);
    for row in ASSEMBLED {
        assert!(valid.contains(&row.name), "{}", row.name);
    }
}

#[test]
fn an_op_that_refuses_or_writes_nothing_is_seen() {
    let exec = common::executor();
    let mut any = Any::new(&exec, 1);
    let refuses: valid::Call = ("refuses", Gives::Finite, |exec, any| {
        let out = any.out(DType::Bool, &[2]);
        exec.arange(&out, 0.0, 1.0).map(drop)
    });
    let idle: valid::Call = ("idle", Gives::Finite, |exec, any| {
        let _poisoned = any.out(DType::F16, &[2, 3]);
        exec.fill(&any.out(DType::F32, &[2]), 0.0).map(drop)
    });
    let error = accepted(&mut any, &refuses).unwrap_err();
    assert!(
        error.starts_with("refuses refuses what it should accept: arange: "),
        "{error}"
    );
    assert_eq!(
        accepted(&mut any, &idle).unwrap_err(),
        "idle: 6 of 8 results are not finite"
    );
    // What ignores how its operand lies is seen as soon as that matters.
    let careless: valid::Call = ("careless", Gives::Wild, |exec, any| {
        let a = any.sized(DType::F32, &[3, 4]);
        let memory = a.with_layout(Layout::contiguous(*a.shape()));
        exec.copy(&memory.unwrap_or(a), &any.out(DType::F32, &[3, 4]))
            .map(drop)
    });
    let seen = (0..40).filter(|_| accepted(&mut any, &careless).is_err());
    assert!(seen.count() > 5);
    let told = Tally::from([("refuses", [0, 5]), ("seldom", [1, 9]), ("works", [5, 5])]);
    assert_eq!(lacking(&told), ["refuses", "seldom"]);
    assert_eq!(
        lacking(&Tally::from([("never called", [0, 0])])),
        ["never called"]
    );
}
