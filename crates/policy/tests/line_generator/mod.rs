//! Command lines by the grammar of shells, and what becomes of them when they are cut, doubled and
//! mixed up.

/// The same lines for the same seed.
pub(crate) struct Generator {
    state: u64,
    /// The line before, of which parts come back.
    before: String,
}

const NAMES: [&str; 18] = [
    "ls", "rm", "git", "echo", "a", "b", "eval", "sh", "bash", "env", "xargs", "sudo", "find",
    "test", "[", "export", "timeout", "nohup",
];
const WORDS: [&str; 21] = [
    "x", "-c", "-rf", "--", "-n", "5s", "a=b", "*.c", "~/x", "{a,b}", "'a b'", "\"a $X\"", "$X",
    "\\;", "{}", "-exec", "a\\ b", "é", "''", "a[1]", "in",
];
const SEPARATORS: [&str; 8] = ["; ", " && ", " || ", " | ", "\n", " & ", " |& ", " ;; "];
const REDIRECTS: [&str; 14] = [
    " > f",
    " >> f",
    " 2>&1",
    " < f",
    " <&-",
    " &> f",
    " >| f",
    " <> f",
    " <<< x",
    " {n}> f",
    " <(a)",
    " >&2",
    " > /dev/null",
    " <&-b",
];
/// What means something, in the wrong place too.
const PIECES: [&str; 60] = [
    "$(",
    ")",
    "`",
    "${",
    "}",
    "$((",
    "))",
    "((",
    "(",
    "{ ",
    "; }",
    "'",
    "\"",
    "\\",
    "\\\n",
    "\n",
    ";",
    "&",
    "|",
    "<",
    ">",
    "<<E\n",
    "\nE\n",
    "<<",
    "<<-'E'\n",
    "#",
    "!",
    "! ",
    "$",
    "$'",
    "$\"",
    "$[",
    "]",
    "[[ ",
    " ]]",
    "=",
    "=(",
    "+=",
    "[",
    "if ",
    "then ",
    "fi",
    "do ",
    "done",
    "case x in ",
    "esac",
    ";;",
    "for x in ",
    "function ",
    "f() ",
    "coproc ",
    "time ",
    "select ",
    "~",
    "*",
    "\0",
    "\u{a0}",
    "\t",
    "999999999999",
    "eval ",
];
const LIMIT: usize = 33 << 10;

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, before: String::new() }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from((self.state >> 33) % u64::try_from(bound.max(1)).unwrap()).unwrap()
    }

    fn one_of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }

    /// The next line.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        match self.below(2000) {
            // Something again and again, up to the limit.
            0 => self.repeated(&mut line),
            1..200 => {
                for _ in 0..=self.below(20) {
                    line.push_str(self.one_of(&PIECES));
                }
            }
            _ => self.list(&mut line, 0),
        }
        // Most lines stay as they are: nonsense is refused early.
        for _ in 0..self.below(8).saturating_sub(4) {
            self.mutate(&mut line);
        }
        line.truncate(floor(&line, LIMIT));
        self.before.clone_from(&line);
        line
    }

    fn repeated(&mut self, line: &mut String) {
        let mut unit = String::new();
        for _ in 0..=self.below(3) {
            unit.push_str(self.one_of(&PIECES));
            unit.push_str(["", " ", "a", "x "][self.below(4)]);
        }
        if self.below(3) == 0 {
            self.list(&mut unit, 3);
        }
        let length = self.below(LIMIT);
        while line.len() < length {
            line.push_str(&unit);
        }
    }

    fn list(&mut self, line: &mut String, depth: usize) {
        for index in 0..=self.below(5) / 2 {
            if index > 0 {
                line.push_str(SEPARATORS[self.below(6)]);
            }
            self.command(line, depth + 1);
        }
    }

    /// `open`, commands, `close`.
    fn around(&mut self, line: &mut String, open: &str, close: &str, depth: usize) {
        line.push_str(open);
        self.list(line, depth);
        line.push_str(close);
    }

    fn command(&mut self, line: &mut String, depth: usize) {
        let kinds = if depth > 4 { 20 } else { 36 };
        match self.below(kinds) {
            20 => self.around(line, "( ", " )", depth),
            21 => self.around(line, "{ ", "; }", depth),
            22 => {
                self.around(line, "if ", "; then ", depth);
                self.around(line, "", "; fi", depth);
            }
            23 => {
                self.around(line, "while ", "; do ", depth);
                self.around(line, "", "; done", depth);
            }
            24 => self.around(line, "for i in a $X *; do ", "; done", depth),
            25 => {
                self.around(line, "case $X in a|b) ", " ;; ", depth);
                self.around(line, "*) ", " ;; esac", depth);
            }
            26 => self.around(line, "f() { ", "; }", depth),
            27 => self.around(line, "eval '", "'", depth),
            28 => self.around(line, "sh -c \"", "\"", depth),
            29 => self.around(line, "! ", "", depth),
            30 => self.around(line, "time -p ", "", depth),
            31 => self.around(line, "coproc { ", "; }", depth),
            32 => line.push_str("[[ -f x && a == b* ]]"),
            33 => line.push_str("((i += 1))"),
            34 => {
                self.around(line, "cat <<E\n$(", ")\nE\n", depth);
            }
            35 => self.around(line, "function f { ", "; }", depth),
            _ => self.simple(line, depth),
        }
        if self.below(8) == 0 {
            line.push_str(self.one_of(&REDIRECTS));
        }
    }

    fn simple(&mut self, line: &mut String, depth: usize) {
        if self.below(12) == 0 {
            line.push_str(["A=1 ", "A=$(b) ", "a=(b c) ", "a[1]=x ", "A+=b "][self.below(5)]);
        }
        line.push_str(self.one_of(&NAMES));
        for _ in 0..self.below(4) {
            line.push(' ');
            match self.below(16) {
                0 if depth < 4 => self.around(line, "$(", ")", depth),
                1 if depth < 4 => self.around(line, "\"$(", ")\"", depth),
                2 if depth < 4 => self.around(line, "`", "`", depth),
                3 => line.push_str(
                    ["${X:-a}", "\"${X:-'b'}\"", "${X#\"}\"}", "${a[$i]}"][self.below(4)],
                ),
                4 => line.push_str(["$((1 + 2))", "$((a))", "$(( (1) * b[2] ))"][self.below(3)]),
                _ => line.push_str(self.one_of(&WORDS)),
            }
        }
    }

    /// Cuts, doubles or changes a part.
    fn mutate(&mut self, line: &mut String) {
        let (one, two) = (self.below(line.len() + 1), self.below(line.len() + 1));
        let (from, to) = (floor(line, one.min(two)), floor(line, one.max(two)));
        match self.below(6) {
            0 => line.replace_range(from..to.min(floor(line, from + 8)).max(from), ""),
            1 => line.truncate(to),
            2 => {
                let part = line[from..to].to_owned();
                line.insert_str(to, &part);
            }
            3 => {
                let cut = floor(&self.before, from);
                let part = self.before[cut..].to_owned();
                line.insert_str(from, &part);
            }
            _ => line.insert_str(from, self.one_of(&PIECES)),
        }
    }
}

/// The beginning of the character at or before a place.
fn floor(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
