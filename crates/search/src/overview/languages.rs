//! Which language a file is in, by its name or its first line.
//!
//! A table of the languages that repositories are mostly made of. A file that it does not know is
//! in no language.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The name of a language, and how its files are recognized: by the extensions and the whole names of
/// files, and by the interpreters of scripts. Lower case, separated by spaces.
type Language = (&'static str, &'static str, &'static str, &'static str);

const LANGUAGES: &[Language] = &[
    ("Ada", "adb ads", "", ""),
    ("Assembly", "asm s", "", ""),
    ("Astro", "astro", "", ""),
    ("Awk", "awk", "", "awk gawk mawk"),
    ("Batch", "bat cmd", "", ""),
    ("C", "c h", "", "tcc"),
    ("C#", "cs csx", "", ""),
    ("C++", "cc cpp cxx c++ hh hpp hxx ipp tpp", "", ""),
    ("CMake", "cmake", "cmakelists.txt", "cmake"),
    ("CSS", "css pcss", "", ""),
    ("CSV", "csv tsv", "", ""),
    ("Clojure", "clj cljc cljs edn", "", "bb clojure"),
    ("CoffeeScript", "coffee", "cakefile", "coffee"),
    ("Crystal", "cr", "", "crystal"),
    ("Cuda", "cu cuh", "", ""),
    ("D", "d", "", "rdmd"),
    ("Dart", "dart", "", "dart"),
    ("Dockerfile", "dockerfile", "containerfile dockerfile", ""),
    ("Elixir", "ex exs", "", "elixir"),
    ("Elm", "elm", "", ""),
    ("Emacs Lisp", "el", "", ""),
    ("Erlang", "erl hrl", "rebar.config", "escript"),
    ("F#", "fs fsi fsx", "", ""),
    ("Fish", "fish", "", "fish"),
    ("Fortran", "f f03 f08 f90 f95 for", "", ""),
    ("GLSL", "frag glsl vert", "", ""),
    ("Gleam", "gleam", "", ""),
    ("Go", "go", "", ""),
    ("Gradle", "gradle", "", ""),
    ("GraphQL", "gql graphql", "", ""),
    ("Groovy", "groovy", "jenkinsfile", "groovy"),
    ("HCL", "hcl tf tfvars", "", ""),
    ("HTML", "htm html xhtml", "", ""),
    ("Haskell", "hs lhs", "", "runghc runhaskell stack"),
    ("INI", "cfg ini properties", "", ""),
    ("JSON", "geojson json json5 jsonc jsonl ndjson webmanifest", "composer.lock", ""),
    ("Java", "java", "", ""),
    ("JavaScript", "cjs es6 js jsx mjs", "", "bun deno node nodejs"),
    ("Julia", "jl", "", "julia"),
    ("Jupyter Notebook", "ipynb", "", ""),
    ("Just", "just", "justfile", "just"),
    ("Kotlin", "kt kts", "", "kotlin"),
    ("Less", "less", "", ""),
    ("Lua", "lua", "", "lua luajit"),
    ("MDX", "mdx", "", ""),
    ("Make", "mak mk", "gnumakefile kbuild makefile", "make"),
    ("Markdown", "markdown md", "", ""),
    ("Meson", "", "meson.build", ""),
    ("Nim", "nim nims", "", "nim"),
    ("Nix", "nix", "", "nix-shell"),
    ("OCaml", "ml mli", "", "ocaml"),
    ("Objective-C", "m mm", "", ""),
    ("PHP", "php phtml", "", "php"),
    ("Pascal", "dpr pas pp", "", ""),
    ("Perl", "perl pl pm t", "", "perl"),
    ("PowerShell", "ps1 psd1 psm1", "", "pwsh"),
    ("Prolog", "pro prolog", "", "swipl"),
    ("Protocol Buffers", "proto", "", ""),
    ("Python", "py pyi pyw pyx", "sconstruct snakefile wscript", "python python2 python3 uv"),
    ("R", "r rmd", "", "rscript"),
    ("Racket", "rkt", "", "racket"),
    ("Ruby", "gemspec rake rb", "gemfile podfile rakefile vagrantfile", "ruby"),
    ("Rust", "rs", "", "rust-script"),
    ("SCSS", "sass scss", "", ""),
    ("SQL", "psql sql", "", ""),
    ("SVG", "svg", "", ""),
    ("Scala", "sbt sc scala", "", "scala"),
    ("Scheme", "scm ss", "", "guile"),
    ("Shell", "bash ksh sh zsh", "pkgbuild", "ash bash dash ksh sh zsh"),
    ("Solidity", "sol", "", ""),
    ("Starlark", "bazel bzl star", "build module.bazel workspace", ""),
    ("Svelte", "svelte", "", ""),
    ("Swift", "swift", "", "swift"),
    ("TOML", "toml", "cargo.lock pipfile poetry.lock uv.lock", ""),
    ("Tcl", "tcl", "", "tclsh wish"),
    ("TeX", "bib cls sty tex", "", ""),
    ("Text", "adoc rst txt", "", ""),
    ("TypeScript", "cts mts ts tsx", "", "tsx ts-node"),
    ("Typst", "typ", "", ""),
    ("Verilog", "sv svh v vh", "", ""),
    ("VHDL", "vhd vhdl", "", ""),
    ("Vim Script", "vim", "", ""),
    ("Visual Basic", "vb vbs", "", ""),
    ("Vue", "vue", "", ""),
    ("WebAssembly", "wat wast", "", ""),
    ("XML", "csproj fsproj plist props resx xml xsd xsl xslt", "", ""),
    ("YAML", "yaml yml", "pnpm-lock.yaml yarn.lock", ""),
    ("Zig", "zig zon", "", "zig"),
];

/// How much of a script is read for the name of its interpreter.
pub(super) const FIRST_LINE_BYTES: usize = 128;

/// The longest extension, name or interpreter in the table, with room to spare.
const MAX_KEY: usize = 24;

struct Index {
    extensions: HashMap<&'static [u8], &'static str>,
    names: HashMap<&'static [u8], &'static str>,
    interpreters: HashMap<&'static [u8], &'static str>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let by = |keys: fn(&Language) -> &'static str| {
        let entries = LANGUAGES.iter().flat_map(|language| {
            keys(language).split_ascii_whitespace().map(|key| (key.as_bytes(), language.0))
        });
        entries.collect()
    };
    Index {
        extensions: by(|language| language.1),
        names: by(|language| language.2),
        interpreters: by(|language| language.3),
    }
});

/// The language of a file with this name.
pub(super) fn by_name(name: &[u8]) -> Option<&'static str> {
    let mut buffer = [0; MAX_KEY];
    if let Some(whole) = lower_case(name, &mut buffer)
        && let Some(language) = INDEX.names.get(whole)
    {
        return Some(language);
    }
    let extension = lower_case(extension(name)?, &mut buffer)?;
    INDEX.extensions.get(extension).copied()
}

/// Whether only its first line can tell the language of an executable file with this name.
pub(super) fn may_be_script(name: &[u8]) -> bool {
    extension(name).is_none()
}

/// The language of a script by its first line: `#!/usr/bin/env -S node --flag` is JavaScript.
pub(super) fn by_first_line(content: &[u8]) -> Option<&'static str> {
    let line = content.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let mut program = file_name(words.next()?);
    if program == b"env" {
        program = file_name(words.find(|word| word[0] != b'-' && !word.contains(&b'='))?);
    }
    let mut buffer = [0; MAX_KEY];
    let program = lower_case(program, &mut buffer)?;
    let is_version = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let without_version = &program[..program.len() - trailing(program, is_version)];
    let known = |name: &[u8]| INDEX.interpreters.get(name).copied();
    known(program).or_else(|| known(without_version))
}

/// What follows the last dot, unless the name begins with it.
fn extension(name: &[u8]) -> Option<&[u8]> {
    let dot = name.iter().rposition(|&byte| byte == b'.').filter(|&dot| dot > 0)?;
    Some(&name[dot + 1..])
}

fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

fn trailing(text: &[u8], is: impl Fn(&u8) -> bool) -> usize {
    text.iter().rev().take_while(|byte| is(byte)).count()
}

/// `None` for a text that is longer than every key of the table.
fn lower_case<'b>(text: &[u8], buffer: &'b mut [u8; MAX_KEY]) -> Option<&'b [u8]> {
    let key = buffer.get_mut(..text.len())?;
    key.copy_from_slice(text);
    key.make_ascii_lowercase();
    Some(key)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_key_of_the_table_is_usable_and_has_one_language() {
        for keys in [|one: &Language| one.1, |one: &Language| one.2, |one: &Language| one.3] {
            let mut seen = HashSet::new();
            for key in LANGUAGES.iter().flat_map(|one| keys(one).split_ascii_whitespace()) {
                assert!(key.len() <= MAX_KEY && key == key.to_lowercase(), "{key}");
                assert!(seen.insert(key), "{key} is in the table twice");
            }
        }
        let names: Vec<&str> = LANGUAGES.iter().map(|one| one.0).collect();
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
    }

    #[test]
    fn names_tell_languages() {
        for (name, language) in [
            ("a.rs", Some("Rust")),
            ("A.PY", Some("Python")),
            ("index.d.ts", Some("TypeScript")),
            ("Makefile", Some("Make")),
            ("Dockerfile", Some("Dockerfile")),
            ("app.dockerfile", Some("Dockerfile")),
            ("CMakeLists.txt", Some("CMake")),
            ("Cargo.lock", Some("TOML")),
            ("notes.txt", Some("Text")),
            (".rs", None),
            ("a.", None),
            ("a.none", None),
            ("", None),
            ("LICENSE", None),
        ] {
            assert_eq!(by_name(name.as_bytes()), language, "{name}");
        }
        assert_eq!(by_name(&[0xff; 300]), None);
        assert_eq!(by_name(b"\xff\xfe.rs"), Some("Rust"));
    }

    #[test]
    fn first_lines_tell_languages() {
        for (line, language) in [
            ("#!/bin/sh\nrm", Some("Shell")),
            ("#!/usr/bin/env python3.12", Some("Python")),
            ("#!/usr/bin/env -S A=1 node --flag\r\n", Some("JavaScript")),
            ("#! /usr/bin/perl5 -w", Some("Perl")),
            ("#!/usr/bin/env", None),
            ("#!", None),
            ("#!\n/bin/sh", None),
            ("#!/opt/3.1", None),
            ("/bin/sh", None),
            ("", None),
        ] {
            assert_eq!(by_first_line(line.as_bytes()), language, "{line}");
        }
    }
}
