//! Side effects of calls and attributes, by their qualified names.

use menace_model::inventory::SideEffect;

/// Effect of using a name of a module.
enum EffectRule {
    /// Every name of the module has this effect.
    Any(SideEffect),
    /// The effect depends on the rest of the qualified name.
    ByName(fn(&str) -> Option<SideEffect>),
    /// No effect by itself, but the walk needs to see its calls.
    Watched,
}

/// External modules with side effects.
const MODULES: &[(&str, EffectRule)] = &[
    ("os", EffectRule::ByName(effect_of_os)),
    ("shutil", EffectRule::Any(SideEffect::File)),
    ("tempfile", EffectRule::Any(SideEffect::File)),
    ("glob", EffectRule::Any(SideEffect::File)),
    ("fileinput", EffectRule::Any(SideEffect::File)),
    ("zipfile", EffectRule::Any(SideEffect::File)),
    ("tarfile", EffectRule::Any(SideEffect::File)),
    ("sqlite3", EffectRule::Any(SideEffect::File)),
    ("dbm", EffectRule::Any(SideEffect::File)),
    ("shelve", EffectRule::Any(SideEffect::File)),
    ("io", EffectRule::ByName(|rest| rest.starts_with("open").then_some(SideEffect::File))),
    ("socket", EffectRule::Any(SideEffect::Network)),
    ("socketserver", EffectRule::Any(SideEffect::Network)),
    ("requests", EffectRule::Any(SideEffect::Network)),
    ("httpx", EffectRule::Any(SideEffect::Network)),
    ("aiohttp", EffectRule::Any(SideEffect::Network)),
    ("urllib3", EffectRule::Any(SideEffect::Network)),
    ("ftplib", EffectRule::Any(SideEffect::Network)),
    ("smtplib", EffectRule::Any(SideEffect::Network)),
    ("imaplib", EffectRule::Any(SideEffect::Network)),
    ("poplib", EffectRule::Any(SideEffect::Network)),
    ("telnetlib", EffectRule::Any(SideEffect::Network)),
    ("xmlrpc", EffectRule::Any(SideEffect::Network)),
    ("paramiko", EffectRule::Any(SideEffect::Network)),
    ("boto3", EffectRule::Any(SideEffect::Network)),
    ("websockets", EffectRule::Any(SideEffect::Network)),
    ("urllib", EffectRule::ByName(|rest| rest.starts_with("request").then_some(SideEffect::Network))),
    ("http", EffectRule::ByName(effect_of_http)),
    ("asyncio", EffectRule::ByName(effect_of_asyncio)),
    ("subprocess", EffectRule::Any(SideEffect::Process)),
    ("multiprocessing", EffectRule::Any(SideEffect::Process)),
    ("pty", EffectRule::Any(SideEffect::Process)),
    ("signal", EffectRule::Any(SideEffect::Process)),
    (
        "concurrent",
        EffectRule::ByName(|rest| rest.ends_with("ProcessPoolExecutor").then_some(SideEffect::Process)),
    ),
    ("time", EffectRule::Any(SideEffect::Time)),
    ("datetime", EffectRule::ByName(effect_of_datetime)),
    ("random", EffectRule::Any(SideEffect::Random)),
    ("secrets", EffectRule::Any(SideEffect::Random)),
    ("uuid", EffectRule::ByName(|rest| matches!(rest, "uuid1" | "uuid4").then_some(SideEffect::Random))),
    ("numpy", EffectRule::ByName(|rest| rest.starts_with("random").then_some(SideEffect::Random))),
    ("importlib", EffectRule::Watched),
];

fn rule_of(module: &str) -> Option<&'static EffectRule> {
    MODULES.iter().find(|(name, _)| *name == module).map(|(_, rule)| rule)
}

/// Whether names of the module of a qualified name can have an effect, so that they must be built in full.
pub(super) fn can_have_effects(qualified: &str) -> bool {
    rule_of(qualified.split('.').next().unwrap_or(qualified)).is_some()
}

/// The effect of using a fully qualified name, such as `os.remove` or `requests.get`.
pub(super) fn effect_of_name(name: &str) -> Option<SideEffect> {
    let (root, rest) = name.split_once('.').unwrap_or((name, ""));
    match rule_of(root)? {
        EffectRule::Any(effect) => Some(*effect),
        EffectRule::ByName(effect_of) => effect_of(rest),
        EffectRule::Watched => None,
    }
}

fn effect_of_http(rest: &str) -> Option<SideEffect> {
    (rest.starts_with("client") || rest.starts_with("server")).then_some(SideEffect::Network)
}

fn effect_of_datetime(rest: &str) -> Option<SideEffect> {
    ["now", "utcnow", "today"].iter().any(|end| rest.ends_with(end)).then_some(SideEffect::Time)
}

fn effect_of_os(rest: &str) -> Option<SideEffect> {
    let first = rest.split('.').next().unwrap_or(rest);
    match first {
        "environ" | "environb" | "getenv" | "putenv" | "unsetenv" => Some(SideEffect::Environment),
        "urandom" | "getrandom" => Some(SideEffect::Random),
        "times" => Some(SideEffect::Time),
        "system" | "popen" | "fork" | "forkpty" | "kill" | "killpg" | "wait" | "waitpid" | "abort"
        | "_exit" => Some(SideEffect::Process),
        "open" | "remove" | "unlink" | "rename" | "renames" | "replace" | "mkdir" | "makedirs" | "rmdir"
        | "removedirs" | "listdir" | "scandir" | "walk" | "stat" | "lstat" | "chmod" | "chown" | "link"
        | "symlink" | "readlink" | "truncate" | "utime" | "access" | "chdir" | "mkfifo" | "mknod" => {
            Some(SideEffect::File)
        }
        "path" => {
            let question = rest.rsplit('.').next().unwrap_or(rest);
            let looks =
                ["exists", "isfile", "isdir", "islink", "getsize", "getmtime", "realpath", "samefile"];
            looks.contains(&question).then_some(SideEffect::File)
        }
        _ if first.starts_with("exec") || first.starts_with("spawn") || first.starts_with("posix_spawn") => {
            Some(SideEffect::Process)
        }
        _ => None,
    }
}

fn effect_of_asyncio(rest: &str) -> Option<SideEffect> {
    match rest {
        "open_connection" | "start_server" | "open_unix_connection" => Some(SideEffect::Network),
        "create_subprocess_exec" | "create_subprocess_shell" => Some(SideEffect::Process),
        "sleep" => Some(SideEffect::Time),
        _ => None,
    }
}

/// The effect of calling a builtin.
pub(super) fn effect_of_builtin(name: &str) -> Option<SideEffect> {
    (name == "open").then_some(SideEffect::File)
}

/// Effect of a method with an unambiguous name, on an object of unknown type.
pub(super) fn effect_of_method(name: &str) -> Option<SideEffect> {
    matches!(
        name,
        "read_text" | "write_text" | "read_bytes" | "write_bytes" | "iterdir" | "rglob" | "unlink" | "rmdir"
    )
    .then_some(SideEffect::File)
}

/// Methods that change the object they are called on.
pub(super) fn is_mutating_method(name: &str) -> bool {
    matches!(
        name,
        "append"
            | "extend"
            | "insert"
            | "remove"
            | "pop"
            | "popitem"
            | "clear"
            | "update"
            | "add"
            | "discard"
            | "setdefault"
            | "appendleft"
            | "popleft"
            | "sort"
            | "reverse"
    )
}
