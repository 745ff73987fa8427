//! A training loop that survives the loss of its device.
//!
//! A GPU can be lost at any time: its driver is updated or crashes, a laptop sleeps, an external card is unplugged. Every
//! operation on its tensors is then an error with `is_device_lost`. The loop keeps what it cannot compute again, its
//! parameters, on the host every few steps, opens the device anew, and goes on from there.
//!
//! `cargo run -p ziggurat-tensor --example recovery`

#![allow(
    clippy::print_stdout,
    unreachable_pub,
    reason = "a program for the terminal, and a module of a test"
)]

use ziggurat_tensor::{DType, Device, DeviceOptions, Error, Tensor};

/// Steps in all, and between copies of the parameters.
pub const STEPS: usize = 60;
const KEEP_EVERY: usize = 10;
const RATE: f32 = 0.1;

/// What the host keeps: enough to go on from.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Steps that are done.
    pub step: usize,
    /// The parameters after them.
    pub weights: Vec<f32>,
}

/// What is on the device: all of it can be made again from a checkpoint.
struct Model {
    inputs: Tensor,
    targets: Tensor,
    weights: Tensor,
}

impl Model {
    fn new(device: &Device, from: &Checkpoint) -> Result<Self, Error> {
        let inputs = Tensor::arange(device, 0, 32, 1, DType::F32)?.reshape([8, 4])?;
        let inputs = (inputs * ziggurat_tensor::scalar(0.05))?.sin()?;
        let truth = Tensor::from_slice(device, &[1.0f32, -2.0, 0.5, 3.0], [4, 1])?;
        Ok(Self {
            targets: inputs.matmul(&truth)?,
            inputs,
            weights: Tensor::from_slice(device, &from.weights, [4, 1])?,
        })
    }

    /// One step of gradient descent on the squared error.
    fn step(&mut self) -> Result<(), Error> {
        let error = self.inputs.matmul(&self.weights)?.sub(&self.targets)?;
        let gradient = self.inputs.t()?.matmul(&error)?;
        self.weights = self
            .weights
            .sub(&(gradient * ziggurat_tensor::scalar(RATE))?)?;
        self.weights.eval_blocking()
    }
}

/// Trains until the end or the first error; `kept` is then the last checkpoint.
fn train(
    device: &Device,
    kept: &mut Checkpoint,
    fault: &mut impl FnMut(usize, &Device),
) -> Result<(), Error> {
    let mut model = Model::new(device, kept)?;
    for step in kept.step..STEPS {
        fault(step, device);
        model.step()?;
        if (step + 1).is_multiple_of(KEEP_EVERY) {
            *kept = Checkpoint {
                step: step + 1,
                weights: model.weights.to_vec_blocking()?,
            };
        }
    }
    Ok(())
}

/// Trains to the end, on another device whenever one is lost. Returns the result and how many devices were lost.
///
/// `fault` is called before every step; it stands for what happens to GPUs.
///
/// # Errors
/// Any error but the loss of a device, and the error of opening another one.
pub fn train_through_losses(
    mut device: Device,
    mut fault: impl FnMut(usize, &Device),
) -> Result<(Checkpoint, usize), Error> {
    let mut kept = Checkpoint {
        step: 0,
        weights: vec![0.0; 4],
    };
    let mut losses = 0;
    loop {
        match train(&device, &mut kept, &mut fault) {
            Ok(()) => return Ok((kept, losses)),
            Err(error) if error.is_device_lost() => {
                println!("{error}: going on from step {}", kept.step);
                losses += 1;
                device = device.reopen_blocking()?;
            }
            Err(error) => return Err(error),
        }
    }
}

#[allow(dead_code, reason = "a test has this file as a module")]
fn main() -> Result<(), Error> {
    let device = Device::open_blocking(DeviceOptions::default())?;
    let (undisturbed, _) = train_through_losses(device.clone(), |_, _| {})?;
    let mut faults = vec![37, 5];
    let (survived, losses) = train_through_losses(device, |step, device| {
        if faults.last() == Some(&step) {
            faults.pop();
            device.executor().device().destroy();
        }
    })?;
    println!(
        "{losses} devices were lost; the weights are {:?}",
        survived.weights
    );
    println!("without a loss they are {:?}", undisturbed.weights);
    Ok(())
}
