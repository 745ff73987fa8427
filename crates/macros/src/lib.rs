#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! - [`macro@KernelParams`]: fields, offsets and bytes of a struct of parameters
//! - [`kernel!`] and [`buffer_kernel!`]: a typed struct of a WGSL file
//!
//! Invariant: a mistake in what is given is an error of the compiler at the place of the macro, with the file and line of the
//! WGSL in its text; nothing here panics.

mod kernel;
mod params;
mod shader;
mod source;

use proc_macro::TokenStream;

/// An error of the compiler, as tokens.
pub(crate) fn failure(message: &str) -> TokenStream {
    let text = format!("::core::compile_error!({message:?});");
    text.parse().unwrap_or_default()
}

/// Makes a struct of parameters: see `ziggurat_pipeline::KernelParams`.
#[proc_macro_derive(KernelParams, attributes(kernel_params))]
pub fn kernel_params(input: TokenStream) -> TokenStream {
    params::derive(input, "::ziggurat_pipeline").unwrap_or_else(|message| failure(&message))
}

/// The same for programs that know `ziggurat-tensor` only.
#[proc_macro_derive(TensorKernelParams, attributes(kernel_params))]
pub fn tensor_kernel_params(input: TokenStream) -> TokenStream {
    params::derive(input, "::ziggurat_tensor").unwrap_or_else(|message| failure(&message))
}

/// Makes a kernel on tensors of a WGSL file: see `ziggurat_tensor::kernel`.
#[proc_macro]
pub fn kernel(input: TokenStream) -> TokenStream {
    kernel::expand(input, kernel::Target::Tensors).unwrap_or_else(|message| failure(&message))
}

/// Makes a kernel on buffers of a WGSL file: see `ziggurat_pipeline::kernel`.
#[proc_macro]
pub fn buffer_kernel(input: TokenStream) -> TokenStream {
    kernel::expand(input, kernel::Target::Buffers).unwrap_or_else(|message| failure(&message))
}
