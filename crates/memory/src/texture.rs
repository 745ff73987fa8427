//! Textures and samplers: made here or wrapped, written and read in the order of all recorded work.
//!
//! Texels travel through buffers of the pool whose rows are padded to what copies need; callers see tight rows.
//! Invariant: a texture is a view, and knows what was asked for it, because wgpu does not tell.

mod transfer;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use wgpu::{TextureDimension, TextureFormat, TextureUsages, TextureViewDimension};
use ziggurat_device::Device;

use crate::error::MemoryError;
use crate::memory::Memory;
use crate::pool::Pool;

pub use transfer::ReadTexture;

/// A view of a texture. Clones share it.
///
/// ```
/// use ziggurat_memory::{Memory, MemoryOptions};
/// # use ziggurat_device::{Device, DeviceOptions};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let memory = Memory::new(&Device::open_blocking(DeviceOptions::default())?, MemoryOptions::default());
/// let picture = memory.create_texture(&wgpu::TextureDescriptor {
///     label: Some("picture"),
///     size: wgpu::Extent3d { width: 5, height: 3, depth_or_array_layers: 1 },
///     mip_level_count: 1,
///     sample_count: 1,
///     dimension: wgpu::TextureDimension::D2,
///     format: wgpu::TextureFormat::Rgba8Unorm,
///     usage: wgpu::TextureUsages::TEXTURE_BINDING
///         | wgpu::TextureUsages::COPY_DST
///         | wgpu::TextureUsages::COPY_SRC,
///     view_formats: &[],
/// })?;
/// let pixels: Vec<u8> = (0..60).collect();
/// memory.write_texture(&picture, &pixels)?;
/// assert_eq!(memory.read_texture(&picture)?.wait()?, pixels);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Texture {
    inner: Arc<Inner>,
}

struct Inner {
    texture: wgpu::Texture,
    view: wgpu::TextureView,
    format: TextureFormat,
    dimension: TextureViewDimension,
    usage: TextureUsages,
    levels: Range<u32>,
    layers: Range<u32>,
    pool: Arc<Pool>,
}

/// A sampler. Clones share it.
#[derive(Clone)]
pub struct Sampler {
    inner: Arc<SamplerInner>,
}

struct SamplerInner {
    sampler: wgpu::Sampler,
    is_filtering: bool,
    is_comparison: bool,
    pool: Arc<Pool>,
}

impl fmt::Debug for Texture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Texture")
            .field("format", &self.format())
            .field("dimension", &self.dimension())
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sampler").finish_non_exhaustive()
    }
}

impl Sampler {
    /// wgpu's sampler.
    #[must_use]
    pub fn wgpu(&self) -> &wgpu::Sampler {
        &self.inner.sampler
    }

    /// Whether it mixes texels.
    #[must_use]
    pub fn is_filtering(&self) -> bool {
        self.inner.is_filtering
    }

    /// Whether it compares depths.
    #[must_use]
    pub fn is_comparison(&self) -> bool {
        self.inner.is_comparison
    }
}

impl Texture {
    /// The texture that it is a view of.
    #[must_use]
    pub fn wgpu(&self) -> &wgpu::Texture {
        &self.inner.texture
    }

    /// wgpu's view.
    #[must_use]
    pub fn wgpu_view(&self) -> &wgpu::TextureView {
        &self.inner.view
    }

    /// The view's format.
    #[must_use]
    pub fn format(&self) -> TextureFormat {
        self.inner.format
    }

    /// The view's dimension.
    #[must_use]
    pub fn dimension(&self) -> TextureViewDimension {
        self.inner.dimension
    }

    /// What the view may be used for.
    #[must_use]
    pub fn usage(&self) -> TextureUsages {
        self.inner.usage
    }

    /// The levels of the texture that it shows.
    #[must_use]
    pub fn levels(&self) -> Range<u32> {
        self.inner.levels.clone()
    }

    /// The layers of the texture that it shows.
    #[must_use]
    pub fn layers(&self) -> Range<u32> {
        self.inner.layers.clone()
    }

    /// Columns, rows, and layers or slices of its first level.
    #[must_use]
    pub fn size(&self) -> [u32; 3] {
        let texture = &self.inner.texture;
        let half = |n: u32| n.checked_shr(self.inner.levels.start).unwrap_or(0).max(1);
        let layers = self
            .inner
            .layers
            .end
            .saturating_sub(self.inner.layers.start);
        let depth = match texture.dimension() {
            TextureDimension::D3 => half(texture.depth_or_array_layers()),
            TextureDimension::D1 | TextureDimension::D2 => layers,
        };
        [half(texture.width()), half(texture.height()), depth]
    }

    /// Bytes of its first level in tight rows; 0 for formats that cannot be copied.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let texel = self.texel_bytes().map_or(0, u64::from);
        let texels = self.size().into_iter();
        texels.fold(texel, |all, n| all.saturating_mul(u64::from(n)))
    }

    /// Bytes of a texel, if it is not a part of a block and has one aspect.
    fn texel_bytes(&self) -> Option<u32> {
        let format = self.format();
        let single = format.block_dimensions() == (1, 1);
        let bytes = format.block_copy_size(Some(wgpu::TextureAspect::All));
        bytes.filter(|_| single)
    }

    /// Another view of the same texture: a level, some layers, another format.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Texture`] for what wgpu refuses, in its words.
    pub fn view(&self, desc: &wgpu::TextureViewDescriptor<'_>) -> Result<Self, MemoryError> {
        Self::new(&self.inner.texture, desc, &self.inner.pool)
    }

    fn new(
        texture: &wgpu::Texture,
        desc: &wgpu::TextureViewDescriptor<'_>,
        pool: &Arc<Pool>,
    ) -> Result<Self, MemoryError> {
        let is_layered = texture.dimension() == TextureDimension::D2;
        let layers = if is_layered {
            texture.depth_or_array_layers()
        } else {
            1
        };
        let dimension = desc.dimension.unwrap_or(match texture.dimension() {
            TextureDimension::D1 => TextureViewDimension::D1,
            TextureDimension::D2 if layers == 1 => TextureViewDimension::D2,
            TextureDimension::D2 => TextureViewDimension::D2Array,
            TextureDimension::D3 => TextureViewDimension::D3,
        });
        let (level, layer) = (desc.base_mip_level, desc.base_array_layer);
        let levels = texture.mip_level_count().saturating_sub(level);
        let shown = match dimension {
            TextureViewDimension::D2 => 1,
            TextureViewDimension::Cube => 6,
            _ => layers.saturating_sub(layer),
        };
        let levels = desc.mip_level_count.unwrap_or(levels);
        let shown = desc.array_layer_count.unwrap_or(shown);
        let view = checked(pool.device(), "view", || texture.create_view(desc))?;
        Ok(Self {
            inner: Arc::new(Inner {
                texture: texture.clone(),
                view,
                format: desc.format.unwrap_or(texture.format()),
                dimension,
                usage: desc.usage.unwrap_or(texture.usage()),
                levels: level..level.saturating_add(levels),
                layers: layer..layer.saturating_add(shown),
                pool: Arc::clone(pool),
            }),
        })
    }

    fn need(&self, operation: &'static str, needs: TextureUsages) -> Result<(), MemoryError> {
        let have = self.inner.texture.usage();
        if have.contains(needs) {
            return Ok(());
        }
        Err(MemoryError::MissingTextureUsage {
            operation,
            have,
            needs,
        })
    }
}

/// What `make` makes, with what wgpu says against it as an error.
fn checked<T>(
    device: &Device,
    operation: &'static str,
    make: impl FnOnce() -> T,
) -> Result<T, MemoryError> {
    device.status()?;
    #[cfg(not(target_arch = "wasm32"))]
    {
        let memory = device
            .wgpu()
            .push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let rules = device
            .wgpu()
            .push_error_scope(wgpu::ErrorFilter::Validation);
        let made = make();
        for scope in [rules, memory] {
            if let Some(Some(error)) = ziggurat_device::now_or_never(scope.pop()) {
                let message = error.to_string();
                return Err(MemoryError::Texture { operation, message });
            }
        }
        Ok(made)
    }
    // A browser answers later: there it poisons the device.
    #[cfg(target_arch = "wasm32")]
    {
        let _ = operation;
        Ok(make())
    }
}

impl Memory {
    /// A texture with a view of all of it. It is not pooled, and not counted in [`Usage`](crate::Usage).
    ///
    /// # Errors
    ///
    /// [`MemoryError::Texture`] for a descriptor that the device refuses, or for which it has no memory, in wgpu's words.
    pub fn create_texture(
        &self,
        desc: &wgpu::TextureDescriptor<'_>,
    ) -> Result<Texture, MemoryError> {
        let device = self.device();
        let texture = checked(device, "create_texture", || {
            device.wgpu().create_texture(desc)
        })?;
        self.wrap_texture(texture)
    }

    /// A view of all of a texture that was made elsewhere with the same wgpu device. One of another device is not found
    /// out here, because wgpu does not say where a texture comes from: the dispatch that binds it fails the device.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Texture`] if it has been destroyed or is invalid.
    pub fn wrap_texture(&self, texture: wgpu::Texture) -> Result<Texture, MemoryError> {
        Texture::new(
            &texture,
            &wgpu::TextureViewDescriptor::default(),
            self.pool(),
        )
    }

    /// A sampler.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Texture`] for a descriptor that the device refuses.
    pub fn create_sampler(
        &self,
        desc: &wgpu::SamplerDescriptor<'_>,
    ) -> Result<Sampler, MemoryError> {
        let device = self.device();
        let sampler = checked(device, "create_sampler", || {
            device.wgpu().create_sampler(desc)
        })?;
        let linear = wgpu::FilterMode::Linear;
        let is_filtering = desc.mag_filter == linear
            || desc.min_filter == linear
            || desc.mipmap_filter == wgpu::MipmapFilterMode::Linear;
        Ok(Sampler {
            inner: Arc::new(SamplerInner {
                sampler,
                is_filtering,
                is_comparison: desc.compare.is_some(),
                pool: Arc::clone(self.pool()),
            }),
        })
    }

    /// Whether the texture was made or wrapped by this memory.
    #[must_use]
    pub fn owns_texture(&self, texture: &Texture) -> bool {
        Arc::ptr_eq(&texture.inner.pool, self.pool())
    }

    /// Whether the sampler was made by this memory.
    #[must_use]
    pub fn owns_sampler(&self, sampler: &Sampler) -> bool {
        Arc::ptr_eq(&sampler.inner.pool, self.pool())
    }

    fn own_texture(&self, operation: &'static str, texture: &Texture) -> Result<(), MemoryError> {
        if self.owns_texture(texture) {
            Ok(())
        } else {
            Err(MemoryError::ForeignBuffer { operation })
        }
    }
}
