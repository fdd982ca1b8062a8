import { configureTools, createTools, defineTool, openJournal, revertRun, runTask, type ReadTool } from 'toolwright'
import { openThreadStore } from 'toolwright/standard-agents'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { attempt, refused } from '../support/refused.ts'

test('revertRun: a misspelt nodeId would undo the calls of every task', async () => {
  await using journal = await openJournal('memory:')
  const undone: string[] = []
  const shop = defineTool({
    name: 'shop.order',
    schema: z.object({ sku: z.string() }),
    sideEffect: true,
    execute: async ({ sku }, _ctx) => sku,
    revert: async ({ sku }) => void undone.push(sku),
  })
  for (const nodeId of ['a', 'b']) await runTask({ journal, runId: 'r', nodeId }, () => shop.execute({ sku: nodeId }))
  const tools = { shop }
  expect(await attempt(() => revertRun(journal, 'r', { tools, node: 'a' } as never))).toEqual(
    refused(/^node is no option; there are tools, nodeId, signal\.$/u),
  )
  expect(undone).toEqual([])
  await revertRun(journal, 'r', { tools, nodeId: 'a' })
  expect(undone).toEqual(['a'])
})

describe('what is wrong is called as it was written', () => {
  test.each<[string, () => unknown, RegExp]>([
    [
      'readOnly of openThreadStore',
      () => openThreadStore('memory:', { readonly: true } as never),
      /^readonly is no option; there are .*readOnly/u,
    ],
    ['options of openThreadStore', () => openThreadStore('memory:', null as never), /^The options must be an object\.$/u],
    ['toolTimeoutMs of createTools', () => createTools({ toolTimeoutMs: 0 }), /^toolTimeoutMs must be positive\.$/u],
    ['toolTimeoutMs of configureTools', () => configureTools({ toolTimeoutMs: 3e9 }), /^toolTimeoutMs exceeds 2147000000\.$/u],
    [
      'processes may be 0',
      () => createTools({ sandbox: { limits: { processes: -1 } } }),
      /^sandbox\.limits\.processes must be a whole number from 0\.$/u,
    ],
    [
      'memory may not',
      () => createTools({ sandbox: { limits: { memoryBytes: 0 } } }),
      /^sandbox\.limits\.memoryBytes must be a whole number from 1\.$/u,
    ],
  ])('%s', async (_, work, summary) => {
    expect(await attempt(work)).toEqual(refused(summary))
  })

  test.each(Object.entries(createTools()) as unknown as [string, ReadTool][])(
    '%s without an input, also where calls are recorded',
    async (name, tool) => {
      await using journal = await openJournal('memory:')
      const recorded = createTools({ journal })[name as 'read']
      for (const input of [undefined, null, 'a.txt']) {
        for (const one of [tool, recorded]) {
          expect(await attempt(() => one.execute(input as never))).toEqual(
            refused(new RegExp(`^${name}: the input must be an object\\.$`, 'u')),
          )
        }
      }
      const streamed = createTools({ streamOutput: true }).bash.execute(undefined as never)
      expect(await attempt(() => streamed.next())).toEqual(refused(/^bash: the input must be an object\.$/u))
      expect(await journal.listRuns()).toEqual([])
    },
  )

  test('what a journal function is given in the wrong place', async () => {
    await using journal = await openJournal('memory:')
    const task = { journal, runId: 'r', nodeId: 'n' }
    expect(await attempt(() => runTask(task, undefined as never))).toEqual(refused(/^runTask needs a function as its second argument/u))
    expect(await attempt(() => runTask({ ...task, toolTimeoutMs: -1 }, () => 1))).toEqual(refused(/^toolTimeoutMs must be positive\.$/u))
    expect(await attempt(() => revertRun(journal, 'r', undefined as never))).toEqual(refused(/^The options must be an object\.$/u))
    expect(await attempt(() => revertRun(journal, undefined as never, { tools: {} }))).toEqual(
      refused(/^runId must be a non-empty string\.$/u),
    )
    // The task was never begun, and can be.
    expect(await runTask(task, () => 1)).toBe(1)
  })
})
