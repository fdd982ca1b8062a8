// The shell and the editor of the OpenAI Agents SDK, below one directory.
//
//   npm install toolwright zod @openai/agents
//   node agents.mjs
//
// Without OPENAI_API_KEY a model made here plays the other one. `@openai/agents` has all of `@openai/agents-core`.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, applyPatchTool, Runner, shellTool, Usage } from '@openai/agents-core'
import { providerExecutors } from 'toolwright/providers'

const rootDir = await mkdtemp(join(tmpdir(), 'providers-agents-'))
await using executors = providerExecutors({ rootDir })
const { shell, editor } = executors.agents

/** Asks for a file and a command, and then says what it has printed. */
const scripted = {
  async getResponse({ input }) {
    const answer = Array.isArray(input) ? input.find(({ type }) => type === 'shell_call_output') : undefined
    const calls = [
      { type: 'apply_patch_call', callId: 'call_1', status: 'completed', operation: { type: 'create_file', path: 'file', diff: '+one' } },
      { type: 'shell_call', callId: 'call_2', status: 'completed', action: { commands: ['pwd', 'seq 3'] } },
    ]
    const text = JSON.stringify(answer?.output)
    const message = { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] }
    return { output: answer === undefined ? calls : [message], usage: new Usage() }
  },
}

const agent = new Agent({
  name: 'Builder',
  model: process.env.OPENAI_API_KEY ? 'gpt-5.1' : scripted,
  tools: [shellTool({ shell }), applyPatchTool({ editor })],
})
const { finalOutput } = await new Runner({ tracingDisabled: true }).run(agent, 'Write a file and read it.')
console.log(finalOutput)
await rm(rootDir, { recursive: true })
