import * as acp from '@agentclientprotocol/sdk'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import {
  type AcpClientCapabilities,
  acpHost,
  type AcpSessionOptions,
  acpUpdates,
  applyPatchTool,
  fromAcpElicitation,
  type ProcessReport,
  processTools,
  type SessionOptions,
  toAcpElicitation,
  toAcpPermissionRequest,
  toAcpPlan,
  toAcpToolCall,
} from 'toolwright/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import { gitPatch } from '../../../ts/contract/acp/git-patch.ts'
import { textChunks } from '../../../ts/contract/acp/terminal.ts'
import { expectGone, sleepingMark } from '../../support/processes.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { allowAll, dataOf, failureOf, noRules, openScene, openSession } from '../scene.ts'
import { acpProblems } from './acp-schema.ts'

type Update = Record<string, any>
const zed: AcpClientCapabilities = { _meta: { terminal_output: true } }

/** A client that keeps what it is sent, all of which has to fit the schema; `answers` are those to requests. */
function scriptedClient(version: 1 | 2 = 1, answers: Record<string, (params: any) => unknown> = {}) {
  const updates: Update[] = []
  const requests: { method: string; params: any; after: number }[] = []
  const client = {
    async notify(method: string, params: any): Promise<void> {
      expect(method).toBe('session/update')
      expect(params.sessionId).toBe('s1')
      expect(
        acpProblems(version === 1 ? 'SessionNotification' : 'UpdateSessionNotification', params, version),
        JSON.stringify(params),
      ).toBeNull()
      expect(Buffer.byteLength(JSON.stringify(params.update['_meta'] ?? params.update.data ?? ''))).toBeLessThanOrEqual(64 * 1024)
      updates.push(structuredClone(params.update))
    },
    async request(method: string, params: any): Promise<unknown> {
      const definition = method === 'elicitation/create' ? 'CreateElicitationRequest' : 'RequestPermissionRequest'
      expect(acpProblems(definition, params, version), JSON.stringify(params)).toBeNull()
      requests.push({ method, params, after: updates.length })
      return answers[method]?.(params)
    },
  }
  return { client, updates, requests }
}

/** A session with its updates going to a scripted client. */
async function shown(
  { version = 1, clientCapabilities, ...more }: Partial<AcpSessionOptions> = {},
  options: Partial<SessionOptions> = {},
  answers: Record<string, (params: any) => unknown> = {},
) {
  const scripted = scriptedClient(version, answers)
  const connection = { client: scripted.client, sessionId: 's1', version, clientCapabilities, ...more }
  const scene = await openScene({ ...options, host: { ...acpHost(connection), ...options.host } })
  const updates = acpUpdates(scene.session, connection)
  return { ...scene, ...scripted, pump: updates }
}

const outputOf = (updates: Update[], version: 1 | 2): string =>
  updates
    .map((update) =>
      version === 1
        ? (update['_meta']?.terminal_output?.data ?? '')
        : update['sessionUpdate'] === 'terminal_output_chunk'
          ? Buffer.from(update['data'], 'base64').toString()
          : '',
    )
    .join('')

/** An update without what is the same in each of them, or differs between machines. */
const brief = (update: Update, root: string): unknown => {
  const { rawInput: input, rawOutput: output, ...rest } = update
  expect(output === undefined || input !== undefined).toBe(true)
  return JSON.parse(JSON.stringify(rest).replaceAll(root, '/project'))
}

describe('a process', () => {
  test.each([1, 2] as const)('is a terminal of version %i from its start to its end, over several calls', async (version) => {
    const style = version === 1 ? { version, clientCapabilities: zed } : { version }
    const { call, pump, updates } = await shown(style, { tools: processTools })
    dataOf(await call('process_start', { command: 'echo up; cat; exit 3', wait_ms: 5_000 }))
    await pump.flush()
    const isExit = (update: Update): boolean => update['_meta']?.terminal_exit !== undefined || update['exitStatus'] !== undefined
    expect(updates.some(isExit)).toBe(false)
    dataOf(await call('process_write', { process_id: 'p1', text: 'more\n', wait_ms: 5_000 }))
    dataOf(await call('process_read', { process_id: 'p1', from: 0 }))
    const closed = dataOf<ProcessReport>(await call('process_write', { process_id: 'p1', keys: ['ctrl+d'], wait_ms: 5_000 }))
    if (closed.running) dataOf(await call('process_read', { process_id: 'p1', wait_ms: 5_000 }))
    await pump.flush()
    // What is read once more is not shown again.
    expect(outputOf(updates, version)).toBe('up\nmore\n')
    const ids = updates.flatMap(({ _meta: meta, terminalId }) => [
      ...(terminalId === undefined ? [] : [terminalId]),
      ...[meta?.terminal_info, meta?.terminal_output, meta?.terminal_exit].flatMap((part) => part?.terminal_id ?? []),
    ])
    expect(new Set(ids).size).toBe(1)
    const exits = updates.filter(isExit)
    expect(exits).toHaveLength(1)
    expect(exits[0]).toMatchObject(
      version === 1 ? { _meta: { terminal_exit: { exit_code: 3, signal: null } } } : { exitStatus: { exitCode: 3, signal: null } },
    )
  })
})

describe('what a client is sent', () => {
  test.each([
    ['version 1', 1, undefined],
    ['version 1 with terminals by _meta', 1, zed],
    ['version 2', 2, undefined],
  ] as const)('a session in %s', async (_what, version, clientCapabilities) => {
    const { call, pump, updates, put, root } = await shown({ version, clientCapabilities }, { tools: [applyPatchTool] })
    put('a.txt', 'one\ntwo\nthree\n')
    await call('write', { path: 'new.txt', content: 'fresh\n' }, { callId: 'new' })
    await call('write', { path: 'a.txt', content: 'one\n2\nthree\n' }, { callId: 'over' })
    await call('edit', { path: 'a.txt', old_string: '2', new_string: 'zwei' }, { callId: 'edit' })
    const patch =
      '*** Begin Patch\n*** Add File: b.txt\n+b\n*** Update File: a.txt\n*** Move to: c.txt\n@@\n one\n-zwei\n+two\n*** Delete File: new.txt\n*** End Patch\n'
    expect((await call('apply_patch', { patch }, { callId: 'patch' })).type).toBe('output')
    await call('bash', { command: 'echo out; echo err >&2; exit 3' }, { callId: 'bash' })
    await call('bash', { command: 'kill -9 $$' }, { callId: 'killed' })
    await call('read', { path: 'none.txt' }, { callId: 'none' })
    await call(
      'todo',
      {
        todos: [
          { content: 'Run the tests', status: 'in_progress', active_form: 'Running the tests' },
          { content: 'Rest', status: 'pending' },
        ],
      },
      { callId: 'todo' },
    )
    await pump.flush()
    expect(updates.map((update) => brief(update, root))).toMatchSnapshot()
  })

  test.each([
    [1, zed],
    [2, undefined],
  ] as const)(
    'version %i: the first line is there before the command ends, and every byte in order',
    async (version, clientCapabilities) => {
      const { call, pump, updates, at } = await shown({ version, clientCapabilities })
      const running = call('bash', { command: 'echo first; while [ ! -e go ]; do sleep 0.02; done; echo last' }, { callId: 'c' })
      await expect.poll(() => outputOf(updates, version), { timeout: 10_000 }).toBe('first\n')
      writeFileSync(at('go'), '')
      expect(dataOf(await running).stdout).toBe('first\nlast\n')
      await pump.flush()
      expect(outputOf(updates, version)).toBe('first\nlast\n')
    },
  )

  test('a client without terminals sees the end of the output while the command runs', async () => {
    const { call, updates, at } = await shown()
    const running = call('bash', { command: 'echo first; while [ ! -e go ]; do sleep 0.02; done' })
    await expect.poll(() => updates.some(({ content }) => content?.[0]?.content?.text === 'first\n'), { timeout: 10_000 }).toBe(true)
    writeFileSync(at('go'), '')
    await running
  })

  test.each([
    [1, 'failed'],
    [2, 'cancelled'],
  ] as const)('version %i: a cancelled call is %s within a second', async (version, status) => {
    const { call, pump, updates } = await shown({ version, clientCapabilities: zed })
    const mark = sleepingMark()
    const cancelled = new AbortController()
    const running = call('bash', { command: `echo on; sleep ${mark}` }, { signal: cancelled.signal })
    await expect.poll(() => outputOf(updates, version), { timeout: 10_000 }).toBe('on\n')
    const start = performance.now()
    cancelled.abort()
    expect(failureOf(await running).code).toBe('aborted')
    await pump.flush()
    expect(performance.now() - start).toBeLessThan(1_000)
    expect(updates.at(-1)).toMatchObject({ sessionUpdate: 'tool_call_update', status })
    await expectGone(mark)
  })

  test.each([
    [1, zed],
    [2, undefined],
  ] as const)(
    'version %i: 10 MB come in parts of 64 KB at most, and no more than the bound',
    async (version, clientCapabilities) => {
      const { call, pump, updates } = await shown({ version, clientCapabilities, outputBytes: 300_000 })
      const slowly = 'for n in 1 2 3 4 5 6 7 8 9 10; do yes "a line" | head -c 50000; sleep 0.12; done'
      await call('bash', { command: slowly })
      await pump.flush()
      const paced = outputOf(updates, version)
      expect(paced.length).toBeGreaterThan(290_000)
      expect(paced.length).toBeLessThan(301_000)
      expect(paced).toMatch(/\[\d+ of 500000 bytes of the output are not shown here\.\]\n$/u)
      updates.length = 0
      const envelope = await call('bash', { command: "yes 'a line of the output' | head -c 10000000" })
      expect(envelope.metadata).toMatchObject({ truncated: true })
      await pump.flush()
      const output = outputOf(updates, version)
      expect(output.length).toBeGreaterThan(50_000)
      expect(output.length).toBeLessThan(301_000)
      expect(output).toMatch(/\[\d+ of 10000000 bytes of the output are not shown here\.\]\n$/u)
      expect(Math.max(...updates.map((update) => JSON.stringify(update['_meta'] ?? update['data'] ?? '').length))).toBeLessThanOrEqual(
        64 * 1024,
      )
    },
    30_000,
  )

  test('the order holds for a hundred calls at once, with a client that takes its time', async () => {
    const { client, updates } = scriptedClient()
    const slow = {
      ...client,
      async notify(method: string, params: any) {
        if (Math.random() < 0.2) await pause(1)
        await client.notify(method, params)
      },
    }
    const { session, call } = await openScene()
    const pump = acpUpdates(session, { client: slow, sessionId: 's1', clientCapabilities: zed })
    await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        call(n % 5 === 0 ? 'bash' : 'glob', n % 5 === 0 ? { command: `echo ${n}` } : { pattern: '*' }, { callId: `c${n}` }),
      ),
    )
    await pump.flush()
    for (let n = 0; n < 100; n += 1) {
      const own = updates.filter(({ toolCallId }) => toolCallId === `c${n}`)
      const steps = own.map(
        ({ sessionUpdate, status, _meta }) =>
          `${sessionUpdate}${status === undefined ? '' : ` ${status}`}${_meta?.terminal_output ? ' output' : ''}`,
      )
      const first = 'tool_call in_progress'
      const last = 'tool_call_update completed'
      expect(steps).toEqual(n % 5 === 0 ? [first, 'tool_call_update output', last] : [first, last])
    }
  })

  test('a call with an id that was there before gets another one', async () => {
    const { call, pump, updates } = await shown()
    for (let n = 0; n < 2; n += 1) await call('glob', { pattern: '*' }, { callId: 'same' })
    await call('glob', { pattern: '*' }, { callId: 'same.2' })
    await pump.flush()
    expect(updates.map(({ toolCallId }) => toolCallId)).toEqual(['same', 'same', 'same.2', 'same.2', 'same.2.2', 'same.2.2'])
  })

  test('a connection that breaks fails flush, and no call', async () => {
    const { session, call } = await openScene()
    const client = { notify: () => Promise.reject(new Error('it is gone')), request: () => Promise.reject(new Error('it is gone')) }
    const pump = acpUpdates(session, { client, sessionId: 's1' })
    expect((await call('glob', { pattern: '*' })).type).toBe('output')
    await expect(pump.flush()).rejects.toThrow('it is gone')
    expect((await call('glob', { pattern: '*' })).type).toBe('output')
  })

  test('a client that never answers fills no memory', async () => {
    const { session, call } = await openScene()
    const client = { notify: () => new Promise<void>(() => undefined), request: () => Promise.resolve() }
    acpUpdates(session, { client, sessionId: 's1', clientCapabilities: zed })
    const start = process.memoryUsage().rss
    expect((await call('bash', { command: 'yes | head -c 50000000 > /dev/null; yes | head -c 20000000' })).type).toBe('output')
    expect(process.memoryUsage().rss - start).toBeLessThan(150_000_000)
  })

  test('after close nothing new is sent', async () => {
    const { call, pump, updates } = await shown()
    await call('glob', { pattern: '*' })
    pump.close()
    await call('glob', { pattern: '*' })
    await pump.flush()
    expect(updates).toHaveLength(2)
  })

  test.each<[string, object]>([
    ['no client', { client: undefined }],
    ['half a client', { client: { notify: () => undefined } }],
    ['no id', { sessionId: '' }],
    ['another version', { version: 3 }],
    ['a misspelt option', { sesionId: 's' }],
    ['a bound that is none', { outputBytes: -1 }],
  ])('options are refused: %s', async (_what, wrong) => {
    const { session } = await openScene()
    const options = { client: scriptedClient().client, sessionId: 's1', ...wrong } as never
    expect(() => acpUpdates(session, options)).toThrow(/acpUpdates/u)
    expect(() => acpHost(options)).toThrow(/acpHost/u)
    expect(() => acpUpdates({} as never, options)).toThrow(/session must be a session/u)
  })
})

describe('diffs', () => {
  test('an overwrite, an edit and a patch show the text of the file before', async () => {
    const { call, pump, updates, put, at } = await shown({}, { tools: [applyPatchTool] })
    const old = 'alpha\nbeta\ngamma\n'
    put('a.txt', old)
    await call('write', { path: 'a.txt', content: 'alpha\nB\ngamma\n' }, { callId: 'write' })
    await call('edit', { path: 'a.txt', old_string: 'B', new_string: 'C' }, { callId: 'edit' })
    await call(
      'apply_patch',
      { patch: '*** Begin Patch\n*** Update File: a.txt\n@@\n alpha\n-C\n+D\n*** End Patch\n' },
      { callId: 'patch' },
    )
    await pump.flush()
    const ends = updates.filter(({ status }) => status === 'completed')
    expect(ends.map(({ content, locations }) => [content, locations])).toEqual(
      [
        [old, 'alpha\nB\ngamma\n'],
        ['alpha\nB\ngamma\n', 'alpha\nC\ngamma\n'],
        ['alpha\nC\ngamma\n', 'alpha\nD\ngamma\n'],
      ].map(([oldText, newText]) => [[{ type: 'diff', path: at('a.txt'), oldText, newText }], [{ path: at('a.txt'), line: 2 }]]),
    )
  })

  test('what is too long or no text shows the part that the arguments name, and no half of a diff', async () => {
    const { call, pump, updates, put, root } = await shown({ version: 2 }, { tools: [applyPatchTool] })
    put('long.txt', `start\n${'x'.repeat(250_000)}\n`)
    await call('edit', { path: 'long.txt', old_string: 'start', new_string: 'begin' })
    await call('apply_patch', { patch: '*** Begin Patch\n*** Update File: long.txt\n@@\n-begin\n+start\n*** End Patch\n' })
    await pump.flush()
    for (const { content } of updates.filter(({ status }) => status === 'completed')) {
      expect(content).toEqual([{ type: 'diff', changes: [{ operation: 'modify', path: join(root, 'long.txt'), fileType: 'text' }] }])
    }
  })

  test('git applies the patch of version 2', () => {
    const line = fc.constantFrom('a', 'b', 'c', '', ' ', '\t', 'é', '-', '+x', '@@', '\\')
    const text = fc
      .tuple(fc.array(line, { maxLength: 12 }), fc.boolean())
      .map(([lines, ends]) => lines.join('\n') + (ends && lines.length > 0 ? '\n' : ''))
    const name = fc.constantFrom('file', 'a b', 'dir/file', 'naïve', 'quo"te', 'back\\slash', 'tab\there')
    fc.assert(
      fc.property(text, text, name, (before, after, path) => {
        const { root } = makeSandbox()
        execFileSync('git', ['init', '-q', root])
        mkdirSync(dirname(join(root, path)), { recursive: true })
        if (before !== '') writeFileSync(join(root, path), before)
        const change = before === '' ? 'add' : 'update'
        if (before === after || (change === 'update' && after === '')) return
        execFileSync('git', ['apply', '--whitespace=nowarn', '-'], {
          cwd: root,
          input: gitPatch([{ change, path, oldPath: path, before, after }]),
        })
        expect(readFileSync(join(root, path), 'utf8')).toBe(after)
      }),
      { numRuns: 40 },
    )
  })

  test('git applies a move and a deletion', () => {
    const { root } = makeSandbox()
    execFileSync('git', ['init', '-q', root])
    writeFileSync(join(root, 'old'), 'a\nb\n')
    writeFileSync(join(root, 'gone'), 'x')
    const patch = gitPatch([
      { change: 'move', path: 'new', oldPath: 'old', before: 'a\nb\n', after: 'a\nc\n' },
      { change: 'delete', path: 'gone', oldPath: 'gone', before: 'x', after: '' },
    ])
    execFileSync('git', ['apply', '-'], { cwd: root, input: patch })
    expect(readFileSync(join(root, 'new'), 'utf8')).toBe('a\nc\n')
    expect(() => readFileSync(join(root, 'gone'))).toThrow(/ENOENT/u)
    expect(() => readFileSync(join(root, 'old'))).toThrow(/ENOENT/u)
  })

  test('nobody but an observer has the texts, and nothing is read without one', async () => {
    const { call, put } = await openScene({ tools: [applyPatchTool] })
    put('a.txt', 'secret before\n')
    const args = { path: 'a.txt', old_string: 'before', new_string: 'after' }
    const envelope = await call('edit', args)
    expect(JSON.stringify(envelope)).not.toContain('secret')
    expect(toAcpToolCall({ id: 'c', tool: 'edit', args }, envelope).content).toMatchObject([{ oldText: 'before', newText: 'after' }])
  })
})

describe('questions and prompts', () => {
  const questions = [
    { question: 'Which one?', header: 'One', options: [{ label: 'a', description: 'the first' }, { label: 'b' }] },
    { question: 'Which ones?', options: [{ label: 'x' }, { label: 'y' }], multi_select: true },
    { question: 'Why?' },
  ]

  test('questions are a form in both versions, and answers come back', async () => {
    const content = { question_1: 'a', question_2: ['x', 'y'], question_2_other: 'z', question_3: 'because' }
    const answers = { 'elicitation/create': () => ({ action: 'accept', content }) }
    for (const version of [1, 2] as const) {
      const { call, requests, updates } = await shown(
        { version, clientCapabilities: { elicitation: { form: {} } } },
        { headless: false },
        answers,
      )
      expect(dataOf(await call('question', { questions }, { callId: 'q' }))).toEqual({ answers: [['a'], ['x', 'y', 'z'], ['because']] })
      expect(requests).toMatchObject([{ method: 'elicitation/create', after: 1, params: { toolCallId: 'q', message: '3 questions' } }])
      expect(updates[0]).toMatchObject({ toolCallId: 'q' })
    }
    expect(toAcpElicitation(questions, { sessionId: 's' })).toMatchSnapshot()
  })

  test.each([{ action: 'decline' }, { action: 'cancel' }, undefined, null, 'yes', {}, { action: 'dance' }])(
    'no answer is told as none: %j',
    async (answer) => {
      const { call } = await shown(
        { clientCapabilities: { elicitation: { form: {} } } },
        { headless: false },
        { 'elicitation/create': () => answer },
      )
      expect(failureOf(await call('question', { questions: [{ question: 'Which?' }] }))).toEqual({
        code: 'question_unavailable',
        text: 'The user did not answer. Continue with your best assumption and state it.',
      })
    },
  )

  test('what a client answers that fits no question is no answer', () => {
    for (const content of [null, undefined, {}, { question_1: 7, question_2: 'x', question_3: [''] }, { question_1: ['b', 'a'] }]) {
      const answers = fromAcpElicitation({ action: 'accept', content } as never, questions)
      expect(answers).toHaveLength(3)
      expect(answers[0]?.length).toBeLessThan(2)
    }
    expect(fromAcpElicitation({ action: 'accept', content: { question_1: 'a', question_1_other: 'mine' } }, questions)[0]).toEqual(['mine'])
  })

  test('without forms there is no question to the user', () => {
    expect(Object.keys(acpHost({ client: scriptedClient().client, sessionId: 's1' }))).toEqual(['prompt'])
  })

  test.each([1, 2] as const)('version %i: a prompt follows its call, with the old text, and others go on meanwhile', async (version) => {
    const asked = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<unknown>()
    const answers = {
      'session/request_permission': () => {
        asked.resolve()
        return answer.promise
      },
    }
    const manifest = { name: 'test', permissions: [{ permission: 'read', pattern: '**', action: 'allow' as const }] }
    const { call, put, updates, requests, pump, text } = await shown({ version }, { ...noRules, manifest }, answers)
    put('a.txt', 'old')
    const writing = call('write', { path: 'a.txt', content: 'new' }, { callId: 'w' })
    await asked.promise
    expect((await call('read', { path: 'a.txt' }, { callId: 'r' })).type).toBe('output')
    await pump.flush()
    expect(updates.map(({ toolCallId, status }) => `${toolCallId} ${status}`)).toEqual(['w in_progress', 'r in_progress', 'r completed'])
    expect(requests[0]?.after).toBe(1)
    const shownCall = version === 1 ? requests[0]?.params.toolCall : requests[0]?.params.subject.toolCall
    expect(JSON.stringify(shownCall.content)).toMatch(version === 1 ? /"oldText":"old"/u : /-old/u)
    answer.resolve({ outcome: { outcome: 'selected', optionId: 'allow_once' } })
    expect((await writing).type).toBe('output')
    expect(text('a.txt')).toBe('new')
  })

  test('version 2 asks about a command as such', () => {
    const request = {
      session_id: 's',
      call_id: 'c',
      tool: 'bash',
      args: { command: 'rm -rf x', workdir: 'sub' },
      subjects: [{ capability: 'shell.run', resource: 'rm -rf x' }],
      rules: [],
      reason: 'it deletes',
      signal: new AbortController().signal,
    }
    const asked = toAcpPermissionRequest(request, 's1', { version: 2, workspace: '/w' })
    expect(acpProblems('RequestPermissionRequest', asked, 2)).toBeNull()
    expect(asked).toMatchObject({
      title: '`rm -rf x`',
      description: 'it deletes\nshell.run rm -rf x',
      subject: { type: 'command', command: 'rm -rf x', cwd: '/w/sub', toolCallId: 'c' },
    })
  })
})

describe('one call', () => {
  test('R65 whatever the arguments are, the call is one of both versions', async () => {
    const { call } = await openScene()
    const envelopes = [undefined, await call('glob', { pattern: '*' }), await call('bash', { command: 'exit 2' }), await call('read', {})]
    for (const args of [
      undefined,
      null,
      7,
      'x',
      [],
      { path: 7 },
      { path: '', content: 1 },
      { path: 'a', content: 'b' },
      { command: 'a\nb', workdir: 7 },
      { todos: [null, { status: 'x' }] },
    ]) {
      for (const tool of ['read', 'write', 'edit', 'bash', 'apply_patch', 'mine']) {
        for (const envelope of envelopes) {
          const one = { id: 'c1', tool, args }
          expect(acpProblems('ToolCall', toAcpToolCall(one, envelope, { meta: 'zed' }))).toBeNull()
          expect(acpProblems('ToolCallUpdate', toAcpToolCall(one, envelope, { version: 2, terminalId: 't' }), 2)).toBeNull()
        }
      }
      for (const version of [1, 2] as const) {
        const update = toAcpPlan(args, { version })
        expect(acpProblems('SessionUpdate', update, version)).toBeNull()
      }
    }
  })

  test('R65 a command in a terminal by _meta, in one piece', async () => {
    const { call, root } = await openScene()
    const args = { command: 'echo out; exit 3' }
    const envelope = await call('bash', args)
    const of = { id: 'c1', tool: 'bash', args }
    expect(toAcpToolCall(of, undefined, { meta: 'zed', workspace: root })).toMatchObject({
      content: [{ type: 'terminal', terminalId: 'c1' }],
      _meta: { terminal_info: { terminal_id: 'c1', cwd: root } },
    })
    const { _meta: meta } = toAcpToolCall(of, envelope, { meta: 'zed', workspace: root })
    expect(meta).toEqual({
      terminal_info: { terminal_id: 'c1', cwd: root },
      terminal_output: { terminal_id: 'c1', data: 'out\n' },
      terminal_exit: { terminal_id: 'c1', exit_code: 3, signal: null },
    })
    expect(() => toAcpToolCall(of, envelope, { meta: 'other' as never })).toThrow(/meta must be one of zed/u)
    expect(() => toAcpToolCall(of, envelope, { version: 3 as never })).toThrow(/version must be 1 or 2/u)
  })

  test('text is cut between characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 0, max: 3 }), (part, n) => {
        const text = `${'x'.repeat(n)}${part || 'é'}`
          .repeat(30_000)
          .slice(0, 120_000)
          .replaceAll(/\p{Cs}/gu, '?')
        const chunks = textChunks(text)
        expect(chunks.join('')).toBe(text)
        for (const chunk of chunks) expect(Buffer.byteLength(chunk)).toBeLessThanOrEqual(48_000)
      }),
      { numRuns: 20 },
    )
  })
})

test('observers hear every call, and what they throw is a warning', async () => {
  const { session, call } = await openScene({ manifest: { name: 'test', permissions: allowAll } })
  const heard: string[] = []
  const warned: string[] = []
  const listen = (warning: Error): void => void warned.push(warning.message)
  process.on('warning', listen)
  onTestFinished(() => void process.off('warning', listen))
  const stop = session.observe({
    onCall: ({ tool, call_id: id }) => void heard.push(`call ${tool} ${id}`),
    onOutput: (_, text) => void heard.push(`output ${text}`),
    onResult: ({ tool }, { type }) => void heard.push(`result ${tool} ${type}`),
  })
  session.observe({
    onCall: () => {
      throw new Error('broken')
    },
  })
  const own: string[] = []
  await call('bash', { command: 'echo hi' }, { callId: 'c', onOutput: (text) => void own.push(text) })
  await call('none', {}, { callId: 'd' })
  stop()
  await call('glob', { pattern: '*' })
  await expect.poll(() => warned.length).toBeGreaterThan(0)
  expect(heard).toEqual(['call bash c', 'output hi\n', 'result bash output', 'call none d', 'result none error'])
  expect(own).toEqual(['hi\n'])
  expect(() => session.observe(undefined as never)).toThrow(/observer must be an object/u)
  expect(() => session.observe({ onCall: 7 as never })).toThrow(/onCall must be a function/u)
})

test('R65 a client of the SDK receives a whole turn', async () => {
  const updates: Update[] = []
  const client = acp
    .client({ name: 'client' })
    .onNotification(acp.methods.client.session.update, ({ params }) => void updates.push(params.update as Update))
    .onRequest(acp.methods.client.session.requestPermission, () => ({ outcome: { outcome: 'selected', optionId: 'allow_once' } }))
  const there = new TransformStream<Uint8Array, Uint8Array>()
  const back = new TransformStream<Uint8Array, Uint8Array>()
  const clientEnd = client.connect(acp.ndJsonStream(back.writable, there.readable))
  const connection = acp.agent({ name: 'agent' }).connect(acp.ndJsonStream(there.writable, back.readable))
  onTestFinished(() => {
    connection.close()
    clientEnd.close()
  })
  const options = { client: connection.client, sessionId: 's1', clientCapabilities: zed }
  const session = await openSession(makeSandbox(), { ...noRules, host: acpHost(options) })
  const pump = acpUpdates(session, options)
  await session.call('bash', { command: 'echo one' }, { callId: 'c' })
  await pump.flush()
  await expect.poll(() => updates.length).toBe(3)
  expect(updates.map(({ sessionUpdate, _meta }) => [sessionUpdate, Object.keys(_meta)])).toEqual([
    ['tool_call', ['terminal_info']],
    ['tool_call_update', ['terminal_output']],
    ['tool_call_update', ['terminal_exit']],
  ])
})
