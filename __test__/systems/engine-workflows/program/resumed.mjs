import { bash, write } from 'toolwright'
import { keyedEmail } from './email.mjs'
import { runTasks, scriptedAgent } from './run-tasks.mjs'

/** First `start`, which is killed while bash sleeps, then `resume`. */
const [step, mark] = process.argv.slice(2)
const keys = []
const send = [{ tool: 'email', input: { to: 'ann' } }]
const turns = {
  start: {
    prepare: [[{ tool: 'write', input: { path: 'prepared.txt', content: 'once' } }], '{"done":true}'],
    chore: [send, [{ tool: 'bash', input: { cmd: 'sh', args: ['-c', `touch began; exec sleep ${mark}`] } }]],
  },
  // A finished task is not asked again.
  resume: { prepare: [], chore: [send, '{"done":true}'] },
}[step]
// The heartbeat of the killed process is still fresh, so the engine wants to be told that it is dead.
const options = step === 'resume' ? { resume: true, force: true } : {}
const tools = { email: keyedEmail(keys), bash, write }
await runTasks(
  [
    { id: 'prepare', agent: scriptedAgent(tools, turns.prepare) },
    { id: 'chore', agent: scriptedAgent(tools, turns.chore), retries: 1 },
  ],
  options,
  () => ({ keys }),
)
