//! Constants of one's own kernels, workgroup sizes above all, chosen by measuring candidates on the work at hand.

use std::borrow::Cow;
use std::fmt;

use ziggurat_device::{DeviceError, once};

use super::store::{Tuned, TuningKey};
use super::times::{Patience, RunTime, interleaved};
use crate::arguments::Arg;
use crate::descriptor::KernelDescriptor;
use crate::envelope::checksum;
use crate::error::PipelineError;
use crate::grid::Grid;
use crate::kernel::Kernel;
use crate::pipelines::Pipelines;

/// Values of `override`s to be tried, and, where it follows from them, the grid.
///
/// ```
/// use ziggurat_pipeline::{Grid, KernelCandidate};
///
/// let sizes = KernelCandidate::workgroup_sizes("WG", [64, 128, 256]);
/// assert_eq!(sizes[1].to_string(), "WG = 128");
/// let tile = KernelCandidate::new([("ROWS", 8.0), ("COLS", 32.0)]).grid(Grid::Workgroups([16, 4, 1]));
/// assert_eq!(tile.to_string(), "ROWS = 8, COLS = 32");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct KernelCandidate {
    constants: Vec<(Cow<'static, str>, f64)>,
    grid: Option<Grid>,
}

impl KernelCandidate {
    /// Constants, which win over those of the descriptor.
    pub fn new<N: Into<Cow<'static, str>>>(constants: impl IntoIterator<Item = (N, f64)>) -> Self {
        let constants = constants.into_iter();
        Self {
            constants: constants
                .map(|(name, value)| (name.into(), value))
                .collect(),
            grid: None,
        }
    }

    /// A candidate for each size of the workgroup, which `name` is the constant of.
    pub fn workgroup_sizes(
        name: impl Into<Cow<'static, str>>,
        sizes: impl IntoIterator<Item = u32>,
    ) -> Vec<Self> {
        let name = name.into();
        let one = |size| Self::new([(name.clone(), f64::from(size))]);
        sizes.into_iter().map(one).collect()
    }

    /// The grid of this candidate, where it is not that of the work.
    #[must_use]
    pub fn grid(self, grid: Grid) -> Self {
        Self {
            grid: Some(grid),
            ..self
        }
    }

    /// The grid that [`grid`](Self::grid) gave.
    pub fn own_grid(&self) -> Option<Grid> {
        self.grid
    }

    /// The constants.
    pub fn constants(&self) -> impl Iterator<Item = (&str, f64)> {
        let constants = self.constants.iter();
        constants.map(|(name, value)| (name.as_ref(), *value))
    }

    /// The kernel with these constants.
    #[must_use]
    pub fn of(&self, descriptor: &KernelDescriptor) -> KernelDescriptor {
        let mut own = descriptor.clone();
        own.constants
            .retain(|(name, _)| self.constants.iter().all(|(other, _)| other != name));
        own.constants.extend(self.constants.iter().cloned());
        own
    }

    /// How the store names it.
    fn way(&self) -> u64 {
        checksum(&[self.to_string().as_bytes()])
    }
}

impl fmt::Display for KernelCandidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.constants.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{name} = {value}")?;
        }
        Ok(())
    }
}

/// What a kernel is measured on: arguments, parameters and grid of [`Pipelines::dispatch`].
///
/// The kernel runs on them many times over, so what it changes in place is changed many times over.
#[derive(Clone, Copy, Debug)]
pub struct KernelWork<'a> {
    /// The buffers and uniforms.
    pub args: &'a [Arg<'a>],
    /// The bytes of the parameters.
    pub params: &'a [u8],
    /// The grid, of candidates that have none.
    pub grid: Grid,
}

/// What was measured of one candidate.
#[derive(Clone, Debug)]
pub struct CandidateTime {
    /// The candidate.
    pub candidate: KernelCandidate,
    /// The time of a dispatch, or why it cannot run: a workgroup beyond a limit, for example.
    pub time: Result<RunTime, PipelineError>,
}

/// Measurements of candidates, in their order. Prints as a table.
#[derive(Clone, Debug, Default)]
pub struct KernelTimes {
    /// One row for each.
    pub rows: Vec<CandidateTime>,
}

impl KernelTimes {
    /// The fastest.
    pub fn best(&self) -> Option<&KernelCandidate> {
        let measured = self.rows.iter().filter_map(|row| {
            let time = row.time.as_ref().ok()?;
            Some((time.ns, &row.candidate))
        });
        let best = measured.min_by(|(a, _), (b, _)| a.total_cmp(b));
        best.map(|(_, candidate)| candidate)
    }
}

impl fmt::Display for KernelTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let best = self.best();
        for row in &self.rows {
            let mark = if best == Some(&row.candidate) {
                "  best"
            } else {
                ""
            };
            match &row.time {
                Ok(time) => writeln!(f, "{:<32} {:>12.2} µs{mark}", row.candidate, time.ns / 1e3)?,
                Err(error) => writeln!(f, "{:<32} {error}", row.candidate)?,
            }
        }
        Ok(())
    }
}

impl Pipelines {
    /// Measures a kernel with each of the candidates' constants, one after the other, several times over. Nothing is stored.
    ///
    /// The results of candidates are not compared: that all of them compute the same is for the caller to know.
    ///
    /// # Errors
    ///
    /// [`PipelineError::NotMeasured`] without timestamps and without a clock, as in some browsers; the device's failure. What
    /// one candidate alone is refused for stands in its row.
    pub fn time_candidates<'a>(
        &'a self,
        descriptor: &'a KernelDescriptor,
        candidates: &'a [KernelCandidate],
        work: KernelWork<'a>,
    ) -> impl Future<Output = Result<KernelTimes, PipelineError>> + use<'a> {
        let measured = self.measured(descriptor, candidates, work);
        once(measured, || DeviceError::Finished.into())
    }

    /// Measures candidates as [`time_candidates`](Self::time_candidates) does and keeps the fastest in
    /// [`tuning`](Self::tuning), where [`tuned`](Self::tuned) finds it.
    ///
    /// # Errors
    ///
    /// Those of [`time_candidates`](Self::time_candidates).
    pub fn tune<'a>(
        &'a self,
        descriptor: &'a KernelDescriptor,
        candidates: &'a [KernelCandidate],
        work: KernelWork<'a>,
    ) -> impl Future<Output = Result<KernelTimes, PipelineError>> + use<'a> {
        let tuned = async move {
            let times = self.measured(descriptor, candidates, work).await?;
            if let Some(best) = times.best() {
                let tuned = Tuned {
                    way: best.way(),
                    family: "kernel".to_owned(),
                    problem: format!("{} {:?}", descriptor.source.name(), work.grid),
                    name: best.to_string(),
                };
                self.tuning()
                    .insert(key(descriptor, candidates, work.grid), tuned);
            }
            Ok(times)
        };
        once(tuned, || DeviceError::Finished.into())
    }

    /// The candidate that was measured to be the fastest for this kernel and about this much work, if there is one and it is
    /// still one of the candidates.
    pub fn tuned<'c>(
        &self,
        descriptor: &KernelDescriptor,
        candidates: &'c [KernelCandidate],
        grid: Grid,
    ) -> Option<&'c KernelCandidate> {
        if self.tuning().is_empty() {
            return None;
        }
        let way = self.tuning().way(key(descriptor, candidates, grid))?;
        candidates.iter().find(|candidate| candidate.way() == way)
    }

    /// The size of the workgroup, of 32 and its doubles up to what the device allows, with which the kernel does this work
    /// fastest; `name` is the constant that holds the size. Measured the first time and looked up from then on.
    ///
    /// # Errors
    ///
    /// Those of [`time_candidates`](Self::time_candidates), and of the kernel if no size can run.
    pub fn optimal_workgroup_size<'a>(
        &'a self,
        descriptor: &'a KernelDescriptor,
        name: &'a str,
        work: KernelWork<'a>,
    ) -> impl Future<Output = Result<u32, PipelineError>> + use<'a> {
        let size = async move {
            let limits = &self.caps().limits;
            let most = limits
                .max_compute_invocations_per_workgroup
                .min(limits.max_compute_workgroup_size_x);
            let sizes = || (5..=20).map(|log| 1 << log).filter(|size| *size <= most);
            let candidates = KernelCandidate::workgroup_sizes(name.to_owned(), sizes());
            let of = |candidate: Option<&KernelCandidate>| {
                let at = candidates
                    .iter()
                    .position(|other| Some(other) == candidate)?;
                sizes().nth(at)
            };
            if let Some(known) = of(self.tuned(descriptor, &candidates, work.grid)) {
                return Ok(known);
            }
            let times = self.tune(descriptor, &candidates, work).await?;
            of(times.best()).ok_or_else(|| {
                let refused = times.rows.into_iter().find_map(|row| row.time.err());
                refused.unwrap_or_else(|| not_measured(descriptor))
            })
        };
        once(size, || DeviceError::Finished.into())
    }

    async fn measured(
        &self,
        descriptor: &KernelDescriptor,
        candidates: &[KernelCandidate],
        work: KernelWork<'_>,
    ) -> Result<KernelTimes, PipelineError> {
        let run = |kernel: &Kernel, candidate: &KernelCandidate| {
            let grid = candidate.grid.unwrap_or(work.grid);
            self.untaped(|| self.dispatch(kernel, work.args, work.params, grid))
        };
        let mut rows = Vec::with_capacity(candidates.len());
        let mut able = Vec::new();
        for (at, candidate) in candidates.iter().enumerate() {
            let made = self.kernel(&candidate.of(descriptor));
            let made = made.and_then(|kernel| run(&kernel, candidate).map(|()| kernel));
            rows.push(made.as_ref().err().cloned());
            able.extend(made.ok().map(|kernel| (at, kernel, candidate)));
        }
        let device = self.device();
        device.synchronize().await?;
        let record = |at: usize| {
            able.get(at)
                .map_or(Ok(()), |(_, kernel, candidate)| run(kernel, candidate))
        };
        let patience = Patience::default();
        let times = interleaved(device, able.len(), &patience, record, || true).await?;
        let mut times = times.ok_or_else(|| not_measured(descriptor))?.into_iter();
        let rows = rows
            .into_iter()
            .zip(candidates)
            .map(|(refused, candidate)| {
                let time = match refused {
                    Some(error) => Err(error),
                    None => times.next().ok_or_else(|| not_measured(descriptor)),
                };
                CandidateTime {
                    candidate: candidate.clone(),
                    time,
                }
            });
        Ok(KernelTimes {
            rows: rows.collect(),
        })
    }
}

fn not_measured(descriptor: &KernelDescriptor) -> PipelineError {
    PipelineError::NotMeasured {
        kernel: descriptor.source.name().to_owned(),
    }
}

/// The kernel with its text, the candidates, and how much work there is, to the next power of two.
fn key(descriptor: &KernelDescriptor, candidates: &[KernelCandidate], grid: Grid) -> TuningKey {
    let text = |text: &str| checksum(&[text.as_bytes()]);
    let mut words = vec![text(descriptor.entry.as_deref().unwrap_or_default())];
    let parts = descriptor.source.parts().iter();
    words.extend(parts.map(|part| text(&part.text)));
    let constants = descriptor.constants.iter();
    words.extend(constants.flat_map(|(name, value)| [text(name), value.to_bits()]));
    words.extend(candidates.iter().map(KernelCandidate::way));
    let (sort, work) = match grid {
        Grid::Workgroups([x, y, z]) => {
            let sides = [x, y, z].map(u64::from).into_iter();
            (0, sides.fold(1, u64::saturating_mul))
        }
        Grid::Elements {
            len,
            per_invocation,
        } => (1 + (u64::from(per_invocation) << 2), len),
        Grid::Stride {
            len,
            per_invocation,
        } => (2 + (u64::from(per_invocation) << 2), len),
    };
    words.extend([sort, work.checked_next_power_of_two().unwrap_or(u64::MAX)]);
    TuningKey::new("kernel", words)
}
