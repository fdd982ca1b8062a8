// A process that makes random calls: `random-calls-process.ts COUNT SEED`. Silent when all is well.
import { writeFileSync, mkdirSync } from 'node:fs'
import fc from 'fast-check'
import { complaintAbout, randomCall } from './random-calls.ts'

const [count, seed] = process.argv.slice(2).map(Number)
mkdirSync('dir')
writeFileSync('f', 'one\n')
// Warnings about tools without a context, and about recorders that fail, are meant to be there.
console.warn = () => undefined

const complain = (what: unknown): void => {
  process.stdout.write(`${what instanceof Error ? what.stack : String(what)}\n`)
  process.exitCode = 1
}
process.on('unhandledRejection', complain)
process.on('uncaughtException', complain)

const calls = fc.sample(randomCall, { numRuns: count ?? 100, seed: seed ?? 1 })
// In batches, so that calls meet each other.
for (let start = 0; start < calls.length; start += 25) {
  const batch = calls.slice(start, start + 25)
  for (const complaint of await Promise.all(batch.map(complaintAbout))) {
    if (complaint !== undefined) complain(complaint)
  }
}
