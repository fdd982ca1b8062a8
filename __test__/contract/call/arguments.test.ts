import { Ajv } from 'ajv'
import fc from 'fast-check'
import { builtInTools } from 'toolwright/contract'
import { envelopeProblem, invalidArguments, recordingRuntime, sampleOf } from 'toolwright/contract/testing'
import { describe, expect, test } from 'vitest'
import { runs, seed } from '../../support/randomised.ts'
import { failureOf, openScene, testTool } from '../scene.ts'
import { withoutAbsent } from '../../../ts/core/optional-arguments.ts'

const ajv = new Ajv()

describe('arguments', () => {
  test('R2 what does not fit is an envelope that names the path, and the tool does not run', async () => {
    let executed = 0
    const tool = testTool('deep', () => (executed += 1), {
      parameters: {
        type: 'object',
        properties: { items: { type: 'array', items: { type: 'object', properties: { size: { type: 'integer' } }, required: ['size'] } } },
        required: ['items'],
        additionalProperties: false,
      },
    })
    const { call } = await openScene({ tools: [tool] })
    const refusalOf = async (args: unknown) => failureOf(await call('deep', args)).text
    expect(await refusalOf({ items: [{ size: 1 }, { size: 'x' }] })).toMatch(/\/items\/1\/size: .*integer/u)
    expect(await refusalOf({ items: [{}] })).toMatch(/\/items\/0: .*size/u)
    expect(await refusalOf({})).toMatch(/items/u)
    expect(await refusalOf({ items: [], extra: 1 })).toMatch(/\/extra/u)
    expect(await refusalOf(undefined)).toMatch(/missing/u)
    expect(executed).toBe(0)
  })

  test('R2 a schema of a newer draft, with references into itself, is understood', async () => {
    const parameters = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: { point: { type: 'array', prefixItems: [{ type: 'number' }, { type: 'number' }], items: false } },
      properties: { at: { $ref: '#/$defs/point' } },
      required: ['at'],
    }
    const { call } = await openScene({ tools: [testTool('place', () => 'ok', { parameters: Object.freeze(parameters) })] })
    expect((await call('place', { at: [1, 2] })).type).toBe('output')
    for (const at of [[1, 'x'], [1, 2, 3], 7]) expect(failureOf(await call('place', { at })).code).toBe('invalid_arguments')
  })

  test.each(builtInTools.map((tool) => [tool.id, tool] as const))(
    'R67b whatever %s is called with that does not fit: an error envelope, no use of the runtime, no throw',
    async (id, tool) => {
      const fits = ajv.compile(tool.parameters)
      const { session, call } = await openScene()
      const uses: unknown[] = []
      const spied = testTool(
        `${id}_spied`,
        (args) => {
          const { runtime, uses: made } = recordingRuntime()
          uses.push(args)
          void Promise.resolve(tool.execute(args, runtime)).catch(() => undefined)
          uses.push(...made)
        },
        { parameters: tool.parameters },
      )
      const second = await openScene({ tools: [spied] })
      for (const args of invalidArguments(tool.parameters)) {
        expect(fits(args), JSON.stringify(args)).toBe(false)
        if (fits(withoutAbsent(tool.parameters, args))) continue
        expect(failureOf(await call(id, args)).code).toBe('invalid_arguments')
      }
      const anything = fc.oneof(
        fc.jsonValue(),
        fc.record(Object.fromEntries(Object.keys(tool.parameters['properties'] as object).map((name) => [name, fc.jsonValue()])), {
          requiredKeys: [],
        }),
        fc.constant({ ...(sampleOf(tool.parameters) as object), ['__proto__x']: 1 }),
      )
      await fc.assert(
        fc.asyncProperty(anything, async (args) => {
          // What says nothing in an optional argument is as if it were not there.
          fc.pre(!fits(withoutAbsent(tool.parameters, args)))
          const envelope = await call(id, args)
          expect(envelopeProblem(envelope)).toBeUndefined()
          expect(failureOf(envelope).code).toBe('invalid_arguments')
          expect(failureOf(await second.call(spied.id, args)).code).toBe('invalid_arguments')
        }),
        { numRuns: runs(50), seed },
      )
      expect(uses).toEqual([])
      await session.close()
    },
  )

  test('R2 arguments that are no JSON are no throw either', async () => {
    const { call } = await openScene()
    const cycle: Record<string, unknown> = { path: 'a' }
    cycle['self'] = cycle
    for (const args of [
      () => 1,
      1n,
      Symbol('s'),
      cycle,
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('trap')
          },
        },
      ),
    ]) {
      expect((await call('read', args)).type).toBe('error')
    }
  })
})
