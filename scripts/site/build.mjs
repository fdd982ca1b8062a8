// Builds the site from the documentation, the sources and the package. See HELP.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { capture } from '../package/npm.mjs'
import { repositoryAddress } from '../package/repository.mjs'
import { installedTools } from '../package/tools.mjs'
import { binDir, cacheDir, root } from '../setup/paths.mjs'
import { examples } from './examples.mjs'
import { codesOfPackage, commandsOfPackage, contractCodes, exportsOfPackage, optionsOfPackage } from './lists.mjs'
import { stagePages } from './pages.mjs'

const HELP = `Usage: npm run site -- [options]

Builds the site into .cache/site/dist: the pages of docs/, the reference of each entry point (typedoc), lists of exports, codes and commands
that are made from the package, and decisions. A link that leads nowhere ends the build.

  --rust   also the reference of the crates (cargo doc), which takes some minutes the first time
  --help   show this text
`

const GROUPS = [
  [
    'Start',
    [
      'index.md',
      'introduction.md',
      'getting-started.md',
      'contents.md',
      'examples.md',
      'troubleshooting.md',
      'comparison.md',
      'migration-from-smithers.md',
    ],
  ],
  ['Guides', (page) => page.startsWith('guides/') || page === 'bundlers.md'],
  [
    'Tools and sessions',
    ['tools.md', 'contract.md', 'contract-web.md', 'providers.md', 'sandbox.md', 'standard-agents.md', 'mcp-server.md', 'cli.md'],
  ],
  ['Records', ['journal.md', 'journal-postgres.md', 'tracing.md', 'errors.md']],
  ['Reference', ['exports.md', 'lists.md', 'options.md', 'option-examples.md', 'reference/index.md']],
  ['Security', ['security.md', 'supply-chain.md', 'platforms.md', 'requirements.md']],
  [
    'Inside',
    [
      'architecture.md',
      'development.md',
      'benchmarks.md',
      'CONTRIBUTING.md',
      'decisions/index.md',
      'CHANGELOG.md',
      'THIRD-PARTY-NOTICES.md',
      'AGENTS.md',
    ],
  ],
]

const home = join(cacheDir, 'site')
const source = join(home, 'src')
const say = (text) => process.stdout.write(`site  ${text}\n`)

async function timed(name, work) {
  const start = performance.now()
  await work()
  say(`${name} … ${((performance.now() - start) / 1000).toFixed(1)} s`)
}

/** The page of all exports, codes and commands, with where each is described. */
async function writeLists(titles) {
  const exports = await exportsOfPackage()
  const { tools } = await codesOfPackage()
  const lines = [
    '# Exports, codes and commands',
    '',
    'Made from the package when the site is built. Types are in the [reference](reference/index.md).',
    '',
    '## Exports',
    '',
  ]
  for (const [name, list] of exports) lines.push(`### ${name}`, '', list.map((one) => `\`${one}\``).join(', '), '')
  lines.push('## Codes of errors', '', tools.map((code) => `[${code}](errors.md#${code.toLowerCase()})`).join(', '), '')
  const meanings = contractCodes().map(({ code, meaning }) => `| \`${code}\` | ${meaning} |`)
  lines.push(
    '## Codes of the contract',
    '',
    'An envelope of [a call](contract.md#a-call-in-order) has one of these in `metadata.code`.',
    '',
  )
  lines.push('| code | meaning |', '| --- | --- |', ...meanings, '')
  lines.push('## Commands', '')
  for (const [name, help] of commandsOfPackage()) lines.push(`### toolwright ${name}`, '', '```text', help.trimEnd(), '```', '')
  writeFileSync(join(source, 'lists.md'), `${lines.join('\n')}\n`)
  titles.set('lists.md', 'Exports, codes and commands')
}

/** Tables of all options, from their declarations. */
function writeOptions(titles) {
  const lines = ['# Options', '', 'Made from the declarations when the site is built, with an example for each option.', '']
  const exampleOf = examples()
  const without = []
  for (const [name, options] of optionsOfPackage()) {
    lines.push(`## ${name}`, '', '| option | default | | example |', '| --- | --- | --- | --- |')
    for (const { option, isOptional, meaning, byDefault } of options) {
      const example = exampleOf(name, option)
      if (example === undefined) without.push(`${name}.${option}`)
      lines.push(
        `| \`${option}\` | ${byDefault || (isOptional ? 'none' : 'required')} | ${meaning} | [${example?.title}](${example?.link}) |`,
      )
    }
    lines.push('')
  }
  if (without.length > 0) throw new Error(`no page has an example of ${without.join(', ')}; docs/option-examples.md is the place`)
  writeFileSync(join(source, 'options.md'), `${lines.join('\n')}\n`)
  titles.set('options.md', 'Options')
}

/** The reference of the entry points, from their documentation comments. */
function writeReference(tools, titles) {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const entries = Object.values(exports).flatMap((entry) =>
    typeof entry === 'string' ? [] : entry.default.replace('dist', 'ts').replace('.js', '.ts'),
  )
  const options = {
    plugin: [join(tools, 'node_modules', 'typedoc-plugin-markdown', 'dist', 'index.js')],
    tsconfig: join(root, 'tsconfig.json'),
    entryPoints: entries.map((entry) => join(root, entry)),
    out: join(source, 'reference'),
    name: 'Reference',
    readme: 'none',
    entryFileName: 'index.md',
    outputFileStrategy: 'modules',
    excludePrivate: true,
    excludeInternal: true,
    disableSources: true,
    skipErrorChecking: true,
    hidePageHeader: true,
    logLevel: 'Error',
    validation: false,
  }
  const file = join(home, 'typedoc.json')
  writeFileSync(file, JSON.stringify(options))
  capture(join(binDir, 'node'), [join(tools, 'node_modules', 'typedoc', 'bin', 'typedoc'), '--options', file], { cwd: root })
  titles.set('reference/index.md', 'Entry points')
}

function writeGroups(titles) {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const item = (page) => ({ text: titles.get(page), link: `/${page.replace(/(?:index)?\.md$/, '')}` })
  const groups = GROUPS.map(([text, chosen]) => {
    const pages = typeof chosen === 'function' ? [...titles.keys()].filter(chosen) : chosen
    return { text, collapsed: false, items: pages.map(item) }
  })
  const listed = new Set(groups.flatMap(({ items }) => items.map(({ link }) => link)))
  const missing = [...titles.keys()].filter((page) => !page.startsWith('decisions/2') && !listed.has(item(page).link))
  if (missing.length > 0) throw new Error(`these pages are in no group of scripts/site/build.mjs: ${missing.join(', ')}`)
  writeFileSync(join(source, '.vitepress', 'pages.json'), JSON.stringify({ groups, repository: repositoryAddress, version }))
}

/** The reference of the crates, as rustdoc writes it, below /rust/. */
function writeRust() {
  const args = ['doc', '--no-deps', '--workspace', '--exclude', 'toolwright', '--target-dir', join(home, 'rust'), '--quiet']
  // Without a limit: the first time it compiles what the crates depend on.
  const { status, error } = spawnSync('cargo', args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
  if (error || status !== 0) throw error ?? new Error(`cargo doc ended with ${status}`)
  cpSync(join(home, 'rust', 'doc'), join(home, 'dist', 'rust'), { recursive: true })
}

async function main({ rust }) {
  mkdirSync(home, { recursive: true })
  const tools = installedTools('site', root)
  let titles
  await timed('pages', () => void (titles = stagePages(source)))
  await timed('reference (typedoc)', () => writeReference(tools, titles))
  await timed('lists', () => writeLists(titles))
  writeOptions(titles)
  writeGroups(titles)
  // Where the modules of the theme are found.
  cpSync(join(tools, 'package.json'), join(home, 'package.json'))
  rmSync(join(home, 'node_modules'), { force: true, recursive: true })
  symlinkSync(join(tools, 'node_modules'), join(home, 'node_modules'))
  rmSync(join(home, 'dist'), { recursive: true, force: true })
  await timed('site (vitepress)', () => {
    const program = join(tools, 'node_modules', 'vitepress', 'bin', 'vitepress.js')
    capture(join(binDir, 'node'), [program, 'build', source, '--outDir', join(home, 'dist')], { cwd: home })
  })
  if (rust) await timed('crates (cargo doc)', writeRust)
  if (!existsSync(join(home, 'dist', 'index.html'))) throw new Error('the site has no first page')
  say(`${join(home, 'dist', 'index.html')}`)
}

const { values } = parseArgs({ options: { rust: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } })
if (values.help) process.stdout.write(HELP)
else await main(values)
