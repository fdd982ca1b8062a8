// The rules of the repository's layout that a linter cannot express.
import { readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { circlesOfImports, importsAgainstTheOrder } from './checks/rooms.mjs'
import { KNOWN_CIRCLES } from './checks/known-circles.mjs'
import { unknownCircles } from './checks/modules.mjs'
import { unknownReaders } from './checks/reads.mjs'
import { listTree, report } from './checks/tree.mjs'
import { packagesWithoutHash } from './package/locked-hashes.mjs'
import { root } from './setup/paths.mjs'
import { WORKERS } from './setup/workers.mjs'

const MAX_LINES = 400
/** Shorter files of `ts/` hold no concept, but for those that a user, a thread or a page begins with. */
const MIN_LINES = 15
const ENTRIES = new Set(['report/page/main.tsx', ...Object.values(WORKERS).map((module) => `${module}.ts`)].map((file) => `ts/${file}`))
const VAGUE = /^(?:utils?|helpers?|common|misc)$/i
const TYPE_IMPORT = /\b(?:import|export)\s+type\s[^'"]*?\bfrom\s*['"][^'"]+['"]/g
const IMPORT = /(?:\bfrom|\bimport|\bimport\s*\(|\brequire\s*\()\s*['"]([^'"]+)['"]/g

const { files, folders } = listTree()
const read = (file) => readFileSync(join(root, file), 'utf8')

function* vagueNames() {
  for (const path of [...files, ...folders]) {
    const [stem] = basename(path).split('.')
    if (VAGUE.test(stem)) yield `${path}: a name that says what is inside, please`
  }
}

function* longFiles() {
  const isSource = (file) => /^(?:src|ts|scripts|crates\/[^/]+\/src)\/.*\.(?:rs|ts|mjs)$/.test(file)
  const isTest = (file) => /(?:^|\/)tests?(?:\/|\.rs$)|_tests?\.rs$|\.test\.ts$/.test(file)
  for (const file of files) {
    if (!isSource(file) || isTest(file)) continue
    const lines = read(file).split('\n').length - 1
    if (lines > MAX_LINES) yield `${file}: ${lines} lines; past ${MAX_LINES} it becomes a folder`
  }
}

function* shortFiles() {
  for (const file of files) {
    if (!/^ts\/.*\/[^/]+\.tsx?$/.test(file) || ENTRIES.has(file)) continue
    const lines = read(file).split('\n').length - 1
    if (lines < MIN_LINES) yield `${file}: ${lines} lines; below ${MIN_LINES} it joins its kin`
  }
}

/** The addon loads in one place, so that its errors are worded in one place. Types load nothing. */
function* addonImports() {
  for (const file of files) {
    if (!/^(?:ts|__test__|examples|bench)\/.*\.(?:ts|mts|mjs|js)$/.test(file)) continue
    if (file === 'ts/core/addon.ts') continue
    for (const [, specifier] of read(file).replaceAll(TYPE_IMPORT, '').matchAll(IMPORT)) {
      const target = specifier.startsWith('.') ? normalize(join(dirname(file), specifier)) : specifier
      if (target === '#native' || /^index\.c?js$/.test(target) || target.endsWith('.node')) {
        yield `${file}: only ts/core/addon.ts imports the addon (${specifier})`
      }
    }
  }
}

/** The tools of the contract reach files, processes and the network through the runtime they are given. */
function* toolsThatReachOut() {
  const own = /^\.\.\/(?:\.\.\/)*(?:native|contract\/native-|native-|call-runtime|session-directory)/
  for (const file of files) {
    if (!/^ts\/contract\/tools\/.*\.ts$/.test(file)) continue
    for (const [, specifier] of read(file).replaceAll(TYPE_IMPORT, '').matchAll(IMPORT)) {
      if (!specifier.startsWith('.') || own.test(specifier))
        yield `${file}: a tool of the contract imports ${specifier}; it has its runtime`
    }
    const globals = /(?<!-)\b(?:fetch|WebSocket|XMLHttpRequest|process|Bun|globalThis)\b\s*[.(]/.exec(read(file))
    if (globals !== null) yield `${file}: a tool of the contract uses ${globals[0]}; it has its runtime`
  }
}

/** What the command prints goes through ts/core/terminal.ts, which escapes the texts of others. */
function* waysToTheTerminal() {
  // The messages of the protocol, and the page that `--output -` asks for.
  const allowed = { 'ts/mcp-server/serve-stdio.ts': /stdout\.write/, 'ts/cli/report.ts': /printDocument/ }
  for (const file of files) {
    if (!/^ts\/(?:cli\.ts|(?:cli|mcp-server)\/.*\.ts)$/.test(file)) continue
    for (const [way] of read(file).matchAll(
      /\.write(?:Sync)?(?=\(|\.bind|\.call|\.apply)|\bstdout\.write|\bconsole\.\w+(?=\()|\bprintDocument\b|\bwriteSync\b/g,
    )) {
      if (allowed[file]?.test(way) === true || (file === 'ts/mcp-server/serve-stdio.ts' && way === '.write')) continue
      yield `${file}: prints by ${way}; ts/core/terminal.ts prints`
    }
  }
}

/** What is loaded after the first call could be a command's, where the package lies in a root: ts/core/late-code.ts loads it before. */
function* lateImports() {
  // The addon, the tools that a host names, a command before it does anything, texts of programs for the sandbox, and a suite for tests.
  const allowed =
    /^ts\/(?:cli\.ts|cli\/.*|core\/addon\.ts|documents\/programs\.ts|mcp-server\/sdk\.ts|standard-agents\/discovery\/load-tools\.ts|contract\/testing\/.*)$/
  for (const file of files) {
    if (!/^ts\/.*\.ts$/.test(file) || allowed.test(file)) continue
    const source = read(file).replaceAll(/^\s*\*.*|\/\/.*|typeof import\(|: import\(/gm, '')
    for (const { index } of source.matchAll(/\bimport\s*\(/g)) {
      if (!source.slice(Math.max(0, index - 150), index).includes('loadLate('))
        yield `${file}: imports late; loadLate of ts/core/late-code.ts does`
    }
  }
}

function* cratesThatNameNapi() {
  for (const file of files) {
    if (!/^crates\/[^/]+\/Cargo\.toml$/.test(file)) continue
    if (/^[^#\n]*\bnapi\b/m.test(read(file))) yield `${file}: a crate under crates/ never names napi`
  }
}

/** rustfmt groups imports by module on nightly only, so the style is compared here. */
function* splitImports() {
  const USE = /^use ([\w:]+)::(?:\w+|\{[^}]*\});$/
  for (const file of files) {
    if (!/^(?:src|crates|fuzz|bench)\/.*\.rs$/.test(file)) continue
    let before
    let conditional = false
    for (const line of read(file).split('\n')) {
      const module = USE.exec(line.trim())?.[1]
      if (module !== undefined && module === before && !conditional) yield `${file}: two imports from ${module}; write one`
      before = conditional ? undefined : module
      conditional = line.trim().startsWith('#[')
    }
  }
}

/** rustc does not see a file that no module declares, and no lint names it. */
function* undeclaredModules() {
  const declared = new Map()
  for (const file of files) {
    const room = /^(?:crates\/[^/]+\/)?src(?=\/)/.exec(file)?.[0]
    if (room === undefined || !file.endsWith('.rs')) continue
    const names = declared.get(room) ?? new Set(['lib', 'main'])
    for (const [, name] of read(file).matchAll(/\bmod (\w+);/g)) names.add(name)
    declared.set(room, names)
  }
  for (const file of files) {
    const room = /^(?:crates\/[^/]+\/)?src(?=\/)/.exec(file)?.[0]
    if (room === undefined || !file.endsWith('.rs') || /\/src\/bin\//.test(file)) continue
    if (!declared.get(room).has(basename(file, '.rs'))) yield `${file}: no module declares it`
  }
}

/**
 * Words for a reader are written in crates/core and crates/patch-voice. The crates below them report
 * what happened, so no string of theirs has a public code, or the name of an option of ts/.
 */
function* wordsOfTheDoors() {
  const codes = files
    .filter((file) => /^crates\/core\/src\/(?:contract_)?code\.rs$/.test(file))
    .flatMap((file) => [...read(file).matchAll(/ = "([A-Z][A-Z_]+)" =>|=> "([A-Z][A-Z_]+)"/g)])
    .map(([, code, contractCode]) => code ?? contractCode)
  const options = files
    .filter((file) => /^ts\/.*\.ts$/.test(file))
    .flatMap((file) => [...read(file).matchAll(/^\s+([a-z]+[A-Z]\w*): optional\(/gm)])
    .map(([, name]) => name)
  if (codes.length < 50 || options.length < 50) yield 'scripts/check-layout.mjs: finds no codes or options any more'
  const words = new Set([...codes, ...options])
  for (const file of files) {
    const crate = /^crates\/([^/]+)\/src\/.*\.rs$/.exec(file)?.[1]
    if (crate === undefined || crate === 'core' || crate === 'patch-voice' || crate === 'attacks') continue
    // Comments may name them. A quote inside a character literal begins no string.
    const source = read(file).replaceAll(/\/\/.*|'\\?"'/g, '')
    for (const [string] of source.matchAll(/r(#+)"[^]*?"\1|"(?:\\[^]|[^"\\])*"/g)) {
      const word = string.match(/\w+/g)?.find((one) => words.has(one))
      if (word !== undefined) yield `${file}: ${word} is a word for a reader; crates/core says it`
    }
  }
}

function* versions() {
  const { version } = JSON.parse(read('package.json'))
  const crate = /^\[workspace\.package\][^[]*?^version = "([^"]+)"/ms.exec(read('Cargo.toml'))?.[1]
  if (crate !== version) yield `Cargo.toml: version ${crate}, but package.json has ${version}`
}

/**
 * npm leaves binaries of other platforms out of the lockfile when it cannot see them in the
 * registry, and from then on `npm ci` refuses the lockfile, on every machine.
 */
function* lockfileGaps() {
  const { packages } = JSON.parse(read('package-lock.json'))
  const isLocked = (from, name) => {
    for (let base = from; ; base = base.slice(0, base.lastIndexOf('node_modules/')).replace(/\/$/, '')) {
      if (`${base === '' ? '' : `${base}/`}node_modules/${name}` in packages) return true
      if (base === '') return false
    }
  }
  for (const [path, { optionalDependencies = {} }] of Object.entries(packages)) {
    for (const name of Object.keys(optionalDependencies)) {
      if (!isLocked(path, name)) yield `package-lock.json: ${name}, optional for ${path}, has no entry`
    }
  }
}

report('layout', [
  ...vagueNames(),
  ...longFiles(),
  ...shortFiles(),
  ...importsAgainstTheOrder(files, read),
  ...circlesOfImports(files, read),
  ...unknownCircles(files, read, KNOWN_CIRCLES),
  ...addonImports(),
  ...toolsThatReachOut(),
  ...waysToTheTerminal(),
  ...lateImports(),
  ...cratesThatNameNapi(),
  ...wordsOfTheDoors(),
  ...splitImports(),
  ...unknownReaders(files, read),
  ...undeclaredModules(),
  ...versions(),
  ...lockfileGaps(),
  ...packagesWithoutHash(root),
])
