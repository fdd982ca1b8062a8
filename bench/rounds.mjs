import { withLoopDelay } from './loop-delay.mjs'

/**
 * One of those that are compared. `run` does the work once, and is all that is timed; `verify` looks
 * at what `run` gave and throws when that is not the answer.
 * @typedef {object} Contender
 * @property {() => unknown} run
 * @property {(answer: any) => unknown} [verify]
 */

/**
 * How often, and how long at most.
 * @typedef {object} Effort
 * @property {number} rounds
 * @property {number} batch calls of one contender before it is the next one's turn
 * @property {number} budgetMs after this long no further round is begun, once there were three
 * @property {boolean} [delay] measure the event loop's delay, too
 * @property {boolean} [selfTimed] `run` gives its own time, in milliseconds
 */

/** @typedef {{ samplesMs: number[], delaysMs?: number[] }} Samples */

const LEAST_ROUNDS = 3
/** A share of the budget in which the runtime may compile what it will run often. */
const WARM_UP = 0.15

/**
 * Leaves out who answers wrongly: a wrong answer given fast is no measurement.
 * @param {Record<string, Contender>} contenders
 * @returns {Promise<{ fit: Record<string, Contender>, problems: Record<string, string> }>}
 */
export async function chooseFit(contenders) {
  const fit = {}
  const problems = {}
  for (const [name, contender] of Object.entries(contenders)) {
    try {
      await contender.verify?.(await contender.run())
      fit[name] = contender
    } catch (error) {
      problems[name] = error instanceof Error ? error.message.split('\n')[0] : String(error)
    }
  }
  return { fit, problems }
}

/**
 * Times every contender in every round, and begins each round with another one (A B C, B C A, …), so
 * that a machine that becomes slower or faster meanwhile does so for all of them.
 * @param {Record<string, Contender>} contenders
 * @param {Effort} effort
 * @returns {Promise<Record<string, Samples>>}
 */
export async function takeTurns(contenders, effort) {
  const names = Object.keys(contenders)
  const samples = {}
  for (const name of names) {
    samples[name] = effort.delay ? { samplesMs: [], delaysMs: [] } : { samplesMs: [] }
  }
  await warmUp(contenders, effort)
  const begun = performance.now()
  for (let round = 0; round < effort.rounds; round += 1) {
    if (round >= LEAST_ROUNDS && performance.now() - begun > effort.budgetMs) break
    for (let turn = 0; turn < names.length; turn += 1) {
      const name = names[(round + turn) % names.length]
      for (let call = 0; call < effort.batch; call += 1) await time(contenders[name], samples[name], effort)
    }
  }
  return samples
}

async function time({ run }, { samplesMs, delaysMs }, { selfTimed }) {
  if (delaysMs === undefined) {
    const start = performance.now()
    const answer = await run()
    const ms = performance.now() - start
    samplesMs.push(selfTimed ? answer : ms)
    return
  }
  const { ms, delayMs } = await withLoopDelay(async () => run())
  samplesMs.push(ms)
  delaysMs.push(delayMs)
}

async function warmUp(contenders, { batch, budgetMs }) {
  const all = Object.values(contenders)
  const limitMs = (budgetMs * WARM_UP) / all.length
  for (const { run } of all) {
    const begun = performance.now()
    for (let call = 0; call < batch * 4; call += 1) {
      if (performance.now() - begun > limitMs) break
      await run()
    }
  }
}
