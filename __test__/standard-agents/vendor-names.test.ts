// Files that import the vendor's packages run as they are, where packages of those names lead here.
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { startScript } from '../support/child-script.ts'
import { makeSandbox } from '../support/sandbox.ts'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const guide = readFileSync(join(repository, 'docs/standard-agents.md'), 'utf8')
const example = readFileSync(new URL('page/agents/tools/start_workflow.ts', import.meta.url), 'utf8')

test('the document’s example runs with the imports of the document', async () => {
  const { put, at } = makeSandbox()
  const [, manifest = ''] = /`(\{ "name": "@standardagents\/spec".*\})`/u.exec(guide) ?? []
  const [, line = ''] = /`(export \* from 'toolwright\/standard-agents')` as both/u.exec(guide) ?? []
  for (const name of ['spec', 'builder']) {
    put(`node_modules/@standardagents/${name}/package.json`, manifest.replace('/spec', `/${name}`))
    put(`node_modules/@standardagents/${name}/index.js`, `${line}\n`)
  }
  for (const [name, path] of [
    ['toolwright', '.'],
    ['zod', 'node_modules/zod'],
  ] as const) {
    mkdirSync(dirname(at(`node_modules/${name}`)), { recursive: true })
    symlinkSync(join(repository, path), at(`node_modules/${name}`))
  }
  put('package.json', '{ "type": "module" }')
  const imports =
    "import { defineTool } from '@standardagents/spec'\nimport { queueTool, emitThreadEvent } from '@standardagents/builder'\nimport { z } from 'zod'\n"
  writeFileSync(put('agents/tools/start_workflow.ts', ''), imports + example.replaceAll(/^import .*\n/gmu, ''))
  const run = put(
    'run.mjs',
    `import { createThread, loadTools } from 'toolwright/standard-agents'
     const { tools, errors } = await loadTools(${JSON.stringify(at('agents/tools'))})
     const events = []
     const thread = await createThread({ tools, onEvent: (event) => void events.push(event.eventType) })
     const result = await thread.call('start_workflow', { workflowId: 'w' })
     await thread.close()
     console.log(JSON.stringify({ errors, events, result }))`,
  )
  const { stdout, stderr, code } = await startScript(run, []).ended
  expect(code, stderr).toBe(0)
  expect(JSON.parse(stdout)).toEqual({
    errors: [],
    events: ['workflow_started'],
    result: { status: 'success', result: 'Workflow initiated' },
  })
})
