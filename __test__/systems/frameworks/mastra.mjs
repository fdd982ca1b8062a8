// A Mastra agent with the tools of createTools, as they are.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { Agent } from '@mastra/core/agent'
import { createTools } from 'toolwright'
import { baseURL, rootDir, signal } from './setting.mjs'

const model = createOpenAICompatible({ name: 'scripted', baseURL, apiKey: 'none' })('scripted')
const agent = new Agent({ id: 'files', name: 'files', instructions: 'Use the tools.', model, tools: createTools({ rootDir }) })
const { text } = await agent.generate('go', { maxSteps: 8, abortSignal: signal })
console.log(text)
