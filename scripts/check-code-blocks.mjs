// Every block of JavaScript and TypeScript in the documentation compiles in strict mode, as a user would have it.
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { listTree, report } from './checks/tree.mjs'
import { codeBlocks } from './code-blocks/extract.mjs'
import { fragments } from './code-blocks/fragments.mjs'
import { binDir, cacheDir, root } from './setup/paths.mjs'

const COMPILED = new Set(['js', 'mjs', 'cjs', 'jsx', 'ts', 'mts', 'cts', 'tsx'])
/** Inside of the package, so that a block finds it by its name, and what is installed beside it. */
const folder = join(cacheDir, 'code-blocks')

const isPage = (file) => /^(?:README\.md|llms\.txt|examples\/README\.md|docs\/.*\.md)$/.test(file)

/** A block as a module: with the lines around it where it is a fragment. */
function moduleOf(page, { code }, parts) {
  const part = parts.find(({ contains }) => code.includes(contains))
  if (part !== undefined) parts.splice(parts.indexOf(part), 1)
  const { before = '', after = '' } = part ?? {}
  // A block without an import would be a script, and share its names with all other blocks.
  return {
    text: `${before}${code}${after}\nexport {}\n`,
    linesBefore: before.split('\n').length - 1,
    declares: /^(?:declare|import type) /m.test(before),
  }
}

/** Writes the blocks of a page as files. Gives what can be said without compiling them. */
function writePage(page, places) {
  const problems = []
  const parts = [...(fragments[page] ?? [])]
  for (const [index, block] of codeBlocks(readFileSync(join(root, page), 'utf8')).entries()) {
    if (!COMPILED.has(block.language)) continue
    const { text, linesBefore, declares } = moduleOf(page, block, parts)
    const name = block.path ?? `block-${index + 1}.${declares ? 'ts' : block.language}`
    const file = join(folder, page.replace(/\.(?:md|txt)$/, ''), name)
    if (places.has(file)) problems.push(`${page}:${block.line}: a second block is called ${name}`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, name.endsWith('.cjs') ? text.replace(/export \{\}\n$/, '') : text)
    places.set(file, { page, line: block.line - linesBefore })
  }
  const where = 'scripts/code-blocks/fragments.mjs'
  for (const { contains } of parts) problems.push(`${where}: ${page} has no block with \`${contains}\``)
  return problems
}

const config = {
  compilerOptions: {
    target: 'esnext',
    lib: ['esnext', 'dom', 'dom.iterable', 'dom.asynciterable'],
    // As bundlers and Next.js resolve; `types resolve` of the package check does it as Node does.
    module: 'preserve',
    moduleResolution: 'bundler',
    jsx: 'preserve',
    types: ['node'],
    strict: true,
    allowJs: true,
    checkJs: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
  },
  include: ['.', '../../scripts/code-blocks/not-installed.d.ts'],
}

/** What the compiler says, with the places of the pages in place of the files'. */
function compile(places) {
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  return new Promise((resolve, reject) => {
    execFile(join(binDir, 'tsc'), ['-p', folder, '--pretty', 'false'], { cwd: root, maxBuffer: 2 ** 24 }, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== 'number') return reject(error)
      const lines = `${stdout}${stderr}`.split('\n').filter((line) => line !== '')
      if (error !== null && lines.length === 0) return reject(error)
      resolve(lines.map((line) => inPage(line, places)))
    })
  })
}

function inPage(message, places) {
  const [, file, line, rest] = /^(.+?)\((\d+),\d+\): (.*)$/.exec(message) ?? []
  const place = file === undefined ? undefined : places.get(join(root, file))
  return place === undefined ? message : `${place.page}:${place.line + Number(line) - 1}: ${rest} (${relative(folder, join(root, file))})`
}

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
const places = new Map()
const problems = listTree()
  .files.filter(isPage)
  .flatMap((page) => writePage(page, places))
report(`code blocks (${places.size})`, [...problems, ...(await compile(places))])
