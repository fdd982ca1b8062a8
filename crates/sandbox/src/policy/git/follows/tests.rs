use super::*;

struct Tree(tempfile::TempDir);

impl Tree {
    fn new(config: &str) -> Self {
        let tree = Self(tempfile::tempdir().expect("made"));
        tree.put(".git/config", config);
        tree
    }

    fn root(&self) -> PathBuf {
        self.0.path().canonicalize().expect("real")
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().expect("above")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// Those of a user without a configuration.
    fn scopes() -> Scopes {
        Scopes { home: Some("/no/home".into()), ..Scopes::default() }
    }

    fn found(&self) -> (Vec<String>, Vec<String>) {
        let root = self.root();
        let found = find(&root, &Self::scopes()).follows;
        let shown = |paths: &[PathBuf]| {
            let below = paths.iter().map(|path| path.strip_prefix(&root).expect("below"));
            below.map(|path| path.display().to_string()).collect()
        };
        (shown(&found.hooks), shown(&found.files))
    }
}

fn strings(all: &[&str]) -> Vec<String> {
    all.iter().map(|&one| one.to_owned()).collect()
}

#[test]
fn hooks_and_includes_of_the_project_are_found() {
    let cases: [(&str, &[&str], &[&str]); 9] = [
        ("[core]\n\thooksPath = .husky/_", &[".husky/_"], &[]),
        ("[core]\n\tHOOKSPATH = ./a/../h/", &["h"], &[]),
        ("[core]\nhooksPath = a\n[core]\nhooksPath = b", &["a", "b"], &[]),
        ("[core]\nhooksPath = .\n[include]\npath = config.more", &[], &[]),
        ("[core]\nhooksPath = /usr/share/hooks\n[include]\npath = ~/.gitconfig", &[], &[]),
        ("[include]\n\tpath = ../.gitconfig", &[], &[".gitconfig"]),
        ("[includeIf \"gitdir:/x/\"]\n\tpath = ../x/y", &[], &["x/y"]),
        ("[include]\n\tpath\n[core]\nhooksPath =", &[], &[]),
        ("[core\nhooksPath = h", &[], &[]),
    ];
    for (config, hooks, files) in cases {
        assert_eq!(Tree::new(config).found(), (strings(hooks), strings(files)), "{config}");
    }
}

#[test]
fn what_is_included_leads_on_and_circles_end() {
    let tree = Tree::new("[include]\npath = ../a");
    tree.put("a", "[include]\npath = b/c\n[core]\nhooksPath = h");
    tree.put("b/c", "[include]\npath = ../a\npath = c");
    assert_eq!(tree.found(), (strings(&["h"]), strings(&["a", "b/c"])));
    // What is remembered is not what was there before.
    tree.put("b/c", "[core]\nhooksPath = other");
    assert_eq!(tree.found(), (strings(&["other", "h"]), strings(&["a", "b/c"])));
}

#[test]
fn absolute_paths_lead_to_the_root_by_any_name() {
    let tree = Tree::new("");
    let other = tempfile::tempdir().expect("made");
    let link = other.path().join("link");
    std::os::unix::fs::symlink(tree.root(), &link).expect("made");
    tree.put(".git/config", &format!("[core]\nhooksPath = {}/h/x", link.display()));
    assert_eq!(tree.found(), (strings(&["h/x"]), strings(&[])));
}

#[test]
fn a_working_tree_of_another_repository_reads_that_one() {
    let tree = Tree::new("[core]\nhooksPath = h");
    let main = tree.root();
    let other = tempfile::tempdir().expect("made");
    tree.put(".git/worktrees/w/commondir", "../..\n");
    tree.put(".git/worktrees/w/config.worktree", "[core]\nhooksPath = own");
    let root = other.path().canonicalize().expect("real");
    fs::write(root.join(".git"), format!("gitdir: {}/.git/worktrees/w\n", main.display()))
        .expect("written");
    assert_eq!(find(&root, &Tree::scopes()).follows.hooks, [root.join("h"), root.join("own")]);
}
