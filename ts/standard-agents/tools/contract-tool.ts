import type { AcpToolKind } from '../../contract/registry/tool-ids.js'
import { copyTool, type ContractTool } from '../../contract/registry/contract-tool.js'
import type { RequirementSet } from '../../contract/registry/requirements.js'
import { anything, checked, type Checks, invalid, parseOptions } from '../../core/options.js'
import { argumentsSchema } from '../agent-tools/input-schema.js'
import { attachmentList } from '../agent-tools/result-schema.js'
import { aText, dataSchemaOf } from '../../contract/registry/output-schema.js'
import { checkToolName, isTool } from './tool-definition.js'
import { storedRefs } from './tool-result.js'
import type { AttachmentRef } from '../store/stored-records.js'
import type { Thread } from '../thread/thread.js'

/** What a contract tool declares and a Standard Agents tool does not. */
export interface ContractToolOptions {
  /** Its id in the session. @default the tool's name */
  id?: string | undefined
  /** What the tool reaches; `{}` for nothing. */
  requires: RequirementSet
  /** How clients of the Agent Client Protocol show it. @default 'other' */
  kind?: AcpToolKind | undefined
  /** Whether it changes anything outside the session. @default true */
  sideEffect?: boolean | undefined
}

/** Their values are checked as fields of the tool. */
const checks = {
  id: anything<string | undefined>(),
  requires: anything<RequirementSet>(),
  kind: anything<AcpToolKind | undefined>(),
  sideEffect: anything<boolean | undefined>(),
} satisfies Checks<ContractToolOptions>

/** The `data` of its envelopes. */
export interface ThreadToolData {
  result: string
  attachments?: AttachmentRef[]
}

const outputSchema = dataSchemaOf<ThreadToolData>({ result: aText, attachments: attachmentList }, ['result'])

/**
 * Makes a tool of a thread a tool of a contract session: `createSession({ tools: [toContractTool(…)] })`. The session
 * judges its calls by what it requires and returns envelopes; state, queue and attachments stay with the thread. An
 * error result becomes an error envelope with the same text, without the stack.
 *
 * @throws {ToolError} INVALID_INPUT for an unknown tool and for a tool of a provider.
 */
export function toContractTool(
  thread: Thread,
  name: string,
  options: ContractToolOptions,
): ContractTool<Record<string, unknown>, ThreadToolData> {
  const { id = name, requires, kind, sideEffect = true } = parseOptions('toContractTool', options, checks)
  const { definition, call } = (thread ?? {}) as Partial<Thread>
  if (typeof definition !== 'function' || typeof call !== 'function') throw invalid('thread must come from createThread.')
  checkToolName('toContractTool', name)
  const tool = thread.definition(name)
  if (!isTool(tool)) throw invalid(`The thread has no tool \`${name}\`.`, { toolName: name })
  if (tool.executionMode === 'provider') {
    throw invalid(`The tool \`${name}\` is executed by its provider: no session can call it.`, { toolName: name })
  }
  const made: ContractTool<Record<string, unknown>, ThreadToolData> = {
    id,
    description: tool.description,
    parameters: argumentsSchema(tool),
    outputSchema,
    requires,
    sideEffect,
    kind,
    execute: async (args, runtime) => {
      const result = await thread.call(name, args, { signal: runtime.signal, toolCallId: runtime.call.id })
      if (result.status === 'error') throw new Error(result.error || 'Tool execution failed')
      const attachments = storedRefs(result)
      return { result: result.result ?? '', ...(attachments.length === 0 ? {} : { attachments }) }
    },
  }
  checked('toContractTool', () => copyTool(made))
  return made
}
