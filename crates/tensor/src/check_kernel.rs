//! [`check_kernel`]: a user's kernel against a function on the CPU, over shapes, layouts, dtypes and kinds of devices.
//!
//! Everything runs on the software device under its sanitizer. Invariant: every layout of a case has the same elements, and
//! what lies between and around them in memory is nothing that a right kernel reads.

mod inputs;
mod kinds;

use std::fmt;

use ziggurat_core::decode;
use ziggurat_device::ziggurat_software::{Checks, Profile, Report, sanitize_with};

use crate::tensor_kernel::InputType;
use crate::{DType, Device, Error, Tensor};
use inputs::{Lies, host_values};
pub use kinds::KernelToCheck;

const OP: &str = "check_kernel";

/// An input as the CPU sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct HostValues {
    /// The extents.
    pub dims: Vec<usize>,
    /// The elements in row-major order, as the dtype holds them.
    pub values: Vec<f64>,
    /// The dtype.
    pub dtype: DType,
}

/// Starts a check of a kernel with its default parameters: against a function on the CPU, for all dtypes that it takes, for
/// odd and empty shapes, as dense tensors and as views (moved, stepped, reversed, transposed), on the software device as each
/// kind of GPU, under the sanitizer.
///
/// ```
/// use ziggurat_tensor::{Any, TensorKernel, check_kernel, like};
///
/// let twice = TensorKernel::wgsl("twice", "fn kernel(i: u32) { y_store(i, 2.0 * x_at(i)); }")
///     .input("x", Any::floats())
///     .output("y", like("x"))
///     .writes_all();
/// let report = check_kernel(&twice)
///     .against(|x| vec![x[0].values.iter().map(|x| 2.0 * x).collect()])
///     .run()?;
/// assert!(report.is_good(), "{report}");
/// # Ok::<(), ziggurat_tensor::Error>(())
/// ```
pub fn check_kernel<'a>(kernel: &'a dyn KernelToCheck) -> KernelCheck<'a> {
    KernelCheck {
        kernel,
        expected: None,
        cases: Vec::new(),
        profiles: Profile::all().to_vec(),
        tolerance: None,
    }
}

type Expected<'a> = Box<dyn Fn(&[HostValues]) -> Vec<Vec<f64>> + 'a>;

/// A check of a kernel, being put together; see [`check_kernel`].
#[must_use = "nothing happens before `run`"]
pub struct KernelCheck<'a> {
    kernel: &'a dyn KernelToCheck,
    expected: Option<Expected<'a>>,
    cases: Vec<Vec<Vec<usize>>>,
    profiles: Vec<Profile>,
    tolerance: Option<(f64, f64)>,
}

impl<'a> KernelCheck<'a> {
    /// The function that says what is right: of the inputs, the elements of each output in row-major order.
    pub fn against(mut self, cpu: impl Fn(&[HostValues]) -> Vec<Vec<f64>> + 'a) -> Self {
        self.expected = Some(Box::new(cpu));
        self
    }

    /// Adds a case with these shapes of the inputs. Without any, all inputs have the same shape, of several.
    pub fn shapes<const N: usize>(mut self, inputs: [&[usize]; N]) -> Self {
        self.cases.push(inputs.map(<[usize]>::to_vec).to_vec());
        self
    }

    /// The kinds of devices, in place of all.
    pub fn profiles(mut self, profiles: impl IntoIterator<Item = Profile>) -> Self {
        self.profiles = profiles.into_iter().collect();
        self
    }

    /// How far an element may be off: `absolute + relative * |expected|`. By default what rounding to the output's dtype
    /// takes, with some bits to spare for f32; integers and bool are exact.
    pub fn tolerance(mut self, relative: f64, absolute: f64) -> Self {
        self.tolerance = Some((relative, absolute));
        self
    }

    /// Runs the check.
    ///
    /// # Errors
    /// If nothing was given to check against, a case has not a shape for each input or the CPU's function not a value for each
    /// element, and the kernel's own errors.
    pub fn run(self) -> Result<KernelReport, Error> {
        let types = self.kernel.types();
        let Some(expected) = &self.expected else {
            return Err(Error::argument(OP, "say what is right: call `against`"));
        };
        if types.is_empty() {
            return Err(Error::argument(
                OP,
                "the kernel says of no input what it is",
            ));
        }
        let cases = if self.cases.is_empty() {
            usual_shapes(&types)
        } else {
            self.cases.clone()
        };
        if let Some(wrong) = cases.iter().find(|case| case.len() != types.len()) {
            let detail = format!("{} shapes for {} inputs", wrong.len(), types.len());
            return Err(Error::argument(OP, detail));
        }
        let mut report = KernelReport::default();
        for profile in &self.profiles {
            let mut done = Ok(());
            let name = profile.name.clone();
            let found = sanitize_with(profile.clone(), Checks::default(), |device: &Device| {
                done = cases.iter().try_for_each(|shapes| {
                    self.on(device, (&types, shapes), expected, (&name, &mut report))
                });
            });
            done?;
            let found = found.map_err(|error| Error::argument(OP, error.to_string()))?;
            report.sanitizer.merge(found);
        }
        Ok(report)
    }

    /// All dtypes and layouts of one case.
    fn on(
        &self,
        device: &Device,
        (types, shapes): (&[InputType], &[Vec<usize>]),
        expected: &Expected<'_>,
        (profile, report): (&str, &mut KernelReport),
    ) -> Result<(), Error> {
        let choices = types.iter().map(|ty| ty.dtypes().len()).max().unwrap_or(1);
        for choice in 0..choices {
            let inputs: Vec<HostValues> = types
                .iter()
                .zip(shapes)
                .enumerate()
                .filter_map(|(number, (ty, dims))| {
                    let dtype = *ty.dtypes().iter().cycle().nth(choice)?;
                    Some(host_values(number, dims, dtype))
                })
                .collect();
            let wanted = expected(&inputs);
            for lies in Lies::ALL {
                let tensors = inputs.iter().map(|input| lies.tensor(device, input));
                let tensors: Vec<Tensor> = tensors.collect::<Result<_, _>>()?;
                let outputs = self.kernel.run(&tensors.iter().collect::<Vec<_>>())?;
                if outputs.len() != wanted.len() {
                    let (got, of) = (wanted.len(), outputs.len());
                    let detail = format!("the CPU gives {got} outputs, the kernel {of}");
                    return Err(Error::argument(OP, detail));
                }
                report.cases += 1;
                for (number, (output, wanted)) in outputs.iter().zip(&wanted).enumerate() {
                    let got = decode(output.dtype(), &output.to_bytes_blocking()?);
                    if got.len() != wanted.len() {
                        let (of, have) = (got.len(), wanted.len());
                        let detail = format!("output {number} has {of} elements, the CPU {have}");
                        return Err(Error::argument(OP, detail));
                    }
                    for (index, (got, wanted)) in got.iter().zip(wanted).enumerate() {
                        let error = self.error(output.dtype(), *got, *wanted);
                        if error > report.worst.as_ref().map_or(0.0, |worst| worst.error) {
                            let dtypes: Vec<_> =
                                inputs.iter().map(|input| input.dtype.name()).collect();
                            report.worst = Some(WorstElement {
                                case: format!(
                                    "{profile}, inputs {shapes:?} of {}, {lies}",
                                    dtypes.join(", ")
                                ),
                                output: number,
                                index,
                                got: *got,
                                expected: *wanted,
                                error,
                            });
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// How often the allowed error an element is off. NaN is right where it is expected.
    fn error(&self, dtype: DType, got: f64, wanted: f64) -> f64 {
        if got == wanted || (got.is_nan() && wanted.is_nan()) {
            return 0.0;
        }
        let (relative, absolute) = self.tolerance.unwrap_or(match dtype {
            DType::F32 => (1e-5, 1e-6),
            DType::F16 => (2e-3, 1e-6),
            DType::BF16 => (1.6e-2, 1e-6),
            _ => (0.0, 0.0),
        });
        let error = (got - wanted).abs() / (absolute + relative * wanted.abs());
        if error.is_finite() {
            error
        } else {
            f64::INFINITY
        }
    }
}

impl fmt::Debug for KernelCheck<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelCheck")
            .field("cases", &self.cases)
            .field("profiles", &self.profiles.len())
            .field("tolerance", &self.tolerance)
            .finish_non_exhaustive()
    }
}

/// What [`KernelCheck::run`] found.
#[derive(Debug, Default)]
pub struct KernelReport {
    cases: usize,
    worst: Option<WorstElement>,
    sanitizer: Report,
}

/// The element that is off most, of those that are not exactly as expected.
#[derive(Clone, Debug, PartialEq)]
pub struct WorstElement {
    /// The device's profile, and the inputs' shapes, dtypes and layout.
    pub case: String,
    /// The output's number, from 0.
    pub output: usize,
    /// The element's number in row-major order.
    pub index: usize,
    /// What the kernel computed.
    pub got: f64,
    /// What the CPU computed.
    pub expected: f64,
    /// How often the allowed error the difference is: above 1 it is too large.
    pub error: f64,
}

impl KernelReport {
    /// Whether all elements are right, and the sanitizer found nothing.
    pub fn is_good(&self) -> bool {
        self.sanitizer.is_clean() && self.worst.as_ref().is_none_or(|worst| worst.error <= 1.0)
    }

    /// How many calls were checked.
    pub const fn cases(&self) -> usize {
        self.cases
    }

    /// The element that is off most; none if all are exact.
    pub const fn worst(&self) -> Option<&WorstElement> {
        self.worst.as_ref()
    }

    /// What the sanitizer found.
    pub const fn sanitizer(&self) -> &Report {
        &self.sanitizer
    }
}

impl fmt::Display for KernelReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} calls", self.cases)?;
        match &self.worst {
            None => writeln!(f, ", all elements exact")?,
            Some(worst) => writeln!(
                f,
                "; worst element: {} of output {} is {}, expected {}: {:.3} times the allowed error ({})",
                worst.index, worst.output, worst.got, worst.expected, worst.error, worst.case
            )?,
        }
        write!(f, "{}", self.sanitizer)
    }
}

/// Shapes for inputs of these types, the same for all where their ranks allow it.
fn usual_shapes(types: &[InputType]) -> Vec<Vec<Vec<usize>>> {
    let shapes: [&[usize]; 7] = [&[], &[0], &[1], &[7], &[3, 5], &[2, 0, 3], &[5, 3, 7]];
    let of_rank = |rank: usize| {
        [5, 3, 7, 2, 3, 2, 2, 1]
            .iter()
            .copied()
            .take(rank)
            .collect()
    };
    let wanted: Vec<Option<usize>> = types.iter().map(InputType::wanted_rank).collect();
    if wanted.iter().all(Option::is_none) {
        let same = |shape: &[usize]| vec![shape.to_vec(); types.len()];
        return shapes.map(same).to_vec();
    }
    let rank = wanted.iter().flatten().copied().max().unwrap_or(1);
    let one = |want: &Option<usize>| of_rank(want.unwrap_or(rank));
    vec![wanted.iter().map(one).collect()]
}
