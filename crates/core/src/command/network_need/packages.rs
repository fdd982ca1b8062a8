//! Package managers: which of their commands need a registry.

use std::path::Path;

use super::options::{NONE, Valued};
use super::{Need, Operands, Scene, is_here, is_local_path};

/// Options of npm are values of its configuration, so every one that is no switch takes a word.
const NPM: Valued = Valued {
    letters: "",
    names: "-C -w -p -c -m",
    flags: "--all --allow-same-version --audit --bin-links --color --commit-hooks --description --dev --dry-run --engine-strict --expect-results
        --force --foreground-scripts --format-package-lock --fund --git-tag-version --global --help --if-present --ignore-scripts
        --include-attestations --include-staged --include-workspace-root --init-private --install-links --json --legacy-bundling
        --legacy-peer-deps --link --long --offline --package-lock --package-lock-only --parseable --prefer-dedupe --prefer-offline --prefer-online
        --production --progress --provenance --quiet --read-only --rebuild-bundle --save --save-bundle --save-dev --save-exact
        --save-optional --save-peer --save-prod --shrinkwrap --sign-git-commit --sign-git-tag --silent --strict-peer-deps --strict-ssl --timing --unicode
        --update-notifier --usage --verbose --version --workspaces --workspaces-update --yes",
};
const PNPM: Valued = Valued {
    letters: "CF",
    names: "--dir --filter --filter-prod --loglevel --registry --reporter --store-dir --prefix --package --virtual-store-dir --modules-dir
        --network-concurrency --child-concurrency --workspace-concurrency --lockfile-dir --test-pattern",
    flags: "",
};
const YARN: Valued = Valued {
    letters: "",
    names: "--cwd --registry --cache-folder --modules-folder --preferred-cache-folder --mutex --network-timeout --network-concurrency --use-yarnrc -p
        --package --tag",
    flags: "",
};
const BUN: Valued = Valued {
    letters: "",
    names: "--cwd --config -c --registry --cache-dir --backend --filter --omit --network-concurrency --concurrent-scripts -p --package",
    flags: "",
};
const PIP: Valued = Valued {
    letters: "rcetifdwC",
    names: "--requirement --constraint --editable --target --index-url --extra-index-url --find-links --python --prefix --root --src --cache-dir
        --log --proxy --retries --timeout --progress-bar --platform --implementation --abi --no-binary --only-binary --dest --wheel-dir
        --upgrade-strategy --report --config-settings --config-setting --global-option --build-option --trusted-host --cert --client-cert
        --exists-action --python-version --root-user-action --keyring-provider --use-feature --use-deprecated --index --default-index
        --directory --project --resolution --prerelease --exclude-newer --link-mode",
    flags: "",
};

/// Commands that talk to a registry.
fn talks(manager: &str, command: &str) -> bool {
    let list = match manager {
        "npm" => {
            "access add audit adduser ci clean-install cit dedupe deprecate dist-tag dist-tags find i ic in info ins install install-ci-test
             install-test it login logout org outdated owner ping profile publish s search show star stars team token unpublish up
             update upgrade v view whoami"
        }
        "pnpm" => {
            "add audit dedupe deploy fetch i install import it install-test outdated publish unlink up update upgrade"
        }
        "yarn" => "add audit dedupe info install outdated publish up upgrade upgrade-interactive",
        "bun" => "a add audit i install outdated publish update",
        "pip" => "download index install search wheel",
        "uv" => "add lock publish sync",
        _ => "",
    };
    list.split_whitespace().any(|one| one == command)
}

/// Commands that fetch a program or a template by the name that follows.
fn starts(manager: &str, command: &str) -> bool {
    match manager {
        "npm" => matches!(command, "create" | "init" | "innit"),
        "pnpm" | "yarn" => matches!(command, "create" | "dlx"),
        "bun" => matches!(command, "create" | "c"),
        _ => false,
    }
}

/// Commands that run a program that is installed, or fetch it.
fn runs(manager: &str, command: &str) -> bool {
    matches!((manager, command), ("npm", "exec" | "x") | ("bun", "x"))
}

/// With one of these a manager works without the network, or does nothing.
const LOCAL: [&str; 11] = [
    "--offline",
    "--no-index",
    "--no-install",
    "--no",
    "--dry-run",
    "--help",
    "-h",
    "--version",
    "-v",
    "-V",
    "--no-network",
];

pub(super) fn need(name: &str, arguments: &[Option<String>], scene: &Scene<'_>) -> Option<Need> {
    let (manager, words, skipped) = manager(name, arguments)?;
    let valued = match manager {
        "npm" | "npx" => NPM,
        "pnpm" | "pnpx" => PNPM,
        "yarn" => YARN,
        "bun" | "bunx" => BUN,
        "pip" | "uv" | "uvx" => PIP,
        _ => NONE,
    };
    if is_offline(scene) {
        return None;
    }
    if matches!(manager, "npx" | "bunx" | "pnpx" | "uvx") {
        return program(name, words, valued, scene);
    }
    let read = Operands::read(words, valued);
    let registry =
        ["--registry", "--index-url", "-i", "--index", "--default-index", "--extra-index-url"];
    if read.has(&LOCAL) || read.values(&registry).any(is_here) {
        return None;
    }
    // `yarn` alone installs.
    if manager == "yarn" && words.is_empty() {
        return Some(Need::Packages("yarn".to_owned()));
    }
    let (Some(command), targets) = read.words.split_first()? else { return None };
    let matched = format!("{name} {skipped}{command}");
    if runs(manager, command) {
        let at = words.iter().position(|word| word.as_deref() == Some(command))?;
        return program(&format!("{manager} {command}"), &words[at + 1..], valued, scene);
    }
    if starts(manager, command) {
        return (!targets.is_empty() && !read.has_unknown).then_some(Need::Packages(matched));
    }
    if !talks(manager, command) || read.has_unknown {
        return None;
    }
    // Packages on this machine can be installed without a registry.
    let editable = if manager == "pip" { &["-e", "--editable"][..] } else { &[] };
    let mut all = targets.iter().copied().flatten().chain(read.values(editable)).peekable();
    let is_local =
        all.peek().is_some() && all.all(is_package_here) && !read.has(&["-r", "--requirement"]);
    (!is_local).then_some(Need::Packages(matched))
}

/// The manager, its words, and those between the program and them.
fn manager<'a>(
    name: &'a str,
    words: &'a [Option<String>],
) -> Option<(&'a str, &'a [Option<String>], &'static str)> {
    let is_versioned = |stem: &str| {
        let rest = name.strip_prefix(stem);
        rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'))
    };
    let first = |at: usize| words.get(at).and_then(Option::as_deref);
    if is_versioned("pip") {
        return Some(("pip", words, ""));
    }
    if is_versioned("python") {
        let is_pip = first(0) == Some("-m") && first(1) == Some("pip");
        return is_pip.then(|| ("pip", &words[2..], "pip "));
    }
    match name {
        "uv" if first(0) == Some("pip") => Some(("pip", &words[1..], "pip ")),
        "npm" | "pnpm" | "yarn" | "bun" | "uv" | "npx" | "bunx" | "pnpx" | "uvx" => {
            Some((name, words, ""))
        }
        _ => None,
    }
}

/// Whether variables tell it to stay on this machine, or where a registry of this machine is.
fn is_offline(scene: &Scene<'_>) -> bool {
    scene.variables.iter().any(|(name, value)| {
        let name = name.to_ascii_uppercase();
        let is_registry = name.contains("REGISTRY") || name.contains("INDEX");
        ["OFFLINE", "NO_INDEX", "ENABLE_NETWORK"].iter().any(|part| name.contains(part))
            || is_registry && value.as_deref().is_none_or(is_here)
    })
}

fn is_package_here(target: &str) -> bool {
    let is_archive = [".tgz", ".tar.gz", ".whl", ".zip"].iter().any(|end| target.ends_with(end));
    is_local_path(target)
        || ["link:", "workspace:", "portal:"].iter().any(|start| target.starts_with(start))
        || is_archive && !target.contains("://")
}

fn program(
    called: &str,
    words: &[Option<String>],
    valued: Valued,
    scene: &Scene<'_>,
) -> Option<Need> {
    let end = words.iter().position(|word| word.as_deref() == Some("--")).unwrap_or(words.len());
    // What stands behind the program is for it.
    let options = words[..end]
        .iter()
        .take_while(|word| word.as_deref().is_some_and(|word| word.starts_with('-')));
    let unclear = |word: &str| {
        let name = word.split('=').next().unwrap_or(word);
        let is_short = !name.starts_with("--") && name.contains(['p', 'c']);
        // They name what to install, or a script whose commands are unknown.
        LOCAL.contains(&name)
            || is_short
            || matches!(name, "--package" | "--call" | "--from" | "--with")
    };
    if options.flatten().any(|word| unclear(word)) {
        return None;
    }
    let read = Operands::read(words, valued);
    let program = (*read.words.first()?)?;
    if is_local_path(program) || is_installed(program, scene) {
        return None;
    }
    Some(Need::Program(format!("{called} {program}"), program.to_owned()))
}

/// Whether the program is found without a registry: in `node_modules/.bin`, or in `PATH`.
fn is_installed(program: &str, scene: &Scene<'_>) -> bool {
    let Some(directory) = &scene.directory else { return true };
    if program.contains(['/', '\0']) {
        return false;
    }
    let in_modules = |directory: &Path| directory.join("node_modules/.bin").join(program).exists();
    let in_path =
        |directory: &str| !directory.is_empty() && Path::new(directory).join(program).exists();
    directory.ancestors().any(in_modules)
        || scene.path.is_none_or(|path| path.split(':').any(in_path))
}
