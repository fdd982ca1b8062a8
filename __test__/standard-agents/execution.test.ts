import fc from 'fast-check'
import { defineTool } from 'toolwright/standard-agents'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { runs, seed } from '../support/randomised.ts'
import { contents, openThread, success, tool } from './support.ts'

/** Calls a tool that returns or throws this. */
async function callReturning(execute: () => unknown) {
  const thread = await openThread({ it: tool(execute) })
  const result = await thread.call('it')
  return { result, content: (await contents(thread))[0] }
}

describe('arguments', () => {
  const seen = vi.fn()
  const weather = defineTool({
    description: 'weather',
    args: z.object({
      place: z.object({ name: z.string(), at: z.array(z.number()).optional() }),
      units: z.enum(['c', 'f']).default('c'),
      limit: z.number().optional().default(10),
    }),
    execute: async (_state, args) => {
      seen(args)
      return success()
    },
  })

  test('R4 a tool without arguments is called with one argument, the state', async () => {
    let parameters: unknown[] = []
    const thread = await openThread({
      it: tool(function () {
        // oxlint-disable-next-line prefer-rest-params
        parameters = [...arguments]
        return success()
      } as never),
    })
    await thread.call('it', { ignored: 1 })
    expect(parameters).toHaveLength(1)
    expect(parameters[0]).toHaveProperty('threadId', thread.threadId)
  })

  test('R9 arguments may be JSON text; empty text means {}', async () => {
    const thread = await openThread({ it: weather, none: tool(() => success('none')) })
    await thread.call('it', '{"place":{"name":"Rome"}}')
    expect(seen).toHaveBeenLastCalledWith({ place: { name: 'Rome' }, units: 'c', limit: 10 })
    expect(await thread.call('none', '')).toEqual(success('none'))
    expect(await thread.call('none', ' \n')).toEqual(success('none'))
  })

  test('R9 what is no JSON is an error with the words of the SyntaxError', async () => {
    const thread = await openThread({ it: weather })
    let words = ''
    try {
      JSON.parse('{"place":')
    } catch (error) {
      words = (error as Error).message
    }
    expect(await thread.call('it', '{"place":')).toMatchObject({ status: 'error', error: words })
  })

  test('R10 arguments that do not fit are an error, and the tool is not called', async () => {
    const thread = await openThread({ it: weather })
    seen.mockClear()
    expect(await thread.call('it', { place: { name: 5, at: [1, 'x'] }, units: 'k' })).toEqual({
      status: 'error',
      error:
        'Tool argument validation failed: [place.name] Invalid input: expected string, received number; ' +
        '[place.at.1] Invalid input: expected number, received string; ' +
        '[units] Invalid option: expected one of "c"|"f"',
    })
    expect(await thread.call('it', '[]')).toEqual({
      status: 'error',
      error: 'Tool argument validation failed: [root] Invalid input: expected object, received array',
    })
    expect(await thread.call('it', 'null')).toMatchObject({
      error: 'Tool argument validation failed: [root] Invalid input: expected object, received null',
    })
    expect(seen).not.toHaveBeenCalled()
  })

  test('R11 the tool gets what validation gives: defaults filled in, unknown keys taken out', async () => {
    const thread = await openThread({ it: weather })
    await thread.call('it', { place: { name: 'Rome', secret: 1 }, extra: true })
    expect(seen).toHaveBeenLastCalledWith({ place: { name: 'Rome' }, units: 'c', limit: 10 })
  })

  test('R11 asynchronous refinements are waited for, and ones that throw are errors', async () => {
    const slow = defineTool({
      description: 'd',
      args: z.object({ a: z.string().refine(async (text) => text === 'good', 'not good') }),
      execute: async () => success('yes'),
    })
    const throwing = defineTool({
      description: 'd',
      args: z.object({
        a: z.string().refine(() => {
          throw new Error('check broke')
        }),
      }),
      execute: async () => success(),
    })
    const thread = await openThread({ slow, throwing })
    expect(await thread.call('slow', { a: 'good' })).toEqual(success('yes'))
    expect(await thread.call('slow', { a: 'bad' })).toMatchObject({ error: 'Tool argument validation failed: [a] not good' })
    expect(await thread.call('throwing', { a: '' })).toMatchObject({ status: 'error', error: 'check broke' })
  })

  test('whatever the arguments are, a result comes back, and the tool sees valid ones alone (law)', async () => {
    const schema = z.object({ a: z.string().max(3), b: z.array(z.union([z.number(), z.record(z.string(), z.boolean())])).default([]) })
    const execute = vi.fn(async (_state, args) => success(JSON.stringify(args)))
    const thread = await openThread({ it: defineTool({ description: 'd', args: schema, execute }) })
    const near = fc.record(
      { a: fc.oneof(fc.string({ maxLength: 4 }), fc.anything()), b: fc.oneof(fc.array(fc.integer()), fc.anything()) },
      { requiredKeys: [] },
    )
    const text = fc.oneof(
      fc.string(),
      fc.json(),
      near.map((value) => {
        try {
          return JSON.stringify(value) ?? ''
        } catch {
          return ''
        }
      }),
    )
    await fc.assert(
      fc.asyncProperty(text, async (args) => {
        execute.mockClear()
        const { status, error } = await thread.call('it', args)
        expect(execute).toHaveBeenCalledTimes(status === 'success' ? 1 : 0)
        for (const [, args] of execute.mock.calls) expect(schema.safeParse(args)).toEqual({ success: true, data: args })
        if (status === 'error') expect(error).not.toBe('')
      }),
      { numRuns: runs(100), seed },
    )
  })

  test('arguments that change a prototype change nothing', async () => {
    const thread = await openThread({
      it: defineTool({
        description: 'd',
        args: z.object({ r: z.record(z.string(), z.string()) }),
        execute: async (_state, { r }) => success(JSON.stringify([Object.keys(r), Object.getPrototypeOf(r) === Object.prototype])),
      }),
    })
    await thread.call('it', '{"__proto__":{"polluted":"1"},"r":{"__proto__":"x","constructor":"y"}}')
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })
})

describe('results', () => {
  test.each<[string, () => unknown, object, string | undefined]>([
    [
      'an Error',
      () => {
        throw new Error('it broke')
      },
      { error: 'it broke', stack: expect.stringContaining('it broke') },
      'it broke',
    ],
    [
      'a rejection',
      async () => {
        throw new TypeError('later')
      },
      { error: 'later', stack: expect.stringContaining('later') },
      'later',
    ],
    [
      'a string',
      () => {
        throw 'text'
      },
      { error: 'text' },
      'text',
    ],
    [
      'a number',
      () => {
        throw 5
      },
      { error: '5' },
      '5',
    ],
    [
      'undefined',
      () => {
        throw undefined
      },
      { error: 'undefined' },
      'undefined',
    ],
    [
      'null',
      () => {
        throw null
      },
      { error: 'null' },
      'null',
    ],
    [
      'an object with a message',
      () => {
        throw { message: 'mine' }
      },
      { error: 'mine' },
      'mine',
    ],
    [
      'an object without',
      () => {
        throw {}
      },
      { error: '[object Object]' },
      '[object Object]',
    ],
    [
      'an error without words',
      () => {
        throw Object.assign(new Error(''), { stack: undefined })
      },
      { error: '' },
      'Tool execution failed',
    ],
    [
      'a promise that throws at once',
      () => ({
        // oxlint-disable-next-line unicorn/no-thenable
        then() {
          throw new Error('then')
        },
      }),
      { error: 'then', stack: expect.any(String) },
      'then',
    ],
    [
      'what cannot be read',
      () => {
        throw new Proxy(
          {},
          {
            get() {
              throw new Error('trap')
            },
          },
        )
      },
      { error: expect.any(String) },
      undefined,
    ],
  ])('R12 a tool that throws %s gives an error result', async (_, execute, expected, text) => {
    const { result, content } = await callReturning(execute)
    expect(result).toEqual({ status: 'error', ...expected })
    if (text !== undefined) expect(content).toBe(`Failed to execute tool: ${text}`)
  })

  test.each([
    ['nothing', undefined],
    ['null', null],
    ['text', 'done'],
    ['a number', 5],
    ['a function', () => success()],
    ['an array', [success()]],
    ['no status', { result: 'x' }],
    ['another status', { status: 'ok', result: 'x' }],
    ['a status that is no string', { status: true }],
  ])('R13 a tool that returns %s gives an error result', async (_, returned) => {
    const { result } = await callReturning(() => returned)
    expect(result).toEqual({ status: 'error', error: 'Tool "it" did not return a ToolResult' })
  })

  test('R14 a result that is no string becomes JSON with two spaces', async () => {
    expect((await callReturning(() => ({ status: 'success', result: { a: [1] } }))).result).toEqual(success('{\n  "a": [\n    1\n  ]\n}'))
    expect((await callReturning(() => ({ status: 'success', result: 5 }))).result).toEqual(success('5'))
    expect((await callReturning(() => ({ status: 'success', result: null }))).result).toEqual({ status: 'success' })
  })

  test('R14 an error without words uses the result', async () => {
    expect((await callReturning(() => ({ status: 'error', result: 'why' }))).result).toEqual({
      status: 'error',
      result: 'why',
      error: 'why',
    })
    expect((await callReturning(() => ({ status: 'error', result: 'why', error: 'because' }))).result).toMatchObject({ error: 'because' })
  })

  test('R14 a result that has no JSON is an error', async () => {
    const cyclic: Record<string, unknown> = {}
    cyclic['self'] = cyclic
    expect((await callReturning(() => ({ status: 'success', result: cyclic }))).result).toMatchObject({ status: 'error' })
    expect((await callReturning(() => ({ status: 'success', result: 5n }))).result).toMatchObject({ status: 'error' })
  })

  test.each<[string, unknown, string]>([
    ['a success', { status: 'success', result: ' text \n' }, 'text'],
    ['an empty success', { status: 'success', result: ' ' }, 'Tool executed successfully'],
    ['a success without result', { status: 'success' }, 'Tool executed successfully'],
    ['an error', { status: 'error', error: 'why' }, 'Failed to execute tool: why'],
    ['an error without words', { status: 'error' }, 'Failed to execute tool: Tool execution failed'],
    ['an error with a stack', { status: 'error', error: 'why', stack: 'SECRET at x.ts:1' }, 'Failed to execute tool: why'],
  ])('R15 the message of %s', async (_, returned, expected) => {
    expect((await callReturning(() => returned)).content).toBe(expected)
  })

  test('R15 a blank line and the paths of the attachments follow', async () => {
    const { result, content } = await callReturning(() => ({
      status: 'success',
      result: 'made',
      attachments: [
        { name: 'a.png', mimeType: 'image/png', data: 'AAAA' },
        { name: 'b c.txt', mimeType: 'text/plain', data: 'YQ==' },
      ],
    }))
    const [a, b] = (result.attachments ?? []) as { path: string }[]
    expect(content).toBe(`made\n\nAttachment path for "a.png": ${a?.path}\nAttachment path for "b c.txt": ${b?.path}`)
  })

  test('a stack is stored, whether thrown or returned', async () => {
    expect((await callReturning(() => ({ status: 'error', error: 'e', stack: 'at a.ts:1' }))).result.stack).toBe('at a.ts:1')
  })

  test('R16 a call that fails does not stop the ones after it', async () => {
    const ran: string[] = []
    const thread = await openThread({
      bad: tool(() => {
        ran.push('bad')
        throw new Error('no')
      }),
      good: tool(() => {
        ran.push('good')
        return success()
      }),
    })
    const results = await Promise.all([thread.call('good'), thread.call('bad'), thread.call('missing'), thread.call('good')])
    expect(results.map(({ status }) => status)).toEqual(['success', 'error', 'error', 'success'])
    expect(ran).toEqual(['good', 'bad', 'good'])
  })

  test.each(['missing', 'constructor', '__proto__', 'toString', 'a b/../c'])('R17 an unknown tool: %s', async (name) => {
    const thread = await openThread({})
    expect(await thread.call(name)).toEqual({ status: 'error', error: `Tool not found: ${name}` })
  })
})

describe('thread environment variables', () => {
  const execute = vi.fn(async (state) => success(JSON.stringify(state.tenvs)))
  const tenvs = z.object({
    vectorStoreId: z.string(),
    region: z.string().optional(),
    depth: z.number().default(3),
  })
  const it = defineTool({ description: 'd', execute, tenvs })

  test('R18 a call finds what the schema gives in state.tenvs; other tools what the thread has', async () => {
    const thread = await openThread(
      { it, other: tool((state) => success(JSON.stringify(state.tenvs))) },
      { tenvs: { vectorStoreId: 'vs', extra: 1 } },
    )
    expect(await thread.call('it')).toEqual(success('{"vectorStoreId":"vs","depth":3}'))
    expect(await thread.call('other')).toEqual(success('{"vectorStoreId":"vs","extra":1}'))
  })

  test('R18 a missing one is an error and the tool is not called; after the arguments', async () => {
    execute.mockClear()
    const withArgs = defineTool({ description: 'd', args: z.object({ a: z.string() }), execute, tenvs })
    const thread = await openThread({ it, withArgs })
    expect(await thread.call('it')).toMatchObject({ status: 'error' })
    expect(await thread.call('withArgs', { a: 5 })).toMatchObject({ error: expect.stringContaining('Tool argument validation failed') })
    expect(execute).not.toHaveBeenCalled()
  })

  test('R19 the names of those missing', async () => {
    const many = defineTool({ description: 'd', execute, tenvs: z.object({ a: z.string(), b: z.number(), c: z.string().optional() }) })
    const thread = await openThread({ many }, { tenvs: {} })
    expect(await thread.call('many')).toEqual({
      status: 'error',
      error: 'Missing required thread environment variables for tool "many": a, b',
    })
  })

  test('R19 those of another type, and no value in any text', async () => {
    const secret = 'sk-s3cr3t-value'
    const strict = defineTool({
      description: 'd',
      execute,
      tenvs: z.object({
        a: z.number(),
        b: z.string().refine(() => false, { error: ({ input }) => `bad ${String(input)}` }),
        c: z.literal('x'),
        d: z.string().max(3),
        e: z.object({ f: z.number() }),
        g: z.string(),
      }),
    })
    const thread = await openThread({ strict }, { tenvs: { a: secret, b: secret, c: secret, d: secret, e: { f: secret } } })
    const { error } = await thread.call('strict')
    expect(error).toBe(
      'Missing required thread environment variables for tool "strict": g; ' +
        'Thread environment validation failed: [a] Invalid input: expected number, received string; [b] Invalid input; ' +
        '[c] Invalid input: expected "x"; [d] Too big: expected string to have <=3 characters; [e.f] Invalid input: expected number, received string',
    )
    expect(error).not.toContain('s3cr3t')
  })

  test('R19 a check that throws does not tell either', async () => {
    const throwing = defineTool({
      description: 'd',
      execute,
      tenvs: z.object({
        a: z.string().refine((text) => {
          throw new Error(`saw ${text}`)
        }),
      }),
    })
    const thread = await openThread({ throwing }, { tenvs: { a: 'sk-s3cr3t' } })
    const result = await thread.call('throwing')
    expect(result.status).toBe('error')
    expect(JSON.stringify(result)).not.toContain('s3cr3t')
  })
})

describe('provider tools', () => {
  test('R20 R21 are never executed here, with and without a provider', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const execute = vi.fn(async () => success())
    const thread = await openThread({
      paint: defineTool({ description: 'd', execute, executionMode: 'provider', executionProvider: 'openai' }),
      nobody: defineTool({ description: 'd', execute, executionMode: 'provider' }),
    })
    for (const name of ['paint', 'nobody']) {
      expect(await thread.call(name)).toEqual({
        status: 'error',
        error: `Tool "${name}" is a provider-executed tool and should be handled by the LLM provider, not executed locally. This may indicate a provider configuration issue.`,
      })
    }
    expect(execute).not.toHaveBeenCalled()
    vi.restoreAllMocks()
  })

  test('R2 a tool without a mode is executed here', async () => {
    const thread = await openThread({ it: tool(() => success('here')) })
    expect(await thread.call('it')).toEqual(success('here'))
  })

  test('R22 a result of a provider is a message with attachments and without arguments', async () => {
    const thread = await openThread({})
    const message = await thread.recordProviderResult(
      'generate_image',
      { status: 'success', result: 'painted', attachments: [{ name: 'p.png', mimeType: 'image/png', data: 'iVBO' }] },
      'call_7',
    )
    const [stored] = await thread.messages.list()
    expect(stored).toEqual(message)
    expect(stored).toMatchObject({ role: 'tool', toolName: 'generate_image', toolCallId: 'call_7', args: {}, status: 'success' })
    const path = stored?.attachments?.[0]?.path ?? ''
    expect(stored?.content).toBe(`painted\n\nAttachment path for "p.png": ${path}`)
    expect(Buffer.from(await thread.attachments.read(path)).toString('base64')).toBe('iVBO')
  })
})
