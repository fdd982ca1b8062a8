// Function tools of the OpenAI Agents SDK. A failure is the text of ours: the SDK's own says nothing.
import { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } from '@openai/agents'
import { asSchema } from 'ai'
import OpenAI from 'openai'
import { createTools } from 'toolwright'
import { baseURL, rootDir, signal } from './setting.mjs'

setTracingDisabled(true)
const model = new OpenAIChatCompletionsModel(new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 }), 'scripted')
const tools = await Promise.all(
  Object.entries(createTools({ rootDir })).map(async ([name, { description, inputSchema, execute }]) =>
    tool({
      name,
      description,
      parameters: structuredClone(await asSchema(inputSchema).jsonSchema),
      strict: false,
      execute: (input, _context, details) => execute(input, { toolCallId: details?.toolCall?.callId, messages: [], abortSignal: signal }),
      errorFunction: (_context, error) => error.message,
    }),
  ),
)
const { finalOutput } = await run(new Agent({ name: 'files', model, tools }), 'go', { maxTurns: 10, signal })
console.log(finalOutput)
