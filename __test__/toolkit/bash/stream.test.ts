import { existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { stepCountIs, streamText } from 'ai'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { createTools, runWithToolContext, ToolError, type ToolCallRecord } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { expectGone, sleepingMark } from '../../support/processes.ts'
import { makeSandbox, type Sandbox } from '../../support/sandbox.ts'

const streaming = (fixture: Sandbox, more: object = {}) => createTools({ ...more, rootDir: fixture.root, streamOutput: true }).bash
const sh = (script: string) => ({ cmd: 'sh', args: ['-c', script] })

async function collect(results: AsyncIterable<string>): Promise<string[]> {
  const seen: string[] = []
  for await (const result of results) seen.push(result)
  return seen
}

describe('createTools({ streamOutput: true }).bash', () => {
  test('yields the output so far while the command runs, and the whole output last', async () => {
    const seen = await collect(streaming(makeSandbox()).execute(sh('echo one; sleep 0.3; echo two >&2; sleep 0.3; echo three')))
    expect(seen[0]).toBe('one\n')
    expect(seen.at(-1)).toBe('one\ntwo\nthree\n')
    for (const [index, result] of seen.entries()) expect(result.startsWith(seen[index - 1] ?? '')).toBe(true)
  })

  test('costs at most three times its output, with the result that the SDK repeats', async () => {
    const script = 'i=0; while [ $i -lt 60 ]; do head -c 2500 /dev/zero | tr "\\0" x; echo; sleep 0.02; i=$((i+1)); done'
    const seen = await collect(streaming(makeSandbox()).execute(sh(script)))
    const whole = seen.at(-1) ?? ''
    expect(whole).toHaveLength(60 * 2501)
    expect(seen.length).toBeGreaterThan(5)
    const cost = seen.reduce((sum, result) => sum + result.length, whole.length)
    expect(cost).toBeLessThanOrEqual(3 * whole.length)
  })

  test('what comes after a while is shown without more output behind it', async () => {
    const seen = await collect(streaming(makeSandbox()).execute(sh('echo one; sleep 0.2; echo two; sleep 1.5; echo three')))
    expect(seen).toContain('one\ntwo\n')
  })

  test('a silent command yields its empty output once', async () => {
    expect(await collect(streaming(makeSandbox()).execute(sh('true')))).toEqual([''])
  })

  test('ends as bash does: the whole output within the limit, beginning and end around the gap', async () => {
    const fixture = makeSandbox()
    const script = 'i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i+1)); done'
    const limits = { maxOutputBytes: 2_000 }
    const last = (await collect(streaming(fixture, limits).execute(sh(script)))).at(-1)
    expect(last).toBe(await createTools({ ...limits, rootDir: fixture.root }).bash.execute(sh(script)))
    expect(Buffer.byteLength(last ?? '')).toBeLessThanOrEqual(2_000)
    expect(last).toContain('line 2999')
  })

  test('a character written in two halves is never shown by half', async () => {
    const seen = await collect(streaming(makeSandbox()).execute(sh("printf 'a\\303'; sleep 0.2; printf '\\251b'")))
    expect(seen.at(-1)).toBe('aéb')
    expect(seen.every((result) => !result.includes('\uFFFD'))).toBe(true)
  })

  test('a failing command yields what it prints and then throws as bash does', async () => {
    const seen: string[] = []
    const run = (async () => {
      for await (const result of streaming(makeSandbox()).execute(sh('echo before; exit 3'))) seen.push(result)
    })()
    const error: unknown = await run.catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'TOOL_COMMAND_FAILED', details: { exitCode: 3, output: 'before\n' } })
    expect(seen.at(-1)).toBe('before\n')
  })

  test('a timeout throws with the output until then', async () => {
    const run = collect(streaming(makeSandbox(), { toolTimeoutMs: 1_500 }).execute(sh('echo before; sleep 30')))
    const error: unknown = await run.catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'PROCESS_TIMEOUT', details: { output: 'before\n' } })
  })

  test('refusals come at the first question, and nothing is run', async () => {
    const fixture = makeSandbox()
    for (const input of [{ cmd: 'npm' }, { cmd: '' }, { cmd: 'true', opts: { cwd: '..' } }, { cmd: 'no-such-program' }]) {
      const error: unknown = await collect(streaming(fixture).execute(input)).catch((reason: unknown) => reason)
      expect(ToolError.isInstance(error), String(error)).toBe(true)
    }
  })

  test('breaking off stops the command before it returns', async () => {
    const fixture = makeSandbox()
    const mark = `60.${process.pid}1`
    for await (const result of streaming(fixture).execute(sh(`echo started; sleep ${mark} & sleep ${mark}`))) {
      expect(result).toBe('started\n')
      break
    }
    await expectGone(mark)
  })

  test('an abort stops the command and throws the reason of the signal', async () => {
    const fixture = makeSandbox()
    const mark = `60.${process.pid}2`
    const controller = new AbortController()
    const reason = new Error('no longer wanted')
    const run = (async () => {
      const results = streaming(fixture).execute(sh(`echo started; sleep ${mark}`), { abortSignal: controller.signal })
      for await (const _ of results) controller.abort(reason)
    })()
    await expect(run).rejects.toBe(reason)
    await expectGone(mark)
  })

  test('a reader that is slow holds the command back', async () => {
    const fixture = makeSandbox()
    const results = streaming(fixture, { maxOutputBytes: 8_000_000 }).execute(
      sh('head -c 3000000 /dev/zero | tr "\\0" x; echo done > done'),
    )
    await results.next()
    await pause(500)
    expect(existsSync(fixture.at('done'))).toBe(false)
    let last = ''
    for await (const result of results) last = result
    expect(last).toHaveLength(3_000_000)
    expect(existsSync(fixture.at('done'))).toBe(true)
  })

  test('a reader that never comes back does not keep a command alive past its timeout, nor past an abort', async () => {
    const fixture = makeSandbox()
    const [timedOut, stopped] = [sleepingMark(), sleepingMark()]
    const first = streaming(fixture, { toolTimeoutMs: 1_500 }).execute(sh(`echo started; sleep ${timedOut}`))
    await first.next()
    const controller = new AbortController()
    const second = streaming(fixture).execute(sh(`echo started; yes > /dev/stdout & sleep ${stopped}`), { abortSignal: controller.signal })
    await second.next()
    controller.abort()
    await expectGone(timedOut)
    await expectGone(stopped)
    await expect(first.next()).rejects.toMatchObject({ code: 'PROCESS_TIMEOUT' })
  })

  test('is recorded as one call with the whole output', async () => {
    const fixture = makeSandbox()
    const records: ToolCallRecord[] = []
    const context = { recordToolCall: async (record: ToolCallRecord) => void records.push(record) }
    await runWithToolContext(context, () => collect(streaming(fixture).execute(sh('echo a; sleep 0.1; echo b'))))
    expect(records.map(({ phase, output }) => [phase, output])).toEqual([
      ['started', undefined],
      ['finished', 'a\nb\n'],
    ])
  })

  test('20 at once keep their output apart', async () => {
    const bash = streaming(makeSandbox())
    const runs = Array.from({ length: 20 }, (_, n) => collect(bash.execute(sh(`echo ${n}; sleep 0.05; echo ${n}`))))
    expect((await Promise.all(runs)).map((seen) => seen.at(-1))).toEqual(runs.map((_, n) => `${n}\n${n}\n`))
  })
})

test('in the AI SDK, the output so far is a preliminary result', async () => {
  const fixture = makeSandbox()
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  }
  let step = 0
  const model = new MockLanguageModelV4({
    doStream: async () => {
      step += 1
      const unified = step === 1 ? ('tool-calls' as const) : ('stop' as const)
      const input = JSON.stringify(sh('echo one; sleep 0.3; echo two'))
      const call = { type: 'tool-call' as const, toolCallId: 'c1', toolName: 'bash', input }
      return {
        stream: simulateReadableStream({
          chunks: [
            { type: 'stream-start' as const, warnings: [] },
            ...(step === 1 ? [call] : []),
            { type: 'finish' as const, usage, finishReason: { unified, raw: undefined } },
          ],
        }),
      }
    },
  })
  const tools = createTools({ rootDir: fixture.root, streamOutput: true })
  const results: [unknown, boolean][] = []
  for await (const part of streamText({ model, prompt: 'go', tools, stopWhen: stepCountIs(3) }).fullStream) {
    if (part.type === 'tool-result') results.push([part.output, part.preliminary === true])
  }
  expect(results[0]).toEqual(['one\n', true])
  expect(results.at(-1)).toEqual(['one\ntwo\n', false])
})
