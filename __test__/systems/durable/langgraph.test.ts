import { expect, test } from 'vitest'
import { installedPackages } from '../../support/installed-packages.ts'
import { probed, startCharges, told } from './charges.ts'
import { recipeFolder, startRecipe } from './recipe.ts'
import { useEngines } from './use-engines.ts'

const own = useEngines(() =>
  installedPackages('langgraph', [
    '@langchain/langgraph@1.7.3',
    '@langchain/core@1.4.0',
    '@langchain/anthropic@1.5.11',
    '@langchain/langgraph-checkpoint-postgres@1.0.5',
    'pg@8.23.1',
  ]),
)

/** Begins a thread, kills the program after its charge, and lets another one go on. */
async function killedThread(charge: string, database: string) {
  const folder = recipeFolder(['langgraph.mjs'], own.engines, { 'charge.mjs': charge })
  const charges = await startCharges()
  const env = { ...charges.env, DATABASE_URL: await own.database(database) }
  const start = () => startRecipe(folder, 'langgraph.mjs', env, ['run-7', 'Charge 500 cents'])
  charges.isSilent = true
  const charged = charges.next()
  const first = start()
  await Promise.race([charged, first.ended.then(({ stderr }) => expect.unreachable(stderr))])
  first.child.kill('SIGKILL')
  await first.ended
  charges.answer()
  const second = await start().ended
  return { ...charges, start, second, read: () => JSON.stringify(charges.bodies.at(-1)?.messages.at(-1)) }
}

test('a thread goes on after a crash, and what was charged is not charged again', { timeout: 180_000 }, async () => {
  const { start, second, made, bodies, read } = await killedThread(probed(), 'langgraph_probe')
  expect(second).toMatchObject({ code: 0, stdout: 'charged it\n' })
  expect(made).toHaveLength(1)
  expect(read()).toContain('receipt')
  // Nor is it when the thread has ended, and nobody asks the model.
  expect(await start().ended).toMatchObject({ code: 0, stdout: 'charged it\n' })
  expect([made.length, bodies.length]).toEqual([1, 2])
})

test('of a service that knows no keys, the model is told that nobody knows', { timeout: 180_000 }, async () => {
  const { second, made, read } = await killedThread(told(), 'langgraph_told')
  expect(second).toMatchObject({ code: 0, stdout: 'charged it\n' })
  expect(made).toHaveLength(1)
  expect(read()).toContain('OUTCOME_UNKNOWN')
  expect(read()).not.toContain('fix your mistakes')
})
