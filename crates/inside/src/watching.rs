//! Tells what happens to files, from a process inside the sandbox, as long as somebody listens.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use menace_model::sandbox::{FileEvent, FileEventKind};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};

/// What is to be known of a directory or file.
const WANTED: WatchFlags = WatchFlags::ATTRIB
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::MOVE);

/// Directories that are watched by their numbers.
struct Watched {
    descriptor: OwnedFd,
    by_number: HashMap<i32, PathBuf>,
}

/// Watches until nobody listens any more, which is when the other end of a pipe is gone. The first thing that is said is
/// an event without a path: nothing that happens from there on is missed.
pub fn watch(
    path: &Path,
    listener: BorrowedFd,
    mut say: impl FnMut(&FileEvent) -> io::Result<()>,
) -> io::Result<()> {
    let descriptor = inotify::init(CreateFlags::CLOEXEC)?;
    let mut watched = Watched { descriptor, by_number: HashMap::new() };
    watched.add(path, &mut Vec::new())?;
    say(&FileEvent { kind: FileEventKind::Created, path: String::new() })?;
    loop {
        let mut polled = [
            PollFd::new(&watched.descriptor, PollFlags::IN),
            // Of a pipe whose other end is gone one is told without asking for it.
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
            match say(&event) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                result => result?,
            }
        }
    }
}

impl Watched {
    /// Watches a path and what is below. What appeared in it before it was watched is told as well.
    fn add(&mut self, path: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
        let number = inotify::add_watch(&self.descriptor, path, WANTED)?;
        self.by_number.insert(number, path.to_owned());
        // A directory that may not be read is watched all the same.
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
            self.tell(number, flags, name, &mut events)?;
        }
        Ok(events)
    }

    fn tell(
        &mut self,
        number: i32,
        flags: ReadFlags,
        name: Option<PathBuf>,
        events: &mut Vec<FileEvent>,
    ) -> io::Result<()> {
        let mut say = |kind, path: &Path| {
            let event = FileEvent { kind, path: path.to_string_lossy().into_owned() };
            // A program that writes in many pieces changes a file once for whoever reads that later.
            if events.last() != Some(&event) {
                events.push(event);
            }
        };
        if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            say(FileEventKind::Lost, Path::new(""));
            return Ok(());
        }
        if flags.contains(ReadFlags::IGNORED) {
            self.by_number.remove(&number);
            return Ok(());
        }
        let Some(directory) = self.by_number.get(&number) else { return Ok(()) };
        let path = name.map_or_else(|| directory.clone(), |name| directory.join(name));
        if flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
            say(FileEventKind::Created, &path);
            if flags.contains(ReadFlags::ISDIR) {
                let mut found = Vec::new();
                match self.add(&path, &mut found) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    result => result?,
                }
                for path in found {
                    say(FileEventKind::Created, &path);
                }
            }
        } else if flags.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM | ReadFlags::DELETE_SELF) {
            say(FileEventKind::Removed, &path);
        } else {
            say(FileEventKind::Changed, &path);
        }
        Ok(())
    }
}
