use proptest::prelude::*;

use super::*;

/// A directory where vitest is installed, with repositories whose remotes lie beside and elsewhere.
struct Ground(tempfile::TempDir);

impl Ground {
    fn new() -> Self {
        let ground = tempfile::tempdir().expect("a directory");
        let put = |path: &str, text: &str| {
            let path = ground.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
            std::fs::write(path, text).expect("a file");
        };
        put("node_modules/.bin/vitest", "");
        put("sub/x", "");
        put(
            "near/.git/config",
            "[remote \"origin\"]\n\turl = ../b.git\n[remote \"far\"]\n\turl = git@example.org:a\n",
        );
        put("far/.git/config", "[remote \"origin\"]\n\turl = https://example.org/a.git\n");
        put("b.git/HEAD", "ref: refs/heads/main\n");
        put("tree/.git", "gitdir: ../near/.git/worktrees/tree\n");
        put("near/.git/worktrees/tree/commondir", "../..\n");
        Self(ground)
    }

    fn of(&self, program: &str, arguments: &[String]) -> Option<Need> {
        let place = CommandPlace { directory: Some(self.0.path()), path: Some("/usr/bin:/bin") };
        network_need(program, arguments, place)
    }

    fn line(&self, line: &str) -> Option<Need> {
        self.of("sh", &["-c".to_owned(), line.to_owned()])
    }
}

/// What runs: it works without a network, or nobody knows beforehand.
const RUNS: &str = r#"
npm test
npm run build
npm run install
npm ls > /dev/null
npm --version
npm pkg get name
npm init -y
npm init -y > /dev/null
npm init -y 2>&1
npm init -y >log 2>&1 </dev/null
npm init --scope @a -y
npm init --scope=@a --yes
npm init -y --init-author-name me
npm init -w packages/a -y
npm init -y && npm pkg set type=module
npm install --offline
npm install ./tarball.tgz
npm install a.tgz --save-dev
npm install ../sibling --prefix sub
npm install --registry http://localhost:4873 zod
npm_config_registry=http://127.0.0.1:4873 npm install zod
npm_config_offline=true npm ci
npm exec vitest run
npm exec -- vitest
npm help install
pnpm test
pnpm run add
pnpm --filter add run build
pnpm -C add exec tsc
yarn build
yarn --version
yarn install --offline
bun test
bun run x
bun index.ts
bun add ./a.tgz
pip list
pip3 install --no-index x
pip install .
pip install -e .
pip install -e ./lib --no-deps 2>/dev/null
pip install dist/a-1.0-py3-none-any.whl
pip install --no-index --find-links wheels requests
pip install -i http://localhost:3141/simple requests
python3 -m unittest
python -m pip list
uv run test.py
uv lock --offline
UV_OFFLINE=1 uv sync
npx vitest run
npx --no-install cowsay
npx --yes ls
npx -c cowsay
npx ./script.js
npx vitest --reporter dot > out.txt
bunx vitest
which npm
ls node_modules/bun
grep -rn 'npm install' package.json
echo see https://example.org
echo curl https://example.org
echo npm install > notes
curl http://localhost:3000/health
curl -s -X POST http://127.0.0.1:8080 > /dev/null
curl -o https://x localhost:3000
curl localhost:3000 2>/dev/null
curl --data @a --header 'a: https://b' localhost
curl -sSfo out -H a http://[::1]:80/
curl file:///etc/hostname
curl --unix-socket /tmp/x http://a/
curl --version
curl -K options
curl -s "$URL"
wget -qO- http://[::1]/
wget -q -O out -T 3 http://localhost/x
git status
git remote -v
git commit -m 'fetch lazily'
git commit -m "a; git push"
git log push
git --git-dir fetch status
git clone ../other copy
git clone file:///srv/x
git clone missing
git clone --depth 1 sub/repository
git clone -b main ../b.git x
git push /srv/backup.git main
git push ../b.git
git push b.git HEAD:main
git push -o ci.skip ../b.git
git fetch ./sub
git fetch .
git push --help
git -C near push
git -C near push origin main 2>&1
git -C near pull --rebase
git -C near fetch --all
git -C near ls-remote origin
git -C tree fetch origin
cd near && git push -u origin HEAD
cd near; git fetch -q origin > /dev/null
npm install || true
if curl -s https://example.org; then echo up; fi
x=$(curl -s https://example.org); echo $x
! curl https://example.org
test -d node_modules || npm ci
[ -d node_modules ] && npm ci
for p in a b; do npm install $p; done
f() { npm ci; }
cd app && npx tsc
cd "$x" && git push
PATH=$PWD/bin:$PATH npx cowsay
echo \; npm install
npm install $package
"#;

const PACKAGES: &str = r#"
npm install
npm i zod
npm i zod > log 2>&1
npm ci
npm ci 2>/dev/null
npm add -D zod
npm publish
npm --silent install
npm --prefix sub install
npm -C sub ci
npm view zod version
npm outdated
npm create vite
npm init vite@latest app
npm exec cowsay
pnpm install
pnpm -C sub install
pnpm dlx cowsay
yarn
yarn > log
yarn add zod
bun install
bun --cwd sub add zod
bun x cowsay
pip install requests
pip install -q requests 2>&1
pip3 install -r requirements.txt
python3 -m pip install requests
uv pip install requests
uv sync
npx cowsay hi
npx -y cowsay > /dev/null
npx --yes create-vite
npx vitest@2
bunx cowsay
uvx ruff
/usr/local/bin/npm install
env CI=1 npm ci
nohup npm ci
timeout 60 npm ci
CI=1 npm ci
npm ci && npm test
cd app; npm ci
{ npm ci; } > log
(cd sub && npm ci)
npm ci | tail -5
bash -lc 'npx cowsay'
bash -c "sh -c 'npm ci'"
"#;

const MACHINES: &str = r"
curl https://example.org
curl -sSL example.org
curl -o file https://example.org 2>/dev/null
curl http://127.0.0.1.example.org/
curl --url https://example.org
curl -fsSL https://example.org/install.sh | sh
wget https://example.org/x.tgz
wget -q -O localhost https://example.org
";

const REMOTES: &str = r#"
git push
git push origin main
git push origin main > log 2>&1
git pull --rebase
git fetch --all
git -C sub fetch
git fetch sub
git clone example.org:x/y.git
git clone --recursive
git clone https://example.org/x.git ./sub
git clone git@example.org:x/y.git
git ls-remote origin
git -C far push
git -C far push origin main
git -C near push far
git -C near fetch git@example.org:b
cd far && git pull
git add -A && git commit -m "npm install" && git push
"#;

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.is_empty())
}

fn kind(need: Option<&Need>) -> &'static str {
    match need {
        None => "runs",
        Some(Need::Machine(_)) => "machine",
        Some(Need::Packages(_) | Need::Program(..)) => "packages",
        Some(Need::Remote(_)) => "remote",
    }
}

fn table() -> impl Iterator<Item = (&'static str, &'static str)> {
    [(RUNS, "runs"), (PACKAGES, "packages"), (MACHINES, "machine"), (REMOTES, "remote")]
        .into_iter()
        .flat_map(|(text, kind)| lines(text).map(move |line| (line, kind)))
}

#[test]
fn only_what_can_do_nothing_without_a_network_is_refused() {
    let ground = Ground::new();
    let wrong: Vec<_> = table()
        .filter(|(line, expected)| kind(ground.line(line).as_ref()) != *expected)
        .map(|(line, expected)| format!("{line}: {expected}, not {:?}", ground.line(line)))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(table().count() > 150);
}

#[test]
fn words_of_a_program_are_taken_as_they_are() {
    let ground = Ground::new();
    let of = |words: &[&str]| {
        let arguments: Vec<String> = words[1..].iter().map(|&word| word.to_owned()).collect();
        kind(ground.of(words[0], &arguments).as_ref())
    };
    assert_eq!(of(&["npm", "install"]), "packages");
    assert_eq!(of(&["npm", "init", "-y", "--", ">"]), "packages");
    assert_eq!(of(&["echo", "npm install"]), "runs");
    assert_eq!(of(&["sh", "script.sh"]), "runs");
    assert_eq!(of(&["node", "-e", "fetch('https://example.org')"]), "runs");
    assert_eq!(of(&["sh", "-c", "cat <<END\nnpm install\nEND"]), "runs");
    assert_eq!(of(&["sh", "-c", "# npm install\nls"]), "runs");
    assert_eq!(of(&["npm"]), "runs");
}

#[test]
fn the_words_that_matched_are_named() {
    let ground = Ground::new();
    let packages = |words: &str| Some(Need::Packages(words.to_owned()));
    assert_eq!(ground.line("npm --silent i zod"), packages("npm i"));
    assert_eq!(ground.line("python3 -m pip install x"), packages("python3 pip install"));
    assert_eq!(ground.line("uv pip install x"), packages("uv pip install"));
    assert_eq!(
        ground.line("npx -y cowsay hi"),
        Some(Need::Program("npx cowsay".to_owned(), "cowsay".to_owned()))
    );
    assert_eq!(ground.line("git -C sub fetch"), Some(Need::Remote("git fetch".to_owned())));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// How a command is written is no part of what it needs.
    #[test]
    fn spelling_changes_no_verdict(
        at in any::<prop::sample::Index>(),
        redirection in prop::sample::select(vec![
            "", " > /dev/null", " 2>&1", " >log 2>&1", " < /dev/null", " 2>> log", " &> log", " <<< text", " > 'a b'",
        ]),
        variable in prop::sample::select(vec!["", "CI=1 ", "A='b c' B= ", "FORCE_COLOR=0 "]),
        quotes in any::<u8>(),
        ends in any::<bool>(),
    ) {
        let ground = Ground::new();
        let simple: Vec<_> =
            table().filter(|(line, _)| !line.contains([';', '|', '&', '$', '(', '\\', '"', '\'', '>', '<', '{', '!', '['])).collect();
        let (line, expected) = *at.get(&simple);
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let is_name = |word: &str| word.contains('=') && !word.starts_with('-');
        prop_assume!(!is_name(&words[0]) && !matches!(&*words[0], "for" | "if" | "test"));
        for (index, word) in words.iter_mut().enumerate() {
            match quotes >> (index % 4 * 2) & 3 {
                1 => *word = format!("'{word}'"),
                2 => *word = format!("\"{word}\""),
                3 => word.insert(0, '\\'),
                _ => {}
            }
        }
        // Behind `--` a program of a wrapper or a runner has arguments of its own.
        let may_end = matches!(line.split(' ').next(), Some("npm" | "git" | "curl" | "wget" | "pip" | "yarn"));
        if ends && may_end && words.len() > 1 {
            words.push("--".to_owned());
        }
        let spelled = format!("{variable}{}{redirection}", words.join(" "));
        prop_assert_eq!(kind(ground.line(&spelled).as_ref()), expected, "{}", spelled);
    }
}
