// What docs/bundlers.md says of each bundler and packager: it builds, and what was built runs in an empty folder.
import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { ask, makePackedProject, type PackedProject, putInto, RegistryUnreachable, run } from './bundlers/packed-project.ts'

vi.setConfig({ testTimeout: 300_000 })

const DONE = { bash: 'hello\n', rows: 1, page: '# Title\n\nText', grep: 'output', checked: ['taken', 'invalid_arguments'] }
const ADVICE = /NATIVE_UNAVAILABLE .*toolwright was bundled, and its addon was not\. Keep `toolwright` external/u

let project: PackedProject
let reason: string | undefined

beforeAll(async () => {
  try {
    project = await makePackedProject()
  } catch (error) {
    if (!(error instanceof RegistryUnreachable)) throw error
    reason = error.message
    console.log(`skipped: bundlers: ${reason}`)
  }
}, 480_000)
afterAll(() => project?.remove(), 120_000)
beforeEach(({ skip }) => {
  if (reason !== undefined) skip(reason)
})

/** What a program prints at the end of its work. */
async function finished(folder: string, program: string, args: string[] = [], env: Record<string, string> = {}): Promise<unknown> {
  const { code, output } = await run(folder, program, args, env)
  if (code !== 0) throw new Error(output)
  return JSON.parse(output.slice(output.indexOf('{"bash"')))
}

/** An empty folder with what was built. */
function moved(built: string, { isModule = true, withAddon = true } = {}): string {
  const folder = project.empty()
  cpSync(built, folder, { recursive: true })
  if (!existsSync(join(folder, 'package.json'))) writeFileSync(join(folder, 'package.json'), isModule ? '{"type":"module"}' : '{}')
  if (withAddon) putInto(folder, project.addon)
  return folder
}

const esbuild = (format: 'esm' | 'cjs', outfile: string) =>
  project.build('esbuild/bin/esbuild', ['program.mjs', '--bundle', '--platform=node', `--format=${format}`, `--outfile=${outfile}`])

describe('a bundle that takes the package in', () => {
  test.each([
    ['esbuild, ES modules', 'esm', true],
    ['esbuild, CommonJS', 'cjs', false],
  ] as const)('%s', async (_, format, isModule) => {
    await esbuild(format, `out/${format}/program.js`)
    const built = join(project.folder, 'out', format)
    writeFileSync(join(built, 'package.json'), isModule ? '{"type":"module"}' : '{}')
    expect(await finished(built, 'node', ['program.js'])).toEqual(DONE) // from node_modules above it
    const beside = moved(built, { isModule })
    expect(await finished(beside, 'node', ['program.js'])).toEqual(DONE)
    expect(await finished(beside, 'bun', ['program.js'])).toEqual(DONE)
    const alone = moved(built, { isModule, withAddon: false })
    expect(await finished(alone, 'node', ['program.js'], { NAPI_RS_NATIVE_LIBRARY_PATH: project.addon })).toEqual(DONE)
    expect(await run(alone, 'node', ['program.js'])).toMatchObject({ code: 1, output: expect.stringMatching(ADVICE) as string })
    const wrong = await run(alone, 'node', ['program.js'], { NAPI_RS_NATIVE_LIBRARY_PATH: '/nowhere/addon.node' })
    expect(wrong.output).toMatch(/NATIVE_UNAVAILABLE .*NAPI_RS_NATIVE_LIBRARY_PATH names \/nowhere\/addon\.node, which does not exist/u)
  })

  test.each([
    ['ES modules', 'esm', true],
    ['CommonJS', 'cjs', false],
  ] as const)('Rolldown, %s', async (_, format, isModule) => {
    const out = `out/rolldown-${format}`
    await project.build('rolldown/bin/cli.mjs', ['program.mjs', '--platform', 'node', '--format', format, '-d', out])
    expect(await finished(moved(join(project.folder, out), { isModule }), 'node', ['program.js'])).toEqual(DONE)
  })

  test('Vite SSR, with every package and with none', async () => {
    const config = (noExternal: string) => `export default { build: { ssr: 'program.mjs', outDir: 'out' }, ssr: { ${noExternal} } }`
    const vite = project.sibling('vite', { 'package.json': '{"type":"module"}', 'vite.config.mjs': config('noExternal: true') })
    await project.build('vite/bin/vite.js', ['build'], { folder: vite })
    expect(await finished(moved(join(vite, 'out')), 'node', ['program.js'])).toEqual(DONE)
    const alone = await run(moved(join(vite, 'out'), { withAddon: false }), 'node', ['program.js'])
    expect(alone).toMatchObject({ code: 1, output: expect.stringMatching(ADVICE) as string })
    writeFileSync(join(vite, 'vite.config.mjs'), config(''))
    await project.build('vite/bin/vite.js', ['build'], { folder: vite })
    expect(await finished(vite, 'node', ['out/program.js'])).toEqual(DONE)
  })

  test('bun build, for Node and for Bun', async () => {
    const forNode = await run(project.folder, 'bun', ['build', 'program.mjs', '--target=node', '--outdir=out/bun-node'])
    expect(forNode).toMatchObject({ code: 0 })
    expect(await finished(moved(join(project.folder, 'out/bun-node')), 'node', ['program.js'])).toEqual(DONE)
    const forBun = await run(project.folder, 'bun', ['build', 'program.mjs', '--target=bun', '--outdir=out/bun'])
    expect(forBun).toMatchObject({ code: 0 })
    // The addon is among what was built.
    expect(await finished(moved(join(project.folder, 'out/bun'), { withAddon: false }), 'bun', ['program.js'])).toEqual(DONE)
  })
})

describe('one executable file', () => {
  test('bun build --compile takes the addon in without an option', async () => {
    expect(await run(project.folder, 'bun', ['build', '--compile', 'program.mjs', '--outfile', 'out/agent'])).toMatchObject({ code: 0 })
    const folder = project.empty()
    expect(await finished(folder, putInto(folder, join(project.folder, 'out/agent')))).toEqual(DONE)
  })

  test('a single executable of Node holds the addon as an asset, or has it beside itself', async () => {
    const { addonPath } = (await import(createRequire(join(project.folder, 'x')).resolve('toolwright/addon'))) as {
      addonPath(): string
    }
    expect(addonPath()).toBe(project.addon)
    const main = [
      "const { mkdtempSync, writeFileSync } = require('node:fs')",
      "const { getAssetKeys, getRawAsset } = require('node:sea')",
      "if (getAssetKeys().includes('toolwright.node')) {",
      "  const addon = mkdtempSync(require('node:os').tmpdir() + '/agent-') + '/toolwright.node'",
      "  writeFileSync(addon, Buffer.from(getRawAsset('toolwright.node')))",
      '  process.env.NAPI_RS_NATIVE_LIBRARY_PATH = addon',
      '}',
      "require('./program.mjs')",
    ]
    const sea = project.sibling('sea', { 'sea.cjs': main.join('\n'), 'package.json': '{}' })
    const bundling = ['sea.cjs', '--bundle', '--platform=node', '--format=cjs', '--outfile=agent.cjs']
    await project.build('esbuild/bin/esbuild', bundling, { folder: sea })
    const node = (await run(sea, 'node', ['-p', 'process.execPath'])).output.trim()
    const make = async (assets: Record<string, string>): Promise<string> => {
      const config = { main: 'agent.cjs', output: 'agent.blob', disableExperimentalSEAWarning: true, assets }
      writeFileSync(join(sea, 'sea.json'), JSON.stringify(config))
      expect(await run(sea, 'node', ['--experimental-sea-config', 'sea.json'])).toMatchObject({ code: 0 })
      cpSync(node, join(sea, 'agent'))
      const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'
      await project.build('postject/dist/cli.js', ['agent', 'NODE_SEA_BLOB', 'agent.blob', '--sentinel-fuse', fuse], { folder: sea })
      return putInto(project.empty(), join(sea, 'agent'))
    }
    const whole = await make({ 'toolwright.node': project.addon })
    expect(await finished(join(whole, '..'), whole)).toEqual(DONE)
    const beside = await make({})
    expect(await run(join(beside, '..'), beside, [])).toMatchObject({ code: 1, output: expect.stringMatching(ADVICE) as string })
    putInto(join(beside, '..'), project.addon)
    expect(await finished(join(beside, '..'), beside)).toEqual(DONE)
  })
})

describe('the package stays out of the bundle', () => {
  test('webpack: externals', async () => {
    const config = `export default {
      mode: 'production', target: 'node', entry: './program.mjs',
      externalsType: 'module', externals: [/^toolwright(?:\\/|$)/],
      experiments: { outputModule: true },
      output: { module: true, path: import.meta.dirname + '/out', filename: 'program.mjs' },
    }`
    const webpack = project.sibling('webpack', { 'webpack.config.mjs': config })
    await project.build('webpack-cli/bin/cli.js', [], { folder: webpack })
    expect(await finished(webpack, 'node', ['out/program.mjs'])).toEqual(DONE)
  })

  test.each([
    ['Turbopack', []],
    ['webpack', ['--webpack']],
  ])('Next.js with %s: serverExternalPackages, in a standalone folder', async (name, options) => {
    const next = project.sibling(`next-${name}`, {
      'package.json': '{"private":true,"type":"module"}',
      'next.config.mjs': `export default {
        output: 'standalone', serverExternalPackages: ['toolwright'],
        outputFileTracingRoot: import.meta.dirname + '/..', turbopack: { root: import.meta.dirname + '/..' },
      }`,
      'app/layout.js': 'export default ({ children }) => <html><body>{children}</body></html>',
      'app/check/route.js': [
        "import { main } from '../../work.mjs'",
        "export const dynamic = 'force-dynamic'",
        'export const GET = async () => Response.json(await main())',
      ].join('\n'),
    })
    await project.build('next/dist/bin/next', ['build', ...options], { folder: next })
    const folder = moved(join(next, '.next/standalone'), { withAddon: false })
    expect(await ask(join(folder, `next-${name}`), 'server.js')).toEqual(DONE)
  })

  test('Nitro: traceDeps', async () => {
    const nitro = project.sibling('nitro', {
      'package.json': '{"private":true,"type":"module"}',
      'nitro.config.mjs': "export default { serverDir: './', traceDeps: ['toolwright*'] }",
      'routes/check.mjs': [
        "import { defineHandler } from 'nitro/h3'",
        "import { main } from '../work.mjs'",
        'export default defineHandler(() => main())',
      ].join('\n'),
    })
    await project.build('nitro/dist/cli/index.mjs', ['build'], { folder: nitro })
    expect(await ask(moved(join(nitro, '.output'), { withAddon: false }), 'server/index.mjs')).toEqual(DONE)
  })
})

describe('strict layouts of packages', () => {
  const manifest = () => ({
    private: true,
    type: 'module',
    dependencies: { ai: '^7.0.173', zod: '^4.6.7', toolwright: `file:${project.tarballs.root}` },
  })
  /** A folder without the packages of the project. */
  const folderWith = (files: Record<string, unknown>): string => {
    const folder = project.empty()
    mkdirSync(folder, { recursive: true })
    for (const [name, content] of Object.entries(files)) {
      writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
    }
    for (const name of ['program.mjs', 'work.mjs']) putInto(folder, join(project.folder, name))
    return folder
  }

  test('pnpm', async () => {
    // The platform package is on no registry yet.
    const { platform, platformName } = project.tarballs
    const overrides = { overrides: { [platformName]: `file:${platform}` } }
    const folder = folderWith({ 'package.json': manifest(), 'pnpm-workspace.yaml': overrides })
    // Its launcher is linked by an install script, which did not run.
    const places = join(project.folder, 'node_modules/@pnpm')
    const pnpm = join(places, readdirSync(places).find((name) => name.startsWith('exe.')) ?? '', 'pnpm')
    expect(await run(folder, pnpm, ['install', '--ignore-scripts'])).toMatchObject({ code: 0 })
    expect(await finished(folder, 'node', ['program.mjs'])).toEqual(DONE)
  })

  test("Yarn Plug'n'Play", async () => {
    const { platform, platformName } = project.tarballs
    const registry = (await run(project.folder, 'npm', ['config', 'get', 'registry'])).output.match(/https?:\S+/u)?.[0]
    const folder = folderWith({
      'package.json': { ...manifest(), resolutions: { [platformName]: `file:${platform}` } },
      '.yarnrc.yml': {
        nodeLinker: 'pnp',
        enableTelemetry: false,
        enableGlobalCache: false,
        enableScripts: false,
        enableImmutableInstalls: false,
        npmRegistryServer: registry?.replace(/\/$/u, ''),
      },
      'yarn.lock': '',
    })
    const yarn = '@yarnpkg/cli-dist/bin/yarn.js'
    await project.build(yarn, ['install'], { folder })
    expect(existsSync(join(folder, 'node_modules'))).toBe(false)
    const output = await project.build(yarn, ['node', 'program.mjs'], { folder })
    expect(JSON.parse(output.slice(output.indexOf('{"bash"')).split('\n')[0] as string)).toEqual(DONE)
  })
})
