//! Settings of the module map: groups of modules that belong together.

settings! {
    /// The module map.
    pub struct ModuleMapSettings;

    /// Build or refresh the module map at start
    auto_map: bool = "0" {
        env: "SANDBOX_AUTO_MAP",
        status: Active,
    }

    /// Rebuild an existing module map before cycles and after patches that add files
    refresh_module_map: bool = "0" {
        env: "SANDBOX_REFRESH_MODULE_MAP",
        flag: "--refresh-module-map",
        status: Active,
    }

    /// Deprecated name of the switch that builds the module map at start
    autodiscover_modules: Option<bool> = "" {
        env: "SANDBOX_AUTODISCOVER_MODULES",
        replaced_by: "SANDBOX_AUTO_MAP",
        status: Deprecated,
    }
}
