// The document's example that asks a database, with D1 as Cloudflare ships it for development.
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeNpmProject, type NpmProject } from '../support/npm-project.ts'

let project: NpmProject

beforeAll(async () => {
  project = await makeNpmProject(['miniflare@4', 'ai@7', 'zod@4', 'devalue@6'])
  cpSync(fileURLToPath(new URL('../standard-agents/page', import.meta.url)), join(project.folder, 'page'), { recursive: true })
}, 300_000)
afterAll(() => project?.remove())

const script = `
import { Miniflare } from 'miniflare'
import { createThread, loadTools } from 'toolwright/standard-agents'

const miniflare = new Miniflare({ modules: true, script: 'export default {}', d1Databases: { DB: 'customers' } })
const DB = await miniflare.getD1Database('DB')
await DB.exec('CREATE TABLE customers (id TEXT PRIMARY KEY, name TEXT)')
await DB.prepare('INSERT INTO customers VALUES (?, ?)').bind('c_1', 'Ada').run()
const { tools } = await loadTools('page/agents/tools')
const thread = await createThread({ tools, env: { DB } })
const found = await thread.call('lookup_customer', { customerId: 'c_1' })
const missing = await thread.call('lookup_customer', { customerId: "' OR 1=1 --" })
await thread.storage.put('customer:c_2', '"cached"')
const cached = await thread.call('lookup_customer', { customerId: 'c_2' })
await DB.exec('DROP TABLE customers')
const failing = await thread.call('lookup_customer', { customerId: 'c_1' })
await thread.close()
await miniflare.dispose()
console.log(JSON.stringify({ found, missing, cached, failing }))
`

test('R39 state.env.DB is a real D1', async () => {
  writeFileSync(join(project.folder, 'run.mjs'), script)
  const told = JSON.parse(await project.run(process.execPath, ['run.mjs'])) as Record<string, object>
  expect(told['found']).toEqual({ status: 'success', result: '{"id":"c_1","name":"Ada"}' })
  expect(told['missing']).toEqual({ status: 'success', result: 'null' })
  expect(told['cached']).toEqual({ status: 'success', result: '"cached"' })
  expect(told['failing']).toMatchObject({ status: 'error', error: expect.stringContaining('no such table'), stack: expect.any(String) })
}, 120_000)
