import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { openCheckpoints, openJournal, runTask, type Checkpoints, type OpenCheckpointsOptions, type ToolError } from 'toolwright'
import { afterEach, describe, expect, test } from 'vitest'

const folders: string[] = []
const opened: Checkpoints[] = []

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'toolwright-checkpoints-'))
  folders.push(made)
  return made
}

async function project(files: Record<string, string> = {}, options: OpenCheckpointsOptions = {}) {
  const dir = folder()
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
  for (const [path, text] of Object.entries(files)) put(path, text)
  const store = folder()
  const checkpoints = await openCheckpoints(dir, { store, ...options })
  opened.push(checkpoints)
  return { dir, store, checkpoints, put, get: (path: string) => readFileSync(join(dir, path), 'utf8') }
}

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
  for (const one of folders.splice(0)) rmSync(one, { recursive: true, force: true })
})

const codeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => (error as ToolError).code,
  )

/** What is below a directory, without times: content, mode and kind. */
function contents(dir: string, at = ''): Record<string, string> {
  const all: Record<string, string> = {}
  for (const name of readdirSync(join(dir, at)).sort()) {
    const path = join(at, name)
    const stats = lstatSync(join(dir, path))
    if (stats.isSymbolicLink()) all[path] = `-> ${readlinkSync(join(dir, path))}`
    else if (stats.isDirectory()) Object.assign(all, { [path]: 'directory' }, contents(dir, path))
    else
      all[path] = `${(stats.mode & 0o7777).toString(8)} ${createHash('sha256')
        .update(readFileSync(join(dir, path)))
        .digest('hex')}`
  }
  return all
}

describe('openCheckpoints', () => {
  test('takes, compares, restores, and undoes the restoration', async () => {
    const { checkpoints, put, get, store } = await project({ 'a.txt': 'one\n', 'deep/b.txt': 'b\n' })
    const first = await checkpoints.checkpoint({ label: 'start' })
    expect(first.changed.map(({ path, kind, type }) => `${kind} ${type} ${path}`)).toEqual([
      'created file a.txt',
      'created directory deep',
      'created file deep/b.txt',
    ])
    expect(checkpoints.location.startsWith(store)).toBe(true)
    put('a.txt', 'two\n')
    const second = await checkpoints.checkpoint()
    expect(second.changed).toEqual([{ path: 'a.txt', kind: 'modified', type: 'file' }])
    const { changes, text, isCut } = await checkpoints.diff(first.id, second.id)
    expect({ changes, isCut }).toEqual({ changes: second.changed, isCut: false })
    expect(text).toBe('diff a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n')
    expect((await checkpoints.diff(first.id, second.id, { maxTextBytes: 0 })).text).toBe('')
    const restored = await checkpoints.restore(first.id)
    expect(restored).toMatchObject({ before: second.id, changes: [{ path: 'a.txt', kind: 'modified' }], conflicts: [], left: [] })
    expect(get('a.txt')).toBe('one\n')
    await checkpoints.undo({ call: restored.call })
    expect(get('a.txt')).toBe('two\n')
    const { checkpoints: listed, restores, bytes } = await checkpoints.list()
    expect(listed.at(-1)).toMatchObject({ id: first.id, label: 'start', byOthers: false, changes: 3 })
    expect(restores.map(({ state, files }) => [state, files])).toEqual([
      ['done', [{ path: 'a.txt', outcome: 'new' }]],
      ['done', [{ path: 'a.txt', outcome: 'new' }]],
    ])
    expect(bytes).toBeGreaterThan(0)
  })

  test('diff without an end compares with the directory as it is', async () => {
    const { checkpoints, put } = await project({ a: '1' })
    const { id } = await checkpoints.checkpoint()
    put('b', '2')
    expect((await checkpoints.diff(id)).changes).toEqual([{ path: 'b', kind: 'created', type: 'file' }])
    // Looking makes nothing the caller's.
    expect(await codeOf(checkpoints.restore(id))).toBe('CHECKPOINT_CONFLICT')
  })

  test('refuses what somebody else has changed, with the paths', async () => {
    const { checkpoints, put, get } = await project({ a: '1', b: '1' })
    const { id } = await checkpoints.checkpoint()
    await checkpoints.track('call-1', () => put('a', '2'))
    put('b', "a person's")
    const error = await checkpoints.restore(id).catch((failure: unknown) => failure as ToolError)
    expect(error).toMatchObject({
      code: 'CHECKPOINT_CONFLICT',
      details: { count: 1, conflicts: [{ path: 'b', reason: 'changed-by-others' }] },
    })
    expect((error as ToolError).message).toContain('`b`')
    const dry = await checkpoints.restore(id, { dryRun: true })
    expect(dry).toMatchObject({ changes: [{ path: 'a' }], conflicts: [{ path: 'b' }], after: null })
    expect(get('a')).toBe('2')
    await checkpoints.restore(id, { paths: ['a'] })
    expect([get('a'), get('b')]).toEqual(['1', "a person's"])
    await checkpoints.restore(id, { force: true })
    expect(get('b')).toBe('1')
  })

  test('track tells what a call has changed, also one that fails, and undo takes it back', async () => {
    const { checkpoints, put, get, dir } = await project({ a: '1' })
    await checkpoints.beginTurn('turn-1')
    const seen: unknown[] = []
    const failed = checkpoints.track(
      'call-1',
      () => {
        put('a', '2')
        mkdirSync(join(dir, 'empty'))
        throw new Error('the tool failed')
      },
      { onChanged: (changed) => seen.push(changed) },
    )
    await expect(failed).rejects.toThrow('the tool failed')
    expect(seen).toEqual([
      [
        { path: 'a', kind: 'modified', type: 'file' },
        { path: 'empty', kind: 'created', type: 'directory' },
      ],
    ])
    expect(await checkpoints.track('call-2', async () => (put('b', '1'), 'given'))).toBe('given')
    await checkpoints.undo({ call: 'call-1' })
    expect([get('a'), get('b'), existsSync(join(dir, 'empty'))]).toEqual(['1', '1', false])
    expect(await codeOf(checkpoints.undo({ call: 'unknown' }))).toBe('CHECKPOINT_CALL_UNKNOWN')
    await checkpoints.undo({ turn: 'turn-1' }, { force: true })
    expect([get('a'), existsSync(join(dir, 'b'))]).toEqual(['1', false])
  })

  test('a restoration has a row in the journal of its task', async () => {
    const { checkpoints, put, get, store } = await project({ a: '1' })
    await using journal = await openJournal(join(store, 'runs.db'))
    const { id } = await checkpoints.checkpoint()
    put('a', '2')
    await checkpoints.checkpoint()
    await runTask({ journal, runId: 'run', nodeId: 'node' }, () => checkpoints.restore(id))
    expect(get('a')).toBe('1')
    const rows = await journal.listRun('run')
    expect(rows).toMatchObject([{ toolName: 'checkpoint_restore', status: 'success', sideEffect: true }])
    expect(JSON.parse(rows[0]?.inputJson ?? '')).toEqual({ id })
    expect(JSON.parse(rows[0]?.outputJson ?? '')).toMatchObject({ changes: [{ path: 'a' }] })
    // A dry run changes nothing, and is no call.
    await runTask({ journal, runId: 'dry', nodeId: 'node' }, () => checkpoints.restore(id, { dryRun: true }))
    expect(await journal.listRun('dry')).toEqual([])
  })

  test('edits by commands come back, and git sees nothing', async () => {
    const { checkpoints, dir, put } = await project({
      'src/a.c': 'int a(void) { return 1; }\n',
      'src/b.c': 'int b(void) { return 2; }\n',
      'docs/read.me': 'text\n',
      'run.sh': 'echo run\n',
      '.gitignore': '*.tmp\n',
    })
    chmodSync(join(dir, 'run.sh'), 0o755)
    symlinkSync('src/a.c', join(dir, 'link'))
    const sh = (command: string): string =>
      execFileSync('sh', ['-ec', command], { cwd: dir, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    sh('git init -q -b main; git config user.email a@b.c; git config user.name a; git add -A; git commit -q -m one')
    put('src/a.c', 'int a(void) { return 10; }\n')
    sh('git commit -q -a -m two')
    put('src/b.c', 'int b(void) { return 20; }\n')
    put('new.txt', 'untracked\n')
    put('ignored.tmp', 'ignored\n')
    const { id } = await checkpoints.checkpoint()
    const status = sh('git status --porcelain=v2 --branch')
    const withoutGit = (): Record<string, string> =>
      Object.fromEntries(Object.entries(contents(dir)).filter(([path]) => path.split('/')[0] !== '.git'))
    const before = withoutGit()
    const commands = [
      "sed -i 's/return/ return/' src/*.c",
      'mv src/a.c moved.c; mv docs other',
      'rm -r src docs',
      'git checkout -q HEAD~1 -- src/a.c',
      'for i in 1 2 3; do cat src/*.c > out$i.o; done; mkdir -p build/x; cp out1.o build/x/prog; chmod +x build/x/prog',
      'chmod 600 run.sh; ln -sf /nowhere link; rm new.txt; mkdir new.txt',
    ]
    for (const [index, command] of commands.entries()) {
      const git = contents(join(dir, '.git'))
      const changed: unknown[] = []
      await checkpoints.track(`call-${index}`, () => sh(command), { onChanged: (all) => changed.push(...all) })
      expect(changed.length, command).toBeGreaterThan(0)
      const now = contents(join(dir, '.git'))
      await checkpoints.restore(id)
      // What git itself did is git's; the restoration leaves every byte of it.
      expect(contents(join(dir, '.git')), command).toEqual(now)
      if (command.includes('git checkout')) {
        sh('git reset -q -- src/a.c')
        expect(withoutGit(), command).toEqual(before)
        expect(sh('git status --porcelain=v2 --branch'), command).toBe(status)
        continue
      }
      expect(now, command).toEqual(git)
      expect(withoutGit(), command).toEqual(before)
      expect(sh('git status --porcelain=v2 --branch'), command).toBe(status)
    }
  })

  test('gc keeps the newest, and the store is bounded', async () => {
    const { checkpoints, put } = await project({}, { maxBytes: 2_000_000 })
    for (let round = 0; round < 10; round++) {
      put('a', `${round}`.repeat(10))
      await checkpoints.checkpoint()
    }
    expect(await checkpoints.gc({ maxCheckpoints: 3 })).toMatchObject({ removed: 7, left: 3 })
    expect((await checkpoints.list()).checkpoints).toHaveLength(3)
    expect(checkpoints.progress()).toEqual({ files: expect.any(Number), bytes: expect.any(Number) })
    const refused = await codeOf(checkpoints.restore(1))
    expect(refused).toBe('CHECKPOINT_NOT_FOUND')
  })

  test('a signal stops it, and what makes no sense is refused', async () => {
    const { checkpoints, dir, store } = await project({ a: '1' })
    await expect(checkpoints.checkpoint({ signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough')
    const call = checkpoints as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>
    for (const [method, ...args] of [
      ['checkpoint', { name: 'x' }],
      ['diff', 'one'],
      ['restore', -1],
      ['restore', 1, { paths: 'a' }],
      ['undo', {}],
      ['undo', { call: 'a', turn: 'b' }],
      ['track', '', () => undefined],
      ['track', 'a'],
      ['list', { limit: 0 }],
    ] as const) {
      expect(await codeOf(call[method as string]?.(...args) ?? Promise.resolve()), `${method} ${JSON.stringify(args)}`).toBe(
        'INVALID_INPUT',
      )
    }
    expect(await codeOf(checkpoints.restore(99))).toBe('CHECKPOINT_NOT_FOUND')
    expect(await codeOf(checkpoints.restore(99, { paths: ['../x'] }))).toMatch(/CHECKPOINT_NOT_FOUND|TOOL_PATH_ESCAPE/u)
    expect(await codeOf(openCheckpoints(dir, { store: join(dir, 'inside') }))).toBe('CHECKPOINT_STORE_INSIDE')
    expect(existsSync(join(dir, 'inside'))).toBe(false)
    expect(await codeOf(openCheckpoints(folder(), { store }))).toBe('CHECKPOINT_OTHER_ROOT')
    expect(await codeOf(openCheckpoints(join(dir, 'missing'), { store }))).toBe('TOOL_ROOT_INVALID')
    expect(await codeOf(openCheckpoints(dir, { store: folder(), ignore: ['a{'] }))).toBe('INVALID_INPUT')
    await checkpoints.close()
    expect(await codeOf(checkpoints.checkpoint())).toBe('CHECKPOINT_CLOSED')
  })

  test('a damaged store is an error of its own, and leaves the files alone', async () => {
    const store = folder()
    writeFileSync(join(store, 'checkpoints.db'), 'no database at all, and longer than a header'.repeat(100))
    const dir = folder()
    expect(await codeOf(openCheckpoints(dir, { store }))).toBe('CHECKPOINT_CORRUPT')
    expect(readdirSync(dir)).toEqual([])
  })

  test('without a store there is one of the user for each directory', async () => {
    const [dir, state] = [folder(), folder()]
    const old = process.env['XDG_STATE_HOME']
    // The addon reads the environment of the process, which only a child's is.
    process.env['XDG_STATE_HOME'] = state
    try {
      const program = `import { openCheckpoints } from 'toolwright'; const c = await openCheckpoints(${JSON.stringify(dir)}); console.log(c.location); await c.close()`
      const location = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
        encoding: 'utf8',
        cwd: join(import.meta.dirname, '../../..'),
      })
      expect(location.startsWith(join(state, 'toolwright/checkpoints'))).toBe(true)
      expect(lstatSync(dirname(location.trim())).mode & 0o077).toBe(0)
    } finally {
      if (old === undefined) delete process.env['XDG_STATE_HOME']
      else process.env['XDG_STATE_HOME'] = old
    }
  })
})
