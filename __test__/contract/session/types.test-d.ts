// What the types promise. The compiler is the test: `npm run check`.
import type * as acp from '@agentclientprotocol/sdk'
import { ToolLoopAgent, type InferAgentUIMessage, type InferUITools, type LanguageModel, type ToolSet, type UIMessage } from 'ai'
import {
  createSession,
  defineContractTool,
  presets,
  toAcpPermissionRequest,
  toAcpToolCall,
  type AcpPermissionResponse,
  type ContractCode,
  type ContractTool,
  type Envelope,
  type PromptRequest,
  type ReadArguments,
  type ReadData,
  type Session,
  type SessionOptions,
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

/** Parts of a user interface know the locked tools. */
export function parts(message: UIMessage<unknown, never, InferUITools<Session['tools']>>): unknown[] {
  return message.parts.map((part) => {
    if (part.type === 'tool-read' && part.state === 'output-available') {
      const { path }: ReadArguments = part.input
      const envelope: Envelope<ReadData> = part.output
      // @ts-expect-error -- what `read` takes is no number
      const none: number = part.input
      return [path, envelope, none]
    }
    if (part.type === 'tool-bash' && part.state === 'input-available') return part.input.command
    // @ts-expect-error -- there is no such tool
    return part.type === 'tool-raed'
  })
}

export function typedTools(session: Session, model: LanguageModel): unknown[] {
  const agent = new ToolLoopAgent({ model, tools: session.tools, prepareStep: session.prepareStep })
  type Message = InferAgentUIMessage<typeof agent>
  const isRead = ({ parts: all }: Message): boolean => all.some(({ type }) => type === 'tool-read')
  const byName: ToolSet = session.tools
  // @ts-expect-error -- only the locked ones are known by name
  const own: unknown = session.tools.count_lines
  return [isRead, byName['count_lines'], own]
}

export function choosing(own: ContractTool): SessionOptions[] {
  const some: Pick<SessionOptions, 'workspace' | 'manifest'> = { workspace: '.', manifest: { name: 'x' } }
  return [
    { ...some, tools: [own], permissions: presets.readOnly },
    {
      ...some,
      tools: { only: ['read'], own: [own] },
      permissions: [...presets.acceptEdits, { permission: 'bash', pattern: 'npm test', action: 'allow' }],
    },
    {
      ...some,
      tools: { except: ['bash'] },
      permissions: { project: presets.allowAll, session: [] },
      sandbox: { env: { allow: ['A'], set: { B: '1' } } },
    },
    // @ts-expect-error -- one or the other
    { ...some, tools: { only: ['read'], except: ['bash'] } },
    // @ts-expect-error -- a name of a preset is none
    { ...some, permissions: 'readOnly' },
  ]
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

export async function steps(session: Session, model: LanguageModel): Promise<void> {
  const { activeTools } = await session.prepareStep({ messages: [] })
  const names: string[] = activeTools
  // @ts-expect-error Tools of servers are active too: not every name is the id of a locked tool.
  const locked: 'read'[] = activeTools
  const tools = { ...session.tools, own: session.tools.read }
  void new ToolLoopAgent({ model, tools, prepareStep: session.prepareStep })
  void [names, locked]
}
