// The control: the same workflow, whose step makes the call itself.
import { model, tools } from '../agent.mjs'
import { generateText } from 'ai'

async function ask(messages) {
  'use step'
  const offered = { pay: { ...tools.pay, execute: undefined } }
  const { text, toolCalls, response } = await generateText({ model, tools: offered, messages })
  return { text, toolCalls, said: response.messages }
}

async function callTool({ toolCallId, toolName, input }) {
  'use step'
  const value = await tools[toolName].execute(input, { toolCallId, messages: [] })
  return { type: 'tool-result', toolCallId, toolName, output: { type: 'json', value } }
}

export async function task(prompt) {
  'use workflow'
  const messages = [{ role: 'user', content: prompt }]
  for (;;) {
    const { text, toolCalls, said } = await ask(messages)
    if (toolCalls.length === 0) return text
    const content = await Promise.all(toolCalls.map((call) => callTool(call)))
    messages.push(...said, { role: 'tool', content })
  }
}
