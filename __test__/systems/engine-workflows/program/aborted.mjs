import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { bash } from 'toolwright'
import { runTasks } from './run-tasks.mjs'

const [mark] = process.argv.slice(2)
const controller = new AbortController()
const told = Promise.withResolvers()
const agent = {
  id: 'scripted',
  tools: { bash },
  // It does not pass on the signal it is given: the context's is the only one that bash has.
  generate: async () => {
    const call = bash.execute({ cmd: 'sh', args: ['-c', `echo half; touch began; exec sleep ${mark}`] })
    while (!existsSync('root/began')) await sleep(10)
    const start = performance.now()
    controller.abort()
    const error = await call.catch(({ name, message }) => ({ name, message }))
    told.resolve({ error, stoppedAfterMs: performance.now() - start })
    throw new Error('aborted')
  },
}
await runTasks([{ id: 'chore', agent }], { signal: controller.signal }, () => told.promise)
