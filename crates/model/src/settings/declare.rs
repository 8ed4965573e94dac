//! Macros that declare settings: a group, the words of a choice, the list of groups.

/// Declares one group of settings: a struct with a typed field per setting, and the table behind it.
///
/// ```text
/// settings! {
///     /// Orphan discovery.
///     pub struct OrphanSettings;
///
///     /// Follow dependencies of orphan modules.
///     recursive_orphans: bool = "1" {
///         env: "SANDBOX_RECURSIVE_ORPHANS",
///         flag: "--recursive-orphans",
///         flag_aliases: ["--recursive-include"],
///         status: Active,
///     }
/// }
/// ```
///
/// The doc comment is the help text, the field name is the YAML key, the default is written as a user would write
/// it. Optional lines: `flag`, `flag_aliases`, `mirrors` (the setting whose value this one takes when it is not set
/// itself), `replaced_by` (the setting that gets the value of a deprecated name), `secret: true`.
macro_rules! settings {
    (
        $(#[$group_meta:meta])*
        pub struct $group:ident;
        $(
            $(#[doc = $help:literal])+
            $field:ident : $ty:ty = $default:literal {
                env: $env:literal,
                $(flag: $flag:literal,)?
                $(flag_aliases: [$($alias:literal),+ $(,)?],)?
                $(mirrors: $mirrors:literal,)?
                $(replaced_by: $replaced_by:literal,)?
                $(secret: $secret:literal,)?
                status: $status:ident $(,)?
            }
        )*
    ) => {
        $(#[$group_meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $group {
            $($(#[doc = $help])+ pub $field: $ty,)*
        }

        impl $group {
            pub(crate) const TABLE: &'static [$crate::settings::SettingDeclaration] = &[
                $($crate::settings::SettingDeclaration {
                    key: stringify!($field),
                    env: $env,
                    flag: settings!(@option $($flag)?),
                    flag_aliases: &[$($($alias),+)?],
                    mirrors: settings!(@option $($mirrors)?),
                    replaced_by: settings!(@option $($replaced_by)?),
                    secret: settings!(@flag $($secret)?),
                    default: $default,
                    help: concat!($($help),+),
                    accepted: <$ty as $crate::settings::SettingValue>::accepted,
                    check: |text| <$ty as $crate::settings::SettingValue>::parse(text).is_some(),
                    is_switch: <$ty as $crate::settings::SettingValue>::IS_SWITCH,
                    list_separator: <$ty as $crate::settings::SettingValue>::LIST_SEPARATOR,
                    status: $crate::settings::SettingStatus::$status,
                },)*
            ];

            /// Reads the group from values that `resolve` has already checked.
            pub(crate) fn from_checked(value_of: &dyn Fn(&str) -> String) -> Self {
                Self {
                    $($field: <$ty as $crate::settings::SettingValue>::parse(&value_of($env))
                        .expect("resolve checked every value with the same parser"),)*
                }
            }
        }
    };
    (@option) => { None };
    (@option $value:literal) => { Some($value) };
    (@flag) => { false };
    (@flag $value:literal) => { $value };
}

/// Declares an enum whose variants are the words that a setting accepts.
///
/// The first word of a variant is the one that menace writes; the others are read too.
macro_rules! choice {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $word:literal $(| $alias:literal)*,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$variant_meta])* $variant,)+
        }

        impl $name {
            /// Its word in a setting.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl $crate::settings::SettingChoice for $name {
            const WORDS: &'static [(&'static str, Self)] =
                &[$(($word, Self::$variant), $(($alias, Self::$variant),)*)+];
        }
    };
}

/// Declares the groups that make up [`Settings`](super::Settings).
macro_rules! groups {
    ($($(#[doc = $help:literal])+ $field:ident : $group:ident,)+) => {
        /// Every setting, typed.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Settings {
            $($(#[doc = $help])+ pub $field: $group,)+
        }

        impl Settings {
            /// The tables of all groups, in the order in which they are shown.
            pub(crate) const GROUPS: &'static [(&'static str, &'static [SettingDeclaration])] =
                &[$((concat!($($help),+), $group::TABLE),)+];

            pub(crate) fn from_checked(value_of: &dyn Fn(&str) -> String) -> Self {
                Self { $($field: $group::from_checked(value_of),)+ }
            }
        }
    };
}
