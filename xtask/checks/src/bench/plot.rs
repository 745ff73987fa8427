//! Rows as SVG drawings: the roofline, bars of what each case reaches, ratios to a peer, growth curves.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::bench::probe::Roof;
use crate::bench::record::Record;
use crate::bench::table;
use xtask::failure::{Failure, Outcome};

const WIDTH: u32 = 960;
/// Height of one bar, with its gap.
const BAR: u32 = 16;
/// A bar chart of more rows cannot be read.
const MOST_BARS: usize = 120;
const INK: RGBColor = RGBColor(40, 40, 40);
const COLOURS: [RGBColor; 6] = [
    RGBColor(31, 119, 180),
    RGBColor(214, 96, 16),
    RGBColor(44, 140, 44),
    RGBColor(148, 80, 160),
    RGBColor(150, 110, 30),
    RGBColor(0, 150, 160),
];

type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws what the rows have: a file each.
pub(crate) fn all(folder: &Path, rows: &[Record], peers: &[Record], roof: Option<Roof>) -> Outcome {
    std::fs::create_dir_all(folder)?;
    let measured: Vec<&Record> = rows.iter().filter(|row| row.ms.is_some()).collect();
    let grown: Vec<&Record> = measured
        .iter()
        .copied()
        .filter(|row| row.size.is_some())
        .collect();
    let plain: Vec<&Record> = measured
        .iter()
        .copied()
        .filter(|row| row.size.is_none())
        .collect();
    if let Some(roof) = roof {
        let points: Vec<(&Record, f64, f64)> =
            plain.iter().filter_map(|row| intensity(row)).collect();
        if !points.is_empty() {
            draw(&folder.join("roofline.svg"), 640, |canvas| {
                roofline(canvas, &points, roof)
            })?;
        }
    }
    let reached = |row: &&Record| Some((row.label(), row.roofline?));
    let reached: Vec<(String, f64)> = plain.iter().filter_map(reached).collect();
    bars_in(
        &folder.join("reached.svg"),
        "part of the roof reached",
        &reached,
    )?;
    bars_in(
        &folder.join("ratios.svg"),
        "peer's time / ours",
        &ratios(&plain, peers),
    )?;
    let mut ops: Vec<&str> = grown.iter().map(|row| row.op.as_str()).collect();
    ops.dedup();
    ops.sort_unstable();
    ops.dedup();
    for op in ops {
        let of: Vec<&Record> = grown.iter().copied().filter(|row| row.op == op).collect();
        draw(&folder.join(format!("{op}.svg")), 480, |canvas| {
            growth(canvas, op, &of)
        })?;
    }
    Ok(())
}

/// A row with its operations per byte and what it does in a second.
fn intensity(row: &Record) -> Option<(&Record, f64, f64)> {
    let (flops, bytes) = (row.flops?, row.bytes?);
    Some((row, flops / bytes, row.gflops?))
}

/// The best of the peers' times over ours, for cases that both have.
fn ratios(rows: &[&Record], peers: &[Record]) -> Vec<(String, f64)> {
    let ratio = |row: &&Record| Some((row.label(), table::fastest(row, peers)? / row.ms?));
    rows.iter().filter_map(ratio).collect()
}

fn draw(file: &Path, height: u32, with: impl FnOnce(&Canvas<'_>) -> Outcome) -> Outcome {
    let canvas = SVGBackend::new(file, (WIDTH, height)).into_drawing_area();
    canvas.fill(&WHITE).map_err(failed)?;
    with(&canvas)?;
    canvas.present().map_err(failed)
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::new(format!("drawing: {error}"))
}

/// Operations per second over operations per byte, below the lines of bandwidth and multiply-adds; both axes logarithmic.
fn roofline(canvas: &Canvas<'_>, points: &[(&Record, f64, f64)], roof: Roof) -> Outcome {
    let (left, right) = (0.1_f64, 10_000.0);
    let most = points
        .iter()
        .map(|point| point.2)
        .fold(roof.fma_gflops, f64::max)
        * 2.0;
    let least = roof.copy_gbps * left / 4.0;
    let mut chart = ChartBuilder::on(canvas)
        .margin(12)
        .caption("GFLOP/s over FLOP per byte", ("sans-serif", 16))
        .x_label_area_size(34)
        .y_label_area_size(64)
        .build_cartesian_2d((left..right).log_scale(), (least..most).log_scale())
        .map_err(failed)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .draw()
        .map_err(failed)?;
    let corner = roof.fma_gflops / roof.copy_gbps;
    let line = [
        (left, left * roof.copy_gbps),
        (corner, roof.fma_gflops),
        (right, roof.fma_gflops),
    ];
    chart
        .draw_series(LineSeries::new(line, INK.stroke_width(2)))
        .map_err(failed)?;
    for (index, dtype) in ["f32", "f16", "bf16"].into_iter().enumerate() {
        let colour = COLOURS[index];
        let of = points.iter().filter(|(row, ..)| row.dtype == dtype);
        let dots = of.map(|&(_, x, y)| {
            Circle::new((x.clamp(left, right), y.max(least)), 4, colour.filled())
        });
        chart
            .draw_series(dots)
            .map_err(failed)?
            .label(dtype)
            .legend(move |at| Circle::new(at, 4, colour.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .draw()
        .map_err(failed)
}

fn bars_in(file: &Path, title: &str, values: &[(String, f64)]) -> Outcome {
    if values.is_empty() {
        return Ok(());
    }
    let values = &values[..values.len().min(MOST_BARS)];
    let count = u32::try_from(values.len())?;
    draw(file, 60 + BAR * count, |canvas| bars(canvas, title, values))
}

/// One bar per case, with a line at 1.
fn bars(canvas: &Canvas<'_>, title: &str, values: &[(String, f64)]) -> Outcome {
    let most = values.iter().map(|(_, value)| *value).fold(1.0, f64::max) * 1.1;
    let bar = i32::try_from(BAR)?;
    let (left, right, top) = (380_i32, 900_i32, 40_i32);
    let text = |size: i32| ("sans-serif", size).into_font().color(&INK);
    let at = |value: f64| {
        #[expect(clippy::cast_possible_truncation, reason = "a place on the canvas")]
        let x = (f64::from(right - left) * value / most) as i32;
        left + x
    };
    canvas
        .draw_text(title, &text(16), (left, 10))
        .map_err(failed)?;
    for ((label, value), index) in values.iter().zip(0_i32..) {
        let y = top + bar * index;
        canvas.draw_text(label, &text(11), (8, y)).map_err(failed)?;
        let corners = [(left, y), (at(*value), y + bar - 4)];
        canvas
            .draw(&Rectangle::new(corners, COLOURS[0].filled()))
            .map_err(failed)?;
        canvas
            .draw_text(&format!("{value:.2}"), &text(11), (at(*value) + 4, y))
            .map_err(failed)?;
    }
    let bottom = top + bar * i32::try_from(values.len())?;
    let one = PathElement::new([(at(1.0), top - 6), (at(1.0), bottom)], INK.stroke_width(1));
    canvas.draw(&one).map_err(failed)
}

/// Time per element, or per operation, over the size: one curve per dtype, both axes logarithmic.
fn growth(canvas: &Canvas<'_>, op: &str, rows: &[&Record]) -> Outcome {
    let point = |row: &&Record| {
        let work = row.flops.or(row.bytes)?;
        let size = u32::try_from(row.size?).ok()?;
        Some((f64::from(size), row.ms? * 1e9 / work))
    };
    let points: Vec<(f64, f64)> = rows.iter().filter_map(point).collect();
    let ends = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
            (low.min(value), high.max(value))
        })
    };
    let (left, right) = ends(&mut points.iter().map(|point| point.0));
    let (low, high) = ends(&mut points.iter().map(|point| point.1));
    let unit = if rows.iter().any(|row| row.flops.is_some()) {
        "FLOP"
    } else {
        "byte"
    };
    let mut chart = ChartBuilder::on(canvas)
        .margin(12)
        .caption(format!("{op}: ps per {unit} over size"), ("sans-serif", 16))
        .x_label_area_size(34)
        .y_label_area_size(64)
        .build_cartesian_2d(
            (left..right * 1.5).log_scale(),
            (low * 0.7..high * 1.5).log_scale(),
        )
        .map_err(failed)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .draw()
        .map_err(failed)?;
    let mut dtypes: Vec<&str> = rows.iter().map(|row| row.dtype.as_str()).collect();
    dtypes.sort_unstable();
    dtypes.dedup();
    for (index, dtype) in dtypes.into_iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let of = rows.iter().filter(|row| row.dtype == dtype);
        let mut curve: Vec<(f64, f64)> = of.filter_map(point).collect();
        curve.sort_by(|a, b| a.0.total_cmp(&b.0));
        let dots = curve.iter().map(|&at| Circle::new(at, 3, colour.filled()));
        chart.draw_series(dots).map_err(failed)?;
        chart
            .draw_series(LineSeries::new(curve, colour.stroke_width(1)))
            .map_err(failed)?
            .label(dtype)
            .legend(move |at| Circle::new(at, 3, colour.filled()));
    }
    chart.configure_series_labels().draw().map_err(failed)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn each_kind_of_row_has_its_drawing() {
        let folder = std::env::temp_dir().join(format!("ziggurat-plots-{}", std::process::id()));
        let row = |op: &str, size: Option<usize>| Record {
            size,
            flops: Some(2e9),
            bytes: Some(1e8),
            gflops: Some(500.0),
            roofline: Some(0.5),
            ..Record::timed(op, "f32", &format!("{size:?}"), Some(4.0))
        };
        let rows = [
            row("matmul", None),
            row("grow", Some(64)),
            row("grow", Some(128)),
        ];
        let peers = [Record {
            peer: "other".into(),
            ..row("matmul", None)
        }];
        let roof = Roof {
            copy_gbps: 100.0,
            fma_gflops: 1000.0,
        };
        all(&folder, &rows, &peers, Some(roof)).unwrap();
        for name in ["roofline", "reached", "ratios", "grow"] {
            let text = std::fs::read_to_string(folder.join(format!("{name}.svg"))).unwrap();
            assert!(text.contains("</svg>") && text.len() > 500, "{name}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
