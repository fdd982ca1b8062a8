import { chmodSync, mkdirSync, symlinkSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { createTools } from 'toolwright'
import { createSession, presets, type RepoOverviewData, repoOverviewTool, type SessionOptions, toAcpToolCall } from 'toolwright/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import { dataOf, failureOf, manifest, openScene, rule } from '../scene.ts'

const tools = [repoOverviewTool]
const openWith = (options: Partial<SessionOptions> = {}) => openScene({ tools, ...options })

/** A project with one of everything. */
async function openProject(options: Partial<SessionOptions> = {}) {
  const scene = await openWith(options)
  const { put, root } = scene
  put('package.json', JSON.stringify({ name: 'shop', scripts: { test: 'vitest run' }, bin: { shop: './bin/shop' } }))
  put('README.md', '# Shop\n')
  put('src/index.ts', 'export const a = 1\n')
  put('src/cart/cart.ts', 'export const b = 2\n')
  put('native/Cargo.toml', '[package]\nname = "native"\nversion = "0.1.0"\n')
  put('native/src/main.rs', 'fn main() {}\n')
  put('bin/shop', '#!/usr/bin/env node\n')
  chmodSync(`${root}/bin/shop`, 0o755)
  put('node_modules/x/index.js', '')
  return scene
}

describe('repo_overview', () => {
  test('R66 tells languages, manifests, entry points, the README and the tree', async () => {
    const { call } = await openProject()
    expect(dataOf(await call('repo_overview', {}))).toMatchSnapshot()
    expect(dataOf(await call('repo_overview', { path: 'native', depth: 1 }))).toMatchSnapshot()
  })

  test('R66 is offered where a host asks for it, as an agent reads it', async () => {
    const { session } = await openScene()
    expect(Object.keys(session.tools)).not.toContain('repo_overview')
    expect(failureOf(await session.call('repo_overview', {})).code).toBe('unknown_tool')
    const { session: asked } = await openWith()
    const { repo_overview: offered } = asked.tools as Record<string, { description: string; inputSchema: { jsonSchema: unknown } }>
    expect([offered?.description, offered?.inputSchema.jsonSchema]).toMatchSnapshot()
    const { session: chosen } = await openScene({ tools: { own: tools, only: ['read', 'repo_overview'] } })
    expect(Object.keys(chosen.tools)).toEqual(['read', 'repo_overview'])
    await expect(createSession({ workspace: makeSandbox().root, manifest: { name: 'x' }, tools: [...tools, ...tools] })).rejects.toThrow(
      'Two tools have the id repo_overview',
    )
  })

  test('R66 reading needs no agreement beyond that to read, and clients show it as a read', async () => {
    const { call } = await openWith({ manifest: { name: 'test' }, permissions: presets.readOnly, headless: true })
    const envelope = await call('repo_overview', {})
    expect(dataOf(envelope)).toMatchObject({ files: 0, tree: './ (0 files)\n' })
    expect(toAcpToolCall({ id: '1', tool: 'repo_overview', args: {} }, envelope)).toMatchObject({ kind: 'read' })
  })

  test.each(['repo_overview', 'read', 'grep', 'glob', 'fs.read', '*'])(
    'R66 what a rule for %s denies is neither named nor counted',
    async (permission) => {
      const permissions = [rule('* ** allow'), rule('* /** allow'), rule(`${permission} secret/** deny`)]
      const { call, put } = await openWith(manifest(permissions))
      put('a.ts', 'a')
      const before = dataOf(await call('repo_overview', {}))
      put('secret/package.json', '{"name":"hidden"}')
      put('secret/README.md', 'hidden')
      put('secret/main.rs', 'hidden')
      expect(dataOf(await call('repo_overview', {}))).toEqual(before)
      if (permission !== 'fs.read' && permission !== '*') return
      expect(failureOf(await call('repo_overview', { path: 'secret' })).code).toBe('permission_denied')
    },
  )

  test('R66 what a rule asks about is shown to a user who has agreed to the call', async () => {
    const files = async (permissions: ReturnType<typeof rule>[], prompt: () => 'allow_once') => {
      const { call, put } = await openWith({ manifest: { name: 'test' }, permissions, host: { prompt } })
      put('a.ts', 'a')
      put('private/b.ts', 'b')
      return (dataOf(await call('repo_overview', {})) as RepoOverviewData).files
    }
    const once = () => 'allow_once' as const
    expect(await files([rule('fs.read ** allow'), rule('read private/** ask')], once)).toBe(1)
    expect(await files([rule('fs.read ** ask'), rule('read private/** ask')], once)).toBe(2)
  })

  test('R66 outside of the workspace, files and missing directories are refused with a next move', async () => {
    const { call, put, outside, root } = await openProject()
    put('src/other.ts', '')
    symlinkSync(outside, `${root}/away`)
    expect(failureOf(await call('repo_overview', { path: outside })).code).toBe('capability_refused')
    expect(failureOf(await call('repo_overview', { path: 'away' })).code).toBe('capability_refused')
    const texts = []
    for (const args of [{ path: 'src/index.ts' }, { path: 'srv' }, { dir: 'src' }, { depth: 9 }, { path: 'a\0b' }]) {
      const { code, text } = failureOf(await call('repo_overview', args))
      texts.push(`${code}: ${text.replaceAll(root, 'ROOT')}`)
    }
    expect(texts).toMatchSnapshot()
  })

  test('R66 several roots are one overview', async () => {
    const [one, two] = [makeSandbox(), makeSandbox()]
    one.put('a.ts', 'a')
    two.put('b.rs', 'b')
    const { call } = await openWith({ workspace: [one.root, two.root] })
    const { tree, languages } = dataOf(await call('repo_overview', {})) as RepoOverviewData
    expect(tree).toBe(`./ (1 file)\n  a.ts\n${two.root}/ (1 file)\n  b.rs\n`)
    expect(languages.map(({ language }) => language).sort()).toEqual(['Rust', 'TypeScript'])
  })

  test('R66 limits of the host hold', async () => {
    const { call, put } = await openWith({ limits: { overviewLines: 5, outputBytes: 400 } })
    for (let index = 0; index < 30; index += 1) put(`d${index}/package.json`, JSON.stringify({ name: `package ${index}` }))
    const envelope = await call('repo_overview', {})
    expect(envelope).toMatchObject({ type: 'output', metadata: { truncated: true, output_path: expect.any(String) } })
    const { output_path: path } = envelope.metadata
    const whole = JSON.parse((dataOf(await call('read', { path })) as { content: string }).content) as RepoOverviewData
    expect(whole.tree.split('\n')).toHaveLength(5 + 1)
    expect(whole.tree).toContain('… 27 files more')
    expect(whole.manifests).toHaveLength(30)
  })

  test('R66 hostile trees: deep, linked in circles, with a manifest of 100 MB', async () => {
    const { call, put, root } = await openWith()
    const deep = Array.from({ length: 100 }, (_, level) => `l${level}`).join('/')
    put(`${deep}/main.py`, '')
    symlinkSync('.', `${root}/loop`)
    put('package.json', '')
    truncateSync(`${root}/package.json`, 100_000_000)
    put('Cargo.toml', `a = ${'['.repeat(100_000)}`)
    mkdirSync(join(root, 'empty/er'), { recursive: true })
    const data = dataOf(await call('repo_overview', { depth: 4 })) as RepoOverviewData
    expect(data.files).toBe(3)
    expect(data.manifests.map(({ path, problem }) => [path, problem])).toEqual([
      ['Cargo.toml', 'malformed'],
      ['package.json', 'larger than 256 KiB'],
    ])
    expect(data.tree).toBe(
      './ (3 files)\n  l0/ (1 file)\n    l1/ (1 file)\n      l2/ (1 file)\n        l3/ (1 file)\n  Cargo.toml\n  package.json\n',
    )
  })

  test('R66 R6 an abort ends it at once', async () => {
    const fixture = makeSandbox()
    for (let index = 0; index < 3_000; index += 1) fixture.put(`d${index % 100}/f${index}.ts`, 'x')
    const session = await createSession({ workspace: fixture.root, manifest: { name: 'test' }, permissions: presets.readOnly, tools })
    onTestFinished(() => session.close())
    await session.call('repo_overview', {})
    for (const afterMs of [0, 1, 2, 4]) {
      const controller = new AbortController()
      let abortedAt = 0
      setTimeout(() => {
        abortedAt = performance.now()
        controller.abort()
      }, afterMs)
      const envelope = await session.call('repo_overview', {}, { signal: controller.signal })
      if (abortedAt === 0) continue
      expect(performance.now() - abortedAt).toBeLessThan(50)
      expect(['ok', 'aborted']).toContain(envelope.metadata.code)
    }
  })

  test('R66 the other doors do not have it', () => {
    expect(Object.keys(createTools({ rootDir: makeSandbox().root }))).not.toContain('repo_overview')
  })
})
