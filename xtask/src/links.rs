//! Links between documents: each leads to a file that is there.

use std::path::Path;

use crate::{
    manifests::root,
    scan::{self, Source},
};

/// Checks every relative link of every document.
pub(crate) fn run() -> Result<String, String> {
    let root = root();
    let mut documents = scan::sources(&root, &["docs", "crates", "miniapps", "hosts", "proof"], &["md"])?;
    documents.extend(scan::beside(&root, "md")?);
    let (mut count, mut problems) = (0, Vec::new());
    for document in &documents {
        let directory = root.join(&document.path).parent().map_or_else(|| root.clone(), Path::to_path_buf);
        for (line, target) in links(document) {
            count += 1;
            if !directory.join(target).exists() {
                problems.push(format!("{}:{line}: {target} is not there", document.path));
            }
        }
    }
    if problems.is_empty() {
        Ok(format!("{count} links of {} documents lead somewhere", documents.len()))
    } else {
        Err(problems.join("\n"))
    }
}

/// The targets of relative links, without the part of the page that they lead to.
fn links(document: &Source) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut code = false;
    for (number, line) in document.text.lines().enumerate() {
        code ^= line.trim_start().starts_with("```");
        if code {
            continue;
        }
        for rest in line.split("](").skip(1) {
            let target = rest.split([')', '#', ' ']).next().unwrap_or_default();
            if !target.is_empty() && !target.contains(':') {
                found.push((number + 1, target));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_links_are_found_and_others_left_alone() {
        let text = "See [a](docs/a.md#part), [b](b.md) and [c](https://c.example).\n```\n[d](d.md)\n```\n[e](#here)\n";
        let document = Source { path: "README.md".to_owned(), text: text.to_owned() };
        assert_eq!(links(&document), [(1, "docs/a.md"), (1, "b.md")]);
    }
}
