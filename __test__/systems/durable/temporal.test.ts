import { openJournal } from 'toolwright'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { installedPackages } from '../../support/installed-packages.ts'
import { type Charges, probed, startCharges, told } from './charges.ts'
import { recipeFolder, startRecipe } from './recipe.ts'
import { noTemporal, startTemporal, type TemporalServer } from './temporal-server.ts'
import { useEngines } from './use-engines.ts'

const own = useEngines(() =>
  installedPackages('temporal', [
    '@temporalio/worker@1.24.0',
    '@temporalio/workflow@1.24.0',
    '@temporalio/activity@1.24.0',
    '@temporalio/client@1.24.0',
  ]),
)
let missing: string | undefined
let temporal: TemporalServer
beforeAll(async () => {
  if (own.reason !== undefined) return
  missing = await noTemporal()
  if (missing === undefined) temporal = await startTemporal()
}, 300_000)
afterAll(() => temporal?.stop())
beforeEach(({ skip }) => {
  if (missing !== undefined) skip(missing)
})

interface Outcome {
  charges: Charges
  printed: string
  attempts: Record<string, number>
  /** What the model was told last. */
  read: string
}

/** Begins a workflow, kills its worker after the charge, and lets another one go on. */
async function killedWorkflow(
  id: string,
  charge: string,
  before = async (_charges: Charges, _database: string): Promise<void> => undefined,
): Promise<Outcome> {
  const names = ['workflows.mjs', 'activities.mjs', 'worker.mjs', 'start.mjs']
  const folder = recipeFolder(names, own.engines, { 'charge.mjs': charge })
  const charges = await startCharges()
  const database = await own.database(id)
  const env = { ...charges.env, DATABASE_URL: database, TEMPORAL_ADDRESS: temporal.address }
  const worker = () => startRecipe(folder, 'worker.mjs', env)
  const start = () => startRecipe(folder, 'start.mjs', env, [id, 'Charge 500 cents'])
  charges.isSilent = true
  const charged = charges.next()
  const first = worker()
  const asked = start()
  await Promise.race([charged, first.ended.then(({ stderr }) => expect.unreachable(stderr))])
  await before(charges, database)
  first.child.kill('SIGKILL')
  await first.ended
  if (temporal.isDown) await temporal.start()
  charges.answer()
  const second = worker()
  let { code, stdout, stderr } = await asked.ended
  // The server was killed while it waited: whoever asks again waits for the same workflow.
  if (code !== 0) ({ code, stdout, stderr } = await start().ended)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  second.child.kill('SIGTERM')
  expect((await second.ended).code).toBe(0)
  const attempts = await temporal.attempts(id)
  return { charges, printed: stdout, attempts, read: JSON.stringify(charges.bodies.at(-1)?.messages.at(-1)) }
}

const LIMIT = { timeout: 240_000 }

test('an activity whose worker was killed after its charge does not charge again', LIMIT, async () => {
  const { charges, printed, attempts, read } = await killedWorkflow('temporal_probe', probed())
  expect([printed, charges.made.length, attempts]).toEqual(['charged it\n', 1, { ask: 2, callTool: 2 }])
  expect(read).toContain('receipt')
})

test('a charge of which nobody knows is not tried again, and the model is told', LIMIT, async () => {
  const { charges, printed, attempts, read } = await killedWorkflow('temporal_told', told())
  expect([printed, charges.made.length, attempts]).toEqual(['charged it\n', 1, { ask: 2, callTool: 2 }])
  expect(read).toContain('OUTCOME_UNKNOWN')
})

test('what was recorded before the server knew of it is taken from the journal', LIMIT, async () => {
  const { charges, printed, read } = await killedWorkflow('temporal_recorded', told(), async (charges, database) => {
    await temporal.crash()
    const journal = await openJournal(database, { readOnly: true })
    onTestFinished(() => journal.close())
    charges.answer()
    const [run] = await journal.listRuns()
    const statuses = async () => (await journal.listRun(run?.runId ?? '')).map(({ status }) => status)
    await expect.poll(statuses, { timeout: 20_000 }).toEqual(['success'])
  })
  expect([printed, charges.made.length]).toEqual(['charged it\n', 1])
  expect(read).toContain('receipt')
})
