//! Settings of orphan discovery and of the integration of orphans into workflows.

settings! {
    /// Orphan discovery.
    pub struct OrphanSettings;

    /// Follow dependencies of orphan modules
    recursive_orphans: bool = "1" {
        env: "SANDBOX_RECURSIVE_ORPHANS",
        flag: "--recursive-orphans",
        flag_aliases: ["--recursive-include"],
        status: Active,
    }

    /// Follow dependencies of isolated modules
    recursive_isolated: bool = "1" {
        env: "SANDBOX_RECURSIVE_ISOLATED",
        flag: "--recursive-isolated",
        status: Active,
    }

    /// Find isolated modules, which nothing imports, before the orphan pass
    discover_isolated: bool = "1" {
        env: "SANDBOX_DISCOVER_ISOLATED",
        flag: "--discover-isolated",
        status: Active,
    }

    /// Queue isolated modules for self-tests and integrate those that pass
    auto_include_isolated: bool = "1" {
        env: "SANDBOX_AUTO_INCLUDE_ISOLATED",
        flag: "--auto-include-isolated",
        status: Active,
    }

    /// Keep redundant and legacy modules as candidates instead of only classifying them
    test_redundant: bool = "1" {
        env: "SANDBOX_TEST_REDUNDANT",
        flag: "--include-redundant",
        flag_aliases: ["--test-redundant"],
        status: Active,
    }

    /// Remove handled and deleted modules from the stored orphan list
    clean_orphans: bool = "1" {
        env: "SANDBOX_CLEAN_ORPHANS",
        flag: "--clean-orphans",
        status: Active,
    }

    /// Maximum depth of orphan import chains; if unset, no limit
    max_recursion_depth: Option<usize> = "" {
        env: "SANDBOX_MAX_RECURSION_DEPTH",
        flag: "--max-recursion-depth",
        status: Active,
    }

    /// Skip the orphan scan during cycles
    disable_orphan_scan: bool = "0" {
        env: "SANDBOX_DISABLE_ORPHAN_SCAN",
        status: Active,
    }

    /// Exclude orphans from runs
    disable_orphans: bool = "0" {
        env: "SANDBOX_DISABLE_ORPHANS",
        status: Active,
    }

    /// Minimum ROI gain for adding a module to existing workflows
    min_integration_roi: f64 = "0.0" {
        env: "MIN_INTEGRATION_ROI",
        status: Planned,
    }
}
