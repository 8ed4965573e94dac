//! Which calls and attributes reach outside a section, by their qualified names.

use menace_model::inventory::Effect;

/// The effect of using a fully qualified name, such as `os.remove` or `requests.get`.
pub(super) fn effect_of_name(name: &str) -> Option<Effect> {
    let (root, rest) = name.split_once('.').unwrap_or((name, ""));
    match root {
        "os" => effect_of_os(rest),
        "shutil" | "tempfile" | "glob" | "fileinput" | "zipfile" | "tarfile" | "sqlite3" | "dbm"
        | "shelve" => Some(Effect::File),
        "pathlib" | "io" if matches!(rest, "open" | "open_code") => Some(Effect::File),
        "socket" | "requests" | "httpx" | "aiohttp" | "urllib3" | "ftplib" | "smtplib" | "imaplib"
        | "poplib" | "telnetlib" | "xmlrpc" | "paramiko" | "boto3" | "websockets" | "socketserver" => {
            Some(Effect::Network)
        }
        "urllib" if rest.starts_with("request") => Some(Effect::Network),
        "http" if rest.starts_with("client") || rest.starts_with("server") => Some(Effect::Network),
        "asyncio" => effect_of_asyncio(rest),
        "subprocess" | "multiprocessing" | "pty" | "signal" => Some(Effect::Process),
        "concurrent" if rest.ends_with("ProcessPoolExecutor") => Some(Effect::Process),
        "time" => Some(Effect::Time),
        "datetime" if ["now", "utcnow", "today"].iter().any(|end| rest.ends_with(end)) => Some(Effect::Time),
        "random" | "secrets" => Some(Effect::Random),
        "uuid" if matches!(rest, "uuid1" | "uuid4") => Some(Effect::Random),
        "numpy" if rest.starts_with("random") => Some(Effect::Random),
        _ => None,
    }
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

/// The effect of a method whose name leaves little doubt, on an object we know nothing about.
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
