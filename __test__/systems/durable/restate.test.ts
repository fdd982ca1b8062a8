import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { type StartedScript, startScript } from '../../support/child-script.ts'
import { freePort } from '../../support/postgres-server.ts'
import { runs } from '../../support/randomised.ts'
import { anthropicMessage, startEndpoint } from '../../support/scripted-endpoint.ts'
import type { Mode } from './agent.ts'
import { installedEngines } from './engines.ts'
import { judge, killAtRandom, type Matrix, noMatrix, summary } from './kill-rounds.ts'
import { NOTES, recipe } from './recipe.ts'
import { useEngines, useRestate } from './use-engines.ts'

const program = fileURLToPath(new URL('restate-worker.ts', import.meta.url))
const own = useEngines(installedEngines)
const restate = useRestate(own)
let rounds = 0

const worker = (mode: Mode, leaseMs = 500): StartedScript =>
  startScript(program, [own.engines, own.server.url, mode, own.service.url, String(restate.workerPort), String(leaseMs)])

/** Begins a task, or waits for the one that has begun under its id. */
async function told(task: string, limitMs: number): Promise<number[] | undefined> {
  const answer = await restate.server.call(task, task, limitMs).catch(() => undefined)
  return answer?.ok === true ? ((await answer.json()) as number[]) : undefined
}

async function killRounds(mode: Mode, kills: number): Promise<Matrix> {
  const matrix = noMatrix()
  while (matrix.kills < kills) {
    const tasks = [1, 2, 3].map((n) => `${mode} ${(rounds += 1)} ${n}`)
    const first = worker(mode)
    await first.printed('ready')
    if (rounds <= 3) await restate.server.register(restate.workerPort)
    const answers = tasks.map((task) => told(task, 45_000))
    await killAtRandom(first, 450)
    await first.ended
    matrix.kills += 1
    const killed = performance.now()
    const second = worker(mode)
    const found = await Promise.all(answers)
    for (const [index, one] of found.entries()) {
      if (one === undefined) matrix.stuck += 1
      else judge(matrix, own.service, tasks[index] as string, one)
    }
    matrix.recoveryMs.push(performance.now() - killed)
    second.child.kill('SIGKILL')
    await second.ended
  }
  console.log(summary(`Restate, ${mode}`, matrix))
  return matrix
}

const KILLS = runs(20)
const LIMIT = { timeout: KILLS * 60_000 }

test('the control: the engine alone makes effects twice', LIMIT, async () => {
  const { double } = await killRounds('alone', KILLS)
  expect(double).toBeGreaterThan(0)
})

test.each<Mode>(['tell', 'keys', 'probe'])('no effect is made twice and none is lost: %s', LIMIT, async (mode) => {
  const matrix = await killRounds(mode, KILLS)
  expect(matrix).toMatchObject({ double: 0, lost: 0, stuck: 0 })
  if (mode !== 'tell') expect(matrix.told).toBe(0)
})

const bun = fileURLToPath(new URL('../../../node_modules/.bin/bun', import.meta.url))

test.each([
  ['Node', process.execPath],
  ['Bun', bun],
])('the recipe of the documentation runs as it stands there, in %s', { timeout: 120_000 }, async (runtime, command) => {
  const { folder: project, program: recipeProgram } = recipe('restate.mjs', own.engines)
  const { url, bodies } = await startEndpoint(NOTES.map((content) => anthropicMessage(...content)))
  const port = await freePort()
  const env = { ...process.env, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'none', DATABASE_URL: own.server.url, PORT: String(port) }
  const running = spawn(command, [recipeProgram], { cwd: project, env, stdio: 'ignore' })
  try {
    await restate.server.register(port)
    const ask = (): Promise<Response> => restate.server.call(`recipe ${runtime}`, 'Write notes.txt', 60_000)
    expect(await (await ask()).json()).toBe('noted it')
    expect(readFileSync(join(project, 'notes.txt'), 'utf8')).toBe('noted')
    expect(await (await ask()).json()).toBe('noted it')
    expect(bodies).toHaveLength(2)
  } finally {
    running.kill('SIGKILL')
  }
})
