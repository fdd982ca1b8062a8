import { execFile } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { Pool } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { type EndedScript, startScript } from '../../support/child-script.ts'
import { runs } from '../../support/randomised.ts'
import { anthropicMessage, startEndpoint } from '../../support/scripted-endpoint.ts'
import type { Mode } from './agent.ts'
import { installedEngines } from './engines.ts'
import { endsWithin, judge, killAtRandom, type Matrix, noMatrix, summary } from './kill-rounds.ts'
import { NOTES, recipe, recipeFolder, startRecipe } from './recipe.ts'
import { useEngines } from './use-engines.ts'

const program = fileURLToPath(new URL('dbos-worker.ts', import.meta.url))
const own = useEngines(installedEngines)
let rounds = 0

const worker = (mode: Mode, executor: string, tasks: readonly string[], leaseMs = 500) =>
  startScript(program, [own.engines, own.server.url, 'public', mode, own.service.url, executor, String(leaseMs), ...tasks])
const results = (stdout: string): { id: string; told: number[] }[] =>
  stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { id: string; told: number[] })

/** Says all that is known of tasks that did not end. */
async function explain({ stdout, stderr }: EndedScript, tasks: readonly string[]): Promise<void> {
  const { rows } = await own.pool.query('SELECT * FROM dbos.workflow_status WHERE workflow_uuid = ANY($1)', [tasks])
  console.log([`printed:\n${stdout}`, stderr.slice(-2_000), JSON.stringify(rows)].join('\n'))
}

/** Kills a worker in each round, and starts it again until its three tasks are done. */
async function killRounds(mode: Mode, kills: number): Promise<Matrix> {
  const matrix = noMatrix()
  while (matrix.kills < kills) {
    const tasks = [1, 2, 3].map((n) => `${mode} ${(rounds += 1)} ${n}`)
    const executor = `executor-${rounds}`
    const first = worker(mode, executor, tasks)
    if (!(await killAtRandom(first, 450))) continue
    await first.ended
    matrix.kills += 1
    const killed = performance.now()
    const second = worker(mode, executor, tasks)
    const ended = await endsWithin(second, 30_000)
    const told = results(ended.stdout)
    matrix.stuck += tasks.length - told.length
    if (told.length < tasks.length) await explain(ended, tasks)
    for (const one of told) judge(matrix, own.service, one.id, one.told)
    matrix.recoveryMs.push(performance.now() - killed)
  }
  console.log(summary(`DBOS, ${mode}`, matrix))
  return matrix
}

const KILLS = runs(20)
const LIMIT = { timeout: KILLS * 30_000 }

test('the control: the engine alone makes effects twice', LIMIT, async () => {
  const { double, kills } = await killRounds('alone', KILLS)
  expect(kills).toBe(KILLS)
  expect(double).toBeGreaterThan(0)
})

test.each<Mode>(['tell', 'keys', 'probe'])('no effect is made twice and none is lost: %s', LIMIT, async (mode) => {
  const { double, lost, stuck, told } = await killRounds(mode, KILLS)
  expect({ double, lost, stuck }).toEqual({ double: 0, lost: 0, stuck: 0 })
  if (mode !== 'tell') expect(told).toBe(0)
})

/** Stops a worker at a random moment, lets another one take over and end, and wakes the first one. */
async function zombieRounds(mode: Mode, count: number): Promise<Matrix> {
  const matrix = noMatrix()
  while (matrix.kills < count) {
    const tasks = [1, 2, 3].map((n) => `zombie ${mode} ${(rounds += 1)} ${n}`)
    const executor = `executor-${rounds}`
    const zombie = worker(mode, executor, tasks)
    await zombie.printed('ready')
    await pause(Math.random() * 350)
    if (!zombie.child.kill('SIGSTOP')) continue
    matrix.kills += 1
    const second = worker(mode, executor, tasks)
    // A worker that was stopped in a transaction of the engine's holds its locks, and the second one waits for it.
    await Promise.race([second.ended, pause(8_000)])
    zombie.child.kill('SIGCONT')
    const timers = [second, zombie].map(({ child }) => setTimeout(() => child.kill('SIGKILL'), 20_000))
    const ended = await Promise.all([second.ended, zombie.ended])
    timers.forEach(clearTimeout)
    const found = new Map(ended.toReversed().flatMap(({ stdout }) => results(stdout).map((one) => [one.id, one] as const)))
    const told = [...found.values()]
    matrix.stuck += tasks.length - told.length
    for (const one of told) judge(matrix, own.service, one.id, one.told)
  }
  console.log(summary(`DBOS, a zombie, ${mode}`, matrix))
  return matrix
}

const ZOMBIES = runs(8)

test.each<Mode>(['alone', 'tell', 'keys'])(
  'dbos-transact-java 491: a worker is stopped, another takes over, and the first one wakes up: %s',
  { timeout: ZOMBIES * 60_000 },
  async (mode) => {
    const { double, lost, stuck } = await zombieRounds(mode, ZOMBIES)
    if (mode === 'alone') expect(double).toBeGreaterThan(0)
    else expect({ double, lost, stuck }).toEqual({ double: 0, lost: 0, stuck: 0 })
  },
)

const LOST_FOR_GOOD = runs(5)

test(
  'dbos-transact-py 453: the workflows of an executor that never comes back are given to another one',
  { timeout: LOST_FOR_GOOD * 60_000 },
  async () => {
    const matrix = noMatrix()
    while (matrix.kills < LOST_FOR_GOOD) {
      const tasks = [1, 2, 3].map((n) => `orphan ${(rounds += 1)} ${n}`)
      const first = worker('tell', `gone-${rounds}`, tasks)
      // One that the engine does not know of yet is lost with its process.
      await first.printed('begun')
      await pause(Math.random() * 300)
      if (!first.child.kill('SIGKILL')) continue
      await first.ended
      const other = `other-${rounds}`
      if (matrix.kills === 0) {
        // The control: without a supervisor, they stay where they are.
        const waiting = startScript(program, [
          own.engines,
          own.server.url,
          'public',
          'tell',
          own.service.url,
          other,
          '500',
          'wait',
          ...tasks,
        ])
        await waiting.printed('ready')
        await pause(3_000)
        waiting.child.kill('SIGKILL')
        expect(results((await waiting.ended).stdout).length).toBeLessThan(tasks.length)
      }
      matrix.kills += 1
      const killed = performance.now()
      const second = startScript(program, [
        own.engines,
        own.server.url,
        'public',
        'tell',
        own.service.url,
        other,
        '500',
        'supervise',
        ...tasks,
      ])
      const ended = await endsWithin(second, 30_000)
      const told = results(ended.stdout)
      matrix.stuck += tasks.length - told.length
      if (told.length < tasks.length) await explain(ended, tasks)
      for (const one of told) judge(matrix, own.service, one.id, one.told)
      matrix.recoveryMs.push(performance.now() - killed)
    }
    console.log(summary('DBOS, an executor that is gone for good', matrix))
    expect(matrix).toMatchObject({ double: 0, lost: 0, stuck: 0 })
  },
)

test(
  'dbos-transact-py 716: the server crashes three times while another worker recovers, and no run stays pending',
  { timeout: 300_000 },
  async () => {
    const matrix = noMatrix()
    const tasks = [1, 2, 3].map((n) => `restarted ${(rounds += 1)} ${n}`)
    const first = worker('tell', `restarted-${rounds}`, tasks)
    await first.printed('begun')
    await pause(150)
    matrix.kills += first.child.kill('SIGKILL') ? 1 : 0
    await first.ended
    const began = performance.now()
    const told = new Map<string, number[]>()
    let crashes = 0
    // A worker that a crash of the server ends is started again, as any supervisor of processes does.
    for (let starts = 0; told.size < tasks.length && starts < 6; starts += 1) {
      const left = tasks.filter((id) => !told.has(id))
      const args = [own.engines, own.server.url, 'public', 'tell', own.service.url, `heir-${rounds}-${starts}`, '500', 'supervise', ...left]
      const heir = startScript(program, args)
      const crashing = (async () => {
        // While it looks for workers that are gone, and makes their tasks.
        await Promise.race([new Promise((resolve) => heir.child.stdout?.once('data', resolve)), heir.ended])
        for (; crashes < 3; crashes += 1) {
          await pause(300 + Math.random() * 300)
          await own.server.crash()
          await own.server.start()
        }
      })()
      const ended = await endsWithin(heir, 40_000)
      await crashing
      for (const { id, told: some } of results(ended.stdout)) told.set(id, some)
      if (told.size < tasks.length) await explain(ended, left)
    }
    matrix.stuck += tasks.length - told.size
    for (const [id, some] of told) judge(matrix, own.service, id, some)
    matrix.recoveryMs.push(performance.now() - began)
    const { rows } = await own.pool.query(
      `SELECT count(*)::int AS n FROM dbos.workflow_status WHERE workflow_uuid = ANY($1) AND status = 'PENDING'`,
      [tasks],
    )
    console.log(summary(`DBOS, ${crashes} crashes of the server`, matrix))
    expect(crashes).toBe(3)
    expect(matrix).toMatchObject({ double: 0, lost: 0, stuck: 0 })
    expect(rows[0].n).toBe(0)
  },
)

const bun = fileURLToPath(new URL('../../../node_modules/.bin/bun', import.meta.url))

test.each([
  ['Node', process.execPath],
  ['Bun', bun],
])('the recipe of the documentation runs as it stands there, in %s', { timeout: 120_000 }, async (runtime, command) => {
  const { folder, program: recipeProgram } = recipe('dbos.mjs', own.engines)
  const { url, bodies } = await startEndpoint(NOTES.map((content) => anthropicMessage(...content)))
  await own.pool.query(`CREATE DATABASE recipe_${runtime}`)
  // A plain shell exports no HOSTNAME.
  const { HOSTNAME: _, ...shell } = process.env
  const env = {
    ...shell,
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'none',
    DATABASE_URL: own.server.url.replace(/postgres$/u, `recipe_${runtime.toLowerCase()}`),
  }
  // It does not end by itself: it is a worker.
  const run = () => printedBy(command, recipeProgram, folder, env, /noted it/u)
  expect(await run()).toContain('noted it')
  expect(readFileSync(join(folder, 'notes.txt'), 'utf8')).toBe('noted')
  rmSync(join(folder, 'notes.txt'))
  expect(await run()).toContain('noted it')
  // The workflow was over: nobody asked the model again, and nothing was written.
  expect(bodies).toHaveLength(2)
  expect(() => readFileSync(join(folder, 'notes.txt'))).toThrow(/ENOENT/u)
})

/** Gives a process the name of another machine, and a workflow that takes a while; the first machine begins it. */
const MACHINE = `
import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'
import { DBOS } from '@dbos-inc/dbos-sdk'
os.hostname = () => process.env.MACHINE
syncBuiltinESMExports()
const slow = DBOS.registerWorkflow(async () => DBOS.sleep(60_000), { name: 'slow' })
const launch = DBOS.launch.bind(DBOS)
DBOS.launch = async () => {
  await launch()
  if (process.env.MACHINE !== 'one') return
  await DBOS.startWorkflow(slow, { workflowID: 'begun by one' })()
  console.log('begun')
}
`

test('the supervised worker of the documentation takes over from a machine that is gone', { timeout: 120_000 }, async () => {
  const folder = recipeFolder(['supervised.mjs'], own.engines, { 'machine.mjs': MACHINE })
  await own.pool.query('CREATE DATABASE supervised')
  const database = own.server.url.replace(/postgres$/u, 'supervised')
  const start = (machine: string) =>
    startRecipe(folder, 'supervised.mjs', {
      DATABASE_URL: database,
      MACHINE: machine,
      NODE_OPTIONS: `--import ${pathToFileURL(join(folder, 'machine.mjs')).href}`,
    })
  const one = start('one')
  await one.printed('begun')
  // Its lease begins in its last line.
  const pool = new Pool({ connectionString: database, max: 1 })
  onTestFinished(() => pool.end())
  const isKnown = () =>
    pool.query(`SELECT 1 FROM _toolwright_owners WHERE label = 'one'`).then(
      ({ rowCount }) => rowCount === 1,
      () => false,
    )
  await expect.poll(isKnown, { timeout: 60_000 }).toBe(true)
  one.child.kill('SIGKILL')
  await start('two').printed("recovered [ 'begun by one' ]")
})

/** What a program prints until this is among it; then it is ended. */
async function printedBy(command: string, path: string, cwd: string, env: NodeJS.ProcessEnv, wanted: RegExp): Promise<string> {
  const running = promisify(execFile)(command, [path], { cwd, env, timeout: 60_000 })
  let printed = ''
  running.child.stdout?.on('data', (text: string) => {
    printed += text
    if (wanted.test(printed)) running.child.kill('SIGKILL')
  })
  const { stderr = '' } = (await running.catch((error: unknown) => error)) as { stderr?: string }
  return wanted.test(printed) ? printed : printed + stderr
}
