//! What bash has and a plain shell reads otherwise is found, and what both have is not.

use toolwright_policy::shell::bash_only;

#[test]
fn what_only_bash_has_is_found_wherever_it_stands() {
    for (line, syntax) in [
        ("sh -c 'exit 1' &> o && echo PASSED", "&> file"),
        ("a &>> o", "&>> file"),
        ("a >& o", ">& file"),
        ("a <<< x", "<<< text"),
        ("diff <(a) <(b)", "<(command)"),
        ("a > >(b)", "<(command)"),
        ("a |& b", "a |& b"),
        ("[[ a == b ]] && c", "[[ … ]]"),
        ("if [[ -f x ]]; then a; fi", "[[ … ]]"),
        ("((i++))", "((…))"),
        ("for ((i = 0; i < 3; i++)); do a; done", "for ((…))"),
        ("arr=(a b)", "name=(…)"),
        ("arr[0]=x", "name=(…)"),
        ("x+=y", "name+=value"),
        ("function f { a; }", "function name"),
        ("function f() { a; }", "function name"),
        ("select x in a b; do c; done", "select"),
        ("coproc a", "coproc"),
        ("echo $'a\\tb'", "$'…'"),
        ("echo $\"a\"", "$\"…\""),
        ("case x in x) a;& y) b;; esac", ";&"),
        ("case x in x) a;;& y) b;; esac", ";&"),
        ("a {x}> f", "{name}>"),
        ("a 10> f", "a descriptor above 9"),
        ("echo ${!x}", "${!name}"),
        ("echo \"${x^^}\"", "${name^^}"),
        ("echo ${x,}", "${name^^}"),
        ("echo ${x/a/b}", "${name/a/b}"),
        ("echo ${x:1:2}", "${name:1:2}"),
        ("echo ${@:2}", "${name:1:2}"),
        ("echo ${x[0]}", "${name[0]}"),
        ("echo ${#x[@]}", "${name[0]}"),
        ("echo ${x@Q}", "${name@Q}"),
        ("touch {a,b}", "{a,b}"),
        ("for i in {1..3}; do a; done", "{a,b}"),
        ("source x", "source file"),
        ("set -o pipefail", "pipefail"),
        ("set -euo pipefail; a | b", "pipefail"),
        ("echo -e 'a\\tb'", "echo -e"),
        ("echo -ne x", "echo -e"),
        ("[ a == b ]", "[ a == b ]"),
        ("test \"$x\" == b", "[ a == b ]"),
        ("a $(b &> c)", "&> file"),
        ("a `b &> c`", "&> file"),
        ("a \"${x:-$(b <<< c)}\"", "<<< text"),
        ("cat <<E\n$(a |& b)\nE", "a |& b"),
    ] {
        assert_eq!(bash_only(line).map(|it| it.syntax), Some(syntax), "{line}");
    }
}

#[test]
fn what_every_shell_has_is_not_found() {
    for line in [
        "",
        "# &> comment",
        "a > o 2>&1 && b",
        "a 2>&1 | b",
        "a & b",
        "a & > o",
        "a >&2",
        "a 2>&-",
        "a 2>&\"$fd\"",
        "[ a = b ]",
        "[ \"$a\" = '==' ] || b",
        "echo '[[ a == b ]]' \"&> x\" \\&\\> x",
        "echo '{a,b}' \"{1..3}\" \\{a,b}",
        "find . -exec a {} +",
        "git show HEAD@{1} stash@{0}",
        "awk '{print $1, $2}' f",
        "echo ${x:-a} ${x-a} ${x:=a} ${x:+a} ${x:?a} ${#x} ${x#a} ${x##a} ${x%a} ${x%%a} ${1} $# $@ $$ $! $?",
        "echo ${x:-/a/b} \"${x:-a,b}\" ${!} ${#}",
        "echo $((1 + 2)) $(a) `b`",
        "f() { a; }; f",
        "case x in (a|b) c;; *) d;; esac",
        "for x in a b; do c; done",
        ". ./x",
        "set -eu",
        "echo -n x",
        "printf 'a\\tb\\n'",
        "time a",
        "cat <<'E'\n[[ a ]] &> b\nE",
        "bash -c '[[ a == b ]] &> c'",
        "x=1 y=a,b z={a,b} c",
        "((a) ; (b))",
        "( (a); (b) )",
    ] {
        assert_eq!(bash_only(line).map(|it| it.syntax), None, "{line}");
    }
}
