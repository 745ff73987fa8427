//! Texels on their way: through buffers whose rows are padded to what copies need.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use wgpu::TextureUsages;
use ziggurat_device::TextureCopy;

use super::Texture;
use crate::error::MemoryError;
use crate::memory::Memory;
use crate::readback::Read;

/// How a level of a texture lies in a buffer.
#[derive(Clone, Copy, Debug)]
struct Rows {
    /// Columns, rows, and layers or slices.
    size: [u32; 3],
    /// Bytes of a row of texels.
    tight: u32,
    /// Bytes from one row to the next.
    padded: u32,
}

impl Rows {
    fn of(operation: &'static str, texture: &Texture) -> Result<Self, MemoryError> {
        let refuse = |message: String| MemoryError::Texture { operation, message };
        let Some(texel) = texture.texel_bytes() else {
            let format = texture.format();
            return Err(refuse(format!(
                "texels of {format:?} are not copied one by one"
            )));
        };
        if texture.wgpu().sample_count() != 1 {
            return Err(refuse("a multisampled texture is not copied".to_owned()));
        }
        let size = texture.size();
        let [width, ..] = size;
        let too_large = || refuse(format!("a row of {width} texels is too long"));
        let tight = width.checked_mul(texel).ok_or_else(too_large)?;
        let padded = tight.checked_next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        Ok(Self {
            size,
            tight,
            padded: padded.ok_or_else(too_large)?,
        })
    }

    /// Bytes in the buffer.
    fn bytes(self) -> u64 {
        let [_, height, depth] = self.size.map(u64::from);
        u64::from(self.padded).saturating_mul(height * depth)
    }

    fn copy(self, texture: &Texture, buffer: &wgpu::Buffer, into_texture: bool) -> TextureCopy {
        let [width, height, depth_or_array_layers] = self.size;
        TextureCopy {
            into_texture,
            texture: texture.wgpu().clone(),
            level: texture.levels().start,
            layer: texture.layers().start,
            size: wgpu::Extent3d {
                width,
                height,
                depth_or_array_layers,
            },
            buffer: buffer.clone(),
            bytes_per_row: self.padded,
        }
    }

    fn without_padding(self, bytes: &[u8]) -> Vec<u8> {
        let rows = bytes.chunks_exact((self.padded as usize).max(1));
        let rows = rows.map(|row| row.get(..self.tight as usize).unwrap_or(row));
        rows.flatten().copied().collect()
    }
}

impl Memory {
    /// Records the writing of the first level that a view shows, of all its layers: texel after texel, row after row, layer
    /// after layer, without padding. The data is copied before this returns.
    ///
    /// # Errors
    ///
    /// [`MemoryError::TextureBytes`]; [`MemoryError::MissingTextureUsage`] without `COPY_DST`; [`MemoryError::ForeignBuffer`]
    /// for a texture of another memory; [`MemoryError::Texture`] for compressed, multisampled and depth-stencil formats;
    /// as [`upload`](Self::upload).
    pub fn write_texture(&self, texture: &Texture, data: &[u8]) -> Result<(), MemoryError> {
        let operation = "write_texture";
        self.own_texture(operation, texture)?;
        texture.need(operation, TextureUsages::COPY_DST)?;
        let rows = Rows::of(operation, texture)?;
        if texture.bytes() != data.len() as u64 {
            return Err(MemoryError::TextureBytes {
                size: texture.size(),
                format: format!("{:?}", texture.format()),
                expected: texture.bytes(),
                got: data.len() as u64,
            });
        }
        let mut bytes = crate::transfer::zeroed(rows.bytes())?;
        let to = bytes.chunks_exact_mut((rows.padded as usize).max(1));
        for (to, from) in to.zip(data.chunks_exact((rows.tight as usize).max(1))) {
            if let Some(to) = to.get_mut(..from.len()) {
                to.copy_from_slice(from);
            }
        }
        let buffer = self.upload(&bytes)?;
        let copy = rows.copy(texture, buffer.wgpu(), true);
        self.device()
            .record(|recorder| recorder.copy_texture(&copy))?;
        Ok(())
    }

    /// Submits a copy of the first level that a view shows, as it is at this point of the queue; the future resolves to its
    /// texels in the order of [`write_texture`](Self::write_texture).
    ///
    /// # Errors
    ///
    /// As [`write_texture`](Self::write_texture), with the usage `COPY_SRC`, and [`read`](Self::read).
    pub fn read_texture(&self, texture: &Texture) -> Result<ReadTexture, MemoryError> {
        let operation = "read_texture";
        self.own_texture(operation, texture)?;
        texture.need(operation, TextureUsages::COPY_SRC)?;
        let rows = Rows::of(operation, texture)?;
        let buffer = self.alloc(rows.bytes())?;
        let copy = rows.copy(texture, buffer.wgpu(), false);
        self.device()
            .record(|recorder| recorder.copy_texture(&copy))?;
        Ok(ReadTexture {
            read: self.read(&buffer, 0..rows.bytes())?,
            rows,
        })
    }
}

/// A read of a texture on its way: resolves to its texels without padding.
#[derive(Debug)]
#[must_use = "a read does nothing with its bytes unless awaited"]
pub struct ReadTexture {
    read: Read,
    rows: Rows,
}

impl ReadTexture {
    /// Blocks until the bytes are there.
    ///
    /// # Errors
    ///
    /// As [`Read::wait`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait(self) -> Result<Vec<u8>, MemoryError> {
        Ok(self.rows.without_padding(&self.read.wait()?))
    }
}

impl Future for ReadTexture {
    type Output = Result<Vec<u8>, MemoryError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let rows = self.rows;
        let read = Pin::new(&mut self.read).poll(context);
        read.map(|bytes| Ok(rows.without_padding(&bytes?)))
    }
}
