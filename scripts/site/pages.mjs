// Stages the pages of the site: the documentation as it is in the repository, with its links turned into those of the site.
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { repositoryAddress } from '../package/repository.mjs'
import { root } from '../setup/paths.mjs'

/** Captured, so that a split at code blocks keeps them. */
const CODE_BLOCK = /(^```[\s\S]*?^```)/m
const LINK = /\]\((?![a-z]+:|#)([^)#\s]*)(#[^)\s]*)?\)/g

/** Pages outside of docs/, and where they are on the site. */
const OTHERS = {
  'site/home.md': 'index.md',
  'README.md': 'introduction.md',
  'CHANGELOG.md': 'CHANGELOG.md',
  'CONTRIBUTING.md': 'CONTRIBUTING.md',
  'THIRD-PARTY-NOTICES.md': 'THIRD-PARTY-NOTICES.md',
  'AGENTS.md': 'AGENTS.md',
  'examples/README.md': 'examples.md',
}

function pages() {
  const docs = readdirSync(join(root, 'docs'), { recursive: true }).filter((file) => file.endsWith('.md'))
  return new Map([...docs.map((file) => [`docs/${file}`, file === 'README.md' ? 'contents.md' : file]), ...Object.entries(OTHERS)])
}

/** A link of a page as one of the site: to another page, to a folder's list, or to a file of the repository. */
function linkFrom(source, from, known) {
  return (_, path, anchor = '') => {
    const target = path === '' ? source : posix.join(posix.dirname(source), path)
    const page = known.get(target)
    if (page !== undefined) return `](${posix.relative(posix.dirname(from), page) || posix.basename(page)}${anchor})`
    if (target === 'docs/decisions/' || target === 'docs/decisions') return `](/decisions/)`
    if (target.endsWith('.png') && target.startsWith('docs/'))
      return `](${posix.relative(posix.dirname(from), target.slice('docs/'.length))})`
    if (!existsSync(join(root, target))) throw new Error(`${source}: the link ${path} leads nowhere`)
    const kind = statSync(join(root, target)).isDirectory() ? 'tree' : 'blob'
    return `](${repositoryAddress}/${kind}/main/${target}${anchor})`
  }
}

const titleOf = (text) => /^# (.+)$/m.exec(text)?.[1] ?? 'toolwright'

const HOME = 'site/home.md'

/** The first page. Its code is that of the README: one that is tested, and stays the same. */
function homePage() {
  const blocks = readFileSync(join(root, 'README.md'), 'utf8').match(/^```[\s\S]*?^```$/gm) ?? []
  const filled = {
    'quick start': blocks.find((block) => block.startsWith('```js')),
    refusals: blocks.find((block) => block.startsWith('```\n')),
  }
  return readFileSync(join(root, HOME), 'utf8').replaceAll(/\{\{([a-z ]+)\}\}/g, (_, name) => {
    if (filled[name] === undefined) throw new Error(`README.md has no block for the ${name} of ${HOME}`)
    return filled[name]
  })
}

/** Writes all pages into `folder`. Returns their titles by their path on the site. */
export function stagePages(folder) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  cpSync(join(root, 'site', '.vitepress'), join(folder, '.vitepress'), { recursive: true })
  cpSync(join(root, 'docs', 'images'), join(folder, 'images'), { recursive: true })
  const known = pages()
  const titles = new Map()
  for (const [source, page] of known) {
    const text = source === HOME ? homePage() : readFileSync(join(root, source), 'utf8')
    const parts = text
      .split(CODE_BLOCK)
      .map((part) => (part.startsWith('```') ? part : part.replaceAll(LINK, linkFrom(source, page, known))))
    mkdirSync(dirname(join(folder, page)), { recursive: true })
    writeFileSync(join(folder, page), parts.join(''))
    titles.set(page, titleOf(text).replaceAll('`', ''))
  }
  const decisions = [...titles].filter(([page]) => page.startsWith('decisions/')).toSorted(([a], [b]) => b.localeCompare(a))
  const list = decisions.map(
    ([page, title]) =>
      `- ${page.slice('decisions/'.length, 'decisions/2026-01-01'.length)}: [${title}](${page.slice('decisions/'.length)})`,
  )
  writeFileSync(
    join(folder, 'decisions', 'index.md'),
    `# Decisions\n\nChoices whose reasons are worth keeping, the latest first.\n\n${list.join('\n')}\n`,
  )
  titles.set('decisions/index.md', 'Decisions')
  return titles
}
