//! A finished profile: its table, and its trace file.

use std::fmt::{self, Write as _};

use super::{Event, Stage, StageTime};
use crate::timestamps::{KernelTime, rate};

/// What host and GPU did while a profile was made. `Display` is a table.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Profile {
    /// Host time from start to finish, in nanoseconds.
    pub wall_ns: u64,
    /// Bytes in recorded copies: uploads, downloads and copies on the device.
    pub bytes_copied: u64,
    /// GPU time by kernel, longest first; empty on a device without timestamps.
    pub kernels: Vec<KernelTime>,
    /// Host time by stage.
    pub stages: Vec<(Stage, StageTime)>,
    /// What the layers above count: cache hits and the like.
    pub counters: Vec<(&'static str, u64)>,
    /// Events left out of the trace for want of room.
    pub dropped_events: u64,
    pub(super) host: Vec<Event>,
    pub(super) gpu: Vec<Event>,
}

impl Profile {
    /// A trace in the JSON format of Chrome's `chrome://tracing` and Perfetto: dispatches on one track, the host's
    /// stages on one per thread.
    #[must_use]
    pub fn chrome_trace(&self) -> String {
        let mut out = String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
        out.push_str(&process(1, "host"));
        out.push_str(",\n");
        out.push_str(&process(2, "GPU"));
        for event in &self.host {
            complete(&mut out, event, 1, event.lane);
        }
        for event in &self.gpu {
            complete(&mut out, event, 2, 0);
        }
        out.push_str("\n]}\n");
        out
    }
}

fn process(id: u32, name: &str) -> String {
    format!(
        "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{id},\"tid\":0,\"args\":{{\"name\":\"{name}\"}}}}"
    )
}

fn complete(out: &mut String, event: &Event, process: u32, thread: u64) {
    let (begin, length) = (event.begin, event.end.saturating_sub(event.begin));
    out.push_str(",\n{\"ph\":\"X\",\"name\":\"");
    escape(out, &event.name);
    // Microseconds; writing to a string cannot fail.
    let _ = write!(
        out,
        "\",\"pid\":{process},\"tid\":{thread},\"ts\":{}.{:03},\"dur\":{}.{:03}",
        begin / 1000,
        begin % 1000,
        length / 1000,
        length % 1000
    );
    if let Some(work) = event.work {
        let (read, written) = (work.read, work.written);
        let _ = write!(
            out,
            ",\"args\":{{\"bytes read\":{read},\"bytes written\":{written},\"GB/s\":{:.3}",
            rate(read as f64 + written as f64, length)
        );
        if work.operations > 0 {
            let _ = write!(
                out,
                ",\"operations\":{},\"GFLOP/s\":{:.3}",
                work.operations,
                rate(work.operations as f64, length)
            );
        }
        out.push('}');
    }
    out.push('}');
}

fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if u32::from(c) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |ns: u64| ns as f64 / 1e6;
        let mean = |ns: u64, count: u64| ns as f64 / 1e3 / count.max(1) as f64;
        writeln!(
            f,
            "{:<40} {:>9} {:>12} {:>11} {:>11} {:>12} {:>12} {:>9} {:>9}",
            "",
            "count",
            "total ms",
            "mean µs",
            "max µs",
            "MB read",
            "MB written",
            "GB/s",
            "GFLOP/s"
        )?;
        for (stage, time) in &self.stages {
            writeln!(
                f,
                "{:<40} {:>9} {:>12.3} {:>11.2} {:>11.2}",
                format!("host {}", stage.name()),
                time.count,
                ms(time.total_ns),
                mean(time.total_ns, time.count),
                mean(time.max_ns, 1)
            )?;
        }
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        for kernel in &self.kernels {
            writeln!(
                f,
                "{:<40} {:>9} {:>12.3} {:>11.2} {:>11.2} {:>12.3} {:>12.3} {:>9.1} {:>9}",
                kernel.label,
                kernel.count,
                ms(kernel.total_ns),
                mean(kernel.total_ns, kernel.count),
                mean(kernel.max_ns, 1),
                megabytes(kernel.bytes_read),
                megabytes(kernel.bytes_written),
                kernel.gigabytes_per_second(),
                match kernel.operations {
                    0 => "-".to_owned(),
                    _ => format!("{:.1}", kernel.gigaflops()),
                }
            )?;
        }
        writeln!(f, "{:<40} {:>9} {:>12.3}", "wall", "", ms(self.wall_ns))?;
        writeln!(f, "{:<40} {:>9}", "bytes copied", self.bytes_copied)?;
        for (name, count) in &self.counters {
            writeln!(f, "{name:<40} {count:>9}")?;
        }
        if self.dropped_events > 0 {
            writeln!(f, "{} events are not in the trace", self.dropped_events)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::Work;

    #[test]
    fn the_trace_has_both_tracks_in_microseconds_and_escapes_names() {
        let event = |name: &str, begin, end| Event {
            name: name.to_owned(),
            begin,
            end,
            lane: 3,
            work: None,
        };
        let ran = |operations| Event {
            work: Some(Work {
                read: 60,
                written: 20,
                operations,
            }),
            ..event("a\"b\\c\n", 5_000, 5_040)
        };
        let profile = Profile {
            host: vec![event("record", 1_500, 2_750)],
            gpu: vec![ran(0), ran(100)],
            ..Profile::default()
        };
        let trace = profile.chrome_trace();
        assert!(
            trace.contains(r#"{"ph":"X","name":"record","pid":1,"tid":3,"ts":1.500,"dur":1.250}"#)
        );
        assert!(trace.contains(
            r#"{"ph":"X","name":"a\"b\\c\u000a","pid":2,"tid":0,"ts":5.000,"dur":0.040,"args":{"bytes read":60,"bytes written":20,"GB/s":2.000}}"#
        ));
        assert!(trace.contains(r#""GB/s":2.000,"operations":100,"GFLOP/s":2.500}}"#));
        assert!(trace.trim_end().ends_with("]}"));
        assert_eq!(trace.matches('{').count(), trace.matches('}').count());
    }

    #[test]
    fn the_table_names_every_stage_kernel_and_counter() {
        let profile = Profile {
            stages: Stage::ALL
                .map(|stage| (stage, StageTime::default()))
                .to_vec(),
            kernels: vec![KernelTime {
                label: "matmul/f32".to_owned(),
                count: 2,
                total_ns: 3_000_000,
                bytes_read: 9_000_000,
                bytes_written: 4_500_000,
                operations: 36_900_000,
                ..KernelTime::default()
            }],
            counters: vec![("pool hits", 17)],
            ..Profile::default()
        };
        let table = profile.to_string();
        for word in [
            "host plan",
            "host wait",
            "matmul/f32",
            "3.000",
            "9.000",
            "4.500",
            "4.5",
            "GFLOP/s",
            "12.3",
            "pool hits",
            "17",
        ] {
            assert!(table.contains(word), "{word} in\n{table}");
        }
    }
}
