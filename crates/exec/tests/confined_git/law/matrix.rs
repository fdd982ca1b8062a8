//! Everything that git reads in a git directory, in every place, by every way.

use super::entries::{FILES, HOOKS, SETTINGS};
use super::places::{PLACES, WAYS};
use super::seen::{obeyed, tree};
use super::{Grounds, Numbers, PROJECT, factor, has_namespaces, none_of, seed};

/// How many are planted by one command, and in a run of more than the ordinary count.
const TOGETHER: usize = 8;
const MANY_TOGETHER: usize = 32;
/// How many commands an ordinary run has.
const ORDINARY: usize = 3;

/// What a program of the command finds in the root.
const PREPARED: &str = "mkdir -p planted/hooks planted/bare bin; cp %C planted/pre-commit; cp %C planted/post-checkout; cp %C planted/hooks/pre-commit; \
    printf '[core]\\n\\tfsmonitor = %C\\n' > planted/config; echo '* filter=x' > planted/attributes; cp %C bin/git-remote-foo; cp %C bin/git-merge-x; \
    git init -q --bare planted/bare; cp %C planted/bare/hooks/pre-receive; git -C planted/bare config core.fsmonitor %C; N=";

#[derive(Debug, Clone, Copy)]
enum Plant {
    Setting(usize),
    File(usize),
    Hook(usize),
}

impl Plant {
    fn number(number: usize) -> Self {
        if let Some(rest) = number.checked_sub(SETTINGS.len()) {
            return rest.checked_sub(FILES.len()).map_or(Self::File(rest), Self::Hook);
        }
        Self::Setting(number)
    }

    const COUNT: usize = SETTINGS.len() + FILES.len() + HOOKS.len();

    fn name(self) -> String {
        match self {
            Self::Setting(number) => format!("{}={}", SETTINGS[number].0, SETTINGS[number].1),
            Self::File(number) => format!("{}: {:?}", FILES[number].0, FILES[number].1),
            Self::Hook(number) => format!("hooks/{}", HOOKS[number]),
        }
    }

    /// Makes the content `$T`, and says what its path `$P` is.
    fn content(self) -> String {
        match self {
            Self::Setting(number) => {
                let (key, value) = SETTINGS[number];
                format!(
                    "P=config; case $G in *worktrees/*) P=config.worktree;; esac; cp $G/$P $T || : > $T; git config -f $T --replace-all '{key}' '{value}'"
                )
            }
            Self::File(number) => {
                let (path, content) = FILES[number];
                let path = path.replace("%C", "canary");
                format!("P='{path}'; cat > $T <<'END'\n{content}\nEND\n")
            }
            Self::Hook(number) => format!("P=hooks/{}; cp %C $T", HOOKS[number]),
        }
    }
}

/// The script of one cell, whose number is `number`.
fn script(plant: Plant, place: usize, way: usize, number: usize) -> String {
    let ((_, before, after), (_, way)) = (PLACES[place], WAYS[way]);
    let after = if after.is_empty() { "true" } else { after };
    format!(
        "N={number}; T=t$N; {before}; {}\nchmod 755 $T; mkdir -p $(dirname $G/$P); {way}; {after}\n",
        plant.content()
    )
}

fn cell(number: usize) -> (Plant, usize, usize) {
    let (rest, way) = (number / WAYS.len(), number % WAYS.len());
    (Plant::number(rest / PLACES.len()), rest % PLACES.len(), way)
}

const ROUND: usize = Plant::COUNT * PLACES.len();
const CELLS: usize = ROUND * WAYS.len();

/// A walk through all cells in an order that the seed decides. Each of its rounds has each plant in each place, each
/// plant by each way, and each place by each way.
fn order(seed: u64) -> impl Iterator<Item = usize> {
    let mut numbers = Numbers(seed);
    let start = numbers.below(ROUND);
    let first = numbers.below(WAYS.len());
    // No number of cells has this factor.
    let step = 1_000_003;
    (0..CELLS).map(move |index| {
        let pair = (start + index * step) % ROUND;
        let (plant, place, round) = (pair / PLACES.len(), pair % PLACES.len(), index / ROUND);
        pair * WAYS.len() + (plant + place + first + round) % WAYS.len()
    })
}

/// Plants, and what came of it.
fn run(grounds: &Grounds, cells: &[usize], is_confined: bool) -> Vec<String> {
    grounds.restore();
    let mut all = grounds.filled(PREPARED);
    all.push('\n');
    for (number, index) in cells.iter().enumerate() {
        let (plant, place, way) = cell(*index);
        all.push_str(&grounds.filled(&script(plant, place, way, number)));
    }
    all.push_str("true\n");
    let before = tree(grounds.root());
    let beside = tree(&grounds.scene.beside);
    let mut wrong = Vec::new();
    let printed = if is_confined {
        let (printed, reports) = grounds.scene.confined(&all);
        let reports = format!("{:?}", reports.take());
        wrong.extend(obeyed(grounds.root(), "/canary", |path, now| before.get(path) == Some(now)));
        if tree(&grounds.scene.beside) != beside {
            wrong.push("something outside of the root has changed".to_owned());
        }
        if std::env::var_os("TOOLWRIGHT_SHOW").is_some() {
            eprintln!("{printed}\n{reports}");
        }
        format!("{printed}\n{reports}")
    } else {
        grounds.scene.on_host(grounds.root(), &all)
    };
    wrong.extend(grounds.effect());
    if wrong.is_empty() {
        let shown = grounds.later();
        if let Some(effect) = grounds.effect() {
            wrong.push(format!(
                "{effect}\n{}",
                if shown.len() > 4000 { &shown[..0] } else { &shown }
            ));
        }
    }
    if !wrong.is_empty() {
        wrong.push(printed);
    }
    wrong
}

fn named(cells: &[usize]) -> String {
    let names = cells.iter().map(|index| {
        let (plant, place, way) = cell(*index);
        format!("{index} {} in {} by {}", plant.name(), PLACES[place].0, WAYS[way].0)
    });
    names.collect::<Vec<_>>().join("\n  ")
}

/// Finds out which of them it was.
fn blamed(grounds: &Grounds, cells: &[usize]) -> Vec<String> {
    let all = run(grounds, cells, true);
    if all.is_empty() {
        return Vec::new();
    }
    let single = cells.iter().filter_map(|cell| {
        let wrong = run(grounds, &[*cell], true);
        (!wrong.is_empty()).then(|| format!("{}\n{}", named(&[*cell]), wrong.join("\n")))
    });
    let mut single: Vec<_> = single.collect();
    if single.is_empty() {
        single.push(format!("together:\n  {}\n{}", named(cells), all.join("\n")));
    }
    single
}

#[test]
fn nothing_in_a_git_directory_has_an_effect_later() {
    if !has_namespaces() {
        return;
    }
    assert!(SETTINGS.len() + FILES.len() + HOOKS.len() >= 150);
    let grounds = Grounds::new(PROJECT);
    // One cell alone, to look at it.
    if let Ok(cells) = std::env::var("TOOLWRIGHT_CELL") {
        let cells: Vec<_> = cells.split(',').filter_map(|cell| cell.parse().ok()).collect();
        none_of(&blamed(&grounds, &cells), cells.len());
        return;
    }
    let together = if factor() == 1 { TOGETHER } else { MANY_TOGETHER };
    let count = ORDINARY * TOGETHER * usize::try_from(factor()).expect("small");
    let chosen: Vec<_> = order(seed()).take(count).collect();
    let mut wrong = Vec::new();
    for cells in chosen.chunks(together) {
        wrong.extend(blamed(&grounds, cells));
    }
    eprintln!("{} of {CELLS} cells", chosen.len());
    none_of(&wrong, chosen.len());
}

/// Without it, the other one could not fail.
#[test]
fn the_same_outside_of_the_sandbox_has_effects() {
    let grounds = Grounds::new(PROJECT);
    let place = |name| PLACES.iter().position(|place| place.0 == name).expect("a place");
    let all = || 0..Plant::COUNT;
    let plant = |name| all().find(|number| Plant::number(*number).name() == name).expect("a plant");
    for (name, at) in [
        ("core.fsmonitor=%C", "the root"),
        ("hooks/pre-commit", "a new repository"),
        ("core.fsmonitor=%C", "what a file leads to"),
        ("filter.x.clean=%C", "the root"),
    ] {
        let cell = (plant(name) * PLACES.len() + place(at)) * WAYS.len();
        let wrong = run(&grounds, &[cell], false);
        assert!(!wrong.is_empty(), "{name} in {at} has no effect");
    }
    if factor() == 1 {
        return;
    }
    let of_all = all().map(|number| number * PLACES.len() * WAYS.len());
    let silent: Vec<_> = of_all.filter(|cell| run(&grounds, &[*cell], false).is_empty()).collect();
    eprintln!("{} of {} have no effect outside:\n  {}", silent.len(), Plant::COUNT, named(&silent));
}
