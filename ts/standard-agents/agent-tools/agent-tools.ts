import type { ModelMessage, ToolSet } from 'ai'
import { invalid } from '../../core/options.js'
import { inputSchema } from './input-schema.js'
import { MAX_IMAGE_BYTES, modelOutput } from './model-output.js'
import type { Message, ThreadState } from '../thread/thread-state.js'
import type { OpenThread } from '../thread/open-thread.js'
import type { AnyTool, ToolResult } from '../tools/tool-definition.js'

type AgentTool = ToolSet[string]

/** How an agent gets the tools of a thread. */
export interface AgentToolsOptions {
  /**
   * The tools that providers execute, by provider (`executionProvider`) and by the name of the tool:
   * `{ openai: { generate_image: openai.tools.imageGeneration() } }`.
   */
  providers?: Record<string, ToolSet> | undefined
  /** The tools that the prompt lists; a queued call may be of any other. @default all */
  only?: readonly string[] | undefined
  /** What the tools find in `state.context`: one object for the whole run. @default a copy of the thread's */
  context?: Record<string, unknown> | undefined
  /** The state of a sub-prompt, from `childState`. @default that of the thread */
  state?: ThreadState | undefined
  /** The largest image that the model is given, in bytes; of others it is told the path. @default 5000000 */
  maxImageBytes?: number | undefined
}

/** What the AI SDK hands to `execute`, as far as it is looked at. */
interface ExecuteOptions {
  toolCallId?: string
  messages?: readonly ModelMessage[]
  abortSignal?: AbortSignal
  experimental_context?: unknown
}

/** The tools of a thread for an agent of the AI SDK. */
export function agentTools(thread: OpenThread, options: AgentToolsOptions): ToolSet {
  const names = options.only ?? Object.keys(thread.queue.parts.tools())
  const context = options.context ?? { ...thread.queue.parts.context }
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
    // Whoever lists it means it. In a folder of tools it must not take the others along.
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

/** The tools that a thread has been warned of: its tools are asked for in every run. */
const warned = new WeakMap<OpenThread, Set<string>>()

function warnOnce(thread: OpenThread, name: string, text: string): void {
  const names = warned.get(thread) ?? new Set()
  if (names.has(name)) return
  warned.set(thread, names.add(name))
  console.warn(`[toolwright] ${name} is left out of the tools of the agent. ${text}`)
}

function localTool(
  thread: OpenThread,
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
