//! Tuning as programs see it: what is met, what is kept, what it changes, and what it never changes.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ziggurat_kernels::pipeline::{Tuned, TuningKey, TuningRejected};
use ziggurat_kernels::{
    Call, DType, Executor, KernelError, Operands, Shape, Sink, TuneEnd, TuneOptions, TuneReport,
    TunedOutcome, View, WayOutcome,
};

use crate::common;

fn quick() -> TuneOptions {
    TuneOptions::default()
        .rounds(1)
        .batch(Duration::from_micros(100))
}

/// `[m, k] × [k, n]`, and its output.
fn product(exec: &Executor, [m, k, n]: [usize; 3]) -> [View; 3] {
    let values = |len: usize| {
        (0..len)
            .map(|i| (i % 13) as f32 / 13.0 - 0.4)
            .collect::<Vec<_>>()
    };
    let matrix = |dims: [usize; 2]| {
        let shape = Shape::new(dims).unwrap();
        exec.upload(&values(shape.len()), &shape).unwrap()
    };
    [matrix([m, k]), matrix([k, n]), matrix([m, n])]
}

fn tune(exec: &Executor, views: &[View; 3], options: TuneOptions) -> TuneReport {
    let [a, b, out] = views;
    let call = |exec: &Executor| exec.matmul(a, b, out).map(drop);
    exec.tune_blocking::<KernelError>(options, call).unwrap()
}

/// The kernels of a product as it is planned now.
fn planned(exec: &Executor, [a, b, out]: &[View; 3]) -> String {
    let operands = Operands {
        others: [Some(b), None, None, None, None],
        ..Operands::one(a)
    };
    let plan = exec
        .plan(&Call::matmul(), &operands, Sink::new(out))
        .unwrap();
    plan.listing().to_owned()
}

#[test]
fn what_is_chosen_is_planned_from_then_on_and_shipped() {
    let exec = common::fresh_executor();
    let views = product(&exec, [40, 64, 48]);
    let default = planned(&exec, &views);
    let state = exec.kernel_state();
    let report = tune(&exec, &views, quick());
    assert_eq!((report.ended, report.met), (TuneEnd::Complete, 1));
    let row = &report.problems[0];
    assert_eq!((row.family, row.ways.len() > 3), ("matmul", true));
    let measured = |outcome: &WayOutcome| matches!(outcome, WayOutcome::Time(ns) if *ns > 0.0);
    assert!(row.ways.iter().all(|way| measured(&way.outcome)), "{row:?}");
    assert!(row.gain().unwrap() >= 1.0, "{report}");
    assert!(report.to_string().contains("40, 64"), "{report}");
    let store = exec.pipelines().tuning();
    assert_eq!(store.len(), 1);
    assert_ne!(
        exec.kernel_state(),
        state,
        "plans of before are out of date"
    );

    // Whatever was chosen, another way is planned once the store says so, and its results are right.
    let (key, tuned) = store.entries().remove(0);
    // Ways of other sizes can have the text of the default, which depends on the adapter.
    let mut others = (row.ways.iter()).map(|way| force(&exec, &views, &way.name));
    let forced = others.find(|forced| *forced != default).unwrap();
    let [a, b, out] = &views;
    let compute = |exec: &Executor| {
        drop(exec.matmul(a, b, out).unwrap());
        exec.download(out).unwrap().wait().unwrap()
    };
    let first = compute(&exec);
    assert_eq!(first, compute(&exec), "the same bits with the same store");

    // Shipped to another executor on the same adapter.
    let shipped = common::fresh_executor();
    let theirs = product(&shipped, [40, 64, 48]);
    assert_eq!(planned(&shipped, &theirs), default);
    assert_eq!(shipped.pipelines().tuning().import(&store.export()), Ok(1));
    assert_eq!(planned(&shipped, &theirs), forced);
    // Another class is as it was.
    let small = product(&shipped, [40, 64, 47]);
    let plain = common::fresh_executor();
    assert_eq!(
        planned(&shipped, &small),
        planned(&plain, &product(&plain, [40, 64, 47]))
    );

    // A way that this problem does not have is none: the default is left.
    let way = tuned.way ^ 1;
    store.insert(key, Tuned { way, ..tuned });
    assert_eq!(planned(&exec, &views), default);
    store.clear();
    assert_eq!(planned(&exec, &views), default);
}

/// Puts a way by its name into the store, as a tuner that found it fastest would; how the product is planned then.
fn force(exec: &Executor, views: &[View; 3], name: &str) -> String {
    let store = exec.pipelines().tuning();
    let (key, tuned) = store.entries().remove(0);
    // The names of ways are hashed like any key.
    let bits = TuningKey::new(name, [0; 3]).bits();
    store.insert(key, Tuned { way: bits, ..tuned });
    planned(exec, views)
}

#[test]
fn problems_that_are_known_are_not_measured_again_unless_asked() {
    let exec = common::fresh_executor();
    let views = product(&exec, [33, 32, 36]);
    assert!(matches!(
        tune(&exec, &views, quick()).problems[0].outcome,
        TunedOutcome::Chosen(_)
    ));
    assert_eq!(
        tune(&exec, &views, quick()).problems[0].outcome,
        TunedOutcome::Known
    );
    // Rows count by their power of two.
    let more = product(&exec, [60, 32, 36]);
    assert_eq!(
        tune(&exec, &more, quick()).problems[0].outcome,
        TunedOutcome::Known
    );
    let again = tune(&exec, &views, quick().again(true));
    assert!(matches!(again.problems[0].outcome, TunedOutcome::Chosen(_)));
    let small = tune(&exec, &views, quick().again(true).max_bytes(100));
    assert!(
        matches!(&small.problems[0].outcome, TunedOutcome::Skipped(why) if why.contains("bytes"))
    );
}

#[test]
fn progress_can_end_it_and_time_does() {
    let exec = common::fresh_executor();
    let all = [[17, 32, 36], [18, 36, 36], [19, 40, 36]].map(|extents| product(&exec, extents));
    let call = |exec: &Executor| {
        all.iter()
            .try_for_each(|[a, b, out]| exec.matmul(a, b, out).map(drop))
    };
    let seen = Arc::new(AtomicUsize::new(0));
    let told = Arc::clone(&seen);
    let options = quick().progress(move |step| {
        assert_eq!(step.total, 3);
        told.store(step.done, Ordering::Relaxed);
        if step.done == 2 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    let report = exec.tune_blocking::<KernelError>(options, call).unwrap();
    assert_eq!(
        (report.ended, report.problems.len()),
        (TuneEnd::Cancelled, 2)
    );
    assert_eq!(
        (
            seen.load(Ordering::Relaxed),
            exec.pipelines().tuning().len()
        ),
        (2, 2)
    );
    assert!(report.to_string().contains("Cancelled after 2 of 3"));

    let late = quick().again(true).time_limit(Duration::ZERO);
    let report = exec.tune_blocking::<KernelError>(late, call).unwrap();
    assert_eq!(
        (report.ended, report.problems.len(), report.met),
        (TuneEnd::TimeLimit, 0, 3)
    );
    assert_eq!(exec.pipelines().tuning().len(), 2, "what was found stays");
}

#[test]
fn an_error_of_the_program_is_that_of_tuning_and_nothing_is_kept() {
    let exec = common::fresh_executor();
    let [a, b, out] = product(&exec, [33, 32, 36]);
    let wrong = |exec: &Executor| {
        drop(exec.matmul(&a, &b, &out)?);
        exec.matmul(&b, &a, &out).map(drop)
    };
    let error = exec
        .tune_blocking::<KernelError>(quick(), wrong)
        .unwrap_err();
    assert!(matches!(error, KernelError::Operands { .. }), "{error}");
    assert!(exec.pipelines().tuning().is_empty());
    // A dropped future measures nothing, and what comes later is not noted by it.
    drop(exec.tune::<KernelError>(quick(), |exec| exec.matmul(&a, &b, &out).map(drop)));
    assert!(exec.pipelines().tuning().is_empty());
    let (_, problems) = exec.meet(|| ());
    assert!(problems.is_empty());
}

#[test]
fn dtypes_and_views_tune_on_every_profile() {
    for exec in [common::fresh_executor(), common::fresh_matrix_executor()] {
        let shape = |dims: [usize; 2]| Shape::new(dims).unwrap();
        for dtype in [DType::F16, DType::BF16, DType::U8] {
            let [a, b, out] =
                [[48, 36], [40, 36], [48, 40]].map(|dims| exec.alloc(&shape(dims), dtype).unwrap());
            let transposed = b.with_layout(b.layout.transpose(0, 1).unwrap()).unwrap();
            let call = |exec: &Executor| exec.matmul(&a, &transposed, &out).map(drop);
            let options = quick().again(true);
            let report = exec.tune_blocking::<KernelError>(options, call).unwrap();
            let ways = &report.problems[0].ways;
            let right = ways
                .iter()
                .all(|way| matches!(way.outcome, WayOutcome::Time(_)));
            assert!(right && ways.len() > 2, "{dtype}: {report}");
        }
        assert_eq!(exec.pipelines().tuning().len(), 3);
    }
}

#[test]
fn stores_of_another_device_are_refused() {
    let exec = common::fresh_executor();
    let views = product(&exec, [33, 32, 36]);
    tune(&exec, &views, quick());
    let bytes = exec.pipelines().tuning().export();
    let other = common::fresh_matrix_executor();
    let (ours, theirs) = (exec.pipelines().tuning(), other.pipelines().tuning());
    let wanted = if ours.identity() == theirs.identity() {
        Ok(1)
    } else {
        Err(TuningRejected::Foreign)
    };
    assert_eq!(theirs.import(&bytes), wanted);
    let mut cut = bytes.clone();
    cut.pop();
    assert_eq!(ours.import(&cut), Err(TuningRejected::Corrupt));
    assert_eq!(ours.rejected(), Some(TuningRejected::Corrupt));
}

/// Set in the processes that the test below starts: the file, and which of them it is.
const WRITER: &str = "ZIGGURAT_TEST_TUNING_WRITER";

/// Choices that each process saves, one file at a time.
const SAVES: u64 = 12;

#[test]
fn of_two_processes_nobody_loses_what_the_other_measured() {
    let exec = common::fresh_executor();
    let store = exec.pipelines().tuning();
    let key = |number| TuningKey::new("processes", [number]);
    if let Ok(writer) = std::env::var(WRITER) {
        let (number, file) = writer.split_once(':').unwrap();
        let number: u64 = number.parse().unwrap();
        for step in 0..SAVES {
            store.clear();
            let choice = Tuned {
                way: number,
                family: "processes".to_owned(),
                problem: String::new(),
                name: "way".to_owned(),
            };
            store.insert(key(number * SAVES + step), choice);
            store.save(file).unwrap();
        }
        return;
    }
    let folder = std::env::temp_dir().join(format!("ziggurat-writers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("choices");
    let start = |number: u64| {
        let name = "tune::of_two_processes_nobody_loses_what_the_other_measured";
        std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(WRITER, format!("{number}:{}", file.display()))
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    for mut writer in [start(0), start(1)] {
        assert!(writer.wait().unwrap().success());
    }
    assert_eq!(store.load(&file), Ok(2 * SAVES as usize));
    for number in 0..2 * SAVES {
        assert_eq!(store.way(key(number)), Some(number / SAVES), "{number}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
