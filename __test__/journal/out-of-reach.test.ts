// A journal below the root is out of reach of the tools and commands of its host, for reading too.
import { existsSync, linkSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTools, openJournal, runTask, sandboxReport } from 'toolwright'
import { openThreadStore } from 'toolwright/standard-agents'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openSession, dataOf, failureOf } from '../contract/scene.ts'
import { makeSandbox } from '../support/sandbox.ts'

const files = ['', '-wal', '-shm', '-journal'] as const

async function openIn(fixture: ReturnType<typeof makeSandbox>, directory = fixture.root) {
  const journal = await openJournal(`file:${join(directory, 'runs.db')}`)
  onTestFinished(() => journal.close())
  const call = { runId: 'run', nodeId: 'node', attempt: 1, seq: 1, toolName: 'act', sideEffect: true }
  const ref = await journal.insertToolCall(call)
  await journal.updateToolCall(ref, { status: 'success', outputJson: '"done"' })
  return journal
}

const failure = async (call: Promise<unknown>): Promise<{ code?: string; message: string }> => {
  try {
    await call
  } catch (error) {
    return error as { code?: string; message: string }
  }
  throw new Error('it was not refused')
}

/** A closed file cannot be opened; root, who may open everything, finds it empty. */
async function readsNothing(bash: { execute(args: { cmd: string; args: string[] }): Promise<string> }, path: string): Promise<void> {
  const printed = await bash.execute({ cmd: 'cat', args: [path] }).catch((error: Error) => error.message)
  expect(printed).not.toContain('SQLite')
}

describe('an open journal in the root', () => {
  test('is not read, written or edited, under any of its names', async () => {
    const fixture = makeSandbox()
    await openIn(fixture)
    linkSync(join(fixture.root, 'runs.db'), join(fixture.root, 'hard.txt'))
    symlinkSync('runs.db', join(fixture.root, 'soft.txt'))
    const { read, write, edit, grep } = createTools({ rootDir: fixture.root })
    const before = statSync(join(fixture.root, 'runs.db')).ino
    for (const path of [...files.map((suffix) => `runs.db${suffix}`), 'hard.txt', 'soft.txt', join(fixture.root, 'runs.db')]) {
      for (const call of [
        () => read.execute({ path }),
        () => write.execute({ path, content: '' }),
        () => edit.execute({ path, patch: '@@ -1,1 +1,1 @@\n-a\n+b\n' }),
        () => grep.execute({ pattern: 'SQLite', path }),
      ]) {
        const { code, message } = await failure(call())
        expect({ path, code }).toEqual({ path, code: 'TOOL_PATH_PROTECTED' })
        expect(message).toContain('open journal')
      }
    }
    const locks = await failure(write.execute({ path: 'runs.db.locks/task-1', content: '' }))
    expect(locks.code).toBe('TOOL_PATH_PROTECTED')
    expect(statSync(join(fixture.root, 'runs.db')).ino).toBe(before)
  })

  test('is passed over by a search', async () => {
    const fixture = makeSandbox()
    await openIn(fixture)
    writeFileSync(join(fixture.root, 'notes.txt'), 'CREATE TABLE\n')
    const { grep } = createTools({ rootDir: fixture.root })
    await expect(grep.execute({ pattern: 'CREATE TABLE' })).resolves.toBe('notes.txt:1:CREATE TABLE\n')
  })

  test('is closed to commands, which cannot read, forge, cut or remove it', async (context) => {
    const fixture = makeSandbox()
    if ((await sandboxReport({ rootDir: fixture.root })).files.mechanism.includes('mounts') === false) context.skip()
    const journal = await openIn(fixture)
    const { bash } = createTools({ rootDir: fixture.root })
    await bash.execute({ cmd: 'true' })
    for (const suffix of files) {
      const name = `runs.db${suffix}`
      for (const line of [`: > ${name}`, `rm -f ${name}`, `mv ${name} other`, `ln ${name} other`]) {
        const { code } = await failure(bash.execute({ cmd: 'sh', args: ['-c', line] }))
        expect({ line, code }).toEqual({ line, code: 'TOOL_COMMAND_FAILED' })
      }
    }
    await readsNothing(bash, 'runs.db')
    const { message } = await failure(bash.execute({ cmd: 'sh', args: ['-c', ': > runs.db'] }))
    expect(message).toContain('belongs to an open journal')
    await expect(bash.execute({ cmd: 'ls', args: ['-A', 'runs.db.locks'] })).resolves.toBe('')
    expect((await journal.listRun('run')).map(({ outputJson }) => outputJson)).toEqual(['"done"'])
    await journal.close()
    // The place of a repository is held for a moment after a command.
    expect(readdirSync(fixture.root).filter((name) => name !== '.git')).toEqual(['runs.db'])
    // Closed, it is a file like any other.
    await expect(bash.execute({ cmd: 'head', args: ['-c', '6', 'runs.db'] })).resolves.toBe('SQLite')
  })

  test('is closed also where its directory could be moved away, and opened again', async (context) => {
    const fixture = makeSandbox()
    if ((await sandboxReport({ rootDir: fixture.root })).files.mechanism.includes('mounts') === false) context.skip()
    mkdirSync(join(fixture.root, 'state/deep'), { recursive: true })
    const { bash } = createTools({ rootDir: fixture.root })
    for (const runId of ['run', 'again']) {
      const journal = await openIn(fixture, join(fixture.root, 'state/deep')).catch(() =>
        openJournal(join(fixture.root, 'state/deep/runs.db')),
      )
      await readsNothing(bash, 'state/deep/runs.db')
      for (const line of [': > state/deep/runs.db-shm', 'mv state other', 'mv state/deep other']) {
        expect((await failure(bash.execute({ cmd: 'sh', args: ['-c', line] }))).code).toBe('TOOL_COMMAND_FAILED')
      }
      await journal.insertToolCall({ runId, nodeId: 'other', attempt: 1, seq: 1, toolName: 'act', sideEffect: true })
      await journal.close()
    }
    expect(existsSync(join(fixture.root, 'state/deep/runs.db'))).toBe(true)
  })

  test('is recorded into by a task whose commands try to reach it', async () => {
    const fixture = makeSandbox()
    const journal = await openJournal(`file:${join(fixture.root, 'runs.db')}`)
    onTestFinished(() => journal.close())
    const { bash } = createTools({ rootDir: fixture.root })
    const layers = await sandboxReport({ rootDir: fixture.root })
    await runTask({ journal, runId: 'task', nodeId: 'node', rootDir: fixture.root }, async () => {
      await bash.execute({
        cmd: 'sh',
        args: ['-c', layers.files.mechanism.includes('mounts') ? '(: > runs.db-shm); rm -f runs.db*; true' : 'true'],
      })
      await bash.execute({ cmd: 'true' })
    })
    expect((await journal.listRun('task')).map(({ status }) => status)).toEqual(['success', 'success'])
  })
})

test('so it is for the tools of a session', async () => {
  const fixture = makeSandbox()
  await openIn(fixture)
  const session = await openSession(fixture)
  for (const [tool, args] of [
    ['read', { path: 'runs.db' }],
    ['write', { path: 'runs.db-wal', content: '' }],
    ['edit', { path: 'runs.db', old_string: 'a', new_string: 'b' }],
    ['grep', { pattern: 'CREATE', path: 'runs.db' }],
  ] as const) {
    expect(failureOf(await session.call(tool, args)).text).toContain('open journal')
  }
  const data = dataOf(await session.call('glob', { pattern: '**/*' })) as { paths?: string[] }
  expect(JSON.stringify(data)).not.toContain('runs.db')
})

test('and so is a store of threads', async () => {
  const fixture = makeSandbox()
  const store = await openThreadStore(join(fixture.root, 'threads.db'))
  onTestFinished(() => store.close())
  const { read, bash } = createTools({ rootDir: fixture.root })
  expect((await failure(read.execute({ path: 'threads.db' }))).code).toBe('TOOL_PATH_PROTECTED')
  const report = await sandboxReport({ rootDir: fixture.root })
  if (report.files.mechanism.includes('mounts')) {
    await readsNothing(bash, 'threads.db')
    expect((await failure(bash.execute({ cmd: 'rm', args: ['threads.db'] }))).code).toBe('TOOL_COMMAND_FAILED')
  }
})
