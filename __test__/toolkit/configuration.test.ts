import { constants } from 'node:buffer'
import {
  BASH_TOOL_MAX_OUTPUT_BYTES,
  BASH_TOOL_MAX_TIMEOUT_MS,
  bashTool,
  configureTools,
  createTools,
  readFileTool,
  runWithToolContext,
  tools,
} from 'toolwright'
import { beforeEach, describe, expect, test } from 'vitest'
import { expectReadable, refusal } from '../support/refusal.ts'
import { makeSandbox } from '../support/sandbox.ts'

beforeEach(() => configureTools({}))

function thrownBy(use: () => unknown): unknown {
  try {
    return use()
  } catch (error) {
    return error
  }
}

describe('001 Configuration', () => {
  test('"rootDir | Workflow directory | Sandbox root"', async () => {
    const fixture = makeSandbox()
    fixture.put('a', 'in the box')
    expect(await createTools({ rootDir: fixture.root }).read.execute({ path: 'a' })).toBe('in the box')
    configureTools({ rootDir: fixture.root })
    expect(await tools.read.execute({ path: 'a' })).toBe('in the box')
    expect(await readFileTool('a')).toBe('in the box')
  })

  test('"allowNetwork | false | Allow network commands in bash"', async () => {
    const command = { cmd: 'echo', args: ['https://example.com'] }
    expect((await refusal(createTools({ networkGuard: 'tokens' }).bash.execute(command))).code).toBe('TOOL_NETWORK_DISABLED')
    const open = createTools({ allowNetwork: true })
    expect(await open.bash.execute(command)).toBe('https://example.com\n')
    configureTools({ allowNetwork: true })
    expect(await tools.bash.execute(command)).toBe('https://example.com\n')
    const closed = createTools({ allowNetwork: false, networkGuard: 'tokens' })
    expect((await refusal(closed.bash.execute(command))).code).toBe('TOOL_NETWORK_DISABLED')
  })

  test('"maxOutputBytes | 200000 (200KB) | Max output size per tool"', async () => {
    const fixture = makeSandbox()
    fixture.put('exact', 'x'.repeat(200_000))
    fixture.put('over', 'x'.repeat(200_001))
    const { read } = createTools({ rootDir: fixture.root })
    expect(await read.execute({ path: 'exact' })).toHaveLength(200_000)
    await refusal(read.execute({ path: 'over' }))
    const raised = createTools({ rootDir: fixture.root, maxOutputBytes: 200_001 })
    expect(await raised.read.execute({ path: 'over' })).toHaveLength(200_001)
    const lowered = createTools({ rootDir: fixture.root, maxOutputBytes: 10 })
    expect((await refusal(lowered.read.execute({ path: 'exact' }))).code).toBe('TOOL_FILE_TOO_LARGE')
    expect(await lowered.bash.execute({ cmd: 'printf', args: ['0123456789abc'] })).toBe('0123456789')
  })

  test('"toolTimeoutMs | 60000 (60s) | Timeout for bash and grep"', async () => {
    const fixture = makeSandbox()
    const { bash } = createTools({ rootDir: fixture.root, toolTimeoutMs: 150 })
    const error = await refusal(bash.execute({ cmd: 'sleep', args: ['30'] }))
    expect(error).toMatchObject({ code: 'PROCESS_TIMEOUT', details: { timeoutMs: 150 } })
    configureTools({ toolTimeoutMs: 160, rootDir: fixture.root })
    const configured = await refusal(bashTool('sleep', ['30']))
    expect(configured.details).toMatchObject({ timeoutMs: 160 })
  })

  test('the example: rootDir, allowNetwork: false, maxOutputBytes: 500_000, toolTimeoutMs: 120_000', async () => {
    const fixture = makeSandbox()
    const set = createTools({
      rootDir: fixture.root,
      allowNetwork: false,
      maxOutputBytes: 500_000,
      toolTimeoutMs: 120_000,
    })
    expect(await set.write.execute({ path: 'a', content: 'x'.repeat(500_000) })).toBe('ok')
    expect(await set.read.execute({ path: 'a' })).toHaveLength(500_000)
    await refusal(set.write.execute({ path: 'a', content: 'x'.repeat(500_001) }))
  })
})

describe('Options', () => {
  test('"Order: context > createTools > configureTools > defaults of 001.", for each option on its own', async () => {
    const [byContext, byCreate, byConfigure] = [makeSandbox(), makeSandbox(), makeSandbox()]
    for (const fixture of [byContext, byCreate, byConfigure]) fixture.put('where', fixture.root)
    configureTools({ rootDir: byConfigure.root, maxOutputBytes: 300, allowNetwork: true })
    const created = createTools({ rootDir: byCreate.root, networkGuard: 'tokens' })
    expect(await tools.read.execute({ path: 'where' })).toBe(byConfigure.root)
    expect(await created.read.execute({ path: 'where' })).toBe(byCreate.root)
    expect(await byContext.within(() => created.read.execute({ path: 'where' }))).toBe(byContext.root)
    // What nobody nearer says comes from configureTools.
    await refusal(created.write.execute({ path: 'big', content: 'x'.repeat(301) }))
    expect(await created.bash.execute({ cmd: 'echo', args: ['npm'] })).toBe('npm\n')
    const closed = runWithToolContext({ allowNetwork: false }, () => created.bash.execute({ cmd: 'echo', args: ['npm'] }))
    expect((await refusal(closed)).code).toBe('TOOL_NETWORK_DISABLED')
    const larger = runWithToolContext({ maxOutputBytes: 301 }, () => created.write.execute({ path: 'big', content: 'x'.repeat(301) }))
    expect(await larger).toBe('ok')
  })

  test('"the context’s field is timeoutMs"', async () => {
    const fixture = makeSandbox()
    const { bash } = createTools({ toolTimeoutMs: 60_000 })
    const error = await refusal(fixture.within(() => bash.execute({ cmd: 'sleep', args: ['30'] }), { timeoutMs: 120 }))
    expect(error.details).toMatchObject({ timeoutMs: 120 })
  })

  test('an option left out keeps its default; the last configureTools holds', async () => {
    const fixture = makeSandbox()
    configureTools({ maxOutputBytes: 5, rootDir: fixture.root })
    configureTools({ rootDir: fixture.root })
    expect(await tools.write.execute({ path: 'a', content: 'longer than five' })).toBe('ok')
  })

  test('a context field that is undefined counts as left out', async () => {
    const fixture = makeSandbox()
    const set = createTools({ rootDir: fixture.root })
    fixture.put('a', 'x')
    const read = runWithToolContext({ rootDir: undefined, maxOutputBytes: undefined }, () => set.read.execute({ path: 'a' }))
    expect(await read).toBe('x')
  })

  test('options changed after createTools change nothing', async () => {
    const fixture = makeSandbox()
    fixture.put('a', 'x')
    const options = { rootDir: fixture.root }
    const set = createTools(options)
    options.rootDir = '/nowhere'
    expect(await set.read.execute({ path: 'a' })).toBe('x')
  })

  test('000 bash: "the hard cap is one hour", and 10,485,760 bytes; both bind bash alone', async () => {
    const fixture = makeSandbox()
    fixture.put('a', 'x')
    const bytes = createTools({ rootDir: fixture.root, maxOutputBytes: BASH_TOOL_MAX_OUTPUT_BYTES + 1 })
    const time = createTools({ rootDir: fixture.root, toolTimeoutMs: BASH_TOOL_MAX_TIMEOUT_MS + 1 })
    for (const set of [bytes, time]) {
      expect(await set.read.execute({ path: 'a' })).toBe('x')
      expect(await refusal(set.bash.execute({ cmd: 'true' }))).toMatchObject({ code: 'INVALID_INPUT' })
    }
    const { summary } = await refusal(bytes.bash.execute({ cmd: 'true' }))
    expect(summary).toBe('maxOutputBytes exceeds 10485760.')
  })

  const senseless: [string, object][] = [
    ['maxOutputBytes zero', { maxOutputBytes: 0 }],
    ['maxOutputBytes negative', { maxOutputBytes: -1 }],
    ['maxOutputBytes NaN', { maxOutputBytes: Number.NaN }],
    ['maxOutputBytes infinite', { maxOutputBytes: Number.POSITIVE_INFINITY }],
    ['maxOutputBytes longer than a string can be', { maxOutputBytes: constants.MAX_STRING_LENGTH + 1 }],
    ['maxOutputBytes a string', { maxOutputBytes: '200000' }],
    ['maxOutputBytes a BigInt', { maxOutputBytes: 200_000n }],
    ['toolTimeoutMs zero', { toolTimeoutMs: 0 }],
    ['toolTimeoutMs NaN', { toolTimeoutMs: Number.NaN }],
    ['toolTimeoutMs longer than a timer can be', { toolTimeoutMs: 2_147_483_648 }],
    ['toolTimeoutMs a string', { toolTimeoutMs: '1000' }],
    ['rootDir empty', { rootDir: '' }],
    ['rootDir a number', { rootDir: 1 }],
    ['rootDir with NUL', { rootDir: '/tmp\0/x' }],
    ['allowNetwork a string', { allowNetwork: 'false' }],
    ['durability unknown', { durability: 'maybe' }],
    ['allowInPlace a string', { allowInPlace: 'no' }],
  ]
  test.each(senseless)('an option that makes no sense is INVALID_INPUT at once: %s', (_what, options) => {
    for (const use of [() => createTools(options), () => configureTools(options)]) {
      const error = thrownBy(use)
      expect(error).toMatchObject({ name: 'ToolError', code: 'INVALID_INPUT' })
      expectReadable(error as never)
    }
  })

  test.each(senseless.filter(([, options]) => !('durability' in options || 'allowInPlace' in options)))(
    'the same in a context is INVALID_INPUT when a call is made: %s',
    async (_what, { toolTimeoutMs, ...options }: { toolTimeoutMs?: unknown }) => {
      const fixture = makeSandbox()
      fixture.put('a', 'x')
      const context = { ...options, ...(toolTimeoutMs === undefined ? {} : { timeoutMs: toolTimeoutMs }) }
      const error = await refusal(fixture.within(() => readFileTool('a'), context as object))
      expect(error.code).toMatch(/^(?:INVALID_INPUT|TOOL_ROOT_INVALID)$/u)
      expectReadable(error)
    },
  )
})

test('a root directory that does not exist is refused when the tools are made', () => {
  const { at, put } = makeSandbox()
  put('file', 'x')
  const refused = (rootDir: string, reason: string) =>
    expect(() => createTools({ rootDir })).toThrow(`rootDir: ${reason} (createTools) [INVALID_INPUT] Correct the value and call again.`)
  refused(at('project'), `there is no directory ${at('project')}.`)
  refused(at('file'), `${at('file')} is no directory.`)
})
