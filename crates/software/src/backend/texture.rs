//! Textures and their views: creation and its checks.

mod copy;
mod sampler;

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use wgpu::custom::{DispatchTextureView, TextureInterface, TextureViewInterface};
use wgpu::{TextureDimension as Dimension, TextureUsages, TextureViewDimension as ViewDimension};

use super::errors::Kind;
use super::object::{Object, ObjectError, debug_by_name, own};
use super::state::{Reservation, State};
use crate::engine::{Axes, Level, Storage, Texel, View};

pub(super) use copy::{TextureCopy, copy_of};
pub(super) use sampler::Sampler;

/// Why a texture or a view cannot be made or used.
#[derive(Debug, thiserror::Error)]
pub(super) enum TextureError {
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error("textures of format {format:?} are not supported by the software device")]
    Format { format: wgpu::TextureFormat },
    #[error("{what} {value} is not from 1 to {limit}")]
    Extent {
        what: &'static str,
        value: u32,
        limit: u32,
    },
    #[error("usage {usage:?} is empty, or one that format {format:?} does not have here")]
    Usage {
        usage: TextureUsages,
        format: wgpu::TextureFormat,
    },
    #[error("usage {missing:?} of texture '{label}' is required, but it has only {usage:?}")]
    MissingUsage {
        label: String,
        missing: TextureUsages,
        usage: TextureUsages,
    },
    #[error("{what} {start}..{end} are not within the texture's {count}")]
    Range {
        what: &'static str,
        start: u32,
        end: u64,
        count: u32,
    },
    #[error("a view of format {view:?} of a texture of format {texture:?}")]
    ViewFormat {
        view: wgpu::TextureFormat,
        texture: wgpu::TextureFormat,
    },
    #[error(
        "a view of dimension {view:?} with {layers} layers of a texture of dimension {texture:?}"
    )]
    ViewDimension {
        view: ViewDimension,
        layers: u32,
        texture: Dimension,
    },
    #[error("{what} {value} is not a multiple of {alignment}")]
    Unaligned {
        what: &'static str,
        value: u64,
        alignment: u64,
    },
    #[error("{what} must be given for this copy")]
    Missing { what: &'static str },
    #[error("{needed} bytes from {offset} exceed the {bytes} bytes of the data")]
    Data {
        offset: u64,
        needed: u64,
        bytes: u64,
    },
    #[error("{value} bytes per row are less than the {needed} of a row")]
    RowTooShort { value: u64, needed: u64 },
}

struct Memory {
    storage: Arc<Storage>,
    _reservation: Reservation,
}

/// A texture, shared by its handles, views and recorded commands.
pub(super) struct TextureData {
    state: Arc<State>,
    label: String,
    pub(super) id: u64,
    pub(super) texel: Option<Texel>,
    format: wgpu::TextureFormat,
    dimension: Dimension,
    size: wgpu::Extent3d,
    usage: TextureUsages,
    view_formats: Vec<wgpu::TextureFormat>,
    /// Bytes at which the levels begin.
    levels: Vec<u64>,
    /// `None` once destroyed, and for an invalid texture.
    memory: Mutex<Option<Memory>>,
    valid: bool,
}

/// wgpu's handle.
pub(super) struct Texture(pub(super) Arc<TextureData>);

/// A view, shared by its handles, bind groups and recorded commands.
pub(super) struct ViewData {
    pub(super) texture: Arc<TextureData>,
    label: String,
    pub(super) format: wgpu::TextureFormat,
    pub(super) dimension: ViewDimension,
    pub(super) usage: TextureUsages,
    pub(super) levels: Range<u32>,
    pub(super) layers: Range<u32>,
    valid: bool,
}

/// wgpu's handle.
pub(super) struct TextureView(pub(super) Arc<ViewData>);

debug_by_name!(Texture, TextureData, TextureView, ViewData);

impl Object for Texture {
    const KIND: &'static str = "Texture";
    fn state(&self) -> &Arc<State> {
        &self.0.state
    }
    fn label(&self) -> &str {
        &self.0.label
    }
    fn is_valid(&self) -> bool {
        self.0.valid
    }
}

impl Object for TextureView {
    const KIND: &'static str = "TextureView";
    fn state(&self) -> &Arc<State> {
        &self.0.texture.state
    }
    fn label(&self) -> &str {
        &self.0.label
    }
    fn is_valid(&self) -> bool {
        self.0.valid
    }
}

impl TextureViewInterface for TextureView {}

impl Texture {
    /// Makes a texture; an invalid one, with an error reported, if the descriptor breaks a rule.
    pub(super) fn create(state: &Arc<State>, desc: &wgpu::TextureDescriptor<'_>) -> Self {
        let label = desc.label.unwrap_or_default();
        let mut data = TextureData {
            state: Arc::clone(state),
            label: label.to_owned(),
            id: state.next_id(),
            texel: Texel::of(desc.format),
            format: desc.format,
            dimension: desc.dimension,
            size: desc.size,
            usage: desc.usage,
            view_formats: desc.view_formats.to_vec(),
            levels: Vec::new(),
            memory: Mutex::new(None),
            valid: false,
        };
        if let Err(error) = check(state, desc) {
            state.invalid("Device::create_texture", label, error);
        } else if !state.is_lost() {
            data.allocate(desc.mip_level_count);
        }
        Self(Arc::new(data))
    }
}

impl TextureInterface for Texture {
    fn create_view(&self, desc: &wgpu::TextureViewDescriptor<'_>) -> DispatchTextureView {
        DispatchTextureView::custom(TextureView(Arc::new(ViewData::new(&self.0, desc))))
    }

    fn destroy(&self) {
        self.0.memory.lock().take();
    }
}

fn check(state: &State, desc: &wgpu::TextureDescriptor<'_>) -> Result<(), TextureError> {
    let (limits, format, size) = (&state.limits, desc.format, desc.size);
    state.require(format.required_features())?;
    if Texel::of(format).is_none() {
        return Err(TextureError::Format { format });
    }
    if desc.sample_count != 1 {
        let what = "multisampled textures";
        return Err(ObjectError::Unsupported { what }.into());
    }
    let (plane, depth, what) = match desc.dimension {
        Dimension::D1 => (limits.max_texture_dimension_1d, 1, "layers"),
        Dimension::D2 => (
            limits.max_texture_dimension_2d,
            limits.max_texture_array_layers,
            "layers",
        ),
        Dimension::D3 => (
            limits.max_texture_dimension_3d,
            limits.max_texture_dimension_3d,
            "depth",
        ),
    };
    let is_line = desc.dimension == Dimension::D1;
    let height = if is_line { 1 } else { plane };
    let longest = size.width.max(size.height);
    let longest = match desc.dimension {
        Dimension::D3 => longest.max(size.depth_or_array_layers),
        _ => longest,
    };
    let levels = if is_line {
        1
    } else {
        longest.max(1).ilog2() + 1
    };
    let rules = [
        ("width", size.width, plane),
        ("height", size.height, height),
        (what, size.depth_or_array_layers, depth),
        ("mip level count", desc.mip_level_count, levels),
    ];
    for (what, value, limit) in rules {
        if value == 0 || value > limit {
            return Err(TextureError::Extent { what, value, limit });
        }
    }
    let usage = desc.usage;
    if usage.contains(TextureUsages::RENDER_ATTACHMENT) {
        let what = "render attachments";
        return Err(ObjectError::Unsupported { what }.into());
    }
    let allowed = state.format_features(format).allowed_usages;
    if usage.is_empty() || !allowed.contains(usage) {
        return Err(TextureError::Usage { usage, format });
    }
    for &view in desc.view_formats {
        if view.remove_srgb_suffix() != format.remove_srgb_suffix() {
            let texture = format;
            return Err(TextureError::ViewFormat { view, texture });
        }
    }
    Ok(())
}

impl TextureData {
    /// Makes the memory of so many levels, within the budget; otherwise reports.
    fn allocate(&mut self, levels: u32) {
        let mut bytes = 0u64;
        for level in 0..levels {
            self.levels.push(bytes);
            let texels = self.extent(level).into_iter();
            let texels = texels.fold(1u64, |all, n| all.saturating_mul(u64::from(n)));
            let level = texels.saturating_mul(self.texel_bytes());
            bytes = bytes.saturating_add(level).next_multiple_of(4);
        }
        let storage = self.state.reserve(bytes).and_then(|reservation| {
            Some(Memory {
                storage: Arc::new(Storage::new(bytes).ok()?),
                _reservation: reservation,
            })
        });
        self.valid = storage.is_some();
        if storage.is_none() {
            let error = super::buffer::OutOfMemory::new(&self.state, bytes);
            let call = "Device::create_texture";
            self.state
                .report(Kind::OutOfMemory, call, &self.label, Box::new(error));
        }
        *self.memory.lock() = storage;
    }

    pub(super) fn texel_bytes(&self) -> u64 {
        self.texel.map_or(1, |texel| texel.bytes() as u64)
    }

    /// Width, height and depth (or layers) of a level.
    fn extent(&self, level: u32) -> [u32; 3] {
        let half = |n: u32| n.checked_shr(level).unwrap_or(0).max(1);
        let size = self.size;
        let depth = size.depth_or_array_layers;
        match self.dimension {
            Dimension::D1 => [half(size.width), 1, 1],
            Dimension::D2 => [half(size.width), half(size.height), depth],
            Dimension::D3 => [half(size.width), half(size.height), half(depth)],
        }
    }

    /// A level with the layers (or slices) from `first` on.
    fn level(&self, level: u32, layers: Range<u32>) -> Level {
        let [width, height, depth] = self.extent(level);
        let (first, depth) = match self.dimension {
            Dimension::D2 => (layers.start, layers.end.saturating_sub(layers.start)),
            _ => (0, depth),
        };
        let layer = u64::from(width) * u64::from(height) * self.texel_bytes();
        let start = self.levels.get(level as usize).copied().unwrap_or(0);
        Level {
            offset: start + u64::from(first) * layer,
            width,
            height,
            depth,
        }
    }

    /// The bytes, unless the texture has been destroyed.
    pub(super) fn storage(&self) -> Result<Arc<Storage>, ObjectError> {
        let memory = self.memory.lock();
        let storage = memory.as_ref().map(|memory| Arc::clone(&memory.storage));
        storage.ok_or_else(|| ObjectError::Destroyed {
            kind: Texture::KIND,
            label: self.label.clone(),
        })
    }

    pub(super) fn require_usage(&self, wanted: TextureUsages) -> Result<(), TextureError> {
        if self.usage.contains(wanted) {
            return Ok(());
        }
        Err(TextureError::MissingUsage {
            label: self.label.clone(),
            missing: wanted - self.usage,
            usage: self.usage,
        })
    }
}

impl ViewData {
    fn new(texture: &Arc<TextureData>, desc: &wgpu::TextureViewDescriptor<'_>) -> Self {
        let label = desc.label.unwrap_or_default();
        let all = texture.size.depth_or_array_layers;
        let layers = match texture.dimension {
            Dimension::D2 => all,
            Dimension::D1 | Dimension::D3 => 1,
        };
        let dimension = desc.dimension.unwrap_or(match texture.dimension {
            Dimension::D1 => ViewDimension::D1,
            Dimension::D2 if all == 1 => ViewDimension::D2,
            Dimension::D2 => ViewDimension::D2Array,
            Dimension::D3 => ViewDimension::D3,
        });
        let first = desc.base_array_layer;
        let rest = match dimension {
            ViewDimension::D2 => 1,
            _ => layers.saturating_sub(first).max(1),
        };
        let count = desc.array_layer_count.unwrap_or(rest);
        let level = desc.base_mip_level;
        let left = (texture.levels.len() as u32).saturating_sub(level).max(1);
        let levels = desc.mip_level_count.unwrap_or(left);
        let mut view = Self {
            texture: Arc::clone(texture),
            label: label.to_owned(),
            format: desc.format.unwrap_or(texture.format),
            dimension,
            usage: desc.usage.unwrap_or(texture.usage),
            levels: level..level.saturating_add(levels),
            layers: first..first.saturating_add(count),
            valid: texture.valid,
        };
        if texture.valid
            && let Err(error) = view.check(layers)
        {
            texture.state.invalid("Texture::create_view", label, error);
            view.valid = false;
        }
        view
    }

    fn check(&self, layers: u32) -> Result<(), TextureError> {
        let texture = &self.texture;
        if self.format != texture.format && !texture.view_formats.contains(&self.format) {
            return Err(TextureError::ViewFormat {
                view: self.format,
                texture: texture.format,
            });
        }
        let count = texture.levels.len() as u32;
        for (what, range, count) in [
            ("levels", &self.levels, count),
            ("layers", &self.layers, layers),
        ] {
            if range.is_empty() || range.end > count {
                return Err(TextureError::Range {
                    what,
                    start: range.start,
                    end: u64::from(range.end),
                    count,
                });
            }
        }
        texture.require_usage(self.usage)?;
        let own_layers = self.layers.end - self.layers.start;
        let fits = matches!(
            (self.dimension, texture.dimension, own_layers),
            (ViewDimension::D1, Dimension::D1, 1)
                | (ViewDimension::D2, Dimension::D2, 1)
                | (ViewDimension::D2Array, Dimension::D2, _)
                | (ViewDimension::D3, Dimension::D3, 1)
        );
        if fits {
            return Ok(());
        }
        Err(TextureError::ViewDimension {
            view: self.dimension,
            layers: own_layers,
            texture: texture.dimension,
        })
    }

    pub(super) fn label(&self) -> &str {
        &self.texture.label
    }

    /// What a program sees.
    pub(super) fn view(&self) -> Result<View, ObjectError> {
        let texture = &self.texture;
        let absent = || ObjectError::Unsupported {
            what: "textures of this format",
        };
        Ok(View {
            storage: texture.storage()?,
            texel: Texel::of(self.format).ok_or_else(absent)?,
            axes: match self.dimension {
                ViewDimension::D1 => Axes::One,
                ViewDimension::D3 => Axes::Three,
                _ => Axes::Two,
            },
            levels: self
                .levels
                .clone()
                .map(|level| texture.level(level, self.layers.clone()))
                .collect(),
        })
    }
}

/// What textures of a format can be on a device of those features: what WebGPU promises, or with
/// `TEXTURE_ADAPTER_SPECIFIC_FORMAT_FEATURES` all that the engine does.
pub(super) fn format_features(
    format: wgpu::TextureFormat,
    features: wgpu::Features,
) -> wgpu::TextureFormatFeatures {
    use wgpu::TextureFormatFeatureFlags as Flags;
    let mut has = format.guaranteed_format_features(features);
    let known = Texel::of(format).is_some();
    if !known {
        has.allowed_usages = TextureUsages::empty();
        has.flags = Flags::empty();
    }
    has.allowed_usages -= TextureUsages::RENDER_ATTACHMENT;
    let specific = wgpu::Features::TEXTURE_ADAPTER_SPECIFIC_FORMAT_FEATURES;
    if known && features.contains(specific) && !format.is_srgb() {
        has.allowed_usages |= TextureUsages::STORAGE_BINDING;
        has.flags |= Flags::STORAGE_READ_ONLY | Flags::STORAGE_WRITE_ONLY;
        has.flags |= Flags::STORAGE_READ_WRITE;
    }
    has
}

/// The texture behind a handle, if it is `state`'s and valid.
pub(super) fn own_texture<'a>(
    state: &Arc<State>,
    texture: &'a wgpu::Texture,
) -> Result<&'a Arc<TextureData>, ObjectError> {
    own(state, texture.as_custom::<Texture>()).map(|texture| &texture.0)
}
