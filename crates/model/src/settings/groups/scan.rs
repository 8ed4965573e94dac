//! Settings of reading a repository.

settings! {
    /// Reading a repository.
    pub struct ScanSettings;

    /// Directories that no scan enters, separated by commas
    exclude_dirs: Vec<String> = "" {
        env: "SANDBOX_EXCLUDE_DIRS",
        flag: "--exclude-dirs",
        status: Active,
    }
}
