import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { postgresStore } from 'toolwright/postgres'
import { Pool } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { RegistryUnreachable } from '../../support/installed-packages.ts'
import { freePort, noPostgres, type PostgresServer, startPostgres } from '../../support/postgres-server.ts'
import { runs } from '../../support/randomised.ts'
import { anthropicMessage, startEndpoint } from '../../support/scripted-endpoint.ts'
import type { Mode } from './agent.ts'
import { judge, type Matrix, noMatrix, summary } from './kill-rounds.ts'
import { NOTES } from './recipe.ts'
import { type Service, startService } from './service.ts'
import { buildProject, installedWorkflows, prepareDatabase, startServer, type WorkflowProject } from './workflow-devkit/project.ts'

let server: PostgresServer | undefined
let service: Service
let project: WorkflowProject | undefined
let engine = ''
let reason = noPostgres()
let rounds = 0

beforeAll(async () => {
  try {
    if (reason === undefined) engine = await installedWorkflows()
  } catch (error) {
    if (!(error instanceof RegistryUnreachable)) throw error
    reason = error.message
  }
  if (reason !== undefined) return console.log(`skipped: Workflow DevKit: ${reason}`)
  server = await startPostgres({ tcp: true })
  service = await startService()
  project = await buildProject(engine, false)
}, 900_000)
afterAll(async () => {
  project?.remove()
  await service?.close()
  await server?.stop()
})
beforeEach(({ skip }) => {
  if (reason !== undefined) skip(reason)
})

/** A database with the tables of the engine and of a journal. */
async function database(name: string): Promise<string> {
  const admin = new Pool({ ...server?.socket, max: 1 })
  await admin.query(`CREATE DATABASE ${name}`)
  await admin.end()
  const pool = new Pool({ ...server?.socket, database: name, max: 1 })
  await postgresStore(pool).migrate()
  await pool.end()
  const url = (server?.url ?? '').replace(/postgres$/u, name)
  await prepareDatabase(engine, url)
  return url
}

/** Kills the server in each round, and starts it again until its three tasks are done. */
async function killRounds(mode: Mode, kills: number): Promise<Matrix> {
  const matrix = noMatrix()
  const url = await database(`kills_${mode}`)
  const port = await freePort()
  const tools = fileURLToPath(new URL('workflow-devkit/tools.ts', import.meta.url))
  const env = { DATABASE_URL: url, WORKFLOW_POSTGRES_URL: url, SERVICE: service.url, MODE: mode, TOOLS: tools }
  while (matrix.kills < kills) {
    const tasks = [1, 2, 3].map((n) => `${mode} ${(rounds += 1)} ${n}`)
    const first = startServer(project as WorkflowProject, port, env)
    await first.ready()
    const runIds = await Promise.all(tasks.map((task) => first.begin(task)))
    await pause(Math.random() * 1_000)
    first.child.kill('SIGKILL')
    await first.ended
    matrix.kills += 1
    const killed = performance.now()
    const second = startServer(project as WorkflowProject, port, env)
    await second.ready()
    const results = await Promise.all(runIds.map((runId) => second.result(runId, 45_000)))
    for (const [index, told] of results.entries()) {
      if (told === undefined) matrix.stuck += 1
      else judge(matrix, service, tasks[index] as string, JSON.parse(told) as number[])
    }
    matrix.recoveryMs.push(performance.now() - killed)
    if (results.includes(undefined)) console.log(second.printed().slice(-2_000))
    second.child.kill('SIGKILL')
    await second.ended
  }
  console.log(summary(`Workflow DevKit, ${mode}`, matrix))
  return matrix
}

const KILLS = runs(20)
const LIMIT = { timeout: KILLS * 90_000 }

test('the control: the engine alone makes effects twice', LIMIT, async () => {
  const { double } = await killRounds('alone', KILLS)
  expect(double).toBeGreaterThan(0)
})

test('no effect is made twice and none is lost: tell', LIMIT, async () => {
  const { double, lost, stuck } = await killRounds('tell', KILLS)
  expect({ double, lost, stuck }).toEqual({ double: 0, lost: 0, stuck: 0 })
})

test('the recipe of the documentation runs as it stands there', { timeout: 300_000 }, async () => {
  const { url: endpoint, bodies } = await startEndpoint(NOTES.map((content) => anthropicMessage(...content)))
  const url = await database('recipe')
  const port = await freePort()
  const recipe = await buildProject(engine, true)
  const env = { DATABASE_URL: url, WORKFLOW_POSTGRES_URL: url, ANTHROPIC_BASE_URL: endpoint, ANTHROPIC_API_KEY: 'none' }
  const worker = startServer(recipe, port, env)
  try {
    await worker.ready()
    const runId = await worker.begin('Write notes.txt')
    expect(await worker.result(runId, 60_000), worker.printed()).toBe('noted it')
    expect(readFileSync(join(recipe.folder, 'notes.txt'), 'utf8')).toBe('noted')
    expect(bodies).toHaveLength(2)
  } finally {
    worker.child.kill('SIGKILL')
    await worker.ended
    recipe.remove()
  }
})
