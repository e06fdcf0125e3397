//! Where the database is, and whether it is ours to open (H102, H103).

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use lineup_ports::outbound::{StoreError, StoreErrorKind};

use super::error::{corrupt, io as io_error};

/// The database in a directory that is given without a file name.
const FILE: &str = "lineup.sqlite";
const OPENING: &str = "open the database";

/// A database file that no other process can open as its store while this lives.
#[derive(Debug)]
pub(super) struct Location {
    /// The database file.
    pub(super) file: PathBuf,
    /// The file beside it: locked, and holds the owner's process id and the database's identity.
    lock: File,
    given_up: AtomicBool,
    #[cfg(unix)]
    opened: std::sync::OnceLock<(u64, u64)>,
}

impl Location {
    /// Takes the lock beside the database and looks at the files. Changes none of them.
    pub(super) fn take(path: &Path) -> Result<Self, StoreError> {
        let file = if path.extension().is_some() { path.to_owned() } else { path.join(FILE) };
        let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(directory).map_err(|error| io_error(OPENING, directory, error))?;
        let lock_path = beside(&file, ".lock");
        let lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&lock_path)
            .map_err(|error| io_error(OPENING, &lock_path, error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(owned(&file, &lock)),
            Err(TryLockError::Error(error)) => return Err(io_error(OPENING, &lock_path, error)),
        }
        let location = Self {
            file,
            lock,
            given_up: AtomicBool::new(false),
            #[cfg(unix)]
            opened: std::sync::OnceLock::new(),
        };
        location.look()?;
        Ok(location)
    }

    /// The application id in the database's header; `None` for a new database.
    pub(super) fn application(&self) -> Option<i64> {
        let header = self.header().ok().filter(|header| !header.is_empty())?;
        let bytes: [u8; 4] = header.get(68..72)?.try_into().ok()?;
        Some(i32::from_be_bytes(bytes).into())
    }

    /// Refuses what is not a database that this store left here.
    fn look(&self) -> Result<(), StoreError> {
        let shown = self.file.display();
        let (log, index) = (beside(&self.file, "-wal"), beside(&self.file, "-shm"));
        let size = match fs::symlink_metadata(&self.file) {
            Ok(data) if data.is_file() => data.len(),
            Ok(data) => {
                let what = if data.is_dir() { "a directory" } else { "not a plain file (a symbolic link?)" };
                return Err(corrupt(OPENING, format!("{shown} is {what}; move it away or name another place")));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(io_error(OPENING, &self.file, error)),
        };
        let log_size = fs::metadata(&log).map_or(0, |data| data.len());
        if size == 0 {
            return if log_size > 0 {
                Err(corrupt(
                    OPENING,
                    format!(
                        "{shown} is missing but its log {} is there; put the database back, or move the log away to \
                         start anew",
                        log.display()
                    ),
                ))
            } else {
                Ok(())
            };
        }
        // SQLite removes the index before the log, so an index alone means that somebody took the log.
        if !log.exists() && index.exists() {
            return Err(corrupt(
                OPENING,
                format!(
                    "the log {} is missing and with it the latest commits; put it back, or remove {} to go on without \
                     them",
                    log.display(),
                    index.display()
                ),
            ));
        }
        let header = self.header().map_err(|error| io_error(OPENING, &self.file, error))?;
        if !header.starts_with(b"SQLite format 3\0") {
            return Err(corrupt(OPENING, format!("{shown} is not a database; move it away or name another place")));
        }
        match (identity_in(&header), self.noted_identity()) {
            (Some(found), Some(noted)) if found != noted => Err(corrupt(
                OPENING,
                format!(
                    "{shown} was replaced by another database; put the right one back, or remove {} and {} to use this \
                     one",
                    beside(&self.file, ".lock").display(),
                    log.display()
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Notes the owner and the database's identity in the lock file, and which file it is.
    pub(super) fn note(&self) -> io::Result<()> {
        let identity = identity_in(&self.header()?).or(self.noted_identity()).unwrap_or(0);
        let mut lock = &self.lock;
        lock.set_len(0)?;
        lock.seek(SeekFrom::Start(0))?;
        writeln!(lock, "process {}\ndatabase {identity}", std::process::id())?;
        #[cfg(unix)]
        {
            let _ = self.opened.set(place(&self.file)?);
        }
        Ok(())
    }

    /// Lets another process open the database. Called once no connection to it is open.
    pub(super) fn give_up(&self) {
        self.given_up.store(true, Ordering::SeqCst);
        // Closing the file lets go of it as well; there is nothing else to do about a failure.
        let _ = self.lock.unlock();
    }

    /// Whether the database is no longer ours.
    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::SeqCst)
    }

    /// Whether the path still names the file that was opened (B8).
    pub(super) fn is_in_place(&self) -> bool {
        #[cfg(unix)]
        return match self.opened.get() {
            Some(opened) => place(&self.file).is_ok_and(|now| now == *opened),
            None => true,
        };
        #[cfg(not(unix))]
        true
    }

    fn header(&self) -> io::Result<Vec<u8>> {
        let mut header = Vec::with_capacity(100);
        File::open(&self.file)?.take(100).read_to_end(&mut header)?;
        Ok(header)
    }

    fn noted_identity(&self) -> Option<u32> {
        noted(&self.lock, "database ")?.parse().ok().filter(|identity| *identity != 0)
    }
}

/// The identity in a database's header: `PRAGMA user_version`; `None` before it was checkpointed.
fn identity_in(header: &[u8]) -> Option<u32> {
    let bytes: [u8; 4] = header.get(60..64)?.try_into().ok()?;
    Some(u32::from_be_bytes(bytes)).filter(|identity| *identity != 0)
}

#[cfg(unix)]
fn place(file: &Path) -> io::Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let data = fs::metadata(file)?;
    Ok((data.dev(), data.ino()))
}

/// The file with this ending beside the database.
pub(super) fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut path = OsString::from(file);
    path.push(ending);
    path.into()
}

fn noted(mut lock: &File, word: &str) -> Option<String> {
    let mut text = String::new();
    lock.seek(SeekFrom::Start(0)).ok()?;
    lock.take(200).read_to_string(&mut text).ok()?;
    text.lines().find_map(|line| line.strip_prefix(word).map(str::to_owned))
}

fn owned(file: &Path, lock: &File) -> StoreError {
    let who = noted(lock, "process ").map_or_else(|| "another process".to_owned(), |id| format!("process {id}"));
    StoreError {
        kind: StoreErrorKind::Owned,
        operation: OPENING,
        detail: format!("{who} uses {}; stop it, or name another place", file.display()),
        source: None,
    }
}
