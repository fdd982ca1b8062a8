// Documentation names files and commands; this finds the names that lead nowhere.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { listTree, report } from './checks/tree.mjs'
import { root } from './setup/paths.mjs'

const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** A path in backticks is held to exist when it starts in one of these. */
const REPOSITORY_PATH =
  /^(?:src|crates|ts|__test__|docs|scripts|examples|bench|fuzz|npm|\.ci|\.github)\/[\w./-]+$/
const LINK = /\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g
const INLINE_CODE = /`([^`\n]+)`/g
const NPM_RUN = /\bnpm run(?: --?\w+)* ([\w:-]+)/g

const isExternal = target => /^[a-z][a-z\d+.-]*:/i.test(target) || target.startsWith('#')

/** Links and paths inside a code block are examples, not references. */
const withoutBlocks = text => text.replaceAll(/^(```|~~~)[\s\S]*?^\1/gm, '')

function* problemsIn(file) {
  const text = readFileSync(join(root, file), 'utf8')
  const prose = withoutBlocks(text)
  for (const [, target] of prose.matchAll(LINK)) {
    if (isExternal(target)) continue
    const [path] = decodeURI(target).split('#')
    const absolute = path.startsWith('/') ? join(root, path) : join(root, dirname(file), path)
    if (!existsSync(absolute)) yield `${file}: the link ${target} leads nowhere`
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

const pages = listTree().files.filter(file => file.endsWith('.md') || file === 'llms.txt')
report('docs', pages.flatMap(file => [...problemsIn(file)]))
