//! Settings of the self-test service. Most of them mirror the orphan discovery setting of the same meaning.

use std::path::PathBuf;
use std::time::Duration;

settings! {
    /// Self-tests.
    pub struct SelfTestSettings;

    /// Interval between self-test rounds; if unset, one round
    self_test_interval: Option<Duration> = "" {
        env: "SELF_TEST_INTERVAL",
        status: Active,
    }

    /// File with the progress of an unfinished round; if unset, a file in the data directory
    self_test_state: Option<PathBuf> = "" {
        env: "SELF_TEST_STATE",
        status: Active,
    }

    /// Port of the exporter of self-test metrics
    self_test_metrics_port: u16 = "8004" {
        env: "SELF_TEST_METRICS_PORT",
        status: Active,
    }

    /// Find orphan modules before a round
    self_test_discover_orphans: bool = "1" {
        env: "SELF_TEST_DISCOVER_ORPHANS",
        flag: "--discover-orphans",
        status: Active,
    }

    /// Test the orphans found
    self_test_include_orphans: bool = "1" {
        env: "SELF_TEST_INCLUDE_ORPHANS",
        flag: "--include-orphans",
        status: Active,
    }

    /// Exclude orphans from self-tests
    self_test_disable_orphans: bool = "0" {
        env: "SELF_TEST_DISABLE_ORPHANS",
        mirrors: "SANDBOX_DISABLE_ORPHANS",
        status: Active,
    }

    /// Find isolated modules before a round
    self_test_discover_isolated: bool = "1" {
        env: "SELF_TEST_DISCOVER_ISOLATED",
        mirrors: "SANDBOX_DISCOVER_ISOLATED",
        status: Active,
    }

    /// Queue isolated modules for testing
    self_test_auto_include_isolated: bool = "1" {
        env: "SELF_TEST_AUTO_INCLUDE_ISOLATED",
        mirrors: "SANDBOX_AUTO_INCLUDE_ISOLATED",
        status: Active,
    }

    /// Also test the dependencies of orphans
    self_test_recursive_orphans: bool = "1" {
        env: "SELF_TEST_RECURSIVE_ORPHANS",
        mirrors: "SANDBOX_RECURSIVE_ORPHANS",
        status: Active,
    }

    /// Also test the dependencies of isolated modules
    self_test_recursive_isolated: bool = "1" {
        env: "SELF_TEST_RECURSIVE_ISOLATED",
        mirrors: "SANDBOX_RECURSIVE_ISOLATED",
        status: Active,
    }

    /// Also test redundant and legacy modules
    self_test_include_redundant: bool = "1" {
        env: "SELF_TEST_INCLUDE_REDUNDANT",
        mirrors: "SANDBOX_TEST_REDUNDANT",
        status: Active,
    }

    /// Report passing modules without adding them to the module map and to workflows
    self_test_disable_auto_integration: bool = "0" {
        env: "SELF_TEST_DISABLE_AUTO_INTEGRATION",
        status: Active,
    }
}
