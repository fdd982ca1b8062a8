// Documentation names files and commands; this finds the names that lead nowhere.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { slugOf } from './checks/slug.mjs'
import { listTree, report } from './checks/tree.mjs'
import { root } from './setup/paths.mjs'

const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** A path in backticks must exist when it starts in one of these. */
const REPOSITORY_PATH = /^(?:src|crates|ts|__test__|docs|scripts|examples|bench|fuzz|npm|\.ci|\.github)\/[\w./-]+$/
const LINK = /\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g
const INLINE_CODE = /`([^`\n]+)`/g
const NPM_RUN = /\bnpm run(?: --?\w+)* ([\w:-]+)/g

const isExternal = (target) => /^[a-z][a-z\d+.-]*:/i.test(target)

/** Links and paths inside a code block are examples, not references. */
const withoutBlocks = (text) => text.replaceAll(/^(```|~~~)[\s\S]*?^\1/gm, '')

/** The places of a page that a link can name, as GitHub calls them. */
function anchorsOf(path) {
  const headings = withoutBlocks(readFileSync(path, 'utf8')).matchAll(/^#{1,6} (.+)$/gm)
  return new Set([...headings].map(([, title]) => slugOf(title)))
}

function* problemsIn(file) {
  const text = readFileSync(join(root, file), 'utf8')
  const prose = withoutBlocks(text)
  for (const [, target] of prose.matchAll(LINK)) {
    if (isExternal(target)) continue
    const [path, anchor] = decodeURI(target).split('#')
    const base = path.startsWith('/') ? root : join(root, dirname(file))
    const absolute = path === '' ? join(root, file) : join(base, path)
    if (!existsSync(absolute)) yield `${file}: the link ${target} leads nowhere`
    else if (anchor !== undefined && absolute.endsWith('.md') && !anchorsOf(absolute).has(anchor)) {
      yield `${file}: the page of the link ${target} has no such heading`
    }
  }
  for (const [, code] of prose.matchAll(INLINE_CODE)) {
    const path = code.replace(/:\d+$/, '')
    if (REPOSITORY_PATH.test(path) && !existsSync(join(root, path))) {
      yield `${file}: there is no \`${code}\``
    }
  }
  for (const [, name] of text.matchAll(NPM_RUN)) {
    if (!Object.hasOwn(scripts, name)) yield `${file}: package.json has no script ${name} (npm run ${name})`
  }
}

/** How many files a call may pass on its way to the kernel, in the order of docs/architecture.md. */
const WALKS = [
  { call: 'a `read` of the tools', most: 9 },
  { call: 'a `bash` of the tools', most: 14 },
  { call: 'a `read` of a session', most: 12 },
]
/** What begins a walk. Its files are the items up to the next walk or heading that are nothing but a path. */
const WALK = /^A `(?:read|bash)`[^\n]* passes (?:at most )?(\d+) files/m
const WALKED_FILE = /^\d+\. `([\w./-]+)`$/gm

function* walkProblems() {
  const file = 'docs/architecture.md'
  const walks = withoutBlocks(readFileSync(join(root, file), 'utf8'))
    .split(/^(?=A `(?:read|bash)`|## )/m)
    .filter((part) => WALK.test(part))
  if (walks.length !== WALKS.length) yield `${file}: ${walks.length} walks instead of ${WALKS.length}`
  for (const [index, walk] of walks.slice(0, WALKS.length).entries()) {
    const { call, most } = WALKS[index]
    const written = Number(WALK.exec(walk)[1])
    for (const [, other] of walk.matchAll(/ passes (?:at most )?(\d+) files/g))
      if (Number(other) > most) yield `${file}: ${call} passes ${other} files, and may pass ${most}`
    const files = new Set([...walk.matchAll(WALKED_FILE)].map(([, path]) => path))
    if (files.size !== written) yield `${file}: the walk of ${call} says ${written} files and lists ${files.size}`
    for (const path of files) if (!existsSync(join(root, path))) yield `${file}: there is no \`${path}\``
  }
}

const pages = listTree().files.filter((file) => file.endsWith('.md') || file === 'llms.txt')
report('docs', [...pages.flatMap((file) => [...problemsIn(file)]), ...walkProblems()])
