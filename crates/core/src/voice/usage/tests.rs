use std::ffi::OsString;
use std::sync::Arc;

use toolwright_exec::Exit;

use super::{explain, notes};
use crate::command::end::End;
use crate::command::environment::Passage;
use crate::denials::Ended;
use crate::voice::Door;
use crate::voice::refusals::tests::Scene;

fn variables(names: &[&str]) -> Arc<Vec<(OsString, OsString)>> {
    Arc::new(names.iter().map(|name| ((*name).into(), "x".into())).collect())
}

/// What a model reads of a program with arguments that has ended like this.
fn read(scene: &Scene, words: &[&str], end: &End, printed: &str) -> String {
    let (program, arguments) = words.split_first().expect("a program");
    let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
    let host = variables(&["HOME", "PATH", "OLDPWD", "GITHUB_TOKEN", "NPM_TOKEN_2"]);
    let passage = Passage { host, passed: variables(&["HOME", "PATH"]) };
    let ended = Ended {
        starts_processes: false,
        end,
        printed: &[printed],
        plan: &scene.plan,
        directory: &scene.plan.root,
        connections: &[],
        door: Door::Tools,
        command: (program, &arguments),
        keeps_state: false,
        facts: scene.facts,
        variables: Some(&passage),
    };
    let mut all: Vec<String> = explain(&ended).into_iter().collect();
    all.extend(notes(&ended));
    all.join(" ")
}

const DONE: End = End::Exited(Exit::Code(0));

fn failed(code: i32) -> End {
    End::Exited(Exit::Code(code))
}

#[test]
fn what_holds_for_one_call_alone_is_told() {
    let scene = Scene::new();
    for (line, says) in [
        ("cd src", "`cd` holds for this call alone"),
        ("pushd src && export A=1", "`pushd` holds"),
        ("export A=1", "`export` holds for this call alone"),
        ("A=1", "`A` holds for this call alone"),
        ("alias ll='ls -l'; umask 077", "`alias` holds"),
        (". ./venv/bin/activate", "`.` holds"),
    ] {
        for words in [["sh", "-c", line], ["bash", "-lc", line]] {
            let note = read(&scene, &words, &DONE, "");
            assert!(note.starts_with(says), "{line}: {note}");
        }
        assert_eq!(read(&scene, &["sh", "-c", line], &DONE, "x"), "", "{line}");
        assert_eq!(read(&scene, &["sh", "-c", line], &failed(1), ""), "", "{line}");
    }
    for line in ["cd src && make", "true", "mkdir a", "A=1 make", "echo cd > x", ""] {
        assert_eq!(read(&scene, &["sh", "-c", line], &DONE, ""), "", "{line}");
    }
}

#[test]
fn an_empty_input_is_told() {
    let scene = Scene::new();
    for words in [&["python3"][..], &["node"], &["sh"], &["cat"], &["sort", "-u"], &["tee"]] {
        let note = read(&scene, words, &DONE, "");
        assert!(note.contains("which is empty"), "{words:?}: {note}");
    }
    for words in [
        &["cat", "empty"][..],
        &["python3", "a.py"],
        &["node", "-v"],
        &["sh", "-c", "cat < empty"],
        &["sh", "-c", "printf '' | cat"],
        &["true"],
    ] {
        assert_eq!(read(&scene, words, &DONE, ""), "", "{words:?}");
    }
    let note = read(&scene, &["sh", "ls -la src"], &failed(2), "sh: 0: cannot open ls -la src");
    assert!(note.contains("put \"-c\" in front of it"), "{note}");
    assert_eq!(read(&scene, &["sh", "build.sh"], &failed(2), ""), "");
}

#[test]
fn what_does_not_end_by_itself_is_told() {
    let mut scene = Scene::new();
    for words in [
        &["tail", "-f", "log"][..],
        &["sh", "-c", "npm run build && tsc --watch"],
        &["watch", "ls"],
        &["vitest"],
        &["docker", "logs", "-f", "x"],
    ] {
        let note = read(&scene, words, &End::TimedOut, "");
        assert!(note.contains("does not end by itself"), "{words:?}: {note}");
    }
    for words in [&["make"][..], &["tail", "log"], &["vitest", "run"], &["tsc"]] {
        assert_eq!(read(&scene, words, &End::TimedOut, ""), "", "{words:?}");
    }
    let note = read(&scene, &["sh", "-c", "vim src/app.ts"], &End::TimedOut, "");
    assert!(note.starts_with("`vim` waits for keys"), "{note}");
    scene.facts.served_port = Some(4321);
    let note = read(&scene, &["npm", "start"], &End::TimedOut, "");
    assert!(note.starts_with("It listened at port 4321"), "{note}");
}

#[test]
fn what_is_around_a_command_is_told() {
    let scene = Scene::new();
    for (line, code, says) in [
        ("```bash\nls\n```", 127, "send it without the fence"),
        ("$ ls src", 127, "begins with the prompt `$`: send `ls src`"),
        ("sudo make install", 127, "run `make install` without it"),
    ] {
        let note = read(&scene, &["sh", "-c", line], &failed(code), "");
        assert!(note.contains(says), "{line}: {note}");
    }
    for (line, code) in [("$ ls", 1), ("ls src", 127), ("make sudo", 127), ("sudo", 127)] {
        assert_eq!(read(&scene, &["sh", "-c", line], &failed(code), ""), "", "{line}");
    }
}

#[test]
fn what_is_kept_from_commands_is_told_where_it_is_named() {
    let scene = Scene::new();
    for (words, end) in [
        (["printenv", "GITHUB_TOKEN", "-0"], failed(1)),
        (["sh", "-c", "echo \"token: $GITHUB_TOKEN\""], DONE),
        (["node", "-e", "process.env.GITHUB_TOKEN"], DONE),
    ] {
        let note = read(&scene, &words, &end, "");
        assert!(note.contains("`GITHUB_TOKEN` is set on the host and kept"), "{words:?}: {note}");
    }
    for line in [
        "echo $OLDPWD",
        "echo $HOME",
        "echo $GITHUB_TOKENS",
        "echo $NPM_TOKEN",
        "echo GITHUB_TOKEN",
    ] {
        assert_eq!(read(&scene, &["sh", "-c", line], &DONE, "x"), "", "{line}");
    }
    // Whether it is there is not told: the note names what is closed, and no more.
    let store = scene.plan.closed[0].display().to_string();
    let says = format!("`{store}` is closed to commands and reads as empty");
    for name in ["", "/key", "/absent", "/../store/key"] {
        let note = read(&scene, &["cat", &format!("{store}{name}")], &DONE, "");
        assert_eq!(note.contains(&says), !name.contains(".."), "{name}: {note}");
        assert!(!note.contains("key") && !note.contains("absent"), "{name}: {note}");
    }
    assert_eq!(read(&scene, &["cat", "a"], &DONE, ""), "");
}

#[test]
fn an_exit_code_that_is_an_answer_is_explained() {
    let scene = Scene::new();
    for (words, says) in [
        (&["grep", "zzz", "a"][..], "`grep` ends with 1 where no line matches"),
        (&["sh", "-c", "cat a | rg -q zzz"], "`rg` ends with 1"),
        (&["sh", "-c", "grep -q zzz a && echo yes"], "`grep` ends with 1"),
        (&["git", "grep", "zzz"], "`git grep` ends with 1"),
        (&["git", "diff", "--exit-code"], "`git diff` ends with 1 where there are differences"),
        (&["cmp", "a", "b"], "`cmp` ends with 1 where the files differ"),
        (&["test", "-f", "a"], "`test` ends with 1 where the condition is false"),
        (&["which", "frob"], "`which` ends with 1 where there is no such program"),
    ] {
        let note = read(&scene, words, &failed(1), "");
        assert!(note.contains(says), "{words:?}: {note}");
        assert_eq!(read(&scene, words, &failed(2), ""), "", "{words:?}");
    }
    for words in [&["grep", "zzz", "a"][..], &["test", "-f", "a"], &["diff", "a", "b"]] {
        assert_eq!(read(&scene, words, &failed(1), "a: No such file\n"), "", "{words:?}");
    }
    for line in [
        "grep zzz a; make",
        "[ -w f ] && exit 1; echo y > f",
        "[ -f a ] && exit 1",
        "test -f a && grep -q zzz b",
        "[ -f a ] || exit 1",
        "grep -q a b && make || true && false",
    ] {
        assert_eq!(read(&scene, &["sh", "-c", line], &failed(1), ""), "", "{line}");
    }
    assert_eq!(read(&scene, &["npm", "test"], &failed(1), ""), "");
}

#[test]
fn words_that_a_shell_does_not_know_are_named() {
    let scene = Scene::new();
    for (line, says) in [
        ("[[ -f a ]] && echo yes", "`[[` is a word of bash, which `sh` does not know"),
        ("source venv/bin/activate", "`source` is a word of bash"),
        ("edit src/app.ts", "`edit` is no program: if you have a tool of that name"),
        ("str_replace_editor view a", "`str_replace_editor` is no program"),
    ] {
        let note = read(&scene, &["sh", "-c", line], &failed(127), "sh: 1: not found\n");
        assert!(note.contains(says), "{line}: {note}");
    }
    assert_eq!(read(&scene, &["sh", "-c", "frob"], &failed(127), "sh: 1: frob: not found\n"), "");
    assert_eq!(read(&scene, &["bash", "-c", "[[ a ]] && frob"], &failed(127), "x\n"), "");
}

#[test]
fn a_question_without_an_answer_is_told() {
    let scene = Scene::new();
    for printed in ["name? ", "a\nContinue? [Y/n] ", "Password: ", "Is this OK? (yes) ", "Really?"]
    {
        for end in [DONE, failed(1)] {
            let note = read(&scene, &["node", "ask.js"], &end, printed);
            assert!(note.contains("its input is empty"), "{printed}: {note}");
        }
    }
    for printed in [
        "done\n",
        "name? \n",
        "<p>",
        "[1, 2]",
        "a: b",
        "",
        "? ",
        "x".repeat(300).as_str(),
        "Cannot connect to the Docker daemon at unix:///x.sock. Is the docker daemon running?",
        "error: no such file, did you mean `b`?",
    ] {
        assert!(!read(&scene, &["node", "ask.js"], &DONE, printed).contains("seems to have asked"));
    }
    assert_eq!(read(&scene, &["sh", "-c", "echo y | node ask.js"], &DONE, "name? "), "");
}
