import type { ModelMessage, ToolSet } from 'ai'
import { invalid } from '../option-checks.js'
import { inputSchema } from './agent-tools/input-schema.js'
import { MAX_IMAGE_BYTES, modelOutput } from './agent-tools/model-output.js'
import type { Message, ThreadState } from './thread-state.js'
import type { OpenThread } from './thread/open-thread.js'
import type { AnyTool, ToolResult } from './tool-definition.js'

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
    set[name] =
      tool.executionMode === 'provider'
        ? providerTool(name, tool, options.providers ?? {})
        : localTool(thread, name, tool, { ...options, context })
  }
  return set
}

function providerTool(name: string, { executionProvider }: AnyTool, providers: Record<string, ToolSet>): AgentTool {
  const ofProvider = executionProvider === undefined ? undefined : providers[executionProvider]
  const given = ofProvider !== undefined && Object.hasOwn(ofProvider, name) ? ofProvider[name] : undefined
  if (typeof given === 'object' && given !== null) return given
  const provider = executionProvider ?? 'PROVIDER'
  throw invalid(
    `The tool \`${name}\` is executed by ${executionProvider ?? 'a provider that it does not name'}: pass its own tool as thread.tools({ providers: { ${provider}: { ${name}: … } } }).`,
    { toolName: name, executionProvider },
  )
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
