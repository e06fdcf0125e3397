//! Reads the sources of the repository.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A source file: its path from the root, and its text.
pub(crate) struct Source {
    /// With `/` between the parts.
    pub path: String,
    /// All of it.
    pub text: String,
}

/// Every file with one of these endings below these directories, sorted. What is built or installed is
/// left out.
pub(crate) fn sources(root: &Path, directories: &[&str], endings: &[&str]) -> Result<Vec<Source>, String> {
    let mut found = Vec::new();
    for directory in directories {
        let directory = root.join(directory);
        if directory.exists() {
            walk(&directory, endings, &mut found).map_err(|error| format!("{}: {error}", directory.display()))?;
        }
    }
    read(root, found)
}

/// The files with this ending that lie in the root itself.
pub(crate) fn beside(root: &Path, ending: &str) -> Result<Vec<Source>, String> {
    let entries = fs::read_dir(root).map_err(|error| format!("{}: {error}", root.display()))?;
    let files = entries.filter_map(Result::ok).map(|entry| entry.path());
    read(root, files.filter(|file| file.extension().is_some_and(|found| found == ending)).collect())
}

fn read(root: &Path, mut files: Vec<PathBuf>) -> Result<Vec<Source>, String> {
    files.sort();
    files
        .into_iter()
        .map(|file| {
            let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            let path = file.strip_prefix(root).unwrap_or(&file);
            let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
            Ok(Source { path: parts.join("/"), text })
        })
        .collect()
}

fn walk(directory: &Path, endings: &[&str], found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            if !["target", "node_modules", "dist", "snapshots"].iter().any(|skipped| entry.file_name() == *skipped) {
                walk(&path, endings, found)?;
            }
        } else if path.extension().is_some_and(|ending| endings.iter().any(|wanted| ending == *wanted)) {
            found.push(path);
        }
    }
    Ok(())
}
