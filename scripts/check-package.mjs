// Installs what would be published into empty projects and uses it from there.
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { codeBlocks } from './code-blocks/extract.mjs'
import { NEEDED, PUBLISHED, platformFiles } from './package/contents.mjs'
import { capture, npm } from './package/npm.mjs'
import { runtimes } from './package/runtimes.mjs'
import { deadLinks } from './package/published-links.mjs'
import { packPlatform, packRoot } from './package/tarballs.mjs'
import { binDir, root } from './setup/paths.mjs'
import { formatCounts, noCounts } from './test/counts.mjs'

const HELP = `Usage: npm run test:package

Packs the root package and this machine's platform package, installs them beside the AI SDK in
empty projects, and runs an agent there under Node 22, 24, 26 and Bun. Node 22 and 26 are
installed from npm into .cache/runtimes the first time.

  --keep   leave the projects on disk and print where they are
  --help   show this text
`

const fixture = (name) => join(root, 'scripts', 'fixtures', name)
const installedVersion = (name) => JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')).version

const counts = noCounts()

/** One check: passes unless it throws. Returns whether it passed. */
function check(name, work) {
  const start = performance.now()
  try {
    work()
    counts.passed += 1
    console.log(`package  ${name} … ok ${((performance.now() - start) / 1000).toFixed(1)} s`)
    return true
  } catch (error) {
    counts.failed += 1
    console.log(`package  ${name} … FAILED\n    ${error.message.replaceAll('\n', '\n    ')}`)
    return false
  }
}

function expect(condition, message) {
  if (!condition) throw new Error(message)
}

function createProject(work, name, dependencies, installOptions = [], type = 'module') {
  const folder = join(work, name)
  mkdirSync(folder)
  const manifest = { name, private: true, type, dependencies }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  npm(['install', '--no-package-lock', '--ignore-scripts', ...installOptions], folder)
  for (const file of readdirSync(fixture(''))) copyFileSync(fixture(file), join(folder, file))
  return folder
}

function checkTypes(project, moduleResolution) {
  const config = join(project, `tsconfig.${moduleResolution}.json`)
  const compilerOptions = {
    module: moduleResolution === 'nodenext' ? 'nodenext' : 'esnext',
    moduleResolution,
    target: 'es2023',
    lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'],
    strict: true,
    noEmit: true,
    typeRoots: [join(root, 'node_modules', '@types')],
    types: ['node'],
    skipLibCheck: false,
  }
  writeFileSync(config, JSON.stringify({ compilerOptions, files: ['consumer-types.mts'] }))
  try {
    capture('tsc', ['-p', config], { cwd: project })
  } catch (error) {
    // The AI SDK's declarations do not pass without skipLibCheck; only ours are judged.
    const ours = error.message.split('\n').filter((line) => /^(?:consumer-|node_modules\/toolwright)/.test(line))
    expect(ours.length === 0 && /error TS/.test(error.message), ours.join('\n') || error.message)
  }
}

function checkMissingPlatform(work, tarball) {
  const project = createProject(work, 'no-addon', { toolwright: `file:${tarball}` }, ['--omit=optional', '--legacy-peer-deps'])
  // zod is a peer that every user has; without it the import would fail for another reason.
  npm(['install', '--no-save', '--no-package-lock', '--omit=optional', '--legacy-peer-deps', `zod@${installedVersion('zod')}`], project)
  const output = capture(join(binDir, 'node'), ['consumer-missing.mjs'], { cwd: project })
  const { code, message = '' } = JSON.parse(output)
  const { platform, arch } = process
  expect(code === 'NATIVE_UNAVAILABLE', `code is ${code}, not NATIVE_UNAVAILABLE: ${message}`)
  const named = message.includes(platform) && message.includes(arch)
  expect(named, `the message does not name ${platform} and ${arch}: ${message}`)
  expect(!message.includes('\n') && message.length <= 400, `the message is not one sentence: ${message}`)
}

/** A package as `npm init` makes it: CommonJS, with the tools that people use there. */
function checkCommonJs(work, packages) {
  const versions = { ai: installedVersion('ai'), zod: installedVersion('zod'), tsx: '^4.23.0', esbuild: '^0.28.0' }
  let project
  const installed = check('CommonJS: installs', () => {
    project = createProject(work, 'commonjs', { ...versions, ...packages }, [], 'commonjs')
  })
  if (!installed) return
  for (const { name, binary } of runtimes) {
    check(`CommonJS: every entry point is required on ${name}`, () => capture(binary(), ['consumer-require.cjs'], { cwd: project }))
  }
  const node = join(binDir, 'node')
  const program = (name) => join(project, 'node_modules', '.bin', name)
  check('CommonJS: a program runs by tsx', () => capture(node, [program('tsx'), 'consumer-script.ts'], { cwd: project }))
  checkQuickStart(project, [
    ['an ES module', 'agent.mjs', node],
    ['CommonJS', 'agent.cjs', node],
    ['TypeScript, by tsx', 'agent.ts', node, program('tsx')],
  ])
  // Without the optional peers, which a bundler must not ask for.
  const options = ['--bundle', '--platform=node', '--format=esm', '--outfile=out/program.mjs', '--log-level=error']
  check('a bundle without external packages runs beside its addon', () => {
    capture(program('esbuild'), ['consumer-script.ts', ...options], { cwd: project })
    capture(node, ['out/program.mjs'], { cwd: project })
  })
  const whole = ['--bundle', '--platform=node', '--format=cjs', '--outfile=out/whole.cjs', '--log-level=error']
  check('a CommonJS bundle without external packages runs beside its addon', () => {
    capture(program('esbuild'), ['consumer-script.ts', ...whole], { cwd: project })
    capture(node, ['out/whole.cjs'], { cwd: project })
  })
  check('a CommonJS bundle that requires the package is made', () => {
    const cjs = ['--bundle', '--platform=node', '--format=cjs', '--external:toolwright', '--outfile=out/program.cjs', '--log-level=error']
    capture(program('esbuild'), ['consumer-script.ts', ...cjs], { cwd: project })
  })
  for (const { name, binary } of runtimes) {
    check(`the CommonJS bundle runs on ${name}`, () => capture(binary(), ['out/program.cjs'], { cwd: project }))
  }
}

/** The first program of the README, as it is printed; as CommonJS, with `require` in place of `import`. */
function checkQuickStart(project, ways) {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const { code } = codeBlocks(readme).find(({ path }) => path === 'agent.mjs')
  for (const [title, file, ...command] of ways) {
    check(`the README's first program runs as ${title}`, () => {
      const text = file.endsWith('.cjs') ? code.replaceAll(/^import (\{.*\}) from ('.*')$/gm, 'const $1 = require($2)') : code
      writeFileSync(join(project, file), text)
      const [binary, ...args] = command
      const printed = capture(binary, [...args, '--import', './consumer-model.mjs', file], { cwd: project })
      expect(printed.trim() === 'done', `it prints ${printed}`)
      expect(readFileSync(join(project, 'fixed.txt'), 'utf8') === 'yes', 'it changes nothing')
      rmSync(join(project, 'fixed.txt'))
    })
  }
}

async function main(work) {
  let platform
  let published
  check('platform package holds the addon', () => {
    platform = packPlatform(work)
    const files = platform.files.toSorted().join(' ')
    expect(files === platformFiles(platform.file).join(' '), `it holds ${files}`)
  })
  if (platform === undefined) return
  const packed = await packRoot(work, platform.name)
  check('root package holds what is published and nothing else', () => {
    published = packed
    const strangers = published.files.filter((file) => !PUBLISHED.test(file))
    expect(strangers.length === 0, `it also holds ${strangers.join(' ')}`)
    for (const file of NEEDED) {
      expect(published.files.includes(file), `${file} is missing`)
    }
  })
  if (published === undefined) return

  check('links in published pages lead to published files', () => {
    const dead = deadLinks(published.folder, published.files)
    expect(dead.length === 0, dead.join('\n'))
  })

  check('publint finds nothing', () => capture(join(binDir, 'publint'), [published.tarball, '--strict'], { cwd: root }))
  // What requires the package does so on Node 22 and later, which give it the ES module.
  check('types resolve wherever ES modules do', () =>
    capture(join(binDir, 'attw'), [published.tarball, '--profile', 'esm-only'], { cwd: root }),
  )

  const packages = { toolwright: `file:${published.tarball}`, [platform.name]: `file:${platform.tarball}` }
  const projects = [
    { ai: 'ai', zod: 'zod', mock: 'MockLanguageModelV4', on: runtimes },
    { ai: 'ai-6', zod: 'zod', mock: 'MockLanguageModelV3', on: [runtimes[1]] },
    { ai: 'ai-6', zod: 'zod-3', mock: 'MockLanguageModelV3', on: [runtimes[1]] },
  ]
  for (const { ai, zod, mock, on } of projects) {
    const versions = { ai: installedVersion(ai), zod: installedVersion(zod) }
    const title = `ai ${versions.ai}, zod ${versions.zod}`
    let project
    const installed = check(`${title}: installs`, () => {
      project = createProject(work, `${ai}-${zod}`, { ...versions, ...packages })
    })
    if (!installed) continue
    for (const { name, binary } of on) {
      check(`${title}: an agent works on ${name}`, () => {
        capture(binary(), ['consumer-agent.mjs', mock], { cwd: project })
      })
    }
    for (const resolution of ['nodenext', 'bundler']) {
      check(`${title}: types resolve (${resolution})`, () => checkTypes(project, resolution))
    }
  }
  checkCommonJs(work, packages)
  check('a missing platform package is explained in one sentence', () => checkMissingPlatform(work, published.tarball))
}

if (process.argv.includes('--help')) process.stdout.write(HELP)
else {
  const work = mkdtempSync(join(tmpdir(), 'toolwright-package-'))
  try {
    await main(work)
  } finally {
    if (process.argv.includes('--keep')) console.log(`package  kept ${work}`)
    else rmSync(work, { recursive: true, force: true })
  }
  console.log(formatCounts(counts))
  process.exitCode = counts.failed === 0 ? 0 : 1
}
