//! Directories may have the set-group bit, and no file gets it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use super::place::{has, users};
use super::sockets::with;

fn mode(path: impl AsRef<Path>) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Every file below a directory that lends rights.
pub(super) fn lending(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    super::sandbox::find(directory, &mut |path| {
        let metadata = fs::symlink_metadata(path).unwrap();
        let bits = if metadata.is_dir() { 0o4000 } else { 0o6000 };
        if metadata.mode() & bits != 0 {
            found.push(path.to_owned());
        }
    });
    found
}

#[test]
fn people_share_trees() {
    for user in users() {
        for hides in [true, false] {
            let change =
                |plan: &mut toolwright_sandbox::plan::Plan| plan.hides_git_directories = hides;
            let Some((place, mut sandbox, _)) = with(user, change) else { return };
            sandbox.output(
                "umask 022; mkdir d; echo x > d/f; chmod 2775 d; chmod -R g+w d; cp -a d copy; tar cf t.tar d; \
                 mkdir t; tar xpf t.tar -C t; install -d -m 2775 made; mkdir -m 2775 new; mkdir d/inherits; \
                 chmod 755 d/inherits; cd t; chmod g+s ../new/.; chmod -R u+w ../d",
            );
            let root = &place.root;
            for path in ["d", "copy", "t/d", "made", "new", "d/inherits"] {
                assert_eq!(mode(root.join(path)) & 0o2000, 0o2000, "{path}");
            }
            assert_eq!(mode(root.join("d")), 0o2775);
            assert_eq!(lending(root), Vec::<std::path::PathBuf>::new());
        }
    }
}

#[test]
fn git_shares_repositories() {
    if !has("git") {
        return;
    }
    for user in users() {
        let Some((place, mut sandbox, _)) = with(user, |_| {}) else { return };
        sandbox.output(
            "export HOME=/tmp; git init -q --bare --shared=group shared; git clone -q shared clone 2>&1; cd clone; echo a > a; \
             git add a; git commit -qm a; git push -q origin HEAD 2>&1; git -C ../shared log --oneline",
        );
        assert_eq!(mode(place.root.join("shared")) & 0o2000, 0o2000);
    }
}

#[test]
fn python_copies_trees() {
    if !has("python3") {
        return;
    }
    for user in users() {
        let Some((place, mut sandbox, _)) = with(user, |_| {}) else { return };
        sandbox.output(
            "mkdir d; chmod 2775 d; python3 -c \"import shutil, os; shutil.copytree('d', 'e'); \
             os.fchmod(os.open('e', os.O_RDONLY), 0o2700)\"",
        );
        assert_eq!(mode(place.root.join("e")), 0o2700);
    }
}

#[test]
fn no_file_gets_it() {
    for user in users() {
        let Some((place, mut sandbox, _)) = with(user, |_| {}) else { return };
        for attempt in [
            "chmod g+s f",
            "chmod 2755 f",
            "chmod 2640 f",
            "chmod u+s f",
            "chmod 6755 f",
            "chmod 4755 d",
            "chmod 6755 d",
            "ln -sfn f l && chmod 2755 l",
            "install -m 2755 f g",
            "install -m 4755 f g",
            "mkfifo -m 2600 p",
            "cd d && chmod 2755 ../f",
            "chmod 2755 /proc/self/cwd/f",
            "chmod 2755 $PWD/f",
            "mkdir d/x && mv f d/x/f && chmod 2755 d/x/f; mv d/x/f f; false",
            "cp f /tmp/f && chmod 2755 /tmp/f",
            "chmod 2755 /etc",
            "chmod 2777 /usr/bin",
            "exec 9<f && chmod 2755 /proc/self/fd/9",
            "exec 9<f && chmod 2755 /dev/fd/9",
        ] {
            let ended = sandbox.run(&format!("mkdir -p d; touch f; {attempt} 2>&1"));
            assert!(!ended.status.success(), "{attempt}: {ended:?}");
            assert_eq!(lending(&place.root), Vec::<std::path::PathBuf>::new(), "{attempt}");
        }
    }
}

/// An access list adds what makes a file executable by its group, after it got the bit.
#[test]
fn no_file_gets_it_by_an_access_list() {
    if !has("python3") {
        return;
    }
    let script = r"
import os, struct
def acl(*bits): return struct.pack('<I', 2) + b''.join(struct.pack('<HHI', tag, bit, 0xffffffff) for tag, bit in zip((1, 4, 0x20), bits))
open('f', 'w').close()
for mode in (0o2640, 0o2755, 0o2600):
    for change in (lambda: os.chmod('f', mode), lambda: os.fchmod(os.open('f', os.O_RDONLY), mode), lambda: os.close(os.open('n%o' % mode, os.O_CREAT | os.O_WRONLY, mode))):
        try: change(); print('changed', oct(mode))
        except PermissionError: pass
try: os.setxattr('f', 'system.posix_acl_access', acl(7, 5, 5))
except OSError: pass
os.mkdir('d'); os.chmod('d', 0o2775)
try: os.setxattr('d', 'system.posix_acl_default', acl(7, 7, 5))
except OSError: pass
open('d/f', 'w').close(); os.mkdir('d/d')
";
    for user in users() {
        let Some((place, mut sandbox, _)) = with(user, |_| {}) else { return };
        fs::write(place.root.join("acl.py"), script).unwrap();
        let output = sandbox.output("python3 acl.py");
        assert_eq!(output, "");
        assert_eq!(lending(&place.root), Vec::<std::path::PathBuf>::new());
        assert_eq!(mode(place.root.join("d")) & 0o2000, 0o2000);
    }
}

/// Threads exchange what the descriptor and the name mean while the call waits.
#[test]
fn no_file_gets_it_by_a_race() {
    let factor = std::env::var("TOOLWRIGHT_SOAK_FACTOR").ok().and_then(|text| text.parse().ok());
    let rounds = 1000 * factor.unwrap_or(1);
    for user in users() {
        for what in ["modes", "names"] {
            let Some((place, mut sandbox, program)) = with(user, |_| {}) else { return };
            let output = sandbox.output(&format!("COUNT={rounds} {program} {what}"));
            let counts = output.trim().split(' ').skip(1).map(|count| count.parse().unwrap());
            let counts: Vec<usize> = counts.collect();
            assert!(counts[0] > 0 && counts[1] > 0 && counts[2] == 0, "{output}");
            assert_eq!(lending(&place.root), Vec::<std::path::PathBuf>::new());
        }
    }
}

/// Another user of the sandbox changes only what is its own.
#[test]
fn the_callers_rights_count() {
    if !rustix::process::geteuid().is_root() || !has("python3") {
        return;
    }
    let Some((place, mut sandbox, _)) = with(None, |_| {}) else { return };
    let ended = sandbox.run(
        "mkdir d; chmod 777 .; exec python3 -c \"import os; os.setgroups([]); os.setgid(65534); os.setuid(65534); \
         os.mkdir('own'); os.chmod('own', 0o2755); os.chmod('d', 0o2755)\"",
    );
    assert!(!ended.status.success());
    assert_eq!((mode(place.root.join("own")), mode(place.root.join("d"))), (0o2755, 0o755));
}
