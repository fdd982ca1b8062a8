import { existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type Fork, listForks, openCheckpoints, openFork, openJournal, ToolError } from 'toolwright'
import { createSession, processTools, type SessionOptions } from 'toolwright/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeSandbox, type Sandbox } from '../../support/sandbox.ts'
import { allowAll, openSession, type Scene } from '../scene.ts'

// Needs overlays: see docs/guides/forks.md.
const here = process.platform === 'linux' ? describe : describe.skip

/** Reads everything, and writes the directory and one beside it. */
const widely = ({ root, outside }: Sandbox): SessionOptions['manifest'] => {
  const write = ['{workspace}/**', `${root}/**`, `${outside}/**`]
  return { name: 'test', permissions: allowAll, requires: { fs: { read: ['/**'], write } } }
}

/** A fork of a sandbox in a store of its own, which is discarded with the test. */
async function forkOf(box: Sandbox): Promise<Fork> {
  const fork = await openFork({ rootDir: box.root, store: join(box.outside, 'forks') })
  onTestFinished(() => fork.close())
  return fork
}

async function sceneInFork(
  files: Record<string, string>,
  more: (box: Sandbox) => Partial<SessionOptions> = () => ({}),
): Promise<Scene & { fork: Fork }> {
  const box = makeSandbox()
  for (const [path, text] of Object.entries(files)) box.put(path, text)
  const fork = await forkOf(box)
  const session = await openSession(box, { fork, ...more(box) })
  return { ...box, session, fork, call: (id, args, call) => session.call(id, args, call) }
}

const paths = async (fork: Fork): Promise<string[]> => (await fork.status()).changes.map(({ kind, path }) => `${kind} ${path}`)

const codeOf = async (work: Promise<unknown>): Promise<string> => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return ToolError.isInstance(error) ? error.code : String(error)
}

here('a session in a fork', () => {
  test('files, searches, patches, commands and processes work in it, and the directory stays as it is', async () => {
    const { call, fork, text, at, root } = await sceneInFork({ 'src/a.txt': 'one\n', 'b.txt': 'b\n' }, (box) => ({
      manifest: widely(box),
      tools: processTools,
    }))
    for (const [id, args] of [
      ['write', { path: 'new/c.txt', content: 'c\n' }],
      ['write', { path: at('d.txt'), content: 'd\n' }],
      ['edit', { path: 'src/a.txt', old_string: 'one', new_string: 'two' }],
      ['bash', { command: `rm ${root}/b.txt && echo e > e.txt && mkdir made && echo f > made/f.txt` }],
      ['bash', { command: 'echo g > g.txt', workdir: 'made' }],
      // From a directory outside of the root, the path of the directory leads to the fork as well.
      ['bash', { command: `pwd; echo h > ${root}/h.txt`, workdir: '/' }],
    ] as const) {
      expect([id, (await call(id, args)).metadata.code]).toEqual([id, 'ok'])
    }
    const started = await call('process_start', { command: `echo i > ${root}/i.txt; sleep 60` })
    expect(started.metadata.code).toBe('ok')
    await expect.poll(async () => (await call('read', { path: 'i.txt' })).metadata.code).toBe('ok')
    expect(JSON.stringify(await call('grep', { pattern: 'two|one' }))).toContain('two')
    expect(JSON.stringify(await call('glob', { pattern: '**/*.txt' }))).toContain('made/g.txt')
    expect(await paths(fork)).toEqual([
      'deleted b.txt',
      'created d.txt',
      'created e.txt',
      'created h.txt',
      'created i.txt',
      'created made/f.txt',
      'created made/g.txt',
      'created new/c.txt',
      'modified src/a.txt',
    ])
    expect([
      text('src/a.txt'),
      text('b.txt'),
      ...['d.txt', 'e.txt', 'h.txt', 'i.txt', 'made', 'new'].map((path) => existsSync(at(path))),
    ]).toEqual(['one\n', 'b\n', ...Array.from({ length: 6 }, () => false)])
  })

  test('no other path leads to the directory: neither capabilities around it, nor links into it', async () => {
    const { call, fork, text, at, outside, root } = await sceneInFork({ 'a.txt': 'one\n', 'src/b.txt': 'b\n' }, (box) => ({
      manifest: widely(box),
    }))
    symlinkSync(root, join(outside, 'lead'))
    symlinkSync(at('a.txt'), join(outside, 'a.txt'))
    await call('write', { path: 'a.txt', content: 'two\n' })
    // By links from elsewhere.
    for (const path of [join(outside, 'lead/a.txt'), join(outside, 'a.txt'), join(outside, 'lead/src/../a.txt')]) {
      expect([path, (await call('read', { path })).type]).toEqual([path, 'error'])
      expect([path, (await call('write', { path, content: 'three\n' })).type]).toEqual([path, 'error'])
    }
    expect((await call('write', { path: join(outside, 'lead/new.txt'), content: 'n' })).type).toBe('error')
    // By a name with `..`, which is not that of the directory.
    const around = `${outside}/../root/a.txt`
    const named = await call('read', { path: around })
    if (named.type === 'output') expect(JSON.stringify(named.data)).toContain('two')
    // By a search around it.
    const searched = await call('grep', { pattern: 'one|two', path: join(root, '..') })
    expect(searched).toMatchObject({ type: 'error', metadata: { code: 'capability_refused' } })
    expect(searched.type === 'error' && searched.error_text).toMatch(
      /around the directory that this session has a fork of.*Search the workspace by itself/su,
    )
    // By a patch of files on both sides.
    const patch = `*** Begin Patch\n*** Update File: ${at('src/b.txt')}\n*** Move to: ${outside}/moved.txt\n@@\n-b\n+c\n*** End Patch`
    await call('apply_patch', { patch })
    // By commands, wherever they run.
    for (const workdir of ['.', '/', outside]) {
      const ran = await call('bash', {
        command: `cat ${root}/a.txt ${outside}/lead/a.txt; echo ${workdir} >> ${outside}/lead/from.txt`,
        workdir,
      })
      expect(JSON.stringify(ran)).not.toContain('one')
    }
    expect([text('a.txt'), text('src/b.txt'), existsSync(at('new.txt')), existsSync(at('from.txt'))]).toEqual([
      'one\n',
      'b\n',
      false,
      false,
    ])
    expect(await paths(fork)).toContain('modified a.txt')
  })

  test('narrow patterns, roots in the fork and opened files are those of the fork', async () => {
    const box = makeSandbox()
    box.put('packages/a/x.txt', 'x\n')
    box.put('docs/y.txt', 'y\n')
    const fork = await forkOf(box)
    const session = await openSession(box, {
      workspace: box.at('packages/a'),
      fork,
      manifest: {
        name: 'test',
        permissions: allowAll,
        requires: { fs: { read: [`${box.root}/docs/**`], write: [`${box.root}/docs/**`] } },
      },
    })
    expect((await session.call('write', { path: 'x.txt', content: 'z\n' })).metadata.code).toBe('ok')
    expect((await session.call('write', { path: box.at('docs/y.txt'), content: 'z\n' })).metadata.code).toBe('ok')
    session.openFile(box.at('docs/opened.txt'))
    expect((await session.call('bash', { command: `echo b > ${box.root}/docs/b.txt; cat ${box.root}/docs/y.txt` })).metadata.code).toBe(
      'ok',
    )
    expect(await paths(fork)).toEqual(['created docs/b.txt', 'modified docs/y.txt', 'modified packages/a/x.txt'])
    expect([box.text('packages/a/x.txt'), box.text('docs/y.txt')]).toEqual(['x\n', 'y\n'])
  })

  test('with fork: true it makes one, which stays with its changes, and goes without', async () => {
    const box = makeSandbox()
    box.put('a.txt', 'one\n')
    await using journal = await openJournal(join(box.outside, 'runs.db'))
    const session = await createSession({
      workspace: box.root,
      manifest: { name: 'test', permissions: allowAll },
      fork: true,
      journal,
      id: 'forked',
    })
    const { fork } = session
    if (fork === undefined) throw new Error('no fork')
    await session.call('write', { path: 'a.txt', content: 'two\n' })
    expect(box.text('a.txt')).toBe('one\n')
    expect((await fork.apply()).applied.map(({ path }) => path)).toEqual(['a.txt'])
    expect((await journal.listToolCalls('forked', 'forks', 0)).map(({ toolName }) => toolName)).toEqual(['fork_apply'])
    await session.call('write', { path: 'b.txt', content: 'b\n' })
    await session.close()
    expect((await listForks({ rootDir: box.root })).map(({ id, state }) => [id, state])).toEqual([[fork.id, 'kept']])
    const again = await openFork({ id: fork.id })
    expect(await paths(again)).toEqual(['created b.txt'])
    await again.discard()

    const idle = await createSession({ workspace: box.root, manifest: { name: 'test' }, fork: true })
    await idle.close()
    expect(await listForks({ rootDir: box.root })).toEqual([])
  })

  test('what would work in the directory itself is refused', async () => {
    const box = makeSandbox()
    box.put('a.txt', 'one\n')
    const fork = await forkOf(box)
    const base: SessionOptions = { workspace: box.root, manifest: { name: 'test' }, fork }
    await using checkpoints = await openCheckpoints(box.root, { store: join(box.outside, 'checkpoints') })
    const other = makeSandbox()
    for (const options of [
      { ...base, checkpoints },
      { ...base, workspace: other.root },
      { ...base, workspace: [box.root, other.root] },
      { ...base, fork: true, workspace: [box.root, other.root] },
      { ...base, fork: 'yes' as never },
      {
        ...base,
        manifest: { name: 'test', mcpServers: { free: { command: 'true', sandbox: 'none' as const } } },
        enabledMcpServers: ['free'],
      },
    ]) {
      expect(await codeOf(createSession(options))).toBe('INVALID_INPUT')
    }
    const session = await openSession(box, { fork })
    await session.call('write', { path: join(session.scratch, 'kept.txt'), content: 'k' })
    await expect(session.promote('kept.txt', box.at('kept.txt'))).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining('a fork of'),
    })
    expect(existsSync(box.at('kept.txt'))).toBe(false)
    expect(await session.promote('kept.txt', join(box.outside, 'kept.txt'))).toBe(join(box.outside, 'kept.txt'))
    await fork.discard()
    expect((await session.call('read', { path: 'a.txt' })).metadata.code).not.toBe('ok')
    mkdirSync(join(box.outside, 'x'))
  })
})
