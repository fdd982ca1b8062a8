// Three agents try three repairs of one project at once, each in a fork of its own; the tests of the project decide, and the
// repair that passes is applied. Without a model (the agents are scripted), and on Linux:
//
//   npm install toolwright
//   node forks.mjs
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTools, openFork } from 'toolwright'

const place = await mkdtemp(join(tmpdir(), 'forks-'))
const rootDir = await mkdtemp(join(tmpdir(), 'project-'))
await writeFile(join(rootDir, 'total.mjs'), 'export const total = (prices) => prices.reduce((sum, price) => sum - price, 0)\n')
await writeFile(
  join(rootDir, 'total.test.mjs'),
  `import assert from 'node:assert'
import { total } from './total.mjs'
assert.equal(total([1, 2]), 3)
assert.equal(total([]), 0)
`,
)

// What a model would write. The first two are wrong.
const repairs = {
  careless: 'export const total = (prices) => prices.reduce((sum, price) => sum + price)\n',
  hopeful: 'export const total = () => 3\n',
  careful: 'export const total = (prices) => prices.reduce((sum, price) => sum + price, 0)\n',
}

const attempts = await Promise.all(
  Object.entries(repairs).map(async ([label, content]) => {
    const fork = await openFork({ rootDir, label, store: place })
    const { write, bash } = createTools({ rootDir: fork })
    await write.execute({ path: 'total.mjs', content })
    const passes = await bash.execute({ cmd: 'node', args: ['total.test.mjs'] }).then(
      () => true,
      () => false,
    )
    const { changes } = await fork.status()
    console.log(`${label}: ${changes.map(({ path }) => path).join(', ')} changed, the tests ${passes ? 'pass' : 'fail'}`)
    return { label, fork, passes }
  }),
)

const before = await readFile(join(rootDir, 'total.mjs'), 'utf8')
console.log('the project is as it was:', before.includes('sum - price'))

const best = attempts.find(({ passes }) => passes)
if (best !== undefined) {
  console.log((await best.fork.diff()).text.trimEnd())
  const { applied } = await best.fork.apply()
  console.log(`applied: ${best.label}, ${applied.length} file`)
}
for (const { fork } of attempts) await fork.discard()
await Promise.all([place, rootDir].map((directory) => rm(directory, { recursive: true })))
