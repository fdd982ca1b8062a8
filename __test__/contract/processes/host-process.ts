/** A host that starts thirty processes with random trees, and waits to be killed. */
import { openJournal } from 'toolwright'
import { createSession, processTools } from 'toolwright/contract'
import { randomTree } from './random-trees.ts'

const [root = '', location = '', mark = ''] = process.argv.slice(2)
const journal = await openJournal(location)
const permissions = [{ permission: '*', pattern: '**', action: 'allow' as const }]
const session = await createSession({ id: 's', workspace: root, manifest: { name: 'x', permissions }, tools: processTools, journal })
for (let seed = 0; seed < 30; seed += 1) {
  const started = await session.call('process_start', { command: randomTree(seed, mark), wait_ms: 0, terminal: seed % 5 === 0 })
  if (started.type === 'error') throw new Error(started.error_text)
}
console.log('started')
setInterval(() => undefined, 1_000)
