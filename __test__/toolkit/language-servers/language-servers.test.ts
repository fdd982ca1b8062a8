import { createTools, type Fork, type LanguageServerOptions, openFork, openJournal } from 'toolwright'
import type { ToolSet } from 'ai'
import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { running, sleepingMark } from '../../support/processes.ts'
import { makeSandbox } from '../../support/sandbox.ts'

/** Waits until something holds, also on a busy machine. */
const eventually = (holds: () => unknown): Promise<unknown> => vi.waitFor(holds, { timeout: 20_000, interval: 50 })

const script = resolve(import.meta.dirname, 'scripted-server.mjs')

type Kind =
  | 'pull'
  | 'push'
  | 'twice'
  | 'registers'
  | 'mute'
  | 'late'
  | 'stuck'
  | 'records'
  | 'garbage'
  | 'endless'
  | 'dies'
  | 'leaks'
  | 'forks'
  | 'hangs'
  | 'listens'
  | 'reads'
  | 'noisy'

/** A set whose server for .ts files is the scripted one. */
function scene(kind: Kind, argument = '', options: Omit<LanguageServerOptions, 'servers'> = {}) {
  const box = makeSandbox()
  const command = [process.execPath, script, kind, argument]
  const servers = { typescript: { command, languages: { '.ts': 'typescript' } } }
  const tools = createTools({ rootDir: box.root, languageServers: { servers, waitMs: 10_000, ...options }, extraTools: ['apply_patch'] })
  onTestFinished(() => tools[Symbol.asyncDispose]())
  let calls = 0
  /** Makes a call, and returns the model's text. */
  const call = async (
    name: 'read' | 'write' | 'edit' | 'apply_patch' | 'bash' | 'grep' | 'lsp',
    input: Record<string, unknown>,
  ): Promise<string> => {
    const tool = tools[name] as unknown as {
      execute(input: unknown, options: unknown): Promise<string>
      toModelOutput?(request: unknown): { value: string }
    }
    const toolCallId = `call-${(calls += 1)}`
    const output = await tool.execute(input, { toolCallId, messages: [] })
    return tool.toModelOutput === undefined ? output : tool.toModelOutput({ toolCallId, input, output }).value
  }
  const write = (path: string, content: string): Promise<string> => call('write', { path, content })
  return { ...box, tools, call, write }
}

const none = (files: string): string => `(No new problems by the typescript language server in ${files}.)`
const found = (files: string, ...lines: string[]): string =>
  [`New problems by the typescript language server (${files} checked):`, ...lines].join('\n')

describe.skipIf(process.platform !== 'linux')('createTools({ languageServers })', () => {
  test('a set has the tool lsp, and an end that no agent sees', () => {
    const { tools } = scene('pull')
    expect(Object.keys(tools)).toEqual(['read', 'write', 'edit', 'grep', 'apply_patch', 'lsp', 'bash', 'glob'])
    expect(tools satisfies ToolSet).not.toHaveProperty('close')
    expect(Object.keys(createTools())).not.toContain('lsp')
  })

  for (const kind of ['pull', 'push'] as const) {
    describe(`a server that answers by ${kind}`, () => {
      test('an answer ends with the problems that are new since before the change, and with no old one', async () => {
        const { put, write, call, text } = scene(kind)
        put('a.ts', 'BAD old\nfine\n')
        expect(await write('a.ts', 'one more line\nBAD old\nBAD new\n')).toContain(found('1 file', 'a.ts:3: error S1: bad: BAD new'))
        const patch = '--- a/a.ts\n+++ b/a.ts\n@@ -3 +3 @@\n-BAD new\n+fine\n'
        expect(await call('edit', { path: 'a.ts', patch })).toContain(none('1 file'))
        const many = '*** Begin Patch\n*** Update File: a.ts\n@@\n-fine\n+BAD newer\n*** Add File: b.ts\n+BAD too\n*** End Patch'
        expect(await call('apply_patch', { patch: many })).toBe(
          `Success. Updated the following files:\nM a.ts\nA b.ts\n${found('2 files', 'a.ts:3: error S1: bad: BAD newer', 'b.ts:1: error S1: bad: BAD too')}`,
        )
        expect(text('b.ts')).toBe('BAD too\n')
      })

      test('files that import the changed one are checked too', async () => {
        const { put, write } = scene(kind)
        put('src/far.ts', "import './near.js'\nBAD far\n")
        put('src/near.ts', "import {\n  x,\n} from './used.js'\nneeds used.ts\n")
        put('src/other.ts', 'needs used.ts\n')
        put('src/used.ts', 'HERE\n')
        expect(await write('src/used.ts', 'gone\n')).toMatch(/\nNew problems by .*\nsrc\/near\.ts:4: error S2: used\.ts lacks it$/u)
      })

      test('what a command has changed meanwhile is not told as new', async () => {
        const { put, write, call } = scene(kind)
        put('a.ts', "import './b.js'\nfine\n")
        put('b.ts', 'fine\n')
        expect(await write('b.ts', 'fine too\n')).toContain(none('2 files'))
        await call('bash', { cmd: 'sh', args: ['-c', 'echo BAD by a command >> a.ts'] })
        expect(await write('b.ts', 'fine again\n')).toContain(none('2 files'))
        expect(await write('a.ts', "import './b.js'\nBAD by a command\nBAD mine\n")).toContain('a.ts:3: error S1: bad: BAD mine')
      })

      test('nor what a command has changed of the file itself', async () => {
        const { put, write, call } = scene(kind)
        put('a.ts', 'fine\n')
        await write('a.ts', 'fine too\n')
        await call('bash', { cmd: 'sh', args: ['-c', 'echo BAD by a command >> a.ts'] })
        await call('read', { path: 'a.ts' })
        const told = await write('a.ts', 'fine too\nBAD by a command\nBAD mine\n')
        expect(told).toContain(found('1 file', 'a.ts:3: error S1: bad: BAD mine'))
      })

      test('a file that was deleted has no problems, and one in its place has none of before', async () => {
        const { put, write, call } = scene(kind)
        put('a.ts', 'BAD old\n')
        expect(await call('apply_patch', { patch: '*** Begin Patch\n*** Delete File: a.ts\n*** End Patch' })).toContain(none('0 files'))
        expect(await write('a.ts', 'BAD old\n')).toContain('a.ts:1: error S1: bad: BAD old')
      })
    })
  }

  test('a server that speaks of a text more than once is heard to its end', async () => {
    const { put, write } = scene('twice')
    put('a.ts', 'BAD old\n')
    expect(await write('a.ts', 'BAD old\nBAD new\n')).toContain(found('1 file', 'a.ts:2: error S1: bad: BAD new'))
    expect(await write('a.ts', 'BAD old\nfine\n')).toContain(none('1 file'))
  })

  test('a server that says late that it is to be asked is asked', async () => {
    const { put, write } = scene('registers')
    put('a.ts', 'fine\n')
    expect(await write('a.ts', 'BAD new\n')).toContain(found('1 file', 'a.ts:1: error S1: bad: BAD new'))
  })

  test('only files with a server are checked, and a failed change says nothing of them', async () => {
    const { write, call } = scene('pull')
    expect(await write('a.md', 'BAD\n')).toBe('ok')
    await expect(call('edit', { path: 'a.ts', patch: '@@ -1 +1 @@\n-a\n+b\n' })).rejects.toThrow('TOOL_FILE_NOT_FOUND')
    expect(await write('a.ts', 'fine\n')).toContain(none('1 file'))
  })

  test('an answer does not wait longer than it may; the next one of any tool has what came later, once', async () => {
    const { write, call, put } = scene('late', '300', { waitMs: 50 })
    put('a.ts', 'fine\n')
    expect(await write('a.ts', 'BAD\n')).toMatch(
      /\(Not checked yet by the typescript language server: the next answer tells what is new\.\)$/u,
    )
    await eventually(async () => {
      expect(await call('bash', { cmd: 'true' })).toContain(
        'New problems since the edit of a.ts, by the typescript language server (1 file checked):\na.ts:1: error S1: bad: BAD',
      )
    })
    expect(await call('bash', { cmd: 'true' })).toBe('(no output)')
  })

  // A check may end before its answer, with it, or after it.
  for (const waitMs of [1, 60, 150, 200, 10_000]) {
    test(`what is told of an edit is told once, where its answer waits for ${waitMs} ms and the server speaks twice`, async () => {
      const { write, call, put } = scene('twice', '', { waitMs })
      put('b.ts', "import './a.js' // needs a.ts\n")
      put('a.ts', 'fine\n')
      let told = ''
      for (let edit = 0; edit < 5; edit += 1) {
        // eslint-disable-next-line no-await-in-loop -- one after the other
        const answer = await write('a.ts', `HERE ${edit}\nBAD ${edit}\n`)
        told += answer
        let next = ''
        for (let turn = 0; turn < 100 && /not checked yet/iu.test(answer) && !next.includes('language server'); turn += 1) {
          await sleep(50) // eslint-disable-line no-await-in-loop
          next += await call('bash', { cmd: 'true' }) // eslint-disable-line no-await-in-loop
        }
        await sleep(20) // eslint-disable-line no-await-in-loop
        const last = await call('bash', { cmd: 'true' }) // eslint-disable-line no-await-in-loop
        expect(last).toBe('(no output)')
        told += next
      }
      for (let edit = 0; edit < 5; edit += 1) expect(told.split(`bad: BAD ${edit}`)).toHaveLength(2)
    })
  }

  test('a server of a host is started by its command line, with its options, settings and languages', async () => {
    const { root, put, text } = makeSandbox()
    put('bin/jdtls', `#!/bin/sh\nprintf '%s\\n' "$@" > arguments.txt\nexec '${process.execPath}' '${script}' records\n`)
    chmodSync(join(root, 'bin/jdtls'), 0o755)
    const java = {
      command: ['./bin/jdtls', '-data', '.cache/jdtls'],
      languages: { '.java': 'java' },
      initializationOptions: { bundles: [] },
      settings: { java: { autobuild: { enabled: false } } },
    }
    const tools = createTools({ rootDir: root, languageServers: { servers: { java }, waitMs: 10_000 } })
    onTestFinished(() => tools[Symbol.asyncDispose]())
    const input = { path: 'Shop.java', content: 'class Shop {}\nBAD\n' }
    const output = await tools.write.execute(input, { toolCallId: 'x' })
    const shown = tools.write.toModelOutput?.({ toolCallId: 'x', input, output }) as { value: string }
    expect(shown.value).toContain('New problems by the java language server (1 file checked):\nShop.java:2: error S1: bad: BAD')
    expect(text('arguments.txt')).toBe('-data\n.cache/jdtls\n')
    const heard = text('heard.jsonl')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { method: string; params: unknown })
    const params = (method: string): unknown => heard.find((message) => message.method === method)?.params
    expect(params('initialize')).toMatchObject({ initializationOptions: { bundles: [] } })
    expect(params('workspace/didChangeConfiguration')).toEqual({ settings: java.settings })
    expect(params('textDocument/didOpen')).toMatchObject({ textDocument: { languageId: 'java' } })
    expect(await tools.lsp.execute({ action: 'diagnostics', path: 'Shop.java' } as never)).toBe('Shop.java:2: error S1: bad: BAD')
  })

  test('a check whose time is over tells what it has found, and how many files it has not checked', { timeout: 60_000 }, async () => {
    const timeout = AbortSignal.timeout.bind(AbortSignal)
    // A minute, in a moment.
    const spy = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => timeout(ms >= 30_000 ? ms / 15 : ms))
    onTestFinished(() => spy.mockRestore())
    const { put, write, call } = scene('stuck')
    put('far.ts', "import './middle.js'\n")
    put('middle.ts', "import './near.js'\nneeds a.ts\n")
    put('near.ts', "import './a.js'\n")
    put('a.ts', 'HERE\n')
    const late = async (expected: string): Promise<void> => {
      await eventually(async () => expect(await call('bash', { cmd: 'true' })).toContain(expected))
    }
    expect(await write('a.ts', 'HERE too\n')).toContain(
      '(No new problems by the typescript language server in 2 files; 2 files that may depend on it not checked yet.)',
    )
    await late('(Of the edit of a.ts: no new problems by the typescript language server in 3 files, 1 not.)')
    expect(await write('a.ts', 'gone\n')).toContain('2 files that may depend on it not checked yet')
    await late('by the typescript language server (3 files checked, 1 not):\nmiddle.ts:2: error S2: a.ts lacks it')
  })

  test('no answer is not taken for a clean file', async () => {
    const { write } = scene('mute', '', { waitMs: 300 })
    expect(await write('a.ts', 'BAD\n')).toContain('(Not checked yet by the typescript language server')
  })

  test('edits at once are each answered', async () => {
    const { write } = scene('pull')
    const texts = await Promise.all(Array.from({ length: 20 }, (_, index) => write(`f${index}.ts`, `BAD ${index}\n`)))
    for (const [index, text] of texts.entries()) expect(text).toContain(`f${index}.ts:1: error S1: bad: BAD ${index}`)
  })

  test('an abort ends the wait and not the change', async () => {
    const { tools, text } = scene('late', '60000')
    const abort = new AbortController()
    const call = (async () => tools.write.execute({ path: 'a.ts', content: 'BAD\n' }, { toolCallId: 'x', abortSignal: abort.signal }))()
    await eventually(() => expect(text('a.ts')).toBe('BAD\n'))
    abort.abort()
    await Promise.race([call.catch(() => undefined), sleep(5_000).then(() => expect.fail('the call still waits'))])
    expect(text('a.ts')).toBe('BAD\n')
  })

  describe('servers that fail', () => {
    const failures = {
      garbage: 'its output is no messages of the protocol',
      endless: 'one of its messages is longer than 16000000 bytes',
      dies: 'it ended with exit code 3 (it printed: cannot find the compiler)',
    }
    for (const [kind, why] of Object.entries(failures) as [keyof typeof failures, string][]) {
      test(`one that ${kind}: the edit is made, the answer says why, and the next edit after a rest starts it again`, async () => {
        const { write, text, call } = scene(kind)
        const begin = `(Not checked: the typescript language server has failed: ${why}. It is started again with an edit after `
        const answer = await write('a.ts', 'BAD\n')
        expect(answer).toContain(`${begin}1 s.)`)
        expect(text('a.ts')).toBe('BAD\n')
        // On a busy machine, the rest may be over already.
        expect(await write('b.ts', 'BAD\n')).toContain(begin)
        await expect(call('lsp', { action: 'symbols', path: 'a.ts' })).rejects.toThrow(
          `The language server has failed: ${why} [TOOL_LANGUAGE_SERVER_FAILED] It is started again by a call after `,
        )
        await sleep(1_100)
        await eventually(async () => expect(await write('c.ts', 'BAD\n')).toMatch(/It is started again with an edit after [2-8] s\.\)$/u))
      })
    }

    test('a program that is not there', async () => {
      const { root } = makeSandbox()
      const servers = { mine: { command: ['no-such-server'], languages: { '.ts': 'typescript' } } }
      const tools = createTools({ rootDir: root, languageServers: { servers, waitMs: 10_000 } })
      onTestFinished(() => tools[Symbol.asyncDispose]())
      await tools.write.execute({ path: 'a.ts', content: 'x' }, { toolCallId: 'x' })
      await expect(tools.lsp.execute({ action: 'symbols', path: 'a.ts' })).rejects.toThrow(
        /no-such-server.*\[TOOL_LANGUAGE_SERVER_FAILED\]/u,
      )
    })

    test('one that leaks is ended by its limit of memory', async () => {
      const { write } = scene('leaks', '', { memoryBytes: 400_000_000 })
      expect(await write('a.ts', 'BAD\n')).toMatch(/\(Not checked: the typescript language server has failed: it (?:ended|was ended)/u)
    })

    test('one that prints errors without end is read', async () => {
      const { write } = scene('noisy')
      expect(await write('a.ts', 'BAD\n')).toContain('a.ts:1: error S1')
    })

    test('one that does not read: the answer comes in time', async () => {
      const { write } = scene('hangs', '', { waitMs: 200 })
      expect(await write('a.ts', `BAD ${'x'.repeat(150_000)}\n`)).toContain('(Not checked yet')
    })
  })

  test('nothing of a server is left at the end of the set, nor when it was idle', async () => {
    for (const options of [{}, { idleMs: 200 }]) {
      const mark = sleepingMark()
      const { write, tools, root } = scene('forks', mark, options)
      // eslint-disable-next-line no-await-in-loop -- one after the other
      await write('a.ts', 'fine\n')
      expect(running(mark)).not.toEqual([])
      if (options.idleMs === undefined) await tools[Symbol.asyncDispose]() // eslint-disable-line no-await-in-loop
      // eslint-disable-next-line no-await-in-loop -- one after the other
      await eventually(() => expect(running(mark)).toEqual([]))
      expect(existsSync(root)).toBe(true)
    }
  })

  test('a server reads no store of credentials, and reaches no network', async () => {
    const secret = join(homedir(), '.ssh')
    const { write, text, put } = scene('reads', `${join(secret, 'id_test')},a.ts`)
    put('a.ts', 'fine\n')
    await write('a.ts', 'fine too\n')
    await eventually(() =>
      expect(JSON.parse(text('found.json'))).toEqual([expect.stringMatching(/^E[A-Z]+$/u), expect.stringContaining('fine')]),
    )
  })

  describe('lsp', () => {
    test('diagnostics, and refusals with a next move', async () => {
      const { put, call } = scene('pull')
      put('a.ts', 'const one = 1\nBAD one\n')
      expect(await call('lsp', { action: 'diagnostics', path: 'a.ts' })).toBe('a.ts:2: error S1: bad: BAD one')
      expect(await call('lsp', { action: 'symbols', path: 'a.ts' })).toBe('(No symbols.)')
      expect(await call('lsp', { action: 'references', path: 'a.ts', symbol: 'one' })).toBe('(No references.)')
      const refused = (input: Record<string, unknown>, text: string) => expect(call('lsp', input)).rejects.toThrow(text)
      await refused({ action: 'hover', path: 'a.ts' }, 'symbol is missing: hover needs the text of the symbol')
      await refused(
        { action: 'hover', path: 'a.ts', symbol: 'two' },
        'symbol: "two" is not in a.ts. The file does not have it; find it with grep.',
      )
      await refused({ action: 'hover', path: 'a.ts', symbol: 'BAD', line: 1 }, 'symbol: "BAD" is not on line 1 of a.ts. It is on line 2.')
      await refused({ action: 'hover', path: 'a.ts', symbol: 'BAD', line: 9 }, 'line is 9: a.ts has 2 lines.')
      await refused({ action: 'hover', path: 'b.ts', symbol: 'BAD' }, 'path: there is no file b.ts. Did you mean a.ts?')
      await refused({ action: 'hover', path: 'a.ts', symbol: 'bad' }, 'symbol: "bad" is not in a.ts. Did you mean "BAD", on line 2?')
      await refused(
        { action: 'hover', path: 'a.md', symbol: 'BAD' },
        'path: no language server is known for .md here. There is one for typescript.',
      )
      await refused({ action: 'hover', path: '../a.ts', symbol: 'BAD' }, 'path: ../a.ts is outside of the root directory.')
    })

    test('a call is recorded as one that reads', async () => {
      const { root, put } = makeSandbox()
      put('a.ts', 'BAD\n')
      const journal = await openJournal('memory:')
      onTestFinished(() => journal.close())
      const servers = { mine: { command: [process.execPath, script, 'pull'], languages: { '.ts': 'typescript' } } }
      const tools = createTools({ rootDir: root, journal, runId: 'run', languageServers: { servers } })
      onTestFinished(() => tools[Symbol.asyncDispose]())
      await tools.lsp.execute({ action: 'diagnostics', path: 'a.ts' })
      await journal.flush()
      expect(await journal.listRun('run')).toMatchObject([{ toolName: 'lsp', sideEffect: false, status: 'success' }])
    })
  })

  test.skipIf(process.platform !== 'linux')('in a fork, a server sees the fork, under the paths of the directory', async () => {
    const { root, put, text } = makeSandbox()
    const { root: store } = makeSandbox()
    put('a.ts', 'BAD old\n')
    put('b.ts', "import './a.js' // needs a.ts\n")
    const opened = await openFork({ rootDir: root, store }).catch((error: unknown) => error)
    if (opened instanceof Error) return expect(opened).toMatchObject({ code: 'FORK_UNAVAILABLE' })
    const fork = opened as Fork
    const other = await openFork({ rootDir: root, store })
    const servers = { typescript: { command: [process.execPath, script, 'pull', ''], languages: { '.ts': 'typescript' } } }
    const setOf = (rootDir: Fork) => createTools({ rootDir, languageServers: { servers, waitMs: 20_000 } })
    const [tools, others] = [setOf(fork), setOf(other)]
    const write = async (set: typeof tools, path: string, content: string): Promise<string> => {
      const input = { path, content }
      const output = await set.write.execute(input, { toolCallId: path })
      const shown = set.write.toModelOutput?.({ toolCallId: path, input, output }) as { value: string } | undefined
      return shown?.value ?? ''
    }
    try {
      expect(await write(tools, 'a.ts', 'BAD old\nBAD new\n')).toContain('a.ts:2: error S1: bad: BAD new')
      expect(text('a.ts')).toBe('BAD old\n')
      // What a command changes in the fork is no news of the next edit.
      await tools.bash.execute({ cmd: 'sh', args: ['-c', 'echo BAD by a command >> a.ts'] }, { toolCallId: 'bash' })
      expect(await tools.read.execute({ path: 'a.ts' }, { toolCallId: 'read' })).toContain('by a command')
      const more = await write(tools, 'a.ts', 'BAD old\nBAD new\nBAD by a command\nBAD again\n')
      expect([more.includes('a.ts:4: error S1'), more.includes('a.ts:3: error S1')]).toEqual([true, false])
      expect(await tools.lsp.execute({ action: 'diagnostics', path: 'a.ts' } as never)).toBe(
        ['old', 'new', 'by a command', 'again'].map((what, line) => `a.ts:${line + 1}: error S1: bad: BAD ${what}`).join('\n'),
      )
      expect(await write(others, 'a.ts', 'fine\n')).toContain('(No new problems')
    } finally {
      await Promise.all([tools, others].map((set) => set[Symbol.asyncDispose]()))
      await fork.discard()
      await other.discard()
    }
  })

  test('options that cannot be meant are refused', () => {
    const refused = (languageServers: unknown, text: string) => expect(() => createTools({ languageServers } as never)).toThrow(text)
    refused('all', "languageServers must be 'installed' or an object of options.")
    refused(
      { servers: { cobol: 'installed' } },
      'is not known by name: give its command and languages. Known are typescript, python, rust, go, c.',
    )
    refused({ servers: { mine: { command: [], languages: { '.x': 'x' } } } }, 'must begin with a program')
    refused({ servers: { mine: { command: ['x'], languages: { x: 'x' } } } }, 'which is no file extension: one begins with a dot')
    refused({ waitMs: -1 }, 'waitMs')
    refused({ download: true }, 'download is no option')
  })
})

/** The compiler of this repository is a server too. */
describe.skipIf(process.platform !== 'linux')('TypeScript 7', () => {
  test('is found in the project; new problems, definition, references, symbols and hover are its own', async () => {
    const box = makeSandbox()
    symlinkSync(resolve(import.meta.dirname, '../../../node_modules'), box.at('node_modules'))
    mkdirSync(box.at('src'))
    writeFileSync(
      box.at('tsconfig.json'),
      JSON.stringify({ compilerOptions: { strict: true, module: 'nodenext', noEmit: true }, include: ['src'] }),
    )
    writeFileSync(box.at('package.json'), '{"type":"module"}')
    box.put('src/price.ts', '/** In cents. */\nexport function price(count: number): number {\n  return count * 100\n}\n')
    box.put('src/shop.ts', "import { price } from './price.js'\nexport const total: number = price(2)\n")
    const tools = createTools({ rootDir: box.root, languageServers: { waitMs: 30_000 } })
    onTestFinished(() => tools[Symbol.asyncDispose]())
    const content = box.text('src/price.ts').replace('): number', '): string').replace('count * 100', '`${count}`')
    const input = { path: 'src/price.ts', content }
    const output = await tools.write.execute(input, { toolCallId: 'x' })
    const shown = tools.write.toModelOutput?.({ toolCallId: 'x', input, output }) as { value: string }
    expect(shown.value).toContain(found('2 files', "src/shop.ts:2: error TS2322: Type 'string' is not assignable to type 'number'."))
    const ask = (action: string, path: string, symbol?: string) => tools.lsp.execute({ action, path, symbol } as never)
    expect(await ask('definition', 'src/shop.ts', 'price')).toBe('src/price.ts:2: export function price(count: number): string {')
    expect((await ask('references', 'src/price.ts', 'price')).split('\n')).toHaveLength(3)
    expect(await ask('symbols', 'src/price.ts')).toContain('src/price.ts:2: function price')
    expect(await ask('hover', 'src/shop.ts', 'price')).toContain('In cents.')
    expect(await ask('diagnostics', 'src/price.ts')).toBe('(No problems.)')
  }, 60_000)
})
