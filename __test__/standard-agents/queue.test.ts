import {
  createThread,
  defineTool,
  emitThreadEvent,
  queueTool,
  type Thread,
  type ThreadEvent,
  type ThreadState,
} from 'toolwright/standard-agents'
import fc from 'fast-check'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { gate, openThread, order, success, tool } from './support.ts'

const nothing = tool(() => success())

describe('R33 queueTool', () => {
  test('returns nothing at once, and the call is made after those that were made before', async () => {
    let returned: unknown = 'unset'
    const a = tool((state) => {
      returned = queueTool(state, 'c', { n: 1 })
      return success('a')
    })
    const args = z.object({ n: z.number() })
    const c = defineTool({ description: 'c', args, execute: async (_state, { n }) => success(`c${n}`) })
    const thread = await openThread({ a, b: nothing, c })
    const results = await Promise.all([thread.call('a'), thread.call('b')])
    expect(returned).toBeUndefined()
    // Nothing of the queued call reaches the one that queued it.
    expect(results).toEqual([success('a'), success()])
    expect(await order(thread)).toEqual(['a', 'b', 'c'])
    expect((await thread.messages.list())[2]).toMatchObject({ content: 'c1', args: { n: 1 } })
  })

  test('a call made from outside before the tool queues goes first', async () => {
    const running = gate()
    const goOn = gate()
    const a = tool(async (state) => {
      running.open()
      await goOn.opened
      queueTool(state, 'c')
      return success()
    })
    const thread = await openThread({ a, b: nothing, c: nothing })
    const first = thread.call('a')
    await running.opened
    const second = thread.call('b')
    goOn.open()
    await Promise.all([first, second])
    expect(await order(thread)).toEqual(['a', 'b', 'c'])
  })

  test('from outside with the state of a call that runs: as from the call itself', async () => {
    const [running, hold] = [gate<ThreadState>(), gate()]
    const thread = await openThread({
      a: tool((state) => (running.open(state), hold.opened.then(() => success()))),
      slow: tool(() => sleep(20).then(() => success())),
    })
    const call = thread.call('a')
    queueTool(await running.opened, 'slow')
    hold.open()
    await call
    expect(await order(thread)).toEqual(['a', 'slow'])
  })

  test('the wire form: id, function, forceAllow, microseconds; in the order of the queue', async () => {
    const hold = gate()
    const thread = await openThread({ slow: tool(() => hold.opened.then(() => success())), later: nothing })
    const before = Date.now() * 1000
    const slow = thread.call('slow')
    queueTool(thread.state, 'later', { a: 1 })
    queueTool(thread.state, 'later')
    await vi.waitFor(async () => expect(await thread.queued()).toHaveLength(2), { timeout: 10_000 })
    const [first, second] = await thread.queued()
    expect(first).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/u),
      type: 'function',
      function: { name: 'later', arguments: '{"a":1}' },
      forceAllow: true,
      queued_at: expect.any(Number),
    })
    expect(second?.function.arguments).toBe('{}')
    expect(first?.queued_at).toBeGreaterThanOrEqual(before)
    expect(first?.queued_at).toBeLessThan((Date.now() + 1000) * 1000)
    hold.open()
    await slow
    await thread.flush()
    expect(await thread.queued()).toEqual([])
  })

  test('a tool that fails after it queued has queued; an unknown tool is an error in its turn', async () => {
    const a = tool((state) => {
      queueTool(state, 'nowhere')
      queueTool(state, 'b')
      throw new Error('too late')
    })
    const thread = await openThread({ a, b: nothing })
    expect(await thread.call('a')).toMatchObject({ status: 'error', error: 'too late' })
    const messages = await thread.messages.list()
    expect(messages.map(({ toolName, content }) => [toolName, content])).toEqual([
      ['a', 'Failed to execute tool: too late'],
      ['nowhere', 'Failed to execute tool: Tool not found: nowhere'],
      ['b', 'Tool executed successfully'],
    ])
  })

  test('refuses at once what is no state, no name and no JSON', async () => {
    const errors: unknown[] = []
    const attempt = (work: () => void) => {
      try {
        work()
      } catch (error) {
        errors.push(error)
      }
    }
    const thread = await openThread({
      a: tool((state) => {
        attempt(() => queueTool({} as ThreadState, 'b'))
        attempt(() => queueTool(undefined as never, 'b'))
        attempt(() => queueTool({ ...state }, 'b'))
        attempt(() => queueTool(state, ''))
        attempt(() => queueTool(state, 'b', { n: 1n }))
        attempt(() => queueTool(state, 'b', (() => 1) as never))
        return success()
      }),
    })
    await thread.call('a')
    expect(errors).toHaveLength(6)
    for (const error of errors) expect(error).toBeInstanceOf(TypeError)
    expect(await order(thread)).toEqual(['a'])
  })

  test('any tree of queued calls runs breadth first, each call once (law)', async () => {
    interface Node {
      id: number
      next: Node[]
    }
    let ids = 0
    const { node: root } = fc.letrec<{ node: Node }>((tie) => ({
      node: fc.record({ id: fc.nat(), next: fc.oneof({ maxDepth: 4 }, fc.constant<Node[]>([]), fc.array(tie('node'), { maxLength: 3 })) }),
    }))
    await fc.assert(
      fc.asyncProperty(fc.array(root, { minLength: 1, maxLength: 4 }), async (roots) => {
        ids = 0
        const expected: number[] = []
        const level = [...roots]
        for (let node = level.shift(); node !== undefined; node = level.shift()) {
          node.id = ids
          ids += 1
          expected.push(node.id)
          level.push(...node.next)
        }
        if (ids > 900) return
        const ran: number[] = []
        const visit = defineTool({
          description: 'visit',
          args: z.object({ node: z.string() }),
          execute: async (state, args) => {
            const node = JSON.parse(args.node) as Node
            ran.push(node.id)
            for (const next of node.next) queueTool(state, 'visit', { node: JSON.stringify(next) })
            return success()
          },
        })
        const thread = await createThread({ tools: { visit } })
        await Promise.all(roots.map((node) => thread.call('visit', { node: JSON.stringify(node) })))
        await thread.close()
        expect(ran).toEqual(expected)
      }),
      { numRuns: 30 },
    )
  })
})

describe('R34 outside of a run', () => {
  test('a queued call is made in the background, and flush waits for it', async () => {
    const ran = vi.fn()
    const thread = await openThread({
      a: tool(async () => {
        await sleep(20)
        ran()
        return success()
      }),
    })
    queueTool(thread.state, 'a')
    queueTool(thread.state, 'a')
    expect(ran).not.toHaveBeenCalled()
    await thread.flush()
    expect(ran).toHaveBeenCalledTimes(2)
  })

  test('the state of a call that has ended queues in the background', async () => {
    let outer: ThreadState | undefined
    const thread = await openThread({
      a: tool((state) => {
        outer = state
        return success()
      }),
      b: nothing,
    })
    await thread.call('a')
    queueTool(outer as ThreadState, 'b')
    await thread.flush()
    expect(await order(thread)).toEqual(['a', 'b'])
  })

  test('a failure of a tool is no failure of flush; flush with nothing to do settles', async () => {
    const thread = await openThread({
      a: tool(() => {
        throw new Error('no')
      }),
    })
    await thread.flush()
    queueTool(thread.state, 'a')
    await thread.flush()
    expect(await order(thread)).toEqual(['a'])
  })

  test('flush honours its signal', async () => {
    const hold = gate()
    const thread = await openThread({ a: tool(() => hold.opened.then(() => success())) })
    queueTool(thread.state, 'a')
    const controller = new AbortController()
    const flushing = thread.flush({ signal: controller.signal })
    controller.abort(new Error('enough'))
    await expect(flushing).rejects.toThrow('enough')
    hold.open()
  })
})

describe('R35 emitThreadEvent', () => {
  test('is a promise that waits for the listener, which gets the wire form', async () => {
    const events: ThreadEvent[] = []
    const steps: string[] = []
    const thread = await openThread(
      {
        a: tool(async (state) => {
          const emitted = emitThreadEvent(state, 'workflow_started', { id: 7 })
          expect(emitted).toBeInstanceOf(Promise)
          expect(await emitted).toBeUndefined()
          steps.push('tool')
          return success()
        }),
      },
      {
        onEvent: async (event) => {
          await sleep(10)
          steps.push('listener')
          events.push(event)
        },
      },
    )
    const before = Date.now()
    await thread.call('a')
    expect(steps).toEqual(['listener', 'tool'])
    expect(events).toEqual([{ type: 'event', eventType: 'workflow_started', data: { id: 7 }, timestamp: expect.any(Number) }])
    expect(events[0]?.timestamp).toBeGreaterThanOrEqual(before)
  })

  test('without a listener it warns; a listener that fails warns, and the tool goes on', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const a = tool(async (state) => {
      await emitThreadEvent(state, 'e', 1)
      return success()
    })
    const silent = await openThread({ a })
    expect(await silent.call('a')).toEqual(success())
    expect(warn).toHaveBeenCalledTimes(1)
    const failing = await openThread(
      { a },
      {
        onEvent: () => {
          throw new Error('listener broke')
        },
      },
    )
    expect(await failing.call('a')).toEqual(success())
    expect(warn).toHaveBeenCalledTimes(2)
    warn.mockRestore()
  })

  test('refuses what is no state and no type', async () => {
    const thread = await openThread({})
    await expect(emitThreadEvent({} as ThreadState, 'e')).rejects.toThrow(TypeError)
    await expect(emitThreadEvent(thread.state, '')).rejects.toThrow(TypeError)
  })
})

describe('R36 rootState', () => {
  test('is the state itself in the thread, and that of the thread in a sub-prompt', async () => {
    const states: ThreadState[] = []
    const thread = await openThread({
      a: tool((state) => {
        states.push(state)
        return success()
      }),
    })
    const child = thread.childState()
    await thread.call('a')
    await thread.call('a', {}, { state: child })
    expect(states[0]?.rootState).toBe(states[0])
    expect(thread.state.rootState).toBe(thread.state)
    expect(states[1]?.rootState).toBe(thread.state)
    expect(child.rootState).toBe(thread.state)
    expect(states[1]?.threadId).toBe(thread.threadId)
  })

  test('a sub-prompt has a queue of its own; what it queues for the thread waits for the call around it', async () => {
    const ran: string[] = []
    const says = (name: string) =>
      tool(() => {
        ran.push(name)
        return success()
      })
    // oxlint-disable-next-line prefer-const -- the tools need it before there is one
    let thread: Thread
    const outer = tool(async () => {
      const child = thread.childState()
      await thread.call('inner', {}, { state: child })
      ran.push('outer ends')
      return success()
    })
    const inner = tool((state) => {
      ran.push('inner')
      queueTool(state.rootState, 'of_root')
      queueTool(state, 'of_child')
      return success()
    })
    thread = await openThread({ outer, inner, of_root: says('of_root'), of_child: says('of_child'), next: says('next') })
    await Promise.all([thread.call('outer'), thread.call('next')])
    await thread.flush()
    expect(ran).toEqual(['inner', 'of_child', 'outer ends', 'next', 'of_root'])
  })

  test('a call of the same queue from inside of a call is refused, not waited for', async () => {
    // oxlint-disable-next-line prefer-const -- the tools need it before there is one
    let thread: Thread
    const a = tool(async () => {
      await expect(thread.call('b')).rejects.toThrow(/would wait for the call that makes it.*queueTool/u)
      await expect(thread.flush()).rejects.toThrow(/would wait/u)
      return success('a')
    })
    thread = await openThread({ a, b: nothing })
    expect(await thread.call('a')).toEqual(success('a'))
  })

  test('a sub-prompt inside of a sub-prompt, with calls from outside in between', async () => {
    // oxlint-disable-next-line prefer-const -- the tools need it before there is one
    let thread: Thread
    const deep = defineTool({
      description: 'd',
      args: z.object({ depth: z.number() }),
      execute: async (_state, { depth }) => {
        if (depth > 0) await Promise.all([1, 2].map(() => thread.call('deep', { depth: depth - 1 }, { state: thread.childState() })))
        return success(String(depth))
      },
    })
    thread = await openThread({ deep, b: nothing })
    const results = await Promise.all([thread.call('deep', { depth: 3 }), thread.call('b'), thread.call('deep', { depth: 2 })])
    expect(results.map(({ result }) => result)).toEqual(['3', undefined, '2'])
    expect(await order(thread)).toHaveLength(15 + 1 + 7)
  })
})

describe('R37 the queue has an end', () => {
  test('a tool that queues itself is stopped after 1,000 calls, with the reason', async () => {
    let calls = 0
    const a = tool((state) => {
      calls += 1
      queueTool(state, 'a')
      return success()
    })
    const thread = await openThread({ a })
    await thread.call('a')
    expect(calls).toBe(1001)
    const [last] = await thread.messages.list({ reverse: true, limit: 1 })
    expect(last).toMatchObject({ status: 'error', content: expect.stringMatching(/Queue limit reached.*1000.*THREAD_QUEUE_LIMIT/u) })
    expect(await thread.queued()).toEqual([])
    // A new call has a new limit.
    expect(await thread.call('a')).toEqual(success())
  }, 60_000)

  test('neither can a tool queue them all at once', async () => {
    const a = tool((state) => {
      for (let n = 0; n < 5000; n += 1) queueTool(state, 'b')
      return success()
    })
    const thread = await openThread({ a, b: nothing })
    expect(await thread.call('a')).toMatchObject({ status: 'error', error: expect.stringContaining('[THREAD_QUEUE_LIMIT]') })
    expect(await order(thread)).toHaveLength(1001)
  }, 60_000)
})

describe('R38 states', () => {
  test('defaults', async () => {
    const thread = await openThread({})
    expect(thread.state).toMatchObject({
      agentConfig: {},
      currentSide: 'a',
      turnCount: 0,
      stopped: false,
      messageHistory: [],
      env: {},
      context: {},
      tenvs: {},
    })
    expect(thread.threadId).toMatch(/^[0-9a-f-]{36}$/u)
    expect(thread.flowId).toMatch(/^[0-9a-f-]{36}$/u)
  })

  test('what the host gives', async () => {
    const env = { DB: {} }
    const options = {
      threadId: 't',
      flowId: 'f',
      agentConfig: { name: 'support' },
      currentSide: 'b' as const,
      env,
      messageHistory: [{ role: 'user' as const, content: 'hi' }],
    }
    let state: ThreadState | undefined
    const thread = await openThread(
      {
        a: tool((running) => {
          state = running
          return success()
        }),
      },
      options,
    )
    await thread.call('a')
    expect(state).toMatchObject(options)
    expect(state?.env).toBe(env)
  })

  test('a child has its side and context, and the rest of its parent', async () => {
    const thread = await openThread({}, { context: { userId: 'u' }, tenvs: { a: 'b' } })
    const child = thread.childState({ side: 'b', context: { more: 1 } })
    expect(child).toMatchObject({ currentSide: 'b', context: { userId: 'u', more: 1 }, tenvs: { a: 'b' }, threadId: thread.threadId })
    expect(thread.state.context).toEqual({ userId: 'u' })
  })

  test('the context is shared along a run, and by no other', async () => {
    const count = tool((state) => {
      state.context['n'] = Number(state.context['n'] ?? 0) + 1
      if (state.context['n'] === 1) queueTool(state, 'count')
      return success(String(state.context['n']))
    })
    const context = { base: true }
    const thread = await openThread({ count }, { context })
    await thread.call('count')
    await thread.call('count')
    expect((await thread.messages.list()).map(({ content }) => content)).toEqual(['1', '2', '1', '2'])
    expect(context).toEqual({ base: true })
  })

  test('storage: one key, several keys, a list', async () => {
    const thread = await openThread({
      a: tool(async ({ storage }) => {
        await storage.put('customer:1', { name: 'Ada', since: new Date(0) })
        await storage.put({ 'customer:2': [1, 2], other: null })
        expect(await storage.get('customer:1')).toEqual({ name: 'Ada', since: new Date(0) })
        expect(await storage.get('missing')).toBeUndefined()
        expect(await storage.get(['customer:2', 'missing', 'other'])).toEqual(
          new Map<string, unknown>([
            ['customer:2', [1, 2]],
            ['other', null],
          ]),
        )
        expect([...(await storage.list({ prefix: 'customer:' })).keys()]).toEqual(['customer:1', 'customer:2'])
        expect(await storage.delete('other')).toBe(true)
        expect(await storage.delete(['customer:1', 'missing'])).toBe(1)
        await storage.deleteAll()
        return success(String((await storage.list()).size))
      }),
    })
    expect(await thread.call('a')).toEqual(success('0'))
  })
})
