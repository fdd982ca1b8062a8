// Anthropic's bash session, text editor and memory, below a directory of their own.
//
//   npm install toolwright ai zod @ai-sdk/anthropic
//   node anthropic.mjs
//
// Without ANTHROPIC_API_KEY an endpoint on this machine plays the model.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAnthropic } from '@ai-sdk/anthropic'
import { ToolLoopAgent } from 'ai'
import { checkProviderTools, providerExecutors } from 'toolwright/providers'
import { scriptedAnthropic } from './scripted-endpoint.mjs'

const directory = await mkdtemp(join(tmpdir(), 'providers-anthropic-'))
const { ANTHROPIC_API_KEY } = process.env
const scripted = () =>
  scriptedAnthropic(
    [
      ['memory', { command: 'view', path: '/memories' }],
      ['bash', { command: 'mkdir -p src && cd src && export GREETING=hello' }],
      ['str_replace_based_edit_tool', { command: 'create', path: 'src/greet.sh', file_text: 'echo "$GREETING, world"\n' }],
      ['bash', { command: 'pwd; sh greet.sh' }],
      ['memory', { command: 'create', path: '/memories/notes.md', file_text: 'greet.sh reads GREETING.\n' }],
      ['bash', { restart: true }],
      ['bash', { command: 'echo "[$GREETING]"' }],
    ],
    'It greets the world.',
  )
const anthropic = createAnthropic(ANTHROPIC_API_KEY ? {} : { apiKey: 'none', baseURL: await scripted() })

await using executors = providerExecutors({ rootDir: directory, memoryDir: join(directory, 'memories') })
const run = executors.anthropic
const tools = checkProviderTools({
  // With this schema a model can restart the session without a command.
  bash: { ...anthropic.tools.bash_20250124({ execute: run.bash }), inputSchema: run.bashInput },
  str_replace_based_edit_tool: anthropic.tools.textEditor_20250728({ execute: run.textEditor }),
  memory: anthropic.tools.memory_20250818({ execute: run.memory }),
})
const agent = new ToolLoopAgent({
  model: anthropic(process.env.ANTHROPIC_MODEL ?? 'claude-sonnet-4-5'),
  tools,
  onStepFinish: ({ toolResults }) => toolResults.forEach(({ toolName, output }) => console.log(toolName, output)),
})
const { text } = await agent.generate({ prompt: 'Write a program that greets the world, and note how it works.' })
console.log(text)
await executors.close()
await rm(directory, { recursive: true })
