import { monitorEventLoopDelay } from 'node:perf_hooks'
import { describe, expect, test } from 'vitest'
import { patternCost, schemaCost } from '../../../ts/contract/call/argument-checks/schema-cost.ts'
import { builtInTools } from 'toolwright/contract'
import { failureOf, openScene, testTool } from '../scene.ts'

describe('how long a pattern can take is known, or taken to be for ever', () => {
  test.each<[string, number, number]>([
    ['^[a-z0-9_-]{1,64}$', 1, 1],
    ['^\\d{4}-\\d{2}-\\d{2}$', 1, 1],
    ['^[^\\u0000]+$', 1, 1],
    ['a*b', 1, 2],
    ['^a*a*a*$', 1, 3],
    ['^(\\+|-)?\\d+(\\.\\d+)?$', 8, 3],
    ['[(*+?{]', 1, 1],
    ['\\(\\*+', 1, 2],
  ])('%s', (pattern, factor, power) => {
    expect(patternCost(pattern)).toEqual({ factor, power })
  })

  test.each(['^(a+)+$', '(a|b)*c', '^(?=a)b', '(a)\\1', '(?<n>a)\\k<n>', '(ab){2,}', '^(([a-z])+.)+[A-Z]([a-z])+$'])('%s', (pattern) => {
    expect(patternCost(pattern).factor).toBe(Infinity)
  })

  test('a plain schema costs what its arguments have, and one that leads into itself may have no end', () => {
    const size = { values: 1_000, characters: 10_000 }
    const plain = { type: 'object', properties: { items: { type: 'array', items: { type: 'string', minLength: 1 } } } }
    expect(schemaCost(plain)(size)).toBeLessThan(2_000)
    expect(schemaCost({ ...plain, $defs: {}, anyOf: [{ $ref: '#' }] })(size)).toBe(Infinity)
    expect(schemaCost({ ...plain, properties: { items: { uniqueItems: true } } })(size)).toBeGreaterThan(1_000_000)
    expect(schemaCost({ properties: { $ref: { type: 'string' } } })(size)).toBeLessThan(2_000)
  })

  test('patterns of our own tools have no loop within a loop, and no two loops that can share a text', () => {
    const patterns = [...JSON.stringify(builtInTools.map(({ parameters }) => parameters)).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/gu)]
    const known = ['\\S', '^[^\\u0000]+$', '^\\s*[^\\u0000\\s][^\\u0000]*$']
    expect([...new Set(patterns.map(([, text = '']) => JSON.parse(text) as string))].sort()).toEqual(known.sort())
  })
})

describe('a schema that takes long does not hold the host', () => {
  /** The longest time for which the event loop was held meanwhile. */
  async function longestTurn(work: () => Promise<unknown>): Promise<number> {
    const delay = monitorEventLoopDelay({ resolution: 5 })
    delay.enable()
    await work()
    delay.disable()
    return delay.max / 1e6
  }

  const hostile: [string, object, unknown][] = [
    ['loops within loops', { type: 'string', pattern: '^(a+)+$' }, `${'a'.repeat(40)}!`],
    ['loops that share a text', { type: 'string', pattern: '^(\\w+\\s?)*$' }, `${'word '.repeat(12)}!`],
    ['loops one after the other', { type: 'string', pattern: '^a*a*a*a*$' }, `${'a'.repeat(2_000)}!`],
    ['names by a pattern', { type: 'object', patternProperties: { '^(a|a)*$': {} } }, { [`${'a'.repeat(35)}!`]: 1 }],
  ]

  test.each(hostile)('%s', async (_what, schema, value) => {
    const isObject = typeof value === 'object'
    const { call } = await openScene({
      tools: [testTool('slow', () => 'done', { parameters: { type: 'object', properties: { value: schema } } })],
    })
    // The thread is started once.
    await call('slow', { value: 'x'.repeat(3_000) })
    let text = ''
    const held = await longestTurn(async () => {
      const envelope = await call('slow', { value })
      // No name fits the pattern of names, and an engine that gives up early or is quick finds that out.
      text = isObject && envelope.type === 'output' ? 'accepted' : failureOf(envelope).text
    })
    expect(text).toMatch(
      /^(?:accepted$|The arguments could not be compared with the tool's schema: it takes more than 500 ms|Invalid arguments)/u,
    )
    // Measured: 11 ms; what holds the host takes half a second, and in Bun more.
    expect(held).toBeLessThan(400)
  })

  test('what fits such a schema is taken, what does not is told, and one after the other has its turn', async () => {
    const parameters = {
      type: 'object',
      $defs: { tree: { type: 'object', properties: { left: { $ref: '#/$defs/tree' }, n: { type: 'integer' } } } },
      $ref: '#/$defs/tree',
    }
    const { call } = await openScene({
      tools: [
        testTool('tree', (args) => args, {
          parameters: {
            $schema: 'https://json-schema.org/draft/2020-12/schema',
            type: 'object',
            allOf: [{ $ref: '#/$defs/tree' }],
            $defs: parameters.$defs,
          },
        }),
      ],
    })
    const envelopes = await Promise.all(
      [{ left: { left: { n: 1 } } }, { left: { left: { n: 'x' } } }, { n: 2 }].map((args) => call('tree', args)),
    )
    expect(envelopes.map(({ type }) => type)).toEqual(['output', 'error', 'output'])
    expect(failureOf(envelopes[1]!).text).toMatch(/\/left\/left\/n: .*integer/u)
  })

  test('an abort does not wait for it', async () => {
    const { call } = await openScene({
      tools: [
        testTool('slow', () => 'done', { parameters: { type: 'object', properties: { value: { type: 'string', pattern: '^(a+)+$' } } } }),
      ],
    })
    const envelope = await call('slow', { value: `${'a'.repeat(40)}!` }, { signal: AbortSignal.timeout(20) })
    expect(failureOf(envelope).code).toBe('aborted')
    // Nor does it keep what comes after it from being made.
    expect((await call('slow', { value: 'aaa' })).type).toBe('output')
  })
})
