// deepagents over a sandbox session, which asks before a command runs: `interruptOn` stops the run, and the answer resumes it.
import { Command, INTERRUPT, isInterrupted, MemorySaver } from '@langchain/langgraph'
import { ChatOpenAI } from '@langchain/openai'
import { BaseSandbox, createDeepAgent } from 'deepagents'
import { createSandboxSession } from 'toolwright/sandbox'
import { answer, baseURL, rootDir } from './setting.mjs'

class Sandbox extends BaseSandbox {
  id = 'toolwright'
  session = createSandboxSession({ rootDir })
  async execute(command) {
    const { stdout, stderr, exitCode } = await this.session.run({ command })
    return { output: stdout + stderr, exitCode, truncated: false }
  }
  uploadFiles = (files) => Promise.all(files.map(([path]) => ({ path, error: 'permission_denied' })))
  downloadFiles = (paths) => Promise.all(paths.map((path) => ({ path, content: null, error: 'file_not_found' })))
}

const model = new ChatOpenAI({ model: 'scripted', apiKey: 'none', configuration: { baseURL }, useResponsesApi: false, maxRetries: 0 })
const interruptOn = { execute: { allowedDecisions: ['approve', 'reject'] } }
const agent = createDeepAgent({ model, backend: new Sandbox(), interruptOn, checkpointer: new MemorySaver() })
const thread = { configurable: { thread_id: '1' } }
let state = await agent.invoke({ messages: [{ role: 'user', content: 'go' }] }, thread)
while (isInterrupted(state)) {
  const [{ value }] = state[INTERRUPT]
  for (const { name, args } of value.actionRequests) console.log(`asked: ${name} ${JSON.stringify(args)}`)
  const decisions = value.actionRequests.map(() => (answer === 'approve' ? { type: 'approve' } : { type: 'reject', message: 'not now' }))
  state = await agent.invoke(new Command({ resume: { decisions } }), thread)
}
console.log(state.messages.at(-1)?.text)
