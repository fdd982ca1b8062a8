import { expect, test } from 'vitest'
import { blockOf } from '../../support/code-blocks.ts'
import { installedPackages } from '../../support/installed-packages.ts'
import { freePort } from '../../support/postgres-server.ts'
import { anthropicMessage } from '../../support/scripted-endpoint.ts'
import { probed, startCharges, told } from './charges.ts'
import { InngestRun } from './inngest-server.ts'
import { recipeFolder, startRecipe } from './recipe.ts'
import { useEngines } from './use-engines.ts'

const own = useEngines(() => installedPackages('inngest', ['inngest@4.24.0']))

async function scene(name: string, charge: string, program = blockOf('guides/durable-engines.md', 'inngest.mjs')) {
  const folder = recipeFolder([], own.engines, { 'charge.mjs': charge, 'inngest.mjs': program })
  const call = (id: string, cents: number) => ({ type: 'tool_use', id, name: 'charge', input: { cents } })
  const charges = await startCharges([
    anthropicMessage(call('toolu_1', 500), call('toolu_2', 700)),
    anthropicMessage({ type: 'text', text: 'charged it' }),
  ])
  const port = await freePort()
  const env = { ...charges.env, DATABASE_URL: await own.database(name), PORT: String(port), INNGEST_DEV: '1' }
  const worker = () => startRecipe(folder, 'inngest.mjs', env)
  const run = new InngestRun(port, name, { prompt: 'Charge 500 cents, and 700' })
  /** Drives the run, and kills the worker after the first charge. */
  const killed = async (): Promise<void> => {
    charges.isSilent = true
    const charged = charges.next()
    const first = worker()
    const driven = run.drive()
    await Promise.race([charged, driven, first.ended.then(({ stderr }) => expect.unreachable(stderr))])
    first.child.kill('SIGKILL')
    await first.ended
    charges.answer()
    worker()
    await driven
  }
  return { charges, run, worker, killed, read: () => JSON.stringify(charges.bodies.at(-1)?.messages.at(-1)) }
}

const LIMIT = { timeout: 120_000 }
const STEPS = ['model 1', 'model 2', 'tool charge toolu_1', 'tool charge toolu_2']

test('a step whose worker was killed after its charge does not charge again', LIMIT, async () => {
  const { charges, run, killed, read } = await scene('inngest_probe', probed())
  await killed()
  expect([run.result, run.kept.toSorted(), new Set(charges.made).size, charges.made.length]).toEqual(['charged it', STEPS, 2, 2])
  expect(read()).not.toContain('OUTCOME_UNKNOWN')
})

test('of a charge of which nobody knows, the model is told', LIMIT, async () => {
  const { charges, run, killed, read } = await scene('inngest_told', told())
  await killed()
  expect([run.result, charges.made.length]).toEqual(['charged it', 2])
  expect(read().match(/OUTCOME_UNKNOWN/gu)).toHaveLength(1)
})

test("with onUnknown: 'fail' the function ends, and is not tried again", LIMIT, async () => {
  const program = blockOf('guides/durable-engines.md', 'inngest.mjs').replace('    finalError:', `    onUnknown: 'fail',\n    finalError:`)
  const { charges, run, killed } = await scene('inngest_fail', told(), program)
  await killed()
  expect([run.isFinal, charges.made.length, charges.bodies.length]).toEqual([true, 2, 1])
  expect(JSON.stringify(run.result)).toContain('OUTCOME_UNKNOWN')
})

test('what was recorded before the server knew of it is taken from the journal', LIMIT, async () => {
  const { charges, run, worker, read } = await scene('inngest_recorded', told())
  let running = worker()
  let killings = 0
  await run.drive(async (name) => {
    if (name !== 'tool charge toolu_1' || killings > 0) return true
    killings += 1
    running.child.kill('SIGKILL')
    await running.ended
    running = worker()
    return false
  })
  expect([run.result, killings, charges.made.length]).toEqual(['charged it', 1, 2])
  expect(read().match(/receipt/gu)).toHaveLength(2)
})
