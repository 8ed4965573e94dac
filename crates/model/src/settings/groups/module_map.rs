//! Settings of the module map: which modules belong together.

settings! {
    /// The module map.
    pub struct ModuleMapSettings;

    /// Build or refresh the module map at start
    auto_map: bool = "0" {
        env: "SANDBOX_AUTO_MAP",
        status: Active,
    }

    /// Build the module map again before cycles even if there is one, and after patches add files
    refresh_module_map: bool = "0" {
        env: "SANDBOX_REFRESH_MODULE_MAP",
        flag: "--refresh-module-map",
        status: Active,
    }

    /// Old name of the switch that builds the module map at start
    autodiscover_modules: Option<bool> = "" {
        env: "SANDBOX_AUTODISCOVER_MODULES",
        replaced_by: "SANDBOX_AUTO_MAP",
        status: Deprecated,
    }
}
