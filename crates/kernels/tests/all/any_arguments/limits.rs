//! Every op under limits far below those of any device: it gives what it gives where there is room, or refuses with an
//! error of its own, and ends.

use ziggurat_kernels::{Executor, KernelError};

use super::any::Any;
use super::valid::{self, Gives};
use super::{Campaign, differ};
use crate::common;

/// Bytes of a binding.
const BINDINGS: [u64; 7] = [512, 640, 2048, 256, 508, 516, 1024];
/// Iterations of the loops of an invocation.
const LOOPS: [u32; 3] = [1, 7, 1 << 15];

/// Grid points of which every call is tried where nothing else is asked for.
const USUAL: u64 = 3;

/// Bytes and iterations of the `n`th grid point: their numbers have no common divisor, so all pairs come.
fn limits(n: u64) -> (u64, u32) {
    let n = n as usize;
    (BINDINGS[n % BINDINGS.len()], LOOPS[n % LOOPS.len()])
}

/// The results of a call with the arguments of a seed.
fn results(
    exec: &Executor,
    seed: u64,
    (_, _, call): &valid::Call,
) -> Result<Vec<(ziggurat_kernels::DType, f64)>, KernelError> {
    let mut any = Any::new(exec, seed);
    any.renew();
    call(exec, &mut any)?;
    Ok(any.read_back())
}

/// What is wrong with a call under limits, if anything; whether it gave results.
fn held(roomy: &Executor, tight: &Executor, seed: u64, call: &valid::Call) -> Result<bool, String> {
    let (name, gives, _) = call;
    let wanted = results(roomy, seed, call).map_err(|error| format!("{name}: {error}"))?;
    let got = match results(tight, seed, call) {
        Ok(got) => got,
        Err(KernelError::BindingTooLarge { .. }) => return Ok(false),
        Err(error) => return Err(format!("{name} is refused for another reason: {error}")),
    };
    if got.len() != wanted.len() {
        return Err(format!("{name}: {} of {} results", got.len(), wanted.len()));
    }
    let mut pairs = got.into_iter().zip(wanted);
    match pairs.find(|&(a, b)| *gives != Gives::Loose && differ(a, b)) {
        Some((a, b)) => Err(format!("{name}: {a:?}, with room {b:?}")),
        None => Ok(true),
    }
}

#[test]
fn every_op_is_right_or_refuses_under_tiny_limits() {
    let calls = valid::CALLS;
    let mut campaign = Campaign::new(USUAL * calls.len() as u64);
    let roomy = common::executor();
    let mut tight: Option<((u64, u32), Executor)> = None;
    let (mut right, mut wrong) = (0, Vec::new());
    while let Some(seed) = campaign.next() {
        let call = &calls[(seed % calls.len() as u64) as usize];
        let limits = limits(seed / calls.len() as u64);
        campaign.note(seed, &format!("{} within {limits:?}", call.0));
        let (_, exec) = match tight.take() {
            Some(open) if open.0 == limits => tight.insert(open),
            _ => tight.insert((limits, common::limited_executor(limits.0, limits.1))),
        };
        match held(&roomy, exec, seed, call) {
            Ok(gave) => right += u64::from(gave),
            Err(text) => {
                let text = format!("seed {seed}, {limits:?}: {text}");
                println!("{text}");
                wrong.push(text);
            }
        }
    }
    println!("{right} of {} calls gave results", campaign.done());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        !campaign.is_usual() || right > campaign.done() / 4,
        "{right}"
    );
}
