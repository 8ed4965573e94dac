//! Reports changes to files, from a process inside the sandbox, as long as a listener is connected.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use menace_model::sandbox::{FileEvent, FileEventKind};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};

/// Events to be reported for a directory or file.
const WATCHED_EVENTS: WatchFlags = WatchFlags::ATTRIB
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::MOVE);

/// Watched directories by their watch descriptors.
struct InotifyWatches {
    descriptor: OwnedFd,
    by_watch: HashMap<i32, PathBuf>,
}

/// Watches until the listener disconnects, which is when the other end of its pipe is closed. The first event has no path
/// and means that the watch is in place: no later change is missed.
pub fn watch(
    path: &Path,
    listener: BorrowedFd,
    mut send: impl FnMut(&FileEvent) -> io::Result<()>,
) -> io::Result<()> {
    let descriptor = inotify::init(CreateFlags::CLOEXEC)?;
    let mut watched = InotifyWatches { descriptor, by_watch: HashMap::new() };
    watched.add(path, &mut Vec::new())?;
    send(&FileEvent { kind: FileEventKind::Created, path: String::new() })?;
    loop {
        let mut polled = [
            PollFd::new(&watched.descriptor, PollFlags::IN),
            // A closed other end is reported (POLLHUP, POLLERR) without being requested.
            PollFd::new(&listener, PollFlags::empty()),
        ];
        match poll(&mut polled, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if !polled[1].revents().is_empty() {
            return Ok(());
        }
        for event in watched.read()? {
            match send(&event) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                result => result?,
            }
        }
    }
}

impl InotifyWatches {
    /// Watches a path and everything below it. Entries that existed before the watch are added to `found`.
    fn add(&mut self, path: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
        let number = inotify::add_watch(&self.descriptor, path, WATCHED_EVENTS)?;
        self.by_watch.insert(number, path.to_owned());
        // An unreadable directory is watched without its entries.
        let Ok(entries) = fs::read_dir(path) else { return Ok(()) };
        for entry in entries.flatten() {
            found.push(entry.path());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                match self.add(&entry.path(), found) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    result => result?,
                }
            }
        }
        Ok(())
    }

    fn read(&mut self) -> io::Result<Vec<FileEvent>> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut seen: Vec<(i32, ReadFlags, Option<PathBuf>)> = Vec::new();
        let mut reader = Reader::new(&self.descriptor, &mut buffer);
        loop {
            let event = reader.next()?;
            let name = event.file_name().map(|name| PathBuf::from(name.to_string_lossy().into_owned()));
            seen.push((event.wd(), event.events(), name));
            if reader.is_buffer_empty() {
                break;
            }
        }
        let mut events = Vec::new();
        for (number, flags, name) in seen {
            self.translate(number, flags, name, &mut events)?;
        }
        Ok(events)
    }

    fn translate(
        &mut self,
        number: i32,
        flags: ReadFlags,
        name: Option<PathBuf>,
        events: &mut Vec<FileEvent>,
    ) -> io::Result<()> {
        let mut send = |kind, path: &Path| {
            let event = FileEvent { kind, path: path.to_string_lossy().into_owned() };
            // A file that is written in many pieces is reported once per batch.
            if events.last() != Some(&event) {
                events.push(event);
            }
        };
        if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            send(FileEventKind::Lost, Path::new(""));
            return Ok(());
        }
        if flags.contains(ReadFlags::IGNORED) {
            self.by_watch.remove(&number);
            return Ok(());
        }
        let Some(directory) = self.by_watch.get(&number) else { return Ok(()) };
        let path = name.map_or_else(|| directory.clone(), |name| directory.join(name));
        if flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
            send(FileEventKind::Created, &path);
            if flags.contains(ReadFlags::ISDIR) {
                let mut found = Vec::new();
                match self.add(&path, &mut found) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    result => result?,
                }
                for path in found {
                    send(FileEventKind::Created, &path);
                }
            }
        } else if flags.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM | ReadFlags::DELETE_SELF) {
            send(FileEventKind::Removed, &path);
        } else {
            send(FileEventKind::Changed, &path);
        }
        Ok(())
    }
}
