// A process that acts and is killed: `crash-process.ts FILE ROOT [POINT]`. It prints `ready` when the
// calls begin. With a point it kills itself there; without, it goes on until somebody kills it.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTools, defineTool, openJournal, runTask } from 'toolwright'
import { z } from 'zod'

const [file = '', root = '', point] = process.argv.slice(2)
const die = (where: string): void => {
  if (where === point) process.kill(process.pid, 'SIGKILL')
}
mkdirSync(join(root, 'effects'), { recursive: true })
const journal = await openJournal(`file:${file}`)
if (point === 'opened') die('opened')

const act = defineTool({
  name: 'act',
  schema: z.object({ path: z.string() }),
  sideEffect: true,
  idempotent: false,
  execute: ({ path }, _ctx) => {
    die('begun')
    writeFileSync(join(root, path), 'done')
    die('acted')
    return 'done'
  },
})
const { write, edit, bash, read } = createTools()
const patch = (n: number): string => `@@ -1 +1 @@\n-${n}\n+${n} edited\n`

// Several at a time, so that calls of all kinds are at different steps.
const chain = async (name: string): Promise<void> => {
  for (let n = 1; n < 100_000; n += 1) {
    const path = (kind: string): string => `effects/${kind}-${name}-${n}`
    await act.execute({ path: path('act') })
    die('finished')
    await write.execute({ path: path('write'), content: `${n}\n` })
    await read.execute({ path: path('write') })
    await edit.execute({ path: path('write'), patch: patch(n) })
    await bash.execute({ cmd: 'touch', args: [path('bash')] })
  }
}
await runTask({ journal, runId: 'run', nodeId: 'node', rootDir: root }, async () => {
  die('running')
  process.stdout.write('ready\n')
  await Promise.all(point === undefined ? ['a', 'b', 'c'].map(chain) : [chain('a')])
})
