import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeNpmProject, type NpmProject } from '../support/npm-project.ts'

/** The package whose context the Smithers engine provides, from the registry. */
const engine = '@smithers-orchestrator/tool-context'
let project: NpmProject

beforeAll(async () => {
  project = await makeNpmProject([`${engine}@0.32.0`, 'ai@7', 'zod@4'])
}, 180_000)
afterAll(() => project?.remove())

const script = `
import { mkdirSync, writeFileSync } from 'node:fs'
import { runWithToolContext } from '${engine}'
import { defineTool, getToolContext, read } from 'toolwright'
import { z } from 'zod'

mkdirSync('inner', { recursive: true })
writeFileSync('inner/file.txt', 'seen through the context')
const phases = []
const probe = defineTool({
  name: 'probe',
  schema: z.object({}),
  sideEffect: true,
  idempotent: false,
  execute: async (_, ctx) => ctx.idempotencyKey,
})
const context = {
  runId: 'r', nodeId: 'n', iteration: 2, rootDir: process.cwd() + '/inner',
  recordToolCall: async (record) => { phases.push(record.toolName + ':' + record.phase) },
}
const result = await runWithToolContext(context, async () => ({
  text: await read.execute({ path: 'file.txt' }),
  key: await probe.execute({}),
  same: getToolContext() === context,
  seq: context.seq,
}))
console.log(JSON.stringify({ ...result, phases }))
`

test('inside the engine, its context is the context of our tools', async () => {
  writeFileSync(join(project.folder, 'run.mjs'), script)
  const told = JSON.parse(await project.run(process.execPath, ['run.mjs'])) as unknown
  expect(told).toEqual({
    text: 'seen through the context',
    key: 'smithers:r:n:2',
    same: true,
    seq: 2,
    phases: ['read:started', 'read:finished', 'probe:started', 'probe:finished'],
  })
})
