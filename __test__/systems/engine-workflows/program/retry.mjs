import { read, write } from 'toolwright'
import { keyedEmail } from './email.mjs'
import { runTasks, scriptedAgent } from './run-tasks.mjs'

const keys = []
const turns = [
  [{ tool: 'email', input: { to: 'ann' } }],
  [{ tool: 'read', input: { path: 'greeting.txt' } }],
  [{ tool: 'write', input: { path: 'made.txt', content: 'made by write' } }],
  new Error('the model is gone'),
  [{ tool: 'email', input: { to: 'ann' } }],
  '{"done":true}',
]
const agent = scriptedAgent({ email: keyedEmail(keys), read, write }, turns)
await runTasks([{ id: 'chore', agent, retries: 1 }], {}, () => ({ keys }))
