// What the types promise. The compiler is the test: `npm run check`.
import type * as acp from '@agentclientprotocol/sdk'
import { ToolLoopAgent, type LanguageModel } from 'ai'
import {
  createSession,
  defineContractTool,
  toAcpPermissionRequest,
  toAcpToolCall,
  type AcpPermissionResponse,
  type ContractCode,
  type Envelope,
  type PromptRequest,
  type ReadData,
  type Session,
  type ToolRuntime,
} from 'toolwright/contract'
import { contractSuite } from 'toolwright/contract/testing'
import { describe, test } from 'vitest'

const tool = defineContractTool({
  id: 'count',
  description: 'Count.',
  parameters: { type: 'object' },
  requires: {},
  execute: ({ path }: { path: string }, runtime) => {
    const given: ToolRuntime = runtime
    return given.fs.read(path)
  },
})

export async function agents(model: LanguageModel): Promise<unknown> {
  await using session = await createSession({ workspace: '.', manifest: { name: 'x' }, tools: [tool] })
  const agent = new ToolLoopAgent({ model, tools: session.tools })
  const envelope: Envelope = await session.call('read', { path: 'a' })
  if (envelope.type === 'error') return envelope.error_text
  const code: ContractCode = envelope.metadata.code
  // @ts-expect-error -- an output has no error_text
  return [agent, code, envelope.data, envelope.error_text]
}

export async function typedCalls(session: Session, id: string): Promise<unknown[]> {
  const read = await session.call('read', { path: 'a' })
  const bash = await session.call('bash', { command: 'ls' })
  if (read.type === 'error' || bash.type === 'error') return []
  const data: ReadData = read.data
  const { exit_code: code } = bash.data
  // @ts-expect-error -- what `read` gives is no number
  const none: number = read.data
  const own: Envelope<unknown> = await session.call('count_lines', {})
  const any: Envelope<unknown> = await session.call(id, {})
  return [data, code, none, own, any]
}

export function protocol(request: PromptRequest, answer: acp.RequestPermissionResponse): unknown[] {
  const call: acp.ToolCall = toAcpToolCall({ id: '1', tool: 'read', args: {} })
  const update: acp.ToolCallUpdate = toAcpToolCall({ id: '1', tool: 'read', args: {} })
  const asked: acp.RequestPermissionRequest = toAcpPermissionRequest(request, 's')
  const back: AcpPermissionResponse = answer
  return [call, update, asked, back]
}

// @ts-expect-error -- requires is missing
defineContractTool({ id: 'a', description: 'a', parameters: {}, execute: () => 1 })
// @ts-expect-error -- an option that is misspelt
void createSession({ workspace: '.', manifest: { name: 'x' }, headles: true })

contractSuite({ describe, test }, { name: 'types', tools: [tool] })
