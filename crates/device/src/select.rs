//! Which adapter to take: a pure function over summaries.
//!
//! Filters (kind, index, name, backend, software allowed) come first, then the ranking: discrete,
//! integrated, virtual, unspecified, software; with low power integrated leads. Among equals a
//! native interface beats OpenGL, and then the driver's own order counts. Of what computes on the
//! CPU, a driver's adapter (lavapipe, WARP) comes before the software device of Ziggurat, and that
//! before OpenGL on the CPU, which runs only part of the ops.

use crate::{AdapterKind, AdapterSummary, AdapterWish, DeviceError, PowerPreference};

/// Picks the best of `adapters` for `wish` and returns its position in the slice.
///
/// # Errors
/// [`DeviceError::NoAdapter`], listing what was there and what to install.
pub fn select(adapters: &[AdapterSummary], wish: &AdapterWish) -> Result<usize, DeviceError> {
    adapters
        .iter()
        .enumerate()
        .filter(|(position, adapter)| fits(*position, adapter, wish))
        .min_by_key(|(_, adapter)| rank(adapter, wish.power))
        .map(|(position, _)| position)
        .ok_or_else(|| DeviceError::NoAdapter {
            seen: adapters.iter().map(ToString::to_string).collect(),
            wish: wish.to_string(),
            advice: advice(adapters),
        })
}

fn fits(position: usize, adapter: &AdapterSummary, wish: &AdapterWish) -> bool {
    let named = wish.index.is_some() || wish.name.is_some() || wish.kind.is_some();
    if wish.software.is_some() {
        return adapter.is_software_device();
    }
    adapter.compute
        && wish
            .index
            .is_none_or(|index| adapter.index == index || position == index)
        && wish.kind.is_none_or(|kind| adapter.kind == kind)
        && wish
            .backend
            .is_none_or(|backend| adapter.backend == backend)
        && wish
            .name
            .as_ref()
            .is_none_or(|name| contains(&adapter.name, name))
        && (wish.allow_software || named || adapter.kind != AdapterKind::Software)
}

fn contains(text: &str, part: &str) -> bool {
    text.to_ascii_lowercase()
        .contains(&part.to_ascii_lowercase())
}

fn rank(adapter: &AdapterSummary, power: PowerPreference) -> (u8, u8) {
    let software_device = adapter.is_software_device();
    let low = power == PowerPreference::LowPower;
    let kind = match adapter.kind {
        AdapterKind::Discrete => u8::from(low),
        AdapterKind::Integrated => u8::from(!low),
        AdapterKind::Virtual => 2,
        AdapterKind::Other => 3,
        AdapterKind::Software if adapter.backend == wgpu::Backend::Gl => 6,
        AdapterKind::Software if software_device => 5,
        AdapterKind::Software => 4,
    };
    let backend = match adapter.backend {
        wgpu::Backend::Vulkan | wgpu::Backend::Metal | wgpu::Backend::BrowserWebGpu => 0,
        wgpu::Backend::Dx12 => 1,
        wgpu::Backend::Gl => 2,
        wgpu::Backend::Noop => 3,
    };
    (kind, backend)
}

fn advice(adapters: &[AdapterSummary]) -> String {
    if adapters.iter().any(|adapter| adapter.compute) {
        "choose one of the adapters seen (ZIGGURAT_ADAPTER and ZIGGURAT_BACKEND count too), \
         or allow a software adapter"
            .to_owned()
    } else {
        install_advice(std::env::consts::OS).to_owned()
    }
}

/// What to install on operating system `os` (as in [`std::env::consts::OS`]) to get an adapter.
#[must_use]
pub fn install_advice(os: &str) -> &'static str {
    match os {
        "linux" => {
            "install a Vulkan driver: your GPU vendor's, or the software one \
             (Debian and Ubuntu: apt-get install mesa-vulkan-drivers; \
             Fedora: dnf install mesa-vulkan-drivers; Arch: pacman -S vulkan-swrast)"
        }
        "windows" => {
            "install your GPU vendor's driver; Windows brings the software adapter \
             (WARP) with DirectX 12"
        }
        "macos" | "ios" => "Metal is part of the system: use a machine with Metal support",
        _ if cfg!(target_arch = "wasm32") => {
            "use a browser with WebGPU switched on, over https or localhost"
        }
        _ => "install a Vulkan driver for your GPU, or a software one such as Mesa's lavapipe",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn adapter(index: usize, name: &str, kind: AdapterKind) -> AdapterSummary {
        AdapterSummary {
            index,
            name: name.to_owned(),
            backend: wgpu::Backend::Vulkan,
            kind,
            driver: String::new(),
            vendor: 0,
            device: 0,
            compute: true,
        }
    }

    fn all() -> Vec<AdapterSummary> {
        vec![
            adapter(0, "llvmpipe", AdapterKind::Software),
            adapter(1, "Strange", AdapterKind::Other),
            adapter(2, "Virtio", AdapterKind::Virtual),
            adapter(3, "Iris", AdapterKind::Integrated),
            adapter(4, "H200", AdapterKind::Discrete),
        ]
    }

    #[test]
    fn mesas_software_drivers_are_told_by_name_or_driver() {
        assert!(
            adapter(0, "llvmpipe (LLVM 15.0.6, 256 bits)", AdapterKind::Software)
                .is_mesa_software()
        );
        assert!(!adapter(0, "llvmpipe", AdapterKind::Discrete).is_mesa_software());
        assert!(
            !adapter(0, "Microsoft Basic Render Driver", AdapterKind::Software).is_mesa_software()
        );
        let unnamed = AdapterSummary {
            driver: "llvmpipe Mesa 22.3.6".to_owned(),
            ..adapter(0, "", AdapterKind::Software)
        };
        assert!(unnamed.is_mesa_software());
    }

    #[test]
    fn ranks_discrete_integrated_virtual_other_software() {
        let mut adapters = all();
        let mut order = Vec::new();
        while !adapters.is_empty() {
            let best = select(&adapters, &AdapterWish::default()).unwrap();
            order.push(adapters.remove(best).index);
        }
        assert_eq!(order, [4, 3, 2, 1, 0]);
    }

    #[test]
    fn low_power_puts_integrated_first_and_discrete_second() {
        let wish = AdapterWish {
            power: PowerPreference::LowPower,
            ..Default::default()
        };
        let mut adapters = all();
        assert_eq!(select(&adapters, &wish).unwrap(), 3);
        adapters.remove(3);
        let second = select(&adapters, &wish).unwrap();
        assert_eq!(adapters[second].index, 4);
    }

    #[test]
    fn high_performance_puts_discrete_first() {
        let wish = AdapterWish {
            power: PowerPreference::HighPerformance,
            ..Default::default()
        };
        assert_eq!(select(&all(), &wish).unwrap(), 4);
    }

    #[test]
    fn a_native_interface_beats_opengl_for_the_same_card() {
        let mut gl = adapter(0, "H200", AdapterKind::Discrete);
        gl.backend = wgpu::Backend::Gl;
        let adapters = [gl, adapter(1, "H200", AdapterKind::Discrete)];
        assert_eq!(select(&adapters, &AdapterWish::default()).unwrap(), 1);
    }

    #[test]
    fn equals_keep_the_drivers_order() {
        let adapters = [
            adapter(0, "A", AdapterKind::Discrete),
            adapter(1, "B", AdapterKind::Discrete),
        ];
        assert_eq!(select(&adapters, &AdapterWish::default()).unwrap(), 0);
    }

    #[test]
    fn a_backend_is_a_filter() {
        let mut adapters = all();
        adapters[1].backend = wgpu::Backend::Gl;
        let wish = AdapterWish {
            backend: Some(wgpu::Backend::Gl),
            ..Default::default()
        };
        assert_eq!(select(&adapters, &wish).unwrap(), 1);
        let wish = AdapterWish {
            backend: Some(wgpu::Backend::Metal),
            ..Default::default()
        };
        assert!(select(&adapters, &wish).is_err());
    }

    #[test]
    fn an_index_overrides_the_ranking() {
        let wish = AdapterWish {
            index: Some(0),
            allow_software: false,
            ..Default::default()
        };
        assert_eq!(select(&all(), &wish).unwrap(), 0);
        let wish = AdapterWish {
            index: Some(9),
            ..Default::default()
        };
        assert!(select(&all(), &wish).is_err());
    }

    #[test]
    fn a_kind_is_a_filter_that_also_allows_software() {
        for (kind, index) in [
            (AdapterKind::Discrete, 4),
            (AdapterKind::Integrated, 3),
            (AdapterKind::Virtual, 2),
            (AdapterKind::Other, 1),
            (AdapterKind::Software, 0),
        ] {
            let wish = AdapterWish {
                kind: Some(kind),
                allow_software: false,
                ..Default::default()
            };
            assert_eq!(select(&all(), &wish).unwrap(), index);
        }
        let wish = AdapterWish {
            kind: Some(AdapterKind::Discrete),
            ..Default::default()
        };
        let error = select(&all()[..3], &wish).unwrap_err().to_string();
        assert!(error.contains("kind discrete"), "{error}");
    }

    #[test]
    fn a_name_matches_any_part_in_any_case() {
        let wish = AdapterWish {
            name: Some("iRi".to_owned()),
            ..Default::default()
        };
        assert_eq!(select(&all(), &wish).unwrap(), 3);
    }

    #[test]
    fn software_is_taken_only_when_allowed() {
        let adapters = [adapter(0, "llvmpipe", AdapterKind::Software)];
        assert_eq!(select(&adapters, &AdapterWish::default()).unwrap(), 0);
        let wish = AdapterWish {
            allow_software: false,
            ..Default::default()
        };
        let error = select(&adapters, &wish).unwrap_err().to_string();
        assert!(error.contains("no software adapter"), "{error}");
        assert!(error.contains("0: llvmpipe (vulkan, software)"), "{error}");
    }

    #[test]
    fn the_software_device_comes_after_drivers_on_the_cpu_and_before_opengl_there() {
        let mut ours = adapter(2, "software (webgpu-default)", AdapterKind::Software);
        ours.backend = wgpu::Backend::Noop;
        ours.driver = "ziggurat-software 0.1.0".to_owned();
        let mut gl = adapter(1, "llvmpipe", AdapterKind::Software);
        gl.backend = wgpu::Backend::Gl;
        let mut adapters = vec![
            ours,
            gl,
            adapter(0, "llvmpipe", AdapterKind::Software),
            adapter(3, "Strange", AdapterKind::Other),
        ];
        let named = AdapterWish {
            software: Some(crate::SoftwareWish::default()),
            ..Default::default()
        };
        assert_eq!(select(&adapters, &named).unwrap(), 0);
        let mut order = Vec::new();
        while !adapters.is_empty() {
            let best = select(&adapters, &AdapterWish::default()).unwrap();
            order.push(adapters.remove(best).index);
        }
        assert_eq!(order, [3, 0, 2, 1]);
        let none = [adapter(0, "llvmpipe", AdapterKind::Software)];
        assert!(select(&none, &named).is_err());
    }

    #[test]
    fn an_adapter_without_compute_shaders_is_never_chosen() {
        let mut only = adapter(0, "old", AdapterKind::Discrete);
        only.compute = false;
        let error = select(&[only], &AdapterWish::default()).unwrap_err();
        assert!(error.to_string().contains("without compute shaders"));
    }

    #[test]
    fn without_any_adapter_the_error_says_what_to_install() {
        let error = select(&[], &AdapterWish::default()).unwrap_err();
        let DeviceError::NoAdapter { seen, advice, .. } = error else {
            panic!("wrong error");
        };
        assert!(seen.is_empty());
        assert_eq!(advice, install_advice(std::env::consts::OS));
        assert!(install_advice("linux").contains("apt-get install mesa-vulkan-drivers"));
        assert!(install_advice("windows").contains("DirectX 12"));
        assert!(install_advice("macos").contains("Metal"));
    }
}
