// Replays commits of real projects: `node scripts/replay/run.mjs [--repositories DIR] [--commits N] [--seed N] [project …]`.
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { fetchProjects } from './fetch.mjs'
import { projects } from './projects.mjs'
import { replay, table } from './replay.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    repositories: { type: 'string', default: join(import.meta.dirname, '..', '..', 'target', 'replay') },
    commits: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
  },
})
const library = { ...(await import('toolwright')), ...(await import('toolwright/contract')) }
const wanted = projects.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
let wrong = 0
for (const { name, repository } of fetchProjects(values.repositories, wanted)) {
  const tallies = await replay(library, repository, { commits: Number(values.commits), seed: Number(values.seed) })
  console.log(`\n${name}\n${table(tallies)}`)
  for (const [way, tally] of tallies) {
    for (const what of tally.wrong) console.log(`wrong: ${way}: ${what}`)
    wrong += tally.wrong.length
  }
}
process.exitCode = wrong === 0 ? 0 : 1
