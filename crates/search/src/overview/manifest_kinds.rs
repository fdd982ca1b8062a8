//! Which files are manifests, where programs begin, and which directories hold what others wrote: by
//! their names.

use serde_json::Value;

use super::manifest::ManifestFacts;
use super::manifest_fields as fields;
use super::manifest_lines as lines;

/// How facts are found in a text.
pub(super) enum Format {
    /// It is only named.
    Named,
    Json(fn(&Value, &mut ManifestFacts)),
    Toml(fn(&Value, &mut ManifestFacts)),
    Lines(fn(&str, &mut ManifestFacts)),
}

/// What uses a manifest, the names of the files, or their ends if they begin with `*`, and their format.
pub(super) type Kind = (&'static str, &'static [&'static str], Format);

pub(super) const KINDS: &[Kind] = &[
    ("npm", &["package.json"], Format::Json(fields::npm)),
    ("deno", &["deno.json"], Format::Json(fields::deno)),
    ("composer", &["composer.json"], Format::Json(fields::composer)),
    ("cargo", &["cargo.toml"], Format::Toml(fields::cargo)),
    ("python", &["pyproject.toml"], Format::Toml(fields::python)),
    ("julia", &["project.toml"], Format::Toml(fields::julia)),
    ("gleam", &["gleam.toml"], Format::Toml(fields::julia)),
    ("go", &["go.mod"], Format::Lines(lines::go_module)),
    ("go", &["go.work"], Format::Lines(lines::go_workspace)),
    ("make", &["makefile", "gnumakefile"], Format::Lines(lines::make)),
    ("just", &["justfile"], Format::Lines(lines::just)),
    ("cmake", &["cmakelists.txt"], Format::Lines(lines::cmake)),
    ("dart", &["pubspec.yaml"], Format::Lines(lines::yaml_name)),
    ("crystal", &["shard.yml"], Format::Lines(lines::yaml_name)),
    ("haskell", &["*.cabal", "package.yaml"], Format::Lines(lines::yaml_name)),
    ("maven", &["pom.xml"], Format::Lines(lines::maven)),
    ("gradle", &["settings.gradle", "settings.gradle.kts"], Format::Lines(lines::gradle)),
    ("gradle", &["build.gradle", "build.gradle.kts"], Format::Named),
    ("python", &["setup.py", "setup.cfg", "requirements.txt", "pipfile"], Format::Named),
    ("ruby", &["gemfile", "*.gemspec"], Format::Named),
    ("elixir", &["mix.exs"], Format::Named),
    ("erlang", &["rebar.config"], Format::Named),
    ("swift", &["package.swift"], Format::Named),
    ("scala", &["build.sbt"], Format::Named),
    ("clojure", &["project.clj", "deps.edn"], Format::Named),
    ("ocaml", &["dune-project"], Format::Named),
    ("zig", &["build.zig"], Format::Named),
    ("nix", &["flake.nix"], Format::Named),
    ("meson", &["meson.build"], Format::Named),
    ("bazel", &["module.bazel", "workspace.bazel"], Format::Named),
    ("pnpm", &["pnpm-workspace.yaml"], Format::Named),
    ("task", &["taskfile.yml", "taskfile.yaml"], Format::Named),
    ("docker", &["dockerfile", "containerfile"], Format::Named),
    (
        "compose",
        &["compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"],
        Format::Named,
    ),
    ("dotnet", &["*.sln", "*.csproj", "*.fsproj"], Format::Named),
];

/// Files in which programs commonly begin. Only names that say so.
pub(super) const ENTRY_POINTS: &[&str] = &[
    "main.rs",
    "lib.rs",
    "main.go",
    "main.py",
    "__main__.py",
    "manage.py",
    "app.py",
    "wsgi.py",
    "index.ts",
    "index.tsx",
    "index.js",
    "index.mjs",
    "main.ts",
    "main.tsx",
    "main.js",
    "server.ts",
    "server.js",
    "main.c",
    "main.cc",
    "main.cpp",
    "main.java",
    "application.java",
    "program.cs",
    "main.kt",
    "main.swift",
    "main.dart",
    "main.zig",
    "index.php",
    "config.ru",
    "index.html",
];

/// Directories with what others wrote, wherever they are.
pub(super) const DEPENDENCIES: &[&str] = &[
    "node_modules",
    "bower_components",
    "vendor",
    "third_party",
    "site-packages",
    "pods",
    "venv",
    "carthage",
    "deps",
    "__pypackages__",
];

/// The longest name in these tables, with room to spare.
pub(super) const MAX_NAME: usize = 32;

/// Whether a file is a manifest.
pub(super) fn is_manifest(name: &[u8]) -> bool {
    kind_of(name).is_some()
}

/// Whether programs commonly begin in a file with this name.
pub(super) fn is_entry_point(name: &[u8]) -> bool {
    is_among(ENTRY_POINTS, name)
}

/// Whether what is in a directory with this name was written elsewhere.
pub(super) fn holds_dependencies(name: &[u8]) -> bool {
    is_among(DEPENDENCIES, name)
}

fn is_among(names: &[&str], name: &[u8]) -> bool {
    name.len() <= MAX_NAME && names.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()))
}

pub(super) fn kind_of(name: &[u8]) -> Option<&'static Kind> {
    let ends_with = |end: &str| {
        name.len() > end.len()
            && name[name.len() - end.len()..].eq_ignore_ascii_case(end.as_bytes())
    };
    let is = |one: &str| match one.strip_prefix('*') {
        Some(end) => ends_with(end),
        None => name.eq_ignore_ascii_case(one.as_bytes()),
    };
    KINDS.iter().find(|(_, names, _)| names.iter().any(|one| is(one)))
}
