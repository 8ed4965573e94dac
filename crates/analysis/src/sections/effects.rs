//! Side effects of calls and attributes, by their qualified names.

use menace_model::inventory::Effect;

/// Effect of using a name of a module.
enum Rule {
    /// Every name of the module has this effect.
    Any(Effect),
    /// The effect depends on the rest of the qualified name.
    ByName(fn(&str) -> Option<Effect>),
    /// No effect by itself, but the walk needs to see its calls.
    Watched,
}

/// External modules with side effects.
const MODULES: &[(&str, Rule)] = &[
    ("os", Rule::ByName(effect_of_os)),
    ("shutil", Rule::Any(Effect::File)),
    ("tempfile", Rule::Any(Effect::File)),
    ("glob", Rule::Any(Effect::File)),
    ("fileinput", Rule::Any(Effect::File)),
    ("zipfile", Rule::Any(Effect::File)),
    ("tarfile", Rule::Any(Effect::File)),
    ("sqlite3", Rule::Any(Effect::File)),
    ("dbm", Rule::Any(Effect::File)),
    ("shelve", Rule::Any(Effect::File)),
    ("io", Rule::ByName(|rest| rest.starts_with("open").then_some(Effect::File))),
    ("socket", Rule::Any(Effect::Network)),
    ("socketserver", Rule::Any(Effect::Network)),
    ("requests", Rule::Any(Effect::Network)),
    ("httpx", Rule::Any(Effect::Network)),
    ("aiohttp", Rule::Any(Effect::Network)),
    ("urllib3", Rule::Any(Effect::Network)),
    ("ftplib", Rule::Any(Effect::Network)),
    ("smtplib", Rule::Any(Effect::Network)),
    ("imaplib", Rule::Any(Effect::Network)),
    ("poplib", Rule::Any(Effect::Network)),
    ("telnetlib", Rule::Any(Effect::Network)),
    ("xmlrpc", Rule::Any(Effect::Network)),
    ("paramiko", Rule::Any(Effect::Network)),
    ("boto3", Rule::Any(Effect::Network)),
    ("websockets", Rule::Any(Effect::Network)),
    ("urllib", Rule::ByName(|rest| rest.starts_with("request").then_some(Effect::Network))),
    ("http", Rule::ByName(effect_of_http)),
    ("asyncio", Rule::ByName(effect_of_asyncio)),
    ("subprocess", Rule::Any(Effect::Process)),
    ("multiprocessing", Rule::Any(Effect::Process)),
    ("pty", Rule::Any(Effect::Process)),
    ("signal", Rule::Any(Effect::Process)),
    ("concurrent", Rule::ByName(|rest| rest.ends_with("ProcessPoolExecutor").then_some(Effect::Process))),
    ("time", Rule::Any(Effect::Time)),
    ("datetime", Rule::ByName(effect_of_datetime)),
    ("random", Rule::Any(Effect::Random)),
    ("secrets", Rule::Any(Effect::Random)),
    ("uuid", Rule::ByName(|rest| matches!(rest, "uuid1" | "uuid4").then_some(Effect::Random))),
    ("numpy", Rule::ByName(|rest| rest.starts_with("random").then_some(Effect::Random))),
    ("importlib", Rule::Watched),
];

fn rule_of(module: &str) -> Option<&'static Rule> {
    MODULES.iter().find(|(name, _)| *name == module).map(|(_, rule)| rule)
}

/// Whether names of the module of a qualified name can have an effect, so that they must be built in full.
pub(super) fn can_reach_outside(qualified: &str) -> bool {
    rule_of(qualified.split('.').next().unwrap_or(qualified)).is_some()
}

/// The effect of using a fully qualified name, such as `os.remove` or `requests.get`.
pub(super) fn effect_of_name(name: &str) -> Option<Effect> {
    let (root, rest) = name.split_once('.').unwrap_or((name, ""));
    match rule_of(root)? {
        Rule::Any(effect) => Some(*effect),
        Rule::ByName(effect_of) => effect_of(rest),
        Rule::Watched => None,
    }
}

fn effect_of_http(rest: &str) -> Option<Effect> {
    (rest.starts_with("client") || rest.starts_with("server")).then_some(Effect::Network)
}

fn effect_of_datetime(rest: &str) -> Option<Effect> {
    ["now", "utcnow", "today"].iter().any(|end| rest.ends_with(end)).then_some(Effect::Time)
}

fn effect_of_os(rest: &str) -> Option<Effect> {
    let first = rest.split('.').next().unwrap_or(rest);
    match first {
        "environ" | "environb" | "getenv" | "putenv" | "unsetenv" => Some(Effect::Environment),
        "urandom" | "getrandom" => Some(Effect::Random),
        "times" => Some(Effect::Time),
        "system" | "popen" | "fork" | "forkpty" | "kill" | "killpg" | "wait" | "waitpid" | "abort"
        | "_exit" => Some(Effect::Process),
        "open" | "remove" | "unlink" | "rename" | "renames" | "replace" | "mkdir" | "makedirs" | "rmdir"
        | "removedirs" | "listdir" | "scandir" | "walk" | "stat" | "lstat" | "chmod" | "chown" | "link"
        | "symlink" | "readlink" | "truncate" | "utime" | "access" | "chdir" | "mkfifo" | "mknod" => {
            Some(Effect::File)
        }
        "path" => {
            let question = rest.rsplit('.').next().unwrap_or(rest);
            let looks =
                ["exists", "isfile", "isdir", "islink", "getsize", "getmtime", "realpath", "samefile"];
            looks.contains(&question).then_some(Effect::File)
        }
        _ if first.starts_with("exec") || first.starts_with("spawn") || first.starts_with("posix_spawn") => {
            Some(Effect::Process)
        }
        _ => None,
    }
}

fn effect_of_asyncio(rest: &str) -> Option<Effect> {
    match rest {
        "open_connection" | "start_server" | "open_unix_connection" => Some(Effect::Network),
        "create_subprocess_exec" | "create_subprocess_shell" => Some(Effect::Process),
        "sleep" => Some(Effect::Time),
        _ => None,
    }
}

/// The effect of calling a builtin.
pub(super) fn effect_of_builtin(name: &str) -> Option<Effect> {
    (name == "open").then_some(Effect::File)
}

/// Effect of a method with an unambiguous name, on an object of unknown type.
pub(super) fn effect_of_method(name: &str) -> Option<Effect> {
    matches!(
        name,
        "read_text" | "write_text" | "read_bytes" | "write_bytes" | "iterdir" | "rglob" | "unlink" | "rmdir"
    )
    .then_some(Effect::File)
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
