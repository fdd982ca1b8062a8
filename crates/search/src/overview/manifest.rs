//! The files in which projects say what they are: which they are, and what is read in them.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use super::manifest_kinds::{Format, kind_of};
use crate::listing::has_moved;
use crate::query::OpenFile;

/// A larger manifest is not read: no person wrote it.
pub const MAX_MANIFEST_BYTES: u64 = 256 << 10;

/// The most names, versions, commands and paths of one manifest are kept to these.
const MAX_LIST: usize = 20;
const MAX_CHARACTERS: usize = 120;

/// What a manifest says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ManifestFacts {
    /// The name of the project.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The commands that it defines, by name. A target without a command has an empty one.
    pub scripts: Vec<(String, String)>,
    /// Where its programs and its library begin.
    pub entry_points: Vec<String>,
    /// The projects that belong to it, as paths or patterns.
    pub members: Vec<String>,
}

/// Why a manifest says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestProblem {
    /// It has more than [`MAX_MANIFEST_BYTES`].
    TooLarge,
    /// It is not what its name says: no JSON, or no text.
    Malformed,
    /// It cannot be opened or read.
    Unreadable,
}

/// A manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Where it is, relative to the root.
    pub path: PathBuf,
    /// What uses it: `npm`, `cargo`.
    pub kind: &'static str,
    /// What it says.
    pub facts: Result<ManifestFacts, ManifestProblem>,
}

/// Reads the manifest at `path`, relative to the root. `None` if it is gone.
pub(super) fn read(path: PathBuf, open: &OpenFile<'_>) -> Option<Manifest> {
    let name = path.file_name()?.as_encoded_bytes();
    let (kind, _, format) = kind_of(name)?;
    let facts = match content(open(&path)) {
        Err(error) if has_moved(&error) => return None,
        Err(_) => Err(ManifestProblem::Unreadable),
        Ok(None) => Err(ManifestProblem::TooLarge),
        Ok(Some(bytes)) => parse(&bytes, format).ok_or(ManifestProblem::Malformed),
    };
    Some(Manifest { path, kind, facts })
}

fn content(file: io::Result<File>) -> io::Result<Option<Vec<u8>>> {
    let file = file?;
    // What is no regular file any more has no content, and is not waited for.
    if !file.metadata()?.is_file() {
        return Ok(Some(Vec::new()));
    }
    let mut bytes = Vec::new();
    file.take(MAX_MANIFEST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= MAX_MANIFEST_BYTES).then_some(bytes))
}

fn parse(bytes: &[u8], format: &Format) -> Option<ManifestFacts> {
    let mut facts = ManifestFacts::default();
    if let Format::Named = format {
        return Some(facts);
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match format {
        Format::Named => {}
        Format::Json(find) => find(&serde_json::from_str(text).ok()?, &mut facts),
        Format::Toml(find) => find(&toml::from_str(text).ok()?, &mut facts),
        Format::Lines(find) => find(text, &mut facts),
    }
    facts.limit();
    Some(facts)
}

impl ManifestFacts {
    fn limit(&mut self) {
        for text in self.name.iter_mut().chain(&mut self.version) {
            clip(text);
        }
        self.scripts.truncate(MAX_LIST);
        for (name, command) in &mut self.scripts {
            clip(name);
            clip(command);
        }
        for list in [&mut self.entry_points, &mut self.members] {
            list.retain(|text| !text.is_empty());
            list.dedup();
            list.truncate(MAX_LIST);
            list.iter_mut().for_each(clip);
        }
    }
}

/// Cuts a text to the limit, on one line.
fn clip(text: &mut String) {
    if text.chars().any(char::is_control) {
        *text = text.chars().map(|one| if one.is_control() { ' ' } else { one }).collect();
    }
    if let Some((end, _)) = text.char_indices().nth(MAX_CHARACTERS) {
        text.truncate(end);
        text.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::super::manifest_fields as fields;
    use super::super::manifest_kinds::{
        DEPENDENCIES, ENTRY_POINTS, KINDS, MAX_NAME, holds_dependencies, is_entry_point,
        is_manifest,
    };
    use super::*;

    fn facts(name: &str, text: &str) -> Option<ManifestFacts> {
        let (_, _, format) = kind_of(name.as_bytes())?;
        parse(text.as_bytes(), format)
    }

    fn list(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    fn scripts(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|&(name, command)| (name.to_owned(), command.to_owned())).collect()
    }

    #[test]
    fn names_of_manifests_are_unique_and_lower_case() {
        let names: Vec<&str> = KINDS.iter().flat_map(|(_, names, _)| *names).copied().collect();
        for name in names.iter().chain(ENTRY_POINTS).chain(DEPENDENCIES) {
            assert!(*name == name.to_lowercase() && name.len() <= MAX_NAME, "{name}");
        }
        assert_eq!(names.iter().collect::<std::collections::HashSet<_>>().len(), names.len());
        assert!(is_manifest(b"Cargo.toml") && is_manifest(b"x.gemspec") && is_manifest(b"A.SLN"));
        assert!(!is_manifest(b".gemspec") && !is_manifest(b"package.json5") && !is_manifest(b""));
        assert!(is_entry_point(b"main.rs") && !is_entry_point(b"domain.rs"));
        assert!(holds_dependencies(b"node_modules") && !holds_dependencies(b"node"));
    }

    #[test]
    fn json_manifests() {
        let npm = r#"{"name":"a","version":"1.2.3","scripts":{"test":"vitest","bad":7},"main":"./index.js",
            "bin":{"a":"./cli.js"},"exports":{".":{"import":"./index.js"}},"workspaces":{"packages":["packages/*"]}}"#;
        let expected = ManifestFacts {
            name: Some("a".to_owned()),
            version: Some("1.2.3".to_owned()),
            scripts: scripts(&[("test", "vitest")]),
            entry_points: list(&["./index.js", "./cli.js"]),
            members: list(&["packages/*"]),
        };
        assert_eq!(facts("package.json", &format!("\u{feff}{npm}")), Some(expected));
        let deno = r#"{"name":"@a/b","tasks":{"dev":"deno run a.ts","b":{"command":"x"}},"exports":"./mod.ts"}"#;
        let manifest = facts("deno.json", deno).expect("facts");
        assert_eq!(manifest.scripts, scripts(&[("b", "x"), ("dev", "deno run a.ts")]));
        assert_eq!(manifest.entry_points, list(&["./mod.ts"]));
        let manifest =
            facts("composer.json", r#"{"name":"a/b","scripts":{"t":["x","y"]},"bin":["c"]}"#);
        let manifest = manifest.expect("facts");
        assert_eq!(
            (manifest.scripts, manifest.entry_points),
            (scripts(&[("t", "x")]), list(&["c"]))
        );
    }

    #[test]
    fn toml_manifests() {
        let cargo = "[package]\nname='a'\nversion.workspace=true\n[lib]\npath='src/a.rs'\n\
            [[bin]]\nname='b'\npath='src/b.rs'\n[[bin]]\nname='c'\n[workspace]\nmembers=['x','y/*']\n";
        let manifest = facts("Cargo.toml", cargo).expect("facts");
        assert_eq!((manifest.name.as_deref(), manifest.version.as_deref()), (Some("a"), None));
        assert_eq!(manifest.entry_points, list(&["src/a.rs", "src/b.rs", "c"]));
        assert_eq!(manifest.members, list(&["x", "y/*"]));
        let python = "[project]\nname='a'\nversion='1'\n[project.scripts]\nrun='a.b:main'\n\
            [tool.uv.workspace]\nmembers=['p']\n";
        let manifest = facts("pyproject.toml", python).expect("facts");
        assert_eq!(manifest.entry_points, list(&["run = a.b:main"]));
        assert_eq!((manifest.name.as_deref(), manifest.members), (Some("a"), list(&["p"])));
        let poetry = "[tool.poetry]\nname='b'\nversion='2'\n[tool.poetry.scripts]\nr='c:d'\n";
        let manifest = facts("pyproject.toml", poetry).expect("facts");
        assert_eq!((manifest.name.as_deref(), manifest.version.as_deref()), (Some("b"), Some("2")));
        assert_eq!(manifest.entry_points, list(&["r = c:d"]));
    }

    #[test]
    fn manifests_of_lines() {
        let of = |name: &str, text: &str| facts(name, text).expect("facts");
        let named = |name: &str, text: &str| of(name, text).name;
        assert_eq!(
            named("go.mod", "// x\nmodule example.com/a // b\n\ngo 1.22\n").as_deref(),
            Some("example.com/a")
        );
        assert_eq!(
            of("go.work", "go 1.22\nuse ./a\nuse (\n\t./b\n\t./c // d\n)\n").members,
            list(&["./a", "./b", "./c"])
        );
        let make = ".PHONY: all\nall: a b\n\techo: x\nX := 1\n$(X): y\nb c:\n%.o: %.c\nall:\nd::\n";
        let targets = scripts(&[("all", ""), ("b", ""), ("c", ""), ("d", "")]);
        assert_eq!(of("Makefile", make).scripts, targets);
        let just = "set shell := ['x']\n# c\nbuild target='a': dep\n  cargo build\n@test:\n_private:\nx := 'a:b'\nalias b := build\n";
        assert_eq!(of("justfile", just).scripts, scripts(&[("build", ""), ("test", "")]));
        assert_eq!(
            named("CMakeLists.txt", "cmake_minimum_required()\nproject( \"a b\" CXX)\n").as_deref(),
            Some("a b")
        );
        assert_eq!(named("pubspec.yaml", "x:\n  name: no\nname: 'a' # b\n").as_deref(), Some("a"));
        let pom = "<project><parent><artifactId>p</artifactId></parent>\n<artifactId>a</artifactId><version>1</version>";
        assert_eq!(named("pom.xml", pom).as_deref(), Some("a"));
        assert_eq!(
            named("settings.gradle.kts", "rootProject.name = \"a\"\n").as_deref(),
            Some("a")
        );
        assert_eq!(facts("mix.exs", "defmodule"), Some(ManifestFacts::default()));
    }

    #[test]
    fn hostile_manifests_are_malformed_or_cut() {
        let deep = "[".repeat(200_000);
        for (name, text) in [
            ("package.json", "{"),
            ("package.json", &*deep),
            ("Cargo.toml", "= 1"),
            ("Cargo.toml", &*format!("a = {deep}")),
            ("pyproject.toml", "a=1\na=2"),
        ] {
            assert_eq!(facts(name, text), None, "{name}");
        }
        for text in [
            "[]",
            "7",
            "\"a\"",
            "null",
            r#"{"name":7,"scripts":[],"bin":7,"exports":[1],"workspaces":1}"#,
        ] {
            assert_eq!(facts("package.json", text), Some(ManifestFacts::default()), "{text}");
        }
        assert_eq!(
            facts("Cargo.toml", "package = 1\nbin = 2\nworkspace = []\n"),
            Some(ManifestFacts::default())
        );
        let json = serde_json::json!({
            "name": "x\u{0}\n\u{1b}[2J".repeat(100),
            "scripts": (0..100).map(|n| (format!("s{n}"), "y".repeat(10_000))).collect::<std::collections::BTreeMap<_, _>>(),
        });
        let manifest = facts("package.json", &json.to_string()).expect("facts");
        let name = manifest.name.expect("name");
        assert_eq!(name.chars().count(), MAX_CHARACTERS + 1);
        assert!(!name.chars().any(char::is_control), "{name}");
        assert_eq!(manifest.scripts.len(), MAX_LIST);
        assert!(
            manifest
                .scripts
                .iter()
                .all(|(_, command)| command.chars().count() == MAX_CHARACTERS + 1)
        );
        assert_eq!(parse(b"\xff", &Format::Json(fields::npm)), None);
    }
}
