// A Mastra agent that asks before a tool with an effect runs: Mastra calls what `needsApproval` has put into the tools.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { Mastra } from '@mastra/core'
import { Agent } from '@mastra/core/agent'
import { InMemoryStore } from '@mastra/core/storage'
import { approvals, createTools, needsApproval } from 'toolwright'
import { answer, baseURL, rootDir } from './setting.mjs'

const model = createOpenAICompatible({ name: 'scripted', baseURL, apiKey: 'none' })('scripted')
const own = createTools({ rootDir })
const tools = needsApproval(own, approvals(own))
const files = new Agent({ id: 'files', name: 'files', instructions: 'Use the tools.', model, tools })
const agent = new Mastra({ agents: { files }, storage: new InMemoryStore(), logger: false }).getAgent('files')
let output = await agent.generate('go', { maxSteps: 8 })
while (output.finishReason === 'suspended') {
  const { toolName, toolCallId, args } = output.suspendPayload
  console.log(`asked: ${toolName} ${JSON.stringify(args)}`)
  const call = { runId: output.runId, toolCallId }
  output =
    answer === 'approve' ? await agent.approveToolCallGenerate(call) : await agent.declineToolCallGenerate({ ...call, reason: 'not now' })
}
console.log(output.text)
