import { spawnSync } from 'node:child_process'
import { chmodSync, closeSync, mkdirSync, openSync, rmSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  createTools,
  defineTool,
  openJournal,
  runTask,
  runWithToolContext,
  ToolError,
  type Journal,
  type OpenJournalOptions,
} from 'toolwright'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { startScript } from '../support/child-script.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { ReferenceStore } from './reference-store.ts'

afterEach(() => vi.restoreAllMocks())

const ran: string[] = []
const act = defineTool({
  name: 'act',
  schema: z.object({ what: z.string() }),
  sideEffect: true,
  execute: ({ what }, _ctx) => {
    ran.push(what)
    if (what === 'fails') throw new RangeError('its own error')
    return what
  },
})
const look = defineTool({ name: 'look', schema: z.object({}), execute: () => 'seen' })

/** A store that fails where it is told to. */
class FailingStore extends ReferenceStore {
  failsAt = new Set<'insert' | 'update' | 'flush'>()
  readonly #error = (): never => {
    throw new ToolError({ code: 'JOURNAL_DISK_FULL', summary: 'The disk is full' })
  }

  override insertToolCall(...args: Parameters<ReferenceStore['insertToolCall']>) {
    return this.failsAt.has('insert') ? this.#error() : super.insertToolCall(...args)
  }

  override updateToolCall(...args: Parameters<ReferenceStore['updateToolCall']>): void {
    if (this.failsAt.has('update')) this.#error()
    super.updateToolCall(...args)
  }

  override async flush(): Promise<void> {
    if (this.failsAt.has('flush')) this.#error()
  }
}

async function failing(options: OpenJournalOptions, ...at: ('insert' | 'update' | 'flush')[]) {
  ran.length = 0
  const store = new FailingStore()
  const journal = await openJournal(store, options)
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
  const run = <T>(fn: () => Promise<T>) =>
    runTask({ journal, runId: 'run', nodeId: 'node' }, async () => {
      store.failsAt = new Set(at)
      try {
        return await fn()
      } finally {
        store.failsAt.clear()
      }
    })
  return { store, journal, warn, run }
}

const codeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    (value) => value,
    (error: unknown) => (ToolError.isInstance(error) ? error.code : String(error)),
  )

describe('a journal that fails before a call', () => {
  test("'fail', the default: the call is not made", async () => {
    const { journal, run, warn } = await failing({}, 'insert')
    expect(await run(() => codeOf(act.execute({ what: 'x' })))).toBe('JOURNAL_DISK_FULL')
    expect(ran).toEqual([])
    expect(warn).not.toHaveBeenCalled()
    expect(await journal.listRun('run')).toEqual([])
  })

  test("'continue': the call is made, with one warning for all calls", async () => {
    const { journal, run, warn } = await failing({ onFailure: 'continue' }, 'insert')
    const outcomes = await run(async () => [
      await codeOf(act.execute({ what: 'x' })),
      await codeOf(act.execute({ what: 'fails' })),
      await codeOf(look.execute({})),
    ])
    expect(outcomes).toEqual(['x', 'RangeError: its own error', 'seen'])
    expect(warn).toHaveBeenCalledTimes(1)
    expect(String(warn.mock.calls[0])).toMatch(/act \(call 1\) is made without a record/u)
    expect(await journal.listRun('run')).toEqual([])
  })

  test("'continue': a row that could not be written before the call is written after it, where that works", async () => {
    const { store, journal, run } = await failing({ onFailure: 'continue' }, 'insert')
    const heals = defineTool({ name: 'heals', schema: z.object({}), sideEffect: true, execute: (_args, _ctx) => store.failsAt.clear() })
    await run(() => heals.execute({}))
    expect(await journal.listRun('run')).toMatchObject([{ toolName: 'heals', status: 'success' }])
  })

  test('the number and the key of a call that was not made are those of the next one', async () => {
    const { store, journal, run } = await failing({}, 'insert')
    await run(async () => {
      await codeOf(act.execute({ what: 'x' }))
      store.failsAt.clear()
      await act.execute({ what: 'x' })
    })
    expect(await journal.listRun('run')).toMatchObject([{ ordinal: 1 }])
  })
})

describe('a journal that fails when a context first uses it', () => {
  test.each(['fail', 'continue'] as const)('%s', async (onFailure) => {
    const { store, journal, warn } = await failing({ onFailure })
    const list = vi.spyOn(store, 'listToolCalls').mockRejectedValue(new ToolError({ code: 'JOURNAL_BUSY', summary: 'busy' }))
    const call = () => runWithToolContext({ journal, runId: 'run', nodeId: 'node' }, () => codeOf(act.execute({ what: 'x' })))
    expect(await call()).toBe(onFailure === 'fail' ? 'JOURNAL_BUSY' : 'x')
    expect(warn).toHaveBeenCalledTimes(onFailure === 'fail' ? 0 : 1)
    list.mockRestore()
    expect(await call()).toBe('x')
    expect(await journal.listRun('run')).toHaveLength(onFailure === 'fail' ? 1 : 2)
  })
})

describe('a journal that fails after a call', () => {
  test.each(['fail', 'continue'] as const)('%s: result and error of the call are its own', async (onFailure) => {
    const { journal, run, warn } = await failing({ onFailure }, 'update')
    expect(await run(() => codeOf(act.execute({ what: 'x' })))).toBe('x')
    expect(await run(() => codeOf(act.execute({ what: 'fails' })))).toBe('RangeError: its own error')
    expect(warn).toHaveBeenCalledTimes(1)
    // No row claims what was not recorded; the retry is warned.
    expect(await journal.listRun('run')).toMatchObject([{ status: 'started' }, { status: 'started' }])
    await runTask({ journal, runId: 'run', nodeId: 'node' }, (task) => {
      expect(task.warning).toContain('- tool act (attempt 1, seq 1, status intended)')
    })
  })

  test('a read whose row is lost is given all the same; the next waits until the journal works', async () => {
    const { store, run, warn } = await failing({}, 'insert', 'flush')
    await run(async () => {
      expect(await codeOf(look.execute({}))).toBe('seen')
      expect(warn).toHaveBeenCalledTimes(1)
      expect(await codeOf(look.execute({}))).toBe('JOURNAL_DISK_FULL')
      store.failsAt.clear()
      expect(await codeOf(look.execute({}))).toBe('seen')
    })
  })
})

describe('a closed journal', () => {
  test("stops calls with 'fail', reads too, and is told of once with 'continue'", async () => {
    const fixture = makeSandbox()
    fixture.put('a', 'text')
    for (const onFailure of ['fail', 'continue'] as const) {
      const journal = await openJournal(fixture.at('../runs.db'), { onFailure })
      const { read, write } = createTools({ rootDir: fixture.root, journal })
      await read.execute({ path: 'a' })
      await journal.close()
      await journal.close()
      const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
      const outcomes = [await codeOf(read.execute({ path: 'a' })), await codeOf(write.execute({ path: 'b', content: '' }))]
      expect(outcomes).toEqual(onFailure === 'fail' ? ['JOURNAL_CLOSED', 'JOURNAL_CLOSED'] : ['text', 'ok'])
      expect(warn).toHaveBeenCalledTimes(onFailure === 'fail' ? 0 : 1)
      expect(await codeOf(journal.listRuns())).toBe('JOURNAL_CLOSED')
    }
  })

  test('await using closes it', async () => {
    let kept: Journal
    {
      await using journal = await openJournal('memory:')
      kept = journal
      expect(kept.closed).toBe(false)
    }
    expect(kept.closed).toBe(true)
  })
})

describe('a full disk', () => {
  const script = fileURLToPath(new URL('full-disk-process.ts', import.meta.url))
  const mounts = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'none', '/tmp']).status === 0

  test.skipIf(!mounts).each<['fail' | 'continue', object]>([
    [
      'fail',
      {
        outcomes: [
          'before',
          'fills',
          'JOURNAL_DISK_FULL',
          'xxxxxxxxxxxxxxxxxxxx',
          'RangeError: its own error',
          'after',
          'fills',
          'fills',
          'fills',
        ],
        ran: ['before', 'fills', 'fills and fails', 'after', 'fills'],
        // A read waits for nobody. What could not be recorded is written when there is room.
        rows: ['act success', 'act success', 'look success', 'act error', 'act success', 'act success'],
      },
    ],
    [
      'continue',
      {
        outcomes: ['before', 'fills', 'full', 'xxxxxxxxxxxxxxxxxxxx', 'RangeError: its own error', 'after', 'fills', 'fills', 'fills'],
        ran: ['before', 'fills', 'full', 'fills and fails', 'after', 'fills'],
      },
    ],
  ])('%s: typed errors before a call, its own result after it, and it goes on when there is room', async (onFailure, expected) => {
    const fixture = makeSandbox()
    const under = ['unshare', '-rm', 'sh', '-c', 'mount -t tmpfs -o size=600k none "$0" && exec "$@"', fixture.root]
    const { code, stdout, stderr } = await startScript(script, [fixture.root, onFailure], under).ended
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject(expected)
    expect(stderr).toContain('JOURNAL_DISK_FULL')
  })
})

describe('files that cannot be used', () => {
  test.each<[string, (file: string) => void, string, OpenJournalOptions]>([
    ['no such directory', (file) => rmSync(join(file, '..'), { recursive: true }), 'JOURNAL_NOT_FOUND', {}],
    ['a directory', (file) => mkdirSync(file), 'JOURNAL_OPEN_FAILED', {}],
    [
      'some text',
      (file) => writeFileSync(file, 'this is a text and no database, whoever says otherwise\n'.repeat(50)),
      'JOURNAL_NOT_A_DATABASE',
      {},
    ],
    ['nothing to read', () => undefined, 'JOURNAL_NOT_FOUND', { readOnly: true }],
  ])('%s', async (_what, prepare, code, options) => {
    const file = join(makeSandbox().root, 'runs.db')
    prepare(file)
    await expect(openJournal(`file:${file}`, options)).rejects.toMatchObject({
      name: 'ToolError',
      code,
      details: { path: expect.any(String) },
    })
  })

  test.each<[unknown, string]>([
    ['', 'JOURNAL_LOCATION_INVALID'],
    ['mysql://host/db', 'JOURNAL_LOCATION_INVALID'],
    [5, 'INVALID_INPUT'],
    [null, 'INVALID_INPUT'],
  ])('%j', async (location, code) => {
    await expect(openJournal(location as string)).rejects.toMatchObject({ code })
  })

  test.each<[object]>([
    [{ synchronous: 'sometimes' }],
    [{ onFailure: 'ignore' }],
    [{ redactKeys: 'yes' }],
    [{ readOnly: 1 }],
    [{ maxOutputBytes: 0 }],
    [{ maxOutputBytes: Number.NaN }],
    [{ busyTimeoutMs: -1 }],
  ])('options %j', async (options) => {
    await expect(openJournal('memory:', options as OpenJournalOptions)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })

  test('a journal that is only read: it lists, and refuses to record', async () => {
    const fixture = makeSandbox()
    const file = fixture.at('../runs.db')
    const written = await openJournal(file)
    await runTask({ journal: written, runId: 'run', nodeId: 'node' }, () => act.execute({ what: 'x' }))
    await written.close()
    chmodSync(file, 0o444)
    const journal = await openJournal(new URL(`file://${file}`), { readOnly: true })
    onTestFinished(() => journal.close())
    expect(await journal.listRuns()).toMatchObject([{ runId: 'run', calls: 1 }])
    const key = { runId: 'run', nodeId: 'node', attempt: 2, seq: 1 }
    for (const refused of [
      async () => journal.insertToolCall({ ...key, toolName: 'x', sideEffect: true }),
      async () => journal.insertToolCall({ ...key, toolName: 'x', status: 'success' }),
      () => runTask({ journal, runId: 'run', nodeId: 'node' }, () => 1),
      () => journal.recover(),
    ]) {
      expect(await codeOf(refused())).toBe('JOURNAL_READ_ONLY')
    }
  })

  test('a damaged file is a typed error, when it is opened or when it is read', async () => {
    const fixture = makeSandbox()
    const file = fixture.at('../runs.db')
    const journal = await openJournal(file)
    for (let seq = 1; seq <= 300; seq += 1) {
      await journal.insertToolCall({
        runId: 'run',
        nodeId: 'node',
        attempt: 1,
        seq,
        toolName: 'x',
        sideEffect: true,
        inputJson: `"${'x'.repeat(500)}"`,
      })
    }
    await journal.close()
    const { size } = statSync(file)
    const descriptor = openSync(file, 'r+')
    for (let at = 8_192; at < size; at += 4_096) writeSync(descriptor, Buffer.alloc(2_000, 0xa5), 0, 2_000, at)
    closeSync(descriptor)
    const read = async () => {
      await using damaged = await openJournal(file)
      return await damaged.listToolCalls('run', 'node', 0)
    }
    expect(await codeOf(read())).toMatch(/^JOURNAL_(?:CORRUPT|NOT_A_DATABASE)$/u)
    truncateSync(file, 50)
    expect(await codeOf(read())).toMatch(/^JOURNAL_(?:CORRUPT|NOT_A_DATABASE)$/u)
  })

  test('a file that a command removes is noticed before the next call', async () => {
    const fixture = makeSandbox()
    const file = fixture.at('runs.db')
    const journal = await openJournal(file)
    onTestFinished(() => journal.close().catch(() => undefined))
    ran.length = 0
    await runTask({ journal, runId: 'run', nodeId: 'node' }, async () => {
      await act.execute({ what: 'x' })
      rmSync(file)
      expect(await codeOf(act.execute({ what: 'y' }))).toBe('JOURNAL_REMOVED')
    })
    expect(ran).toEqual(['x'])
  })
})
