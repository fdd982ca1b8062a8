import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { openJournal } from 'toolwright'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { installedPackages } from '../../support/installed-packages.ts'
import { noRedis, type RedisServer, startRedis } from '../../support/redis-server.ts'
import { runCli } from '../../support/run-cli.ts'
import { type Charges, probed, startCharges, told } from './charges.ts'
import { recipeFolder, startRecipe } from './recipe.ts'
import { useEngines } from './use-engines.ts'

const own = useEngines(() => installedPackages('bullmq', ['bullmq@6.7.0', 'ioredis@6.0.0']))
const missing = noRedis()
let redis: RedisServer
beforeAll(async () => {
  if (own.reason === undefined && missing === undefined) redis = await startRedis()
}, 60_000)
afterAll(() => redis?.stop())
beforeEach(({ skip }) => {
  if (missing !== undefined) skip(missing)
})

interface Job {
  getState(): Promise<string>
  retry(): Promise<void>
  returnvalue: unknown
  failedReason?: string
  attemptsMade: number
  stalledCounter: number
}

interface Scene {
  charges: Charges
  database: string
  worker(): ReturnType<typeof startRecipe>
  add(queue: string, id: string, data: object): Promise<void>
  /** Waits until a job has ended. */
  ended(queue: string, id: string): Promise<{ job: Job; state: string }>
}

async function scene(name: string, charge: string): Promise<Scene> {
  const folder = recipeFolder(['bullmq.mjs', 'add.mjs'], own.engines, { 'charge.mjs': charge })
  const charges = await startCharges()
  const database = await own.database(name)
  const env = { ...charges.env, DATABASE_URL: database, REDIS_URL: redis.url }
  const { Queue } = (await import(pathToFileURL(createRequire(`${own.engines}/`).resolve('bullmq')).href)) as {
    Queue: new (name: string, options: object) => { getJob(id: string): Promise<Job>; close(): Promise<void> }
  }
  return {
    charges,
    database,
    worker: () => startRecipe(folder, 'bullmq.mjs', env),
    add: async (queue, id, data) => {
      const args = [queue, id, JSON.stringify(data)]
      expect(await startRecipe(folder, 'add.mjs', env, args).ended).toMatchObject({ code: 0, stderr: '' })
    },
    ended: async (name, id) => {
      const queue = new Queue(name, { connection: { url: redis.url } })
      onTestFinished(() => queue.close())
      const ended = async () => ['completed', 'failed'].includes(await (await queue.getJob(id)).getState())
      await expect.poll(ended, { timeout: 90_000, interval: 200 }).toBe(true)
      const job = await queue.getJob(id)
      return { job, state: await job.getState() }
    },
  }
}

/** Lets a worker take a job, and kills it after its charge. */
async function killAfterCharge({ charges, worker }: Scene, before = async (): Promise<void> => undefined): Promise<void> {
  charges.isSilent = true
  const charged = charges.next()
  const first = worker()
  await Promise.race([charged, first.ended.then(({ stderr }) => expect.unreachable(stderr))])
  await before()
  first.child.kill('SIGKILL')
  await first.ended
  charges.answer()
}

test('an agent that is a job goes on in another worker, and its charge is made once', { timeout: 180_000 }, async () => {
  const own = await scene('bullmq_agent', probed())
  await own.add('agents', 'run-7', { prompt: 'Charge 500 cents' })
  await killAfterCharge(own)
  const second = own.worker()
  const { job, state } = await own.ended('agents', 'run-7')
  expect([state, job.returnvalue, job.stalledCounter], job.failedReason).toEqual(['completed', 'charged it', 1])
  // The model was not asked again for what it had answered.
  expect([own.charges.made.length, own.charges.bodies.length]).toEqual([1, 2])
  second.child.kill('SIGTERM')
  expect(await second.ended).toMatchObject({ code: 0 })
})

test('a job whose outcome nobody knows fails at once, and a person settles it', { timeout: 180_000 }, async () => {
  const own = await scene('bullmq_told', told())
  await own.add('charges', 'order-7', { cents: 500 })
  await killAfterCharge(own)
  own.worker()
  const { job, state } = await own.ended('charges', 'order-7')
  expect([state, job.failedReason, job.attemptsMade]).toEqual(['failed', expect.stringContaining('OUTCOME_UNKNOWN'), 1])
  expect(own.charges.made).toHaveLength(1)
  const args = ['--run', 'charges', '--call', 'order-7', '--as', 'done', '--output', '{"receipt":8}', '--by', 'ada']
  expect(await runCli(['calls', 'settle', own.database, ...args])).toMatchObject({ code: 0, stderr: '' })
  await job.retry()
  const { job: settled } = await own.ended('charges', 'order-7')
  expect([settled.returnvalue, own.charges.made.length]).toEqual([{ receipt: 8 }, 1])
})

test('what was recorded before the queue knew of it is taken from the journal', { timeout: 180_000 }, async () => {
  const own = await scene('bullmq_recorded', told())
  await own.add('charges', 'order-8', { cents: 500 })
  const journal = await openJournal(own.database, { readOnly: true })
  onTestFinished(() => journal.close())
  await killAfterCharge(own, async () => {
    await redis.crash()
    own.charges.answer()
    const statuses = async () => (await journal.listRun('charges')).map(({ status }) => status)
    await expect.poll(statuses, { timeout: 20_000 }).toEqual(['success'])
  })
  await redis.start()
  own.worker()
  const { job, state } = await own.ended('charges', 'order-8')
  expect([state, job.returnvalue, job.stalledCounter, own.charges.made.length]).toEqual(['completed', { receipt: 7 }, 1, 1])
})
