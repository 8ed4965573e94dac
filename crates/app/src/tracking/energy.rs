//! Power of one core in watts: measured with RAPL where available, otherwise from a setting.

use std::path::{Path, PathBuf};

/// Directory of the RAPL counters.
const COUNTERS: &str = "/sys/class/powercap";

/// RAPL counters at the start of a measurement.
#[derive(Debug)]
pub(crate) struct EnergyMeter {
    began: Option<f64>,
}

impl EnergyMeter {
    pub(crate) fn start() -> Self {
        Self { began: joules(Path::new(COUNTERS)) }
    }

    /// Power of a busy core since the start of the measurement; the setting if no counter can be read or a counter
    /// wrapped around.
    pub(crate) fn watts(&self, cpu_seconds: f64, setting: f64) -> (f64, &'static str) {
        let now = joules(Path::new(COUNTERS));
        match self.began.zip(now) {
            Some((began, now)) if now > began && cpu_seconds > 0.0 => ((now - began) / cpu_seconds, "RAPL"),
            _ => (setting, "SANDBOX_WATTS_PER_CORE"),
        }
    }
}

/// Sum of the counters of all CPU packages, in joules.
fn joules(directory: &Path) -> Option<f64> {
    let entries = std::fs::read_dir(directory).ok()?;
    let is_package = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // Subzones of a package have a second number, as in `intel-rapl:0:0`.
        name.starts_with("intel-rapl:") && name.matches(':').count() == 1
    };
    let packages: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_package).collect();
    if packages.is_empty() {
        return None;
    }
    let read = |path: &PathBuf| -> Option<f64> {
        std::fs::read_to_string(path.join("energy_uj")).ok()?.trim().parse::<f64>().ok()
    };
    packages.iter().map(read).sum::<Option<f64>>().map(|microjoules| microjoules / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_added_without_their_subzones() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(joules(directory.path()), None);
        for (name, counter) in
            [("intel-rapl:0", "1500000"), ("intel-rapl:1", "500000\n"), ("intel-rapl:0:0", "9")]
        {
            std::fs::create_dir(directory.path().join(name)).unwrap();
            std::fs::write(directory.path().join(name).join("energy_uj"), counter).unwrap();
        }
        assert_eq!(joules(directory.path()), Some(2.0));
        std::fs::remove_file(directory.path().join("intel-rapl:1/energy_uj")).unwrap();
        assert_eq!(joules(directory.path()), None, "a partial sum would be wrong");
    }

    #[test]
    fn without_counters_the_setting_is_used() {
        let meter = EnergyMeter { began: None };
        assert_eq!(meter.watts(1.0, 7.0), (7.0, "SANDBOX_WATTS_PER_CORE"));
    }
}
