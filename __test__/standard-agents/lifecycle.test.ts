import { setTimeout as sleep } from 'node:timers/promises'
import {
  createThread,
  defineTool,
  emitThreadEvent,
  openThreadStore,
  queueTool,
  type CreateThreadOptions,
  type Thread,
  type ThreadState,
} from 'toolwright/standard-agents'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { makeSandbox } from '../support/sandbox.ts'
import { gate, openThread, order, success, tool } from './support.ts'

const nothing = tool(() => success())

describe('R16 abort', () => {
  test('a signal that is aborted already makes no call', async () => {
    const execute = vi.fn(() => success())
    const thread = await openThread({ a: tool(execute) })
    await expect(thread.call('a', {}, { signal: AbortSignal.abort(new Error('why')) })).rejects.toThrow(
      expect.objectContaining({ message: 'aborted', name: 'AbortError', cause: expect.objectContaining({ message: 'why' }) }),
    )
    expect(execute).not.toHaveBeenCalled()
    expect(await thread.messages.list()).toEqual([])
  })

  test('a call that waits is never made; the others are', async () => {
    const hold = gate()
    const thread = await openThread({ slow: tool(() => hold.opened.then(() => success())), b: nothing, c: nothing })
    const controller = new AbortController()
    const slow = thread.call('slow')
    const b = thread.call('b', {}, { signal: controller.signal })
    const c = thread.call('c')
    await sleep(5)
    controller.abort()
    await expect(b).rejects.toThrow('aborted')
    // At once: a process that dies now must not leave it to the next one.
    await vi.waitFor(async () => expect((await thread.queued()).map((call) => call.function.name)).toEqual(['c']), { timeout: 10_000 })
    hold.open()
    await Promise.all([slow, c])
    expect(await order(thread)).toEqual(['slow', 'c'])
  })

  test('a call that is being stored is given up as soon as it is', async () => {
    const store = await openThreadStore('memory:')
    onTestFinished(() => store.close())
    const committing = gate()
    const slowly = new Proxy(store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function') return member
        return async (...args: unknown[]): Promise<unknown> => {
          if (name === 'commit') {
            committing.open()
            await sleep(50)
          }
          return Reflect.apply(member, target, args)
        }
      },
    })
    const hold = gate()
    const thread = await createThread({ tools: { slow: tool(() => hold.opened.then(() => success())), b: nothing }, store: slowly })
    const controller = new AbortController()
    const slow = thread.call('slow')
    const b = thread.call('b', {}, { signal: controller.signal })
    await committing.opened
    controller.abort()
    await expect(b).rejects.toThrow('aborted')
    const calls = async (): Promise<string[]> => (await store.listCalls(thread.threadId)).map(({ name, status }) => `${name} ${status}`)
    await vi.waitFor(async () => expect(await calls()).toEqual(['slow running', 'b cancelled']), { timeout: 5_000 })
    hold.open()
    await slow
    expect(await order(thread)).toEqual(['slow'])
    await thread.close()
  })

  test('a tool that never looks is left behind, and what it queues later is background work', async () => {
    const hold = gate()
    const late = gate()
    const started = gate()
    const thread = await openThread({
      deaf: tool(async (state) => {
        started.open()
        await hold.opened
        queueTool(state, 'b')
        late.open()
        return success('late')
      }),
      b: nothing,
    })
    const controller = new AbortController()
    const call = thread.call('deaf', {}, { signal: controller.signal })
    await started.opened
    const at = performance.now()
    controller.abort()
    await expect(call).rejects.toThrow('aborted')
    expect(performance.now() - at).toBeLessThan(1_000)
    // The next call waits for it for five seconds, and no longer.
    expect(await thread.call('b')).toEqual(success())
    expect(performance.now() - at).toBeGreaterThan(4_000)
    hold.open()
    await late.opened
    await thread.flush()
    expect(await order(thread)).toEqual(['b', 'b'])
  }, 30_000)

  test('a result that comes after the abort is dropped, with its attachments and calls', async () => {
    const started = gate()
    const hold = gate()
    const thread = await openThread({
      a: tool(async (state) => {
        queueTool(state, 'b')
        started.open()
        await hold.opened
        return { ...success(), attachments: [{ name: 'a', mimeType: 'image/png', data: 'AAAA' }] }
      }),
      b: nothing,
    })
    const controller = new AbortController()
    const call = thread.call('a', {}, { signal: controller.signal })
    await started.opened
    controller.abort()
    hold.open()
    await expect(call).rejects.toThrow('aborted')
    await thread.flush()
    expect(await thread.messages.list()).toEqual([])
    expect(await thread.attachments.list()).toEqual([])
    expect(await thread.queued()).toEqual([])
  })

  test('an abort at any moment leaves a thread that works, and no call by half', async () => {
    const a = tool(async (state) => {
      queueTool(state, 'b')
      await sleep(1)
      return { ...success('a'), attachments: [{ name: 'a', mimeType: 'text/plain', data: 'AAAA' }] }
    })
    const thread = await openThread({ a, b: nothing })
    for (let delay = 0; delay < 12; delay += 0.5) {
      const controller = new AbortController()
      const call = thread.call('a', {}, { signal: controller.signal }).catch((error: Error) => error.message)
      if (delay > 0) await sleep(delay)
      controller.abort()
      const ended = await call
      if (typeof ended === 'string') expect(ended).toBe('aborted')
      else expect(ended).toMatchObject({ result: 'a' })
    }
    await thread.flush()
    const messages = await thread.messages.list()
    const linked = messages.flatMap(({ attachments = [] }) => attachments)
    expect(await thread.attachments.list()).toEqual(linked)
    expect(await thread.queued()).toEqual([])
    expect(await thread.call('b')).toEqual(success())
  })
})

describe('stop', () => {
  test('aborts what runs and takes back what is queued; later calls are made', async () => {
    const started = gate()
    let state: ThreadState | undefined
    const thread = await openThread({
      a: tool(async (running) => {
        state = running
        started.open()
        while (!running.stopped) await sleep(2)
        return success()
      }),
      b: nothing,
    })
    const a = thread.call('a')
    const b = thread.call('b')
    queueTool(thread.state, 'b')
    await started.opened
    const rejected = Promise.all([expect(a).rejects.toThrow('aborted'), expect(b).rejects.toThrow('aborted')])
    await thread.stop()
    await rejected
    await thread.flush()
    expect(state?.stopped).toBe(true)
    expect(await order(thread)).toEqual([])
    expect(await thread.call('b')).toEqual(success())
  })
})

describe('close', () => {
  test('waits for the call that runs, and refuses later ones; twice is once', async () => {
    const [hold, runs] = [gate(), gate()]
    const slow = tool(() => {
      runs.open()
      return hold.opened.then(() => success('a'))
    })
    const thread = await createThread({ tools: { a: slow } })
    const a = thread.call('a')
    await runs.opened
    const closing = thread.close()
    hold.open()
    expect(await a).toEqual(success('a'))
    await closing
    await thread.close()
    await expect(thread.call('a')).rejects.toThrow('[THREAD_CLOSED]')
    await expect(thread.flush()).rejects.toThrow('[THREAD_CLOSED]')
    await expect(thread.stop()).rejects.toThrow('[THREAD_CLOSED]')
    expect(() => queueTool(thread.state, 'a')).toThrow('[THREAD_CLOSED]')
    await expect(thread.storage.get('a')).rejects.toThrow('[THREAD_CLOSED]')
  })

  test('calls that wait for their turn are rejected; queued calls are there for the next process', async () => {
    const fixture = makeSandbox()
    const options = (tools: CreateThreadOptions['tools']): CreateThreadOptions => ({
      tools,
      store: `file:${fixture.at('thread.db')}`,
      threadId: 't',
    })
    const [started, hold] = [gate(), gate()]
    const runs = tool(() => {
      started.open()
      return hold.opened.then(() => success())
    })
    const first = await createThread(options({ slow: runs, b: nothing }))
    const slow = first.call('slow')
    const waiting = first.call('b')
    queueTool(first.state, 'b', { n: 1 })
    await started.opened
    await vi.waitFor(async () => expect(await first.queued()).toHaveLength(2), { timeout: 10_000 })
    const closing = first.close()
    await expect(waiting).rejects.toThrow('[THREAD_CLOSED]')
    hold.open()
    await Promise.all([slow, closing])
    await using second = await createThread(options({ b: nothing }))
    await second.flush()
    expect((await second.messages.list()).map(({ toolName, args }) => [toolName, args])).toEqual([
      ['slow', {}],
      ['b', { n: 1 }],
    ])
  })

  test('await using closes the thread; a store of the caller stays open', async () => {
    const store = await openThreadStore('memory:')
    onTestFinished(() => store.close())
    {
      await using thread = await createThread({ tools: { a: nothing }, store, threadId: 'one' })
      await thread.call('a')
    }
    await using again = await createThread({ tools: {}, store, threadId: 'one' })
    expect(await order(again)).toEqual(['a'])
    await using other = await createThread({ tools: {}, store, threadId: 'two' })
    expect(await order(other)).toEqual([])
  })
})

describe('options', () => {
  test.each<[string, object]>([
    ['tools', { tools: undefined }],
    ['tools', { tools: { a: {} } }],
    ['tools', { tools: { a: { description: 'd', args: null, execute: () => 1, tenvs: null } } }],
    ['store', { store: 5 }],
    ['store', { store: {} }],
    ['threadId', { threadId: '' }],
    ['threadId', { threadId: 5 }],
    ['flowId', { flowId: '' }],
    ['tenvs', { tenvs: 'a' }],
    ['env', { env: null }],
    ['context', { context: 5 }],
    ['agentConfig', { agentConfig: 'a' }],
    ['currentSide', { currentSide: 'c' }],
    ['onEvent', { onEvent: {} }],
    ['onInterrupted', { onInterrupted: 'ignore' }],
    ['resume', { resume: 'yes' }],
    ['lockWaitMs', { lockWaitMs: -1 }],
    ['lockWaitMs', { lockWaitMs: Number.NaN }],
    ['journal', { journal: {} }],
  ])('%s: %j is refused', async (name, wrong) => {
    await expect(createThread({ tools: {}, ...wrong } as never)).rejects.toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT', message: expect.stringContaining(name === 'tools' ? 'tool' : name) }),
    )
  })

  test.each([[undefined], [null], [5]])('createThread(%j) is refused', async (options) => {
    await expect(createThread(options as never)).rejects.toThrow('[INVALID_INPUT]')
  })

  test.each([['a\nb'], ['a\0b'], ['\u{d800}'], ['x'.repeat(600)]])('the thread id %j is refused, with a code', async (threadId) => {
    await expect(createThread({ tools: {}, threadId })).rejects.toThrow('[THREAD_NAME_REFUSED]')
  })

  test('a store that cannot be opened is an error with a code', async () => {
    const fixture = makeSandbox()
    fixture.put('no.db', 'this is no database at all, and longer than a header of one would be, by some way')
    await expect(createThread({ tools: {}, store: `file:${fixture.at('no.db')}` })).rejects.toThrow('[THREAD_NOT_A_DATABASE]')
    await expect(createThread({ tools: {}, store: `file:${fixture.at('missing/thread.db')}` })).rejects.toThrow(/\[THREAD_[A-Z_]+\]/u)
  })

  test.each<[string, unknown, unknown?]>([
    ['a name that is no string', 5],
    ['arguments without JSON', 'a', { n: 1n }],
    ['arguments that are a function', 'a', () => 1],
    ['the state of another thread', 'a', {}],
  ])('call refuses %s', async (what, name, args) => {
    const thread = await openThread({ a: nothing })
    const other = await openThread({})
    const options = what.includes('another') ? { state: other.state } : {}
    await expect(thread.call(name as string, args as never, options)).rejects.toThrow('[INVALID_INPUT]')
  })

  test.each([
    ['', 'is empty'],
    ['a\0b', 'control character'],
    ['a\nb', 'control character'],
    ['\u{d800}', 'surrogate'],
    ['\u{202e}b', 'control character'],
    ['x'.repeat(513), '512 bytes'],
  ])('the tool name %j is refused by whatever takes one, with its code, before anything is stored', async (name, why) => {
    const refused = expect.objectContaining({
      code: 'THREAD_NAME_REFUSED',
      message: expect.stringContaining(why),
      hint: expect.stringContaining('name of a tool'),
    })
    const queue = tool((state) => (queueTool(state, name), success()))
    const thread = await openThread({ queue, nothing })
    await expect(thread.call(name)).rejects.toEqual(refused)
    await expect(thread.recordProviderResult(name, success())).rejects.toEqual(refused)
    await expect(createThread({ tools: { [name]: nothing } })).rejects.toEqual(refused)
    expect(() => queueTool(thread.state, name)).toThrow(name === '' ? TypeError : refused)
    // The tool learns of it, and nothing of the call is lost.
    expect(await thread.call('queue')).toMatchObject({ status: 'error', error: expect.stringContaining('name') })
    expect(await order(thread)).toEqual(['queue'])
    expect(await thread.queued()).toEqual([])
  })

  test('a name that a store takes and the thread does not have is a result, as long as it may be', async () => {
    const thread = await openThread({})
    const name = 'é'.repeat(256)
    expect(await thread.call(name)).toEqual({ status: 'error', error: `Tool not found: ${name}` })
  })

  test('a misspelt option is refused, with those there are', async () => {
    await expect(createThread({ tools: {}, lockWait: 5 } as never)).rejects.toThrow(
      /^lockWait is no option; there are tools, .*lockWaitMs\. \(createThread\) \[INVALID_INPUT\]/u,
    )
    const thread = await openThread({ nothing })
    await expect(thread.call('nothing', {}, { abortSignal: new AbortController().signal } as never)).rejects.toThrow(
      /^abortSignal is no option; there are signal, context, state, toolCallId\. \(thread\.call\)/u,
    )
    expect(() => thread.tools({ onlly: ['nothing'] } as never)).toThrow(/^onlly is no option/u)
    expect(await thread.messages.list()).toEqual([])
  })

  test.each(['transaction', 'getAlarm', 'setAlarm', 'deleteAlarm', 'transactionSync', 'sync', 'sql'])(
    'storage.%s is not supported locally, and says so',
    async (name) => {
      const { storage } = await openThread({})
      expect(() => (storage as unknown as Record<string, () => void>)[name]?.()).toThrow(
        /state\.storage\.\w+(?:\(\))? is not supported locally/u,
      )
    },
  )
})

test('R35 a listener that never answers is waited for 30 seconds, and the tool goes on', async () => {
  onTestFinished(() => void vi.restoreAllMocks())
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
  const timeout = AbortSignal.timeout.bind(AbortSignal)
  const limits = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => timeout(ms / 1000))
  const it = tool(async (state) => (await emitThreadEvent(state, 'emitted'), success()))
  const thread = await openThread({ it }, { onEvent: () => new Promise(() => undefined) })
  expect(await thread.call('it')).toEqual(success())
  expect(limits.mock.calls).toContainEqual([30_000])
  expect(warn).toHaveBeenCalledWith(
    expect.stringContaining('onEvent failed for "emitted"'),
    expect.objectContaining({ name: 'TimeoutError' }),
  )
})

describe('hostile tools', () => {
  test('results with traps are error results, and the thread goes on', async () => {
    const trap = (): never => {
      throw new Error('trap')
    }
    const oddities: unknown[] = [
      new Proxy({}, { get: trap }),
      {
        get status() {
          return trap()
        },
      },
      {
        status: 'success',
        get result() {
          return trap()
        },
      },
      { status: 'success', result: { toJSON: trap } },
      { status: 'success', attachments: [new Proxy({}, { get: trap, has: trap })] },
      { status: 'success', attachments: new Proxy([], { get: trap }) },
      { status: 'success', attachments: { length: 5 } },
      Symbol('s'),
      10n,
    ]
    let odd: unknown
    const thread = await openThread({ it: tool(() => odd) })
    for (odd of oddities) expect(await thread.call('it')).toMatchObject({ status: 'error', error: expect.any(String) })
    odd = success('fine')
    expect(await thread.call('it')).toEqual(success('fine'))
  })

  test('a tool cannot change what the next one gets', async () => {
    const seen: unknown[] = []
    const thread = await openThread(
      {
        it: defineTool({
          description: 'd',
          args: z.object({ list: z.array(z.number()).default([1]) }),
          tenvs: z.object({ key: z.string() }),
          execute: async (state, { list }) => {
            seen.push([[...list], { ...state.tenvs }, Object.keys(state.context)])
            list.push(2)
            state.tenvs['key'] = 'changed'
            state.context['more'] = 1
            return success()
          },
        }),
      },
      { tenvs: { key: 'k' } },
    )
    await thread.call('it')
    await thread.call('it')
    expect(seen).toEqual([
      [[1], { key: 'k' }, []],
      [[1], { key: 'k' }, []],
    ])
  })

  test('a huge result is stored whole', async () => {
    const text = '€'.repeat(3_000_000)
    const thread = await openThread({ it: tool(() => success(text)) })
    expect((await thread.call('it')).result).toBe(text)
    expect((await thread.messages.list())[0]?.content).toBe(text)
  })

  test('a result that the store does not take is an error result', async () => {
    const store = await openThreadStore('memory:', { maxTextBytes: 5_000 })
    onTestFinished(() => store.close())
    const thread: Thread = await openThread(
      {
        it: tool((state) => {
          queueTool(state, 'it')
          return success('x'.repeat(10_000))
        }),
      },
      { store },
    )
    expect(await thread.call('it')).toMatchObject({ status: 'error', error: expect.stringContaining('could not be stored') })
    expect(await order(thread)).toEqual(['it'])
    await expect(thread.call('it', { text: 'x'.repeat(10_000) })).rejects.toThrow('[THREAD_TOO_LARGE]')
    await thread.flush()
    expect(await order(thread)).toEqual(['it'])
  })

  test('a call that was made meanwhile is made all the same', async () => {
    const store = await openThreadStore('memory:', { maxTextBytes: 5_000 })
    onTestFinished(() => store.close())
    const [started, hold] = [gate(), gate()]
    const large = tool(() => (started.open(), hold.opened.then(() => success('x'.repeat(10_000)))))
    const thread: Thread = await openThread({ large, it: nothing }, { store })
    const first = thread.call('large')
    await started.opened
    const second = thread.call('it')
    hold.open()
    expect([(await first).status, (await second).status]).toEqual(['error', 'success'])
    expect(await order(thread)).toEqual(['large', 'it'])
  })

  // A call that could not be ended would keep all others of its thread from being made, for ever.
  test.each([
    ['that fill a text of the store', JSON.stringify({ text: 'x'.repeat(4_900) })],
    ['nested deeper than a stack', '['.repeat(100_000) + ']'.repeat(100_000)],
  ])('a call with arguments %s has its end, and the next one is made', async (_what, json) => {
    const store = await openThreadStore('memory:', { maxTextBytes: Math.max(5_000, 2 * json.length * Number(json.startsWith('['))) })
    onTestFinished(() => store.close())
    const thread: Thread = await openThread({ it: nothing }, { store })
    expect((await thread.call('it', json)).status).toBe(json.startsWith('[') ? 'success' : 'error')
    expect(await thread.call('it')).toEqual(success())
    expect(await order(thread)).toEqual(['it', 'it'])
    expect((await store.listCalls(thread.threadId)).map(({ status }) => status)).not.toContain('running')
  })

  test('so has such a call whose process has died', async () => {
    const store = await openThreadStore('memory:', { maxTextBytes: 5_000 })
    onTestFinished(() => store.close())
    await store.openThread({ threadId: 't', flowId: 'f' })
    await store.commit('t', { enqueue: [{ name: 'it', argumentsJson: JSON.stringify({ text: 'x'.repeat(4_900) }) }] })
    const dead = await store.lockThread('t')
    await dead.claim()
    dead.release()
    const thread: Thread = await openThread({ it: nothing }, { store, threadId: 't' })
    expect(await thread.call('it')).toEqual(success())
    expect((await thread.messages.list()).map(({ status }) => status)).toEqual(['error', 'success'])
  })
})
