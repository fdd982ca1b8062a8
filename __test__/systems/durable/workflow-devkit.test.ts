import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../support/postgres-server.ts'
import { runs } from '../../support/randomised.ts'
import { anthropicMessage, startEndpoint } from '../../support/scripted-endpoint.ts'
import type { Mode } from './agent.ts'
import { judge, type Matrix, noMatrix, summary } from './kill-rounds.ts'
import { NOTES } from './recipe.ts'
import { useEngines } from './use-engines.ts'
import { buildProject, installedWorkflows, prepareDatabase, startServer, type WorkflowProject } from './workflow-devkit/project.ts'

const own = useEngines(installedWorkflows)
let project: WorkflowProject | undefined
let rounds = 0

beforeAll(async () => {
  if (own.reason === undefined) project = await buildProject(own.engines, false)
}, 120_000)
afterAll(() => project?.remove())

/** A database with the tables of the engine and of a journal. */
async function database(name: string): Promise<string> {
  const url = await own.database(name)
  await prepareDatabase(own.engines, url)
  return url
}

/** Kills the server in each round, and starts it again until its three tasks are done. */
async function killRounds(mode: Mode, kills: number): Promise<Matrix> {
  const matrix = noMatrix()
  const url = await database(`kills_${mode}`)
  const port = await freePort()
  const tools = fileURLToPath(new URL('workflow-devkit/tools.ts', import.meta.url))
  const env = { DATABASE_URL: url, WORKFLOW_POSTGRES_URL: url, SERVICE: own.service.url, MODE: mode, TOOLS: tools }
  while (matrix.kills < kills) {
    const tasks = [1, 2, 3].map((n) => `${mode} ${(rounds += 1)} ${n}`)
    const first = startServer(project as WorkflowProject, port, env)
    await first.ready()
    const runIds = await Promise.all(tasks.map((task) => first.begin(task)))
    // In every second round once they pay, however busy the machine is.
    if (matrix.kills % 2 === 0)
      await expect.poll(() => tasks.some((task) => own.service.count(task, 1) > 0), { timeout: 20_000 }).toBe(true)
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
      else judge(matrix, own.service, tasks[index] as string, JSON.parse(told) as number[])
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
  const recipe = await buildProject(own.engines, true)
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
