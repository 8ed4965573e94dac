//! Settings of repository scans.

settings! {
    /// Reading a repository.
    pub struct ScanSettings;

    /// Directories excluded from scans, separated by commas
    exclude_dirs: Vec<String> = "" {
        env: "SANDBOX_EXCLUDE_DIRS",
        flag: "--exclude-dirs",
        status: Active,
    }
}
