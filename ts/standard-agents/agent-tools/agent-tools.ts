import type { ModelMessage, ToolSet } from 'ai'
import { outputRequest } from '../../core/model-output-request.js'
import { invalid } from '../../core/options.js'
import { isTaken, MAX_PIXELS } from '../../documents/images.js'
import type { AttachmentRef } from '../store/thread-store.js'
import { inputSchema } from './input-schema.js'
import { resultSchema } from './result-schema.js'
import type { LiveFields } from '../thread/run.js'
import { findTool, type ThreadParts } from '../thread/thread-parts.js'
import type { AgentToolsOptions, CallOptions, Thread } from '../thread/thread.js'
import type { Message } from '../thread/thread-state.js'
import type { AnyTool } from '../tools/tool-definition.js'
import { messageContent, storedRefs, type ToolResult } from '../tools/tool-result.js'

type AgentTool = ToolSet[string]

/** A call on behalf of an agent. */
export interface AgentCall extends CallOptions {
  live?: LiveFields | undefined
}

/** What the tools of an agent need of their thread. */
export interface AgentThread extends Pick<Thread, 'attachments'> {
  parts: ThreadParts
  call(name: string, args: Record<string, unknown> | string, options: AgentCall): Promise<ToolResult>
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
  const { parts } = thread
  const { only, providers = {}, context = { ...parts.context } } = options
  const set: ToolSet = {}
  for (const name of only ?? Object.keys(parts.tools())) {
    const tool = findTool(parts, name)
    if (tool === undefined) throw invalid(`The thread has no tool \`${name}\`.`, { toolName: name })
    if (tool.executionMode !== 'provider') {
      set[name] = localTool(thread, name, tool, { ...options, context })
      continue
    }
    const { executionProvider } = tool
    const providerTool = executionProvider === undefined ? undefined : ownTool(providers[executionProvider], name)
    if (providerTool !== undefined) {
      set[name] = providerTool
      continue
    }
    const missing = withoutProvider(name, executionProvider)
    // Listed by name, it is an error. As one of a folder of tools, it must not take the others along.
    if (only !== undefined) throw invalid(missing, { toolName: name, executionProvider })
    warnOnce(parts, name, missing)
  }
  return set
}

/** The tool of a set that has the name itself, and does not inherit it. */
function ownTool(set: ToolSet | undefined, name: string): AgentTool | undefined {
  const tool = set !== undefined && Object.hasOwn(set, name) ? set[name] : undefined
  return typeof tool === 'object' && tool !== null ? tool : undefined
}

function withoutProvider(name: string, provider: string | undefined): string {
  const pass = `pass its own tool as thread.tools({ providers: { ${provider ?? 'PROVIDER'}: { ${name}: … } } }).`
  return `The tool \`${name}\` is executed by ${provider ?? 'a provider that it does not name'}: ${pass}`
}

/** The names that each thread was warned about: every run asks for its tools. */
const warned = new WeakMap<ThreadParts, Set<string>>()

function warnOnce(parts: ThreadParts, name: string, text: string): void {
  const names = warned.get(parts) ?? new Set()
  if (names.has(name)) return
  warned.set(parts, names.add(name))
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
    outputSchema: resultSchema,
    execute: async (input: unknown, options?: ExecuteOptions | null): Promise<ToolResult> => {
      const sdk = options ?? {}
      const { toolCallId, abortSignal, messages = [] } = sdk
      isMajor6 = 'experimental_context' in sdk
      return thread.call(name, typeof input === 'string' ? JSON.stringify(input) : ((input ?? {}) as Record<string, unknown>), {
        signal: abortSignal,
        context,
        state,
        toolCallId,
        live: { messageHistory: messages as readonly Message[], turnCount: stepsIn(messages) },
      })
    },
    toModelOutput: (given: unknown) =>
      modelOutput(outputRequest<ToolResult>(given).output, { attachments: thread.attachments, maxImageBytes, isMajor6 }),
  } as AgentTool
}

const stepsIn = (messages: readonly ModelMessage[]): number => messages.filter(({ role }) => role === 'assistant').length

/** A tool's result for the model, in the AI SDK's form. */
type ModelOutput = Awaited<ReturnType<NonNullable<AgentTool['toModelOutput']>>>

/** The largest image that the model gets by default, in bytes. */
const MAX_IMAGE_BYTES = 5_000_000

/** How images are read and passed on. */
interface ImageOptions {
  attachments: Thread['attachments']
  maxImageBytes: number
  /** AI SDK 6 has another type for an image. */
  isMajor6: boolean
}

/** The image types that models accept. */
const IMAGE = /^image\/(?:png|jpe?g|gif|webp)$/iu

/** A result for the model: its text and its images, never its stack. */
async function modelOutput(result: ToolResult, options: ImageOptions): Promise<ModelOutput> {
  const value = messageContent(result)
  if (result.status === 'error') return { type: 'error-text', value }
  const images = storedRefs(result).filter(({ mimeType, size }) => IMAGE.test(mimeType) && size <= options.maxImageBytes)
  const parts = (await Promise.all(images.map((image) => imagePart(image, options)))).filter((part) => part !== undefined)
  if (parts.length === 0) return { type: 'text', value }
  return { type: 'content', value: [{ type: 'text', text: value }, ...parts] } as ModelOutput
}

async function imagePart(image: AttachmentRef, { attachments, isMajor6, maxImageBytes }: ImageOptions): Promise<object | undefined> {
  const { path, mimeType: mediaType, name: filename } = image
  let bytes: Uint8Array
  try {
    bytes = await attachments.read(path)
  } catch {
    // Deleted since then. The text still has its path.
    return undefined
  }
  const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  // An image that a provider refuses would end the conversation.
  if (!isTaken(content, MAX_PIXELS, maxImageBytes)) return undefined
  const data = content.toString('base64')
  if (isMajor6) return { type: 'image-data', mediaType, data }
  return { type: 'file', mediaType, filename, data: { type: 'data', data } }
}
