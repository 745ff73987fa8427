//! Stages of the host's work as spans of the crate `tracing`.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use common::{buffer, noop};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Counts spans that were entered and left, by name.
#[derive(Default)]
struct Counts {
    names: Mutex<HashMap<u64, &'static str>>,
    entered: Mutex<HashMap<&'static str, i64>>,
    open: Mutex<i64>,
    next: AtomicU64,
}

struct Collector(Arc<Counts>);

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "ziggurat"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed) + 1;
        let name = span.metadata().name();
        self.0.names.lock().unwrap().insert(id, name);
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, id: &Id) {
        let name = self.0.names.lock().unwrap()[&id.into_u64()];
        *self.0.entered.lock().unwrap().entry(name).or_default() += 1;
        *self.0.open.lock().unwrap() += 1;
    }

    fn exit(&self, _: &Id) {
        *self.0.open.lock().unwrap() -= 1;
    }
}

#[test]
fn stages_are_spans_without_a_profile() {
    let counts = Arc::new(Counts::default());
    let device = noop();
    let memory = buffer(&device, &[1; 16]);
    tracing::subscriber::with_default(Collector(counts.clone()), || {
        for _ in 0..3 {
            device
                .record(|recorder| recorder.clear_buffer(&memory, 0, 16))
                .unwrap();
        }
        device.synchronize().wait().unwrap();
    });
    let entered = counts.entered.lock().unwrap().clone();
    assert_eq!(entered.get("record"), Some(&3), "{entered:?}");
    assert_eq!(entered.get("submit"), Some(&1), "{entered:?}");
    assert_eq!(entered.get("wait"), Some(&1), "{entered:?}");
    assert_eq!(*counts.open.lock().unwrap(), 0, "each was left");
}
