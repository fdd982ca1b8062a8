// OpenAI's shell and patches below a directory: every command line of a call has its own outcome, and a patch that fails changes nothing.
//
//   npm install toolwright ai zod @ai-sdk/openai
//   node openai.mjs
//
// Without OPENAI_API_KEY an endpoint on this machine plays the model.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createOpenAI } from '@ai-sdk/openai'
import { ToolLoopAgent } from 'ai'
import { checkProviderTools, providerExecutors } from 'toolwright/providers'
import { scriptedOpenAI } from './scripted-endpoint.mjs'

const rootDir = await mkdtemp(join(tmpdir(), 'providers-openai-'))
const { OPENAI_API_KEY } = process.env
const scripted = () =>
  scriptedOpenAI(
    [
      { type: 'apply_patch_call', operation: { type: 'create_file', path: 'answer.py', diff: '+print(6 * 6)\n' } },
      { type: 'shell_call', action: { commands: ['python3 answer.py || cat answer.py', 'sleep 5'], timeout_ms: 1000 } },
      { type: 'apply_patch_call', operation: { type: 'update_file', path: 'answer.py', diff: '@@\n-print(6 * 6)\n+print(6 * 7)\n' } },
      { type: 'apply_patch_call', operation: { type: 'delete_file', path: '../elsewhere' } },
    ],
    'The program is written.',
  )
const openai = createOpenAI(OPENAI_API_KEY ? {} : { apiKey: 'none', baseURL: await scripted() })

await using executors = providerExecutors({ rootDir })
const tools = checkProviderTools({
  shell: openai.tools.shell({ execute: executors.openai.shell }),
  apply_patch: openai.tools.applyPatch({ execute: executors.openai.applyPatch }),
})
const agent = new ToolLoopAgent({
  model: openai.responses(process.env.OPENAI_MODEL ?? 'gpt-5.1'),
  tools,
  onStepFinish: ({ toolResults }) => toolResults.forEach(({ toolName, output }) => console.log(toolName, JSON.stringify(output, null, 2))),
})
const { text } = await agent.generate({ prompt: 'Write answer.py, which prints 6 * 7, and run it.' })
console.log(text)
await rm(rootDir, { recursive: true })
