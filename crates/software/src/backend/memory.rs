//! How much memory a software device has: the host's, within the profile's budget.

use super::device::Device;

/// Bytes of all memory of a software device and of what is free of it now, as far as the host tells: what its profile
/// allows, or what the machine has, if that is less. `None` for a device that is no software device.
#[must_use]
pub fn memory_bytes(device: &wgpu::Device) -> Option<[Option<u64>; 2]> {
    let device = device.as_custom::<Device>()?;
    let state = device.state();
    let budget = state.profile.memory_budget;
    let free = budget.saturating_sub(state.memory_used());
    let [total, available] = host();
    Some([
        total.map(|bytes| bytes.min(budget)),
        available.map(|bytes| bytes.min(free)),
    ])
}

/// Bytes of the machine's memory, and of those that a program can have now.
fn host() -> [Option<u64>; 2] {
    let text = if cfg!(any(target_os = "linux", target_os = "android")) {
        std::fs::read_to_string("/proc/meminfo").unwrap_or_default()
    } else {
        String::new()
    };
    ["MemTotal:", "MemAvailable:"].map(|name| entry(&text, name))
}

/// The bytes that a line of `/proc/meminfo` tells.
fn entry(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib = line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_host_are_read_and_other_texts_give_nothing() {
        let text = "MemTotal:       16384 kB\nMemFree: 1 kB\nMemAvailable:   512 kB\n";
        assert_eq!(entry(text, "MemTotal:"), Some(16 << 20));
        assert_eq!(entry(text, "MemAvailable:"), Some(512 << 10));
        for text in [
            "",
            "MemTotal: many kB",
            "MemTotal: 7",
            "MemTotal: 99999999999999999999 kB",
        ] {
            assert_eq!(entry(text, "MemTotal:"), None, "{text}");
        }
        let most = format!("MemTotal: {} kB", u64::MAX);
        assert_eq!(entry(&most, "MemTotal:"), None);
    }
}
