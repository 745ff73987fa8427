//! Copies between textures and linear memory.

use std::sync::Arc;

use super::{TextureData, TextureError, own_texture};
use crate::backend::object::ObjectError;
use crate::backend::state::State;
use crate::engine::Storage;

/// A box of texels and the layout of the same texels in linear memory.
pub(in crate::backend) struct TextureCopy {
    pub(in crate::backend) texture: Arc<TextureData>,
    level: u32,
    origin: [u32; 3],
    extent: [u32; 3],
    offset: u64,
    bytes_per_row: u64,
    rows_per_image: u64,
}

/// Checks a copy between a texture and `bytes` bytes of linear memory.
pub(in crate::backend) fn copy_of(
    state: &Arc<State>,
    info: &wgpu::TexelCopyTextureInfo<'_>,
    layout: &wgpu::TexelCopyBufferLayout,
    size: wgpu::Extent3d,
    usage: wgpu::TextureUsages,
    bytes: u64,
    row_alignment: u64,
) -> Result<TextureCopy, TextureError> {
    let texture = own_texture(state, info.texture)?;
    texture.require_usage(usage)?;
    if info.aspect != wgpu::TextureAspect::All {
        let what = "copies of a single aspect";
        return Err(ObjectError::Unsupported { what }.into());
    }
    let count = texture.levels.len() as u32;
    if info.mip_level >= count {
        return Err(TextureError::Range {
            what: "levels",
            start: info.mip_level,
            end: u64::from(info.mip_level) + 1,
            count,
        });
    }
    let origin = [info.origin.x, info.origin.y, info.origin.z];
    let extent = [size.width, size.height, size.depth_or_array_layers];
    let whole = texture.extent(info.mip_level);
    for (axis, what) in ["columns", "rows", "layers"].into_iter().enumerate() {
        let of = |all: [u32; 3]| all.get(axis).copied().unwrap_or(0);
        let end = u64::from(of(origin)) + u64::from(of(extent));
        if end > u64::from(of(whole)) {
            return Err(TextureError::Range {
                what,
                start: of(origin),
                end,
                count: of(whole),
            });
        }
    }
    let texel = texture.texel_bytes();
    let row = u64::from(size.width) * texel;
    let many_rows = size.height > 1 || size.depth_or_array_layers > 1;
    let bytes_per_row = match layout.bytes_per_row {
        Some(value) if u64::from(value) < row => {
            return Err(TextureError::RowTooShort {
                value: u64::from(value),
                needed: row,
            });
        }
        Some(value) => u64::from(value),
        None if many_rows => {
            let what = "bytes per row";
            return Err(TextureError::Missing { what });
        }
        None => row,
    };
    if layout.bytes_per_row.is_some() && !bytes_per_row.is_multiple_of(row_alignment) {
        return Err(TextureError::Unaligned {
            what: "bytes per row",
            value: bytes_per_row,
            alignment: row_alignment,
        });
    }
    if row_alignment > 1 && !layout.offset.is_multiple_of(texel) {
        return Err(TextureError::Unaligned {
            what: "offset",
            value: layout.offset,
            alignment: texel,
        });
    }
    let rows_per_image = match layout.rows_per_image {
        Some(value) if value < size.height => {
            return Err(TextureError::RowTooShort {
                value: u64::from(value),
                needed: u64::from(size.height),
            });
        }
        Some(value) => u64::from(value),
        None if size.depth_or_array_layers > 1 => {
            let what = "rows per image";
            return Err(TextureError::Missing { what });
        }
        None => u64::from(size.height),
    };
    let images = u64::from(size.depth_or_array_layers);
    let needed = if extent.contains(&0) {
        0
    } else {
        let before = rows_per_image.saturating_mul(images - 1);
        let rows = before.saturating_add(u64::from(size.height) - 1);
        rows.saturating_mul(bytes_per_row).saturating_add(row)
    };
    if layout
        .offset
        .checked_add(needed)
        .is_none_or(|end| end > bytes)
    {
        return Err(TextureError::Data {
            offset: layout.offset,
            needed,
            bytes,
        });
    }
    Ok(TextureCopy {
        texture: Arc::clone(texture),
        level: info.mip_level,
        origin,
        extent,
        offset: layout.offset,
        bytes_per_row,
        rows_per_image,
    })
}

impl TextureCopy {
    /// Calls `f` for each row with its bytes' places in the texture and in linear memory, and its length.
    fn rows(&self, mut f: impl FnMut(u64, u64, u64)) {
        let [width, height, depth] = self.extent;
        let [x, y, z] = self.origin.map(u64::from);
        let texel = self.texture.texel_bytes();
        let level = self.texture.level(self.level, 0..u32::MAX);
        for image in 0..u64::from(depth) {
            for row in 0..u64::from(height) {
                let line = (z + image) * u64::from(level.height) + y + row;
                let inside = level.offset + (line * u64::from(level.width) + x) * texel;
                let outside = (image * self.rows_per_image + row) * self.bytes_per_row;
                f(inside, self.offset + outside, u64::from(width) * texel);
            }
        }
    }

    /// Into the texture.
    pub(in crate::backend) fn write(&self, data: &[u8]) -> Result<(), ObjectError> {
        let storage = self.texture.storage()?;
        self.rows(|inside, outside, bytes| {
            let start = usize::try_from(outside).unwrap_or(usize::MAX);
            let end = start.saturating_add(usize::try_from(bytes).unwrap_or(usize::MAX));
            if let Some(row) = data.get(start..end) {
                storage.write(inside, row);
            }
        });
        Ok(())
    }

    /// From a buffer into the texture.
    pub(in crate::backend) fn write_from(&self, buffer: &Storage) -> Result<(), ObjectError> {
        let storage = self.texture.storage()?;
        self.rows(|inside, outside, bytes| storage.copy(buffer, outside, inside, bytes));
        Ok(())
    }

    /// From the texture into a buffer.
    pub(in crate::backend) fn read_into(&self, buffer: &Storage) -> Result<(), ObjectError> {
        let storage = self.texture.storage()?;
        self.rows(|inside, outside, bytes| buffer.copy(&storage, inside, outside, bytes));
        Ok(())
    }
}
