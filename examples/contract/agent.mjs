// An agent whose calls the user approves on the terminal. It changes files in the given directory:
//   AI_GATEWAY_API_KEY=… node examples/contract/agent.mjs path/to/project
import { stdin, stdout } from 'node:process'
import { createInterface } from 'node:readline/promises'
import { ToolLoopAgent } from 'ai'
import { createSession } from 'toolwright/contract'

const terminal = createInterface({ input: stdin, output: stdout })
const answers = { y: 'allow_once', a: 'allow_always', n: 'reject_once' }

await using session = await createSession({
  workspace: process.argv[2] ?? './project',
  manifest: { name: 'fixer', permissions: [{ permission: 'fs.read', pattern: '**', action: 'allow' }] },
  host: {
    prompt: async ({ tool, subjects, signal }) => {
      const what = subjects.map(({ resource }) => resource).join(', ')
      const answer = await terminal.question(`${tool} ${what}? [y]es, [a]lways, [n]o `, { signal })
      return answers[answer.trim()] ?? 'reject_once'
    },
    question: async (questions, { signal }) => {
      const given = []
      for (const { question, options = [] } of questions) {
        const choices = options.map(({ label }) => label).join(' | ')
        given.push([await terminal.question(`${question} ${choices} `, { signal })])
      }
      return given
    },
  },
})

const agent = new ToolLoopAgent({
  model: 'anthropic/claude-sonnet-4.5',
  instructions: 'You fix failing tests. Use the tools.',
  tools: session.tools,
})
const { text } = await agent.generate({ prompt: 'The tests fail. Find out why and fix it.' })
console.log(text)
terminal.close()
