//! What can go wrong with device memory.

use ziggurat_device::DeviceError;

/// The driver's words for why it gave no memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DriverError(pub(crate) String);

/// An error of this crate.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// Neither the driver nor the limit of the options had room, even with nothing cached.
    #[error(
        "out of device memory: {requested} bytes requested with {in_use} in use and {reserved} reserved{}",
        limit.map_or_else(String::new, |limit| format!(" of at most {limit}"))
            + &available.map_or_else(String::new, |bytes| format!(": {bytes} are left"))
    )]
    OutOfMemory {
        /// Bytes asked for.
        requested: u64,
        /// Bytes in live buffers.
        in_use: u64,
        /// Bytes in live and cached buffers.
        reserved: u64,
        /// The limit on reserved bytes from the options; `None` if only the driver limits.
        limit: Option<u64>,
        /// What was left of the limit, counting what is only cached as free; `None` if only the driver limits, which does
        /// not say how much it has.
        available: Option<u64>,
        /// What the driver said; `None` if the limit of the options was the reason.
        source: Option<DriverError>,
    },
    /// A single buffer larger than the device allows.
    #[error("a buffer of {requested} bytes is larger than this device's limit of {limit} bytes")]
    TooLarge {
        /// Bytes asked for.
        requested: u64,
        /// The most one buffer may have.
        limit: u64,
    },
    /// A range that does not lie within its buffer.
    #[error("bytes {start}..{end} do not lie within a buffer of {bytes} bytes")]
    OutOfRange {
        /// First byte asked for.
        start: u64,
        /// One past the last byte asked for; saturated if it overflows.
        end: u64,
        /// Bytes of the buffer.
        bytes: u64,
    },
    /// An operation that needs whole words got a part of one.
    #[error(
        "{operation}: offset {offset} and length {bytes} must be multiples of {alignment} bytes"
    )]
    Misaligned {
        /// What was asked for.
        operation: &'static str,
        /// Byte offset given.
        offset: u64,
        /// Byte count given.
        bytes: u64,
        /// What both must be multiples of.
        alignment: u64,
    },
    /// A wrapped buffer was created without a usage that the operation needs.
    #[error("{operation}: the buffer has the usages {have:?} but needs {needs:?}")]
    MissingUsage {
        /// What was asked for.
        operation: &'static str,
        /// Usages the buffer was created with.
        have: wgpu::BufferUsages,
        /// Usages that are needed.
        needs: wgpu::BufferUsages,
    },
    /// A buffer of another [`Memory`](crate::Memory), of this device or another.
    #[error("{operation}: the buffer belongs to another memory or device")]
    ForeignBuffer {
        /// What was asked for.
        operation: &'static str,
    },
    /// A buffer from outside that this device cannot use.
    #[error("wrap: this device cannot use the buffer: {message}")]
    Wrap {
        /// wgpu's words.
        message: String,
    },
    /// A texture, a view or a sampler that this device cannot make.
    #[error("{operation}: {message}")]
    Texture {
        /// What was asked for.
        operation: &'static str,
        /// The rule, in wgpu's words or ours.
        message: String,
    },
    /// A texture was created without a usage that the operation needs.
    #[error("{operation}: the texture has the usages {have:?} but needs {needs:?}")]
    MissingTextureUsage {
        /// What was asked for.
        operation: &'static str,
        /// Usages the texture was created with.
        have: wgpu::TextureUsages,
        /// Usages that are needed.
        needs: wgpu::TextureUsages,
    },
    /// As many bytes as a level of a texture has not.
    #[error(
        "write_texture: {got} bytes for a level of {size:?} texels of {format}, which has {expected}"
    )]
    TextureBytes {
        /// Columns, rows, and layers or slices.
        size: [u32; 3],
        /// The format, as wgpu names it.
        format: String,
        /// Bytes of the level.
        expected: u64,
        /// Bytes given.
        got: u64,
    },
    /// A slice to read into is not as long as the range to read.
    #[error("cannot read {bytes} bytes into a slice of {slice} bytes")]
    SliceLength {
        /// Bytes of the range.
        bytes: u64,
        /// Bytes of the slice.
        slice: u64,
    },
    /// The host has no room for the bytes read back.
    #[error("out of host memory: {requested} bytes requested for a readback")]
    HostMemory {
        /// Bytes asked for.
        requested: u64,
    },
    /// A staging buffer could not be mapped although the device reports no error.
    #[error("a staging buffer of {bytes} bytes could not be mapped")]
    Map {
        /// Bytes of the staging buffer.
        bytes: u64,
    },
    /// A rule of this crate was broken by itself.
    #[error("internal error: {what}; this is a bug in Ziggurat")]
    Internal {
        /// The rule.
        what: &'static str,
    },
    /// A read was polled again after it had completed.
    #[error("this read was polled again after it had completed")]
    Finished,
    /// The device is lost, destroyed or poisoned.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
