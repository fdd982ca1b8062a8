import { setTimeout as sleep } from 'node:timers/promises'
import { ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { bash, createTools, defineTool, edit, grep, read, tools, write, type ToolCallRecord } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { eventually, expectGone as expectMarkGone, sleepingMark } from '../../support/processes.ts'
import { makeSandbox, type Sandbox } from '../../support/sandbox.ts'
import { script } from '../../support/scripted-model.ts'

const marks = new Map<string, string>()

/** A command that says when it has started, sleeps, and has a child that sleeps. */
const sleeper = (name: string) => {
  const mark = sleepingMark(30)
  marks.set(name, mark)
  return { cmd: 'sh', args: ['-c', `sleep ${mark} & echo started > ${name}.new; mv ${name}.new ${name}; sleep ${mark}`] }
}

const started = (fixture: Sandbox, name: string) =>
  eventually(() => {
    try {
      return fixture.text(name) !== ''
    } catch {
      return false
    }
  })

async function expectGone(name: string): Promise<void> {
  const mark = marks.get(name)
  if (mark === undefined) throw new Error(`${name} was not started`)
  await expectMarkGone(mark)
}

/** How a call ended, and how long after `since` it did. */
async function outcome(call: Promise<unknown>, since = performance.now()) {
  const settled = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  return { ...settled, ms: performance.now() - since }
}

function bigTree(): Sandbox {
  const fixture = makeSandbox()
  for (let index = 0; index < 200; index += 1) fixture.put(`d/${index}`, 'some text\n'.repeat(20_000))
  return fixture
}

describe('abortSignal stops work', () => {
  test('bash sleep 30 of an agent, aborted after 100 ms: settles in under 2 s and leaves no process', async () => {
    const fixture = makeSandbox()
    const model = new MockLanguageModelV4({ doGenerate: script([{ tool: 'bash', input: sleeper('pids') }], 'done') })
    const controller = new AbortController()
    const run = new ToolLoopAgent({ model, tools: createTools({ rootDir: fixture.root }) }).generate({
      prompt: 'go',
      abortSignal: controller.signal,
    })
    const ended = outcome(run)
    await started(fixture, 'pids')
    await sleep(100)
    const abortedAt = performance.now()
    controller.abort()
    const { error } = (await ended) as { error?: Error }
    expect(performance.now() - abortedAt).toBeLessThan(2_000)
    expect(error?.name).toBe('AbortError')
    await expectGone('pids')
  })

  test('a direct call rejects with the signal’s reason, whatever that is', async () => {
    const fixture = makeSandbox()
    for (const reason of [new Error('enough'), 'a string', { an: 'object' }]) {
      const controller = new AbortController()
      const call = fixture.within(() => bash.execute({ cmd: 'sleep', args: ['30'] }, { abortSignal: controller.signal }))
      setTimeout(() => controller.abort(reason), 50)
      const { error, ms } = (await outcome(call)) as { error?: unknown; ms: number }
      expect(error).toBe(reason)
      expect(ms).toBeLessThan(2_000)
    }
  })

  test('AbortSignal.timeout', async () => {
    const fixture = makeSandbox()
    const abortSignal = AbortSignal.timeout(80)
    const { error } = (await outcome(fixture.within(() => bash.execute({ cmd: 'sleep', args: ['30'] }, { abortSignal })))) as {
      error?: Error
    }
    expect(error?.name).toBe('TimeoutError')
  })

  test('grep', async () => {
    const fixture = bigTree()
    const controller = new AbortController()
    const call = fixture.within(() => grep.execute({ pattern: '(s.*){9}x' }, { abortSignal: controller.signal }))
    await sleep(5)
    const at = performance.now()
    controller.abort(new Error('stop'))
    const { error } = (await outcome(call)) as { error?: Error }
    expect(error?.message).toBe('stop')
    expect(performance.now() - at).toBeLessThan(1_000)
  })

  test('read', async () => {
    const fixture = makeSandbox()
    fixture.put('big', 'x'.repeat(9_000_000))
    const controller = new AbortController()
    const call = fixture.within(() => read.execute({ path: 'big' }, { abortSignal: controller.signal }), {
      maxOutputBytes: 10_000_000,
    })
    controller.abort(new Error('stop'))
    expect(await outcome(call)).toMatchObject({ error: new Error('stop') })
  })

  test('write and edit: either done and told so, or the reason and nothing changed', async () => {
    for (let delay = 0; delay < 6; delay += 1) {
      const fixture = makeSandbox()
      fixture.put('f', 'one\n')
      const controller = new AbortController()
      const { signal: abortSignal } = controller
      const calls = fixture.within(() => [
        outcome(write.execute({ path: 'new', content: 'x'.repeat(100_000) }, { abortSignal })),
        outcome(edit.execute({ path: 'f', patch: '@@ -1 +1 @@\n-one\n+two\n' }, { abortSignal })),
      ])
      if (delay > 0) await sleep(delay - 1)
      controller.abort('reason')
      const [written, edited] = (await Promise.all(calls)) as { value?: string; error?: unknown }[]
      expect(edited?.value === 'ok' ? fixture.text('f') : [edited?.error, fixture.text('f')]).toEqual(
        edited?.value === 'ok' ? 'two\n' : ['reason', 'one\n'],
      )
      if (written?.value === 'ok') expect(fixture.text('new')).toHaveLength(100_000)
      else expect([written?.error, () => fixture.text('new')]).toEqual(['reason', expect.any(Function)])
    }
  })
})

describe('a signal that is aborted already', () => {
  const inputs: [string, (options: { abortSignal: AbortSignal }) => Promise<unknown>][] = [
    ['read', (options) => read.execute({ path: 'f' }, options)],
    ['write', (options) => write.execute({ path: 'f', content: 'new' }, options)],
    ['edit', (options) => edit.execute({ path: 'f', patch: '@@ -1 +1 @@\n-old\n+new\n' }, options)],
    ['grep', (options) => grep.execute({ pattern: 'old' }, options)],
    ['bash', (options) => bash.execute({ cmd: 'touch', args: ['g'] }, options)],
  ]
  test.each(inputs)('%s does nothing', async (_name, call) => {
    const fixture = makeSandbox()
    fixture.put('f', 'old\n')
    const reason = new Error('before')
    const { error } = (await outcome(fixture.within(() => call({ abortSignal: AbortSignal.abort(reason) })))) as {
      error?: unknown
    }
    expect(error).toBe(reason)
    expect(fixture.text('f')).toBe('old\n')
    expect(() => fixture.text('g')).toThrow('ENOENT')
  })
})

describe('one signal shared by several calls', () => {
  test('all of them stop, the second and third as well as the first', async () => {
    const fixture = makeSandbox()
    const controller = new AbortController()
    const names = ['a', 'b', 'c']
    const calls = names.map((name) => outcome(fixture.within(() => bash.execute(sleeper(name), { abortSignal: controller.signal }))))
    for (const name of names) expect(await started(fixture, name)).toBe(true)
    controller.abort(new Error('all'))
    for (const ended of await Promise.all(calls)) expect(ended).toMatchObject({ error: new Error('all') })
    for (const name of names) await expectGone(name)
  })

  test('a call after others have ended with it can still be stopped', async () => {
    const fixture = makeSandbox()
    const controller = new AbortController()
    const { signal: abortSignal } = controller
    for (let turn = 0; turn < 3; turn += 1) {
      await fixture.within(() => bash.execute({ cmd: 'true' }, { abortSignal }))
    }
    const last = outcome(fixture.within(() => bash.execute(sleeper('last'), { abortSignal })))
    await started(fixture, 'last')
    controller.abort(new Error('now'))
    expect(await last).toMatchObject({ error: new Error('now') })
    await expectGone('last')
  })

  test('calls leave no listener on it', async () => {
    const fixture = makeSandbox()
    fixture.put('f', 'x')
    const { signal: abortSignal } = new AbortController()
    const counts = { added: 0, removed: 0 }
    const add = abortSignal.addEventListener.bind(abortSignal)
    const remove = abortSignal.removeEventListener.bind(abortSignal)
    abortSignal.addEventListener = (...args: Parameters<typeof add>) => (counts.added++, add(...args))
    abortSignal.removeEventListener = (...args: Parameters<typeof remove>) => (counts.removed++, remove(...args))
    for (let turn = 0; turn < 5; turn += 1) await fixture.within(() => read.execute({ path: 'f' }, { abortSignal }))
    expect(counts.removed).toBe(counts.added)
    expect(abortSignal.onabort).toBeNull()
  })
})

describe('ctx.signal', () => {
  test('the signal of the context stops a call that has none of its own', async () => {
    const fixture = makeSandbox()
    const controller = new AbortController()
    const call = fixture.within(() => tools.bash.execute(sleeper('pids')), { signal: controller.signal })
    const ended = outcome(call)
    await started(fixture, 'pids')
    controller.abort(new Error('task over'))
    expect(await ended).toMatchObject({ error: new Error('task over') })
    await expectGone('pids')
  })

  test.each(['context', 'call'])('with both, that of the %s is enough', async (which) => {
    const fixture = makeSandbox()
    const signals = { context: new AbortController(), call: new AbortController() }
    const call = fixture.within(() => bash.execute({ cmd: 'sleep', args: ['30'] }, { abortSignal: signals.call.signal }), {
      signal: signals.context.signal,
    })
    setTimeout(() => signals[which as keyof typeof signals].abort(new Error(which)), 50)
    expect(await outcome(call)).toMatchObject({ error: new Error(which) })
  })

  test('a custom tool sees it, and what it does with it is recorded as a failure', async () => {
    const controller = new AbortController()
    const records: ToolCallRecord[] = []
    const waiting = defineTool({
      name: 'wait',
      schema: z.object({}),
      execute: (_args, ctx) => sleep(30_000, undefined, ctx.signal === undefined ? {} : { signal: ctx.signal }),
    })
    const call = makeSandbox().within(() => waiting.execute({}, { abortSignal: controller.signal }), {
      recordToolCall: (record) => records.push(record),
    })
    setTimeout(() => controller.abort(), 30)
    expect(((await outcome(call)) as { error?: Error }).error?.name).toBe('AbortError')
    expect(records.map(({ phase }) => phase)).toEqual(['started', 'failed'])
  })
})
