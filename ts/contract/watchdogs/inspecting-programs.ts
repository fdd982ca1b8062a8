import type { WatchedCommand } from './watchdog.js'

/**
 * Programs that only inspect, each with the options that leave it so. An option that no list has may run a program or write a file,
 * today or in the next version, so it makes the command one to ask about.
 */

/**
 * The options of a program: `-abc` for letters that take no value, `-n=` for one that takes one, `--name`, `--name=`, and
 * `--name?` for one whose value follows an `=` only. `-#` stands for a number, `*` for any arguments at all.
 */
const LISTS: Readonly<Record<string, string>> = {
  '[': '*',
  basename: '*',
  cat: '-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting',
  cmp: '-bls -i= -n= --print-bytes --ignore-initial= --bytes= --verbose --quiet --silent',
  column: '-tneRxJ -s= -o= -c= -N= -R= -H= --table --separator= --output-separator= --json --table-columns=',
  comm: '-123i --check-order --nocheck-order --output-delimiter= --total --zero-terminated',
  cut: '-nsz -b= -c= -d= -f= --bytes= --characters= --delimiter= --fields= --complement --only-delimited --output-delimiter= --zero-terminated',
  date: '-uR -d= -r= -I --date= --reference= --utc --universal --rfc-email --rfc-3339= --iso-8601?',
  df: '-ahHiklPT -B= -t= -x= --all --human-readable --inodes --local --portability --print-type --type= --exclude-type= --total --output? --si',
  diff: `-qsucenybwBiEZtrNaTpd -U= -C= -x= -I= -F= -W= --brief --report-identical-files --unified? --context? --side-by-side --recursive
    --new-file --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-case --text --color? --exclude= --width= --minimal
    --strip-trailing-cr --suppress-common-lines --no-dereference --label= --from-file= --to-file=`,
  dirname: '*',
  du: '-abchHklLmPsSx0 -B= -d= -t= --all --bytes --total --human-readable --summarize --max-depth= --exclude= --one-file-system --apparent-size --si --time?',
  echo: '*',
  egrep: 'grep',
  expr: '*',
  false: '*',
  fd: `-HIusgFaL0p -e= -t= -d= -E= -c= -S= -j= --hidden --no-ignore --unrestricted --glob --fixed-strings --absolute-path --follow --print0
    --full-path --extension= --type= --max-depth= --min-depth= --exclude= --color= --size= --changed-within= --changed-before= --max-results=`,
  fdfind: 'fd',
  fgrep: 'grep',
  file: '-bhiLkN0pr -F= -P= --brief --mime --mime-type --mime-encoding --dereference --no-dereference --keep-going --raw --separator=',
  fmt: '-cstu -w= -p= -g= --width= --split-only --uniform-spacing',
  fold: '-bs -w= --bytes --spaces --width=',
  grep: `-EFGPivwxcLlqsbHhnTZaIrRUzoy -# -e= -f= -m= -A= -B= -C= -d= -D= --extended-regexp --fixed-strings --basic-regexp --perl-regexp
    --regexp= --file= --ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp --count --color? --colour?
    --files-without-match --files-with-matches --max-count= --only-matching --quiet --silent --no-messages --byte-offset --with-filename
    --no-filename --label= --line-number --initial-tab --null --after-context= --before-context= --context= --text --binary-files=
    --devices= --directories= --exclude= --exclude-from= --exclude-dir= --include= --recursive --dereference-recursive --line-buffered
    --null-data`,
  head: '-qvz -# -n= -c= --lines= --bytes= --quiet --silent --verbose --zero-terminated',
  hexdump: '-bcCdovx -e= -n= -s= -f=',
  id: '-agGnruzZ --user --group --groups --name --real --zero',
  join: '-i -a= -e= -j= -1= -2= -o= -t= -v= --header --check-order --nocheck-order --ignore-case --zero-terminated',
  jq: `-nrRscCaSejM0 -f= -L= --null-input --raw-output --raw-input --slurp --compact-output --color-output --monochrome-output --ascii-output
    --sort-keys --exit-status --join-output --tab --indent= --arg=2 --argjson=2 --slurpfile=2 --rawfile=2 --from-file= --unbuffered --stream --seq`,
  ls: `-aAbBcCdDfFgGhHiIklLmnNopqQrRsStuUvxXZ1 -I= -w= -T= --all --almost-all --author --escape --color? --directory --classify? --full-time
    --group-directories-first --no-group --human-readable --si --dereference --hide= --ignore= --indicator-style= --inode --format= --size
    --numeric-uid-gid --literal --quote-name --quoting-style= --reverse --recursive --sort= --time= --time-style= --width= --zero`,
  md5sum: '-bctwz --binary --check --tag --text --zero --ignore-missing --quiet --status --strict --warn',
  nl: '-p -b= -d= -f= -h= -i= -l= -n= -s= -v= -w= --body-numbering= --number-width= --number-separator=',
  nproc: '--all --ignore=',
  od: '-abcdfiloxv -A= -j= -N= -S= -t= -w= --address-radix= --skip-bytes= --read-bytes= --format= --output-duplicates --width?',
  paste: '-sz -d= --delimiters= --serial --zero-terminated',
  printf: '*',
  pwd: '-LP --logical --physical',
  readlink: '-femnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent --verbose --zero',
  realpath:
    '-emLPqsz --canonicalize-existing --canonicalize-missing --logical --physical --quiet --relative-to= --relative-base= --strip --no-symlinks --zero',
  rev: '',
  rg: `-ivswxclLnNoqFUPHIa0phuSV -# -e= -f= -g= -t= -T= -A= -B= -C= -m= -d= -j= -r= -M= -E= --regexp= --file= --glob= --iglob= --type=
    --type-not= --type-list --after-context= --before-context= --context= --max-count= --max-depth= --max-filesize= --max-columns=
    --max-columns-preview --threads= --replace= --encoding= --ignore-case --smart-case --case-sensitive --invert-match --word-regexp --line-regexp
    --count --count-matches --files-with-matches --files-without-match --files --follow --line-number --no-line-number --column --only-matching
    --quiet --fixed-strings --multiline --multiline-dotall --pcre2 --engine= --with-filename --no-filename --text --null --null-data --pretty
    --hidden --no-hidden --unrestricted --no-ignore --no-ignore-vcs --no-ignore-parent --no-ignore-global --no-ignore-dot --no-config
    --no-messages --no-heading --heading --color= --colors= --sort= --sortr= --json --stats --trim --vimgrep --passthru --crlf --debug --trace
    --line-buffered --block-buffered --one-file-system --path-separator= --context-separator= --glob-case-insensitive --binary --version`,
  seq: '-w -f= -s= --equal-width --format= --separator=',
  sha1sum: 'md5sum',
  sha256sum: 'md5sum',
  sleep: '*',
  sort: `-bdfgiMhnRrVcCmsuz -k= -t= -S= --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --month-sort
    --human-numeric-sort --numeric-sort --random-sort --reverse --version-sort --check? --merge --key= --field-separator= --stable --unique
    --zero-terminated --buffer-size= --parallel= --sort= -o= --output=`,
  stat: '-Lft -c= -f= --dereference --file-system --format= --printf= --terse',
  strings: '-afowU -n= -t= -e= --all --bytes= --radix= --encoding= --print-file-name',
  tac: '-br -s= --before --regex --separator=',
  tail: '-fFqvz -# -n= -c= -s= --lines= --bytes= --follow? --pid= --retry --quiet --silent --verbose --sleep-interval= --zero-terminated',
  test: '*',
  tr: '-cCdst --complement --delete --squeeze-repeats --truncate-set1',
  tree: '-adflxpsughDFqNQrtUvnCSiAJX -L= -P= -I= -H= -T= --noreport --dirsfirst --prune --du --si --inodes --device --gitignore --matchdirs --filelimit= --charset= --sort?',
  true: '*',
  uname: '-asnrvmpio --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor --operating-system',
  uniq: '-cdDiuz -f= -s= -w= --count --repeated --all-repeated? --group? --ignore-case --unique --skip-fields= --skip-chars= --check-chars= --zero-terminated',
  wc: '-cmlLw --bytes --chars --lines --max-line-length --words --files0-from= --total=',
  which: '-as --all',
  whoami: '',
}

/** Arguments of find that look and print. Those that run something have its command judged by itself, those that write their path. */
const FIND = words(
  `-H -L -P -D= -O -O0 -O1 -O2 -O3 -amin= -anewer= -atime= -cmin= -cnewer= -ctime= -daystart -delete -depth -empty -exec… -execdir… -executable
   -false -fls= -follow -fprint= -fprint0= -fprintf=2 -fstype= -gid= -group= -ignore_readdir_race -ilname= -iname= -inum= -ipath= -iregex=
   -iwholename= -links= -lname= -ls -maxdepth= -mindepth= -mmin= -mount -mtime= -name= -newer= -newermt= -nogroup -nouser -ok… -okdir… -path=
   -perm= -print -print0 -printf= -prune -quit -readable -regex= -regextype= -samefile= -size= -true -type= -uid= -used= -user= -wholename=
   -writable -xdev -xtype= -a -and -o -or -not ! ( ) ,`,
)

/** Options of git before its subcommand that change neither what git runs nor which repository and settings it obeys. */
const GIT_BEFORE = new Set([
  '--no-pager',
  '-P',
  '--no-optional-locks',
  '--literal-pathspecs',
  '--icase-pathspecs',
  '--glob-pathspecs',
  '--no-replace-objects',
  '--version',
  '--help',
])
const GIT_LOG = `-#  -pusznqmctgwbEFGPirD -n= -L= -S= -G= -U= -M -C -B -O= --oneline --graph --all --decorate? --no-decorate --stat? --shortstat --numstat
  --name-only --name-status --summary --patch --no-patch --raw --format= --pretty? --abbrev-commit --abbrev? --no-abbrev --date= --author=
  --committer= --grep= --since= --until= --after= --before= --max-count= --skip= --merges --no-merges --first-parent --reverse --follow
  --topo-order --date-order --author-date-order --branches? --tags? --remotes? --cached --staged --merge-base --color? --no-color
  --word-diff? --word-diff-regex= --color-words? --ignore-all-space --ignore-space-change --ignore-space-at-eol --ignore-blank-lines --unified=
  --find-renames? --find-copies? --diff-filter= --exit-code --quiet --check --no-ext-diff --no-textconv --no-renames --minimal --patience
  --histogram --diff-algorithm= --relative? --text --binary --full-index --no-prefix --src-prefix= --dst-prefix= --dirstat? --submodule?
  --ignore-submodules? --left-right --left-only --right-only --cherry --cherry-pick --cherry-mark --boundary --no-walk --show-signature
  --no-show-signature --notes? --no-notes --show-pulls --full-history --simplify-merges --ancestry-path? --not --ignore-case --invert-grep
  --all-match --regexp-ignore-case --extended-regexp --fixed-strings --perl-regexp --walk-reflogs --no-index --combined-all-paths --cc
  --find-object= --pickaxe-regex --pickaxe-all --source --clear-decorations --mailmap --use-mailmap --no-mailmap --reflog --stdin --children
  --parents --timestamp --encoding= --expand-tabs? --no-expand-tabs --stat-width= --compact-summary --function-context --inter-hunk-context=`
const GIT: Readonly<Record<string, string>> = {
  blame:
    '-bclwesnftpM -C -L= -S= --root --show-stats --porcelain --line-porcelain --incremental --date= --abbrev= --since= --show-email --show-name --show-number',
  'cat-file': '-tseppb --batch? --batch-check? --batch-all-objects --allow-unknown-type --unordered --buffer --follow-symlinks',
  describe:
    '--all --tags --contains --abbrev= --candidates= --exact-match --long --match= --exclude= --always --dirty? --broken? --first-parent --debug',
  diff: GIT_LOG,
  log: GIT_LOG,
  'ls-files':
    '-cdmoiszuktvf -x= -X= --cached --deleted --modified --others --ignored --stage --unmerged --killed --directory --no-empty-directory --eol --error-unmatch --exclude= --exclude-from= --exclude-per-directory= --exclude-standard --full-name --abbrev? --recurse-submodules --sparse --deduplicate --format=',
  'ls-tree': '-drtlz --long --name-only --name-status --object-only --full-name --full-tree --abbrev? --format=',
  'rev-parse': `-q --abbrev-ref? --absolute-git-dir --all --branches? --default= --disambiguate= --exclude= --flags --git-common-dir --git-dir
    --git-path= --glob= --is-bare-repository --is-inside-git-dir --is-inside-work-tree --is-shallow-repository --local-env-vars --no-flags
    --no-revs --not --path-format= --prefix= --quiet --remotes? --revs-only --shared-index-path --short? --show-cdup --show-object-format?
    --show-prefix --show-superproject-working-tree --show-toplevel --show-ref-format --since= --sq --symbolic --symbolic-full-name --tags? --until= --verify --after= --before=`,
  shortlog:
    '-nsec -w --numbered --summary --email --committer --group= --format= --all --since= --until= --author= --no-merges --merges --branches? --tags? --remotes? --date=',
  show: GIT_LOG,
  status:
    '-sbvuz --short --branch --show-stash --porcelain? --long --verbose --untracked-files? --ignored? --ignore-submodules? --column? --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames?',
}

interface Options {
  /** How many values each option takes; -1 for one that takes the rest of its own word, or none. */
  readonly values: ReadonlyMap<string, number>
  readonly isAny: boolean
  readonly takesNumber: boolean
}

function words(text: string): ReadonlyMap<string, number> {
  const values = new Map<string, number>()
  for (const word of text.split(/\s+/u)) {
    const [, name = '', kind = '', count = ''] = /^([^=?…]+)(=|\?|…)?(\d*)$/u.exec(word) ?? []
    if (name === '') continue
    values.set(name, kind === '' ? 0 : kind === '=' ? Number(count || 1) : kind === '?' ? -1 : Number.POSITIVE_INFINITY)
  }
  return values
}

const parsed = new Map<string, Options>()

function optionsOf(list: string): Options {
  const known = parsed.get(list)
  if (known !== undefined) return known
  const values = new Map<string, number>()
  for (const [word, count] of words(list)) {
    // `-abc` are three letters.
    if (count === 0 && /^-[^-]/u.test(word)) for (const letter of word.slice(1)) values.set(`-${letter}`, values.get(`-${letter}`) ?? 0)
    else values.set(word, count)
  }
  const options = { values, isAny: list === '*', takesNumber: values.delete('-#') }
  parsed.set(list, options)
  return options
}

/** The first argument that is neither an operand nor an option of a list; undefined, if there is none. */
function unknownIn({ values, isAny, takesNumber }: Options, args: readonly string[]): string | undefined {
  if (isAny) return undefined
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] as string
    if (arg === '--') return undefined
    if (arg === '-' || !arg.startsWith('-')) continue
    if (takesNumber && /^-\d+$/u.test(arg)) continue
    if (arg.startsWith('--')) {
      const [name = ''] = arg.split('=', 1)
      const count = values.get(name)
      // An abbreviation is another option in the next version.
      if (count === undefined || (arg !== name && count === 0)) return arg
      if (arg === name && count > 0) at += count
      continue
    }
    for (let letter = 1; letter < arg.length; letter += 1) {
      const count = values.get(`-${arg[letter]}`)
      if (count === undefined) return arg
      if (count === 0) continue
      if (letter === arg.length - 1) at += Math.max(0, count)
      break
    }
  }
  return undefined
}

function unknownOfFind(args: readonly string[]): string | undefined {
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] as string
    const count = FIND.get(arg)
    if (count === undefined) {
      if (arg.startsWith('-')) return arg
    } else if (Number.isFinite(count)) at += count
    else while (at + 1 < args.length && args[at] !== ';' && !(args[at] === '+' && args[at - 1] === '{}')) at += 1
  }
  return undefined
}

/** Lines, deletions, numbers and substitutions; `e`, `w`, `W`, `r` and the flags `e` and `w` are not among them. */
const SED_GAP = /[\s;{}]*/uy
const SED_ADDRESS = /(?:(?:\d+|\$|\/(?:[^/\\\n]|\\.)*\/I?)(?:,[~+]?(?:\d+|\$|\/(?:[^/\\\n]|\\.)*\/I?))?)?[ \t]*!?[ \t]*/uy
const SED_COMMAND = /\{|(?:[pdDPnNgGhHx=l]|[qQ]\d*|[sy]([/|#,])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpiI\d]*)(?=[\s;{}]|$)|$/uy

function isPlainSed(script: string): boolean {
  let at = 0
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at
    const found = pattern.exec(script)
    at += found?.[0].length ?? 0
    return found !== null
  }
  while (at < script.length) {
    const before = at
    take(SED_GAP)
    take(SED_ADDRESS)
    if (!take(SED_COMMAND) || (at === before && at < script.length)) return false
  }
  return true
}

const SED = optionsOf('-nErszu -e= --quiet --silent --regexp-extended --expression= --separate --null-data --unbuffered --posix --sandbox')

/** `sed` without a change in place, whose scripts are only of such commands. */
function unknownOfSed(args: readonly string[]): string | undefined {
  // What is changed in place is judged by where it lies; its scripts are judged here.
  const rest = args.filter((arg) => !/^(?:-i.*|--in-place(?:=.*)?)$/u.test(arg)).map((arg) => arg.replace(/^-([nErsz]*)i$/u, '-$1'))
  const unknown = unknownIn(SED, rest)
  if (unknown !== undefined) return unknown
  const given = rest.flatMap((arg, at) =>
    arg.startsWith('--expression=')
      ? [arg.slice(13)]
      : /^-[nErszu]*e$|^--expression$/u.test(arg)
        ? [rest[at + 1] ?? '']
        : /^-[nErszu]*e./u.test(arg)
          ? [arg.slice(arg.indexOf('e') + 1)]
          : [],
  )
  const scripts = given.length > 0 ? given : [rest.find((arg) => !arg.startsWith('-')) ?? '']
  return scripts.find((script) => !isPlainSed(script))
}

const AWK = optionsOf('-F= -v= --field-separator= --assign=')

/** A program of awk acts by a pipe, a redirection, `system` or an extension; one without their characters and words cannot. */
function unknownOfAwk(args: readonly string[]): string | undefined {
  const unknown = unknownIn(AWK, args)
  if (unknown !== undefined) return unknown
  const operands: string[] = []
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] as string
    if (/^(?:-[Fv]|--field-separator|--assign)$/u.test(arg)) at += 1
    else if (!arg.startsWith('-') || arg === '-') operands.push(arg)
  }
  const [script = ''] = operands
  return /[|>@`]|\bsystem\b|\bgetline\b/u.test(script) ? script : undefined
}

const TAR = optionsOf(
  `-ctxrukvzjJpPmOhlAdWfa -f= -C= -T= -X= --create --list --extract --get --append --update --verbose? --gzip --gunzip --bzip2 --xz --zstd
   --auto-compress --file= --directory= --files-from= --exclude= --exclude-from= --strip-components= --no-same-owner --same-permissions
   --preserve-permissions --no-same-permissions --to-stdout --keep-old-files --overwrite --dereference --wildcards --sort= --owner= --group=
   --mtime= --numeric-owner --mode= --null --no-recursion --one-file-system --totals --transform= --diff --compare`,
)

/** The first letters of tar stand without a dash, and take their values in order. */
function unknownOfTar([first = '', ...rest]: readonly string[]): string | undefined {
  if (first.startsWith('-')) return unknownIn(TAR, [first, ...rest])
  const letters = Array.from(first, (letter) => `-${letter}`)
  const unknown = letters.find((letter) => !TAR.values.has(letter))
  return unknown ?? unknownIn(TAR, rest.slice(letters.filter((letter) => (TAR.values.get(letter) ?? 0) > 0).length))
}

/**
 * The first argument of `git` that is none of an inspection, `undefined` for an inspection, and `null` for a subcommand that is
 * judged elsewhere.
 */
function unknownOfGit(args: readonly string[]): string | undefined | null {
  const at = args.findIndex((arg) => !GIT_BEFORE.has(arg))
  if (at === -1) return undefined
  const subcommand = args[at] as string
  if (subcommand.startsWith('-')) return subcommand
  return Object.hasOwn(GIT, subcommand) ? unknownIn(optionsOf(GIT[subcommand] as string), args.slice(at + 1)) : null
}

/** What a command of these programs is: an inspection, one that may do more by an argument, or none of them. */
export type Inspection = { isInspection: true } | { isInspection: false; argument: string } | undefined

const specials: Readonly<Record<string, (args: readonly string[]) => string | undefined | null>> = {
  awk: unknownOfAwk,
  find: unknownOfFind,
  gawk: unknownOfAwk,
  git: unknownOfGit,
  gsed: unknownOfSed,
  mawk: unknownOfAwk,
  nawk: unknownOfAwk,
  sed: unknownOfSed,
  tar: unknownOfTar,
}

/** Programs of which an argument that is not known before may be an option that does more. The others have no such option. */
const OPEN = new Set(['date', 'diff', 'fd', 'fdfind', 'file', 'rg', 'sort', 'tree', 'uniq', ...Object.keys(specials)])

/** A word of a command line whose expansion may be an option, up to `--`. */
function expandable(name: string, args: readonly string[]): string | undefined {
  const end = args.indexOf('--')
  const before = end === -1 ? args : args.slice(0, end)
  // `find` gets the names that it finds in place of `{}`.
  return before.find((word) => !(name === 'find' && word === '{}') && (/[$`]/u.test(word) || /^[*?[{'"\\]/u.test(word)))
}

/** `'('` as the parser writes it. */
const unquoted = (word: string): string => /^'([^'\s]*)'$/u.exec(word)?.[1] ?? word

/**
 * Judges a command by the lists of its program.
 *
 * @param command whose words are split at white space where they are not known before
 */
export function inspectionOf(name: string, args: readonly string[], { argv, restricted = '' }: Omit<WatchedCommand, 'text'>): Inspection {
  const special = Object.hasOwn(specials, name) ? specials[name] : undefined
  if (special === undefined && !Object.hasOwn(LISTS, name)) return undefined
  // What a variable does to a program, no list says.
  if (restricted.startsWith('sets the variable'))
    return { isInspection: false, argument: restricted.slice('sets the variable '.length).replace(/ for the command$/u, '') }
  const given = argv === undefined ? args.map(unquoted) : args
  const list = LISTS[name] ?? ''
  const unknown = special === undefined ? unknownIn(optionsOf(LISTS[list] ?? list), given) : special(given)
  if (unknown === null) return undefined
  const argument = unknown ?? (argv === undefined && OPEN.has(name) ? expandable(name, given) : undefined)
  return argument === undefined ? { isInspection: true } : { isInspection: false, argument }
}
