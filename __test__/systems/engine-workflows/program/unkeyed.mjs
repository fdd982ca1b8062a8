import { unkeyedEmail } from './email.mjs'
import { runTasks, scriptedAgent } from './run-tasks.mjs'

const sent = []
const turns = [[{ tool: 'email', input: { to: 'ann' } }], new Error('the model is gone'), '{"done":true}']
const agent = scriptedAgent({ email: unkeyedEmail(sent) }, turns)
await runTasks([{ id: 'chore', agent, retries: 1 }], {}, () => ({ sent }))
