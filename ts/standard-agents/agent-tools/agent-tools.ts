import type { ModelMessage, ToolSet } from 'ai'
import { invalid } from '../../core/options.js'
import { inputSchema } from './input-schema.js'
import { MAX_IMAGE_BYTES, modelOutput } from './model-output.js'
import type { LiveFields } from '../thread/run.js'
import type { Scheduler } from '../thread/running-call.js'
import type { AgentToolsOptions, CallOptions, Thread } from '../thread/thread.js'
import type { Message } from '../thread/thread-state.js'
import type { AnyTool } from '../tools/tool-definition.js'
import type { ToolResult } from '../tools/tool-result.js'

type AgentTool = ToolSet[string]

/** A call on behalf of an agent. */
export interface AgentCall extends CallOptions {
  live?: LiveFields | undefined
}

/** What the tools of an agent need of their thread. */
export interface AgentThread extends Pick<Thread, 'attachments'> {
  readonly scheduler: Pick<Scheduler, 'parts'>
  definition(name: string): AnyTool | undefined
  make(name: string, args: Record<string, unknown> | string, options: AgentCall): Promise<ToolResult>
}

/** The options that the AI SDK passes to `execute`, as far as they are read. */
interface ExecuteOptions {
  toolCallId?: string
  messages?: readonly ModelMessage[]
  abortSignal?: AbortSignal
  experimental_context?: unknown
}

/** The tools of a thread as an AI SDK tool set. */
export function agentTools(thread: AgentThread, options: AgentToolsOptions): ToolSet {
  const names = options.only ?? Object.keys(thread.scheduler.parts.tools())
  const context = options.context ?? { ...thread.scheduler.parts.context }
  const set: ToolSet = {}
  for (const name of names) {
    const tool = thread.definition(name)
    if (tool === undefined) throw invalid(`The thread has no tool \`${name}\`.`, { toolName: name })
    if (tool.executionMode !== 'provider') {
      set[name] = localTool(thread, name, tool, { ...options, context })
      continue
    }
    const ofProvider = providerTool(name, tool, options.providers ?? {})
    if (ofProvider !== undefined) set[name] = ofProvider
    // Listed by name, it is an error. As one of a folder of tools, it must not take the others along.
    else if (options.only !== undefined)
      throw invalid(withoutProvider(name, tool), { toolName: name, executionProvider: tool.executionProvider })
    else warnOnce(thread, name, withoutProvider(name, tool))
  }
  return set
}

/** The provider's own tool, where the host has given it. */
function providerTool(name: string, { executionProvider }: AnyTool, providers: Record<string, ToolSet>): AgentTool | undefined {
  const ofProvider = executionProvider === undefined ? undefined : providers[executionProvider]
  const given = ofProvider !== undefined && Object.hasOwn(ofProvider, name) ? ofProvider[name] : undefined
  return typeof given === 'object' && given !== null ? given : undefined
}

function withoutProvider(name: string, { executionProvider }: AnyTool): string {
  const pass = `pass its own tool as thread.tools({ providers: { ${executionProvider ?? 'PROVIDER'}: { ${name}: … } } }).`
  return `The tool \`${name}\` is executed by ${executionProvider ?? 'a provider that it does not name'}: ${pass}`
}

/** The names that each thread was warned about: every run asks for its tools. */
const warned = new WeakMap<AgentThread, Set<string>>()

function warnOnce(thread: AgentThread, name: string, text: string): void {
  const names = warned.get(thread) ?? new Set()
  if (names.has(name)) return
  warned.set(thread, names.add(name))
  console.warn(`[toolwright] ${name} is left out of the tools of the agent. ${text}`)
}

function localTool(
  thread: AgentThread,
  name: string,
  tool: AnyTool,
  { context, state, maxImageBytes = MAX_IMAGE_BYTES }: AgentToolsOptions,
): AgentTool {
  let isMajor6 = false
  return {
    description: tool.description,
    inputSchema: inputSchema(tool),
    execute: async (input: unknown, sdk: ExecuteOptions = {}): Promise<ToolResult> => {
      const { toolCallId, abortSignal, messages = [] } = sdk
      isMajor6 = 'experimental_context' in sdk
      return thread.make(name, typeof input === 'string' ? JSON.stringify(input) : ((input ?? {}) as Record<string, unknown>), {
        signal: abortSignal,
        context,
        state,
        toolCallId,
        live: { messageHistory: messages as readonly Message[], turnCount: stepsIn(messages) },
      })
    },
    toModelOutput: ({ output }: { output: unknown }) =>
      modelOutput(output as ToolResult, { attachments: thread.attachments, maxImageBytes, isMajor6 }),
  } as AgentTool
}

const stepsIn = (messages: readonly ModelMessage[]): number => messages.filter(({ role }) => role === 'assistant').length
