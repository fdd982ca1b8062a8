// Function tools of the OpenAI Agents SDK that ask before they have an effect: the run ends with interruptions, and goes on with the answers.
import { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } from '@openai/agents'
import { asSchema } from 'ai'
import OpenAI from 'openai'
import { createTools } from 'toolwright'
import { answer, baseURL, rootDir } from './setting.mjs'

setTracingDisabled(true)
const model = new OpenAIChatCompletionsModel(new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 }), 'scripted')
const tools = await Promise.all(
  Object.entries(createTools({ rootDir })).map(async ([name, { description, inputSchema, execute, metadata }]) =>
    tool({
      name,
      description,
      parameters: structuredClone(await asSchema(inputSchema).jsonSchema),
      strict: false,
      needsApproval: metadata.toolwright.sideEffect,
      execute: (input, _context, details) => execute(input, { toolCallId: details?.toolCall?.callId, messages: [] }),
      errorFunction: (_context, error) => error.message,
    }),
  ),
)
const agent = new Agent({ name: 'files', model, tools })
let result = await run(agent, 'go', { maxTurns: 10 })
while (result.interruptions.length > 0) {
  for (const interruption of result.interruptions) {
    console.log(`asked: ${interruption.name} ${interruption.arguments}`)
    if (answer === 'approve') result.state.approve(interruption)
    else result.state.reject(interruption)
  }
  result = await run(agent, result.state)
}
console.log(result.finalOutput)
