import type { LanguageModel, ToolSet } from 'ai'
import { ToolError } from '../core/errors.js'
import { anything, callable, type Check, checked, type Checks, invalid, oneOf, optional, parseOptions, text } from '../core/options.js'
import { errorAsJson, recordedError } from '../journal/calls/recorded-values.js'
import { checkJournal } from '../journal/checks.js'
import type { Journal } from '../journal/journal.js'
import { toolSet } from '../toolkit/task/task.js'
import { getDefinedToolMetadata } from '../toolkit/define-tool.js'
import { callOnce } from './call-once.js'
import { durableModel } from './durable-model.js'
import { fromPlain, toPlain } from './plain-values.js'
import type { Step } from './steps.js'
import type { UnknownCallOptions } from './unknown-calls.js'

/** Options of {@link durable}. */
export interface DurableOptions<TOOLS extends ToolSet> extends UnknownCallOptions {
  /** The agent's model: an object of a provider. */
  model: LanguageModel
  /** The agent's tools. Those without `execute` stay as they are. */
  tools: TOOLS
  /** The journal of all processes that may execute the run: a store that they share. */
  journal: Journal
  /** The run, the same in every execution: the id of the workflow. */
  runId: string
  /** The task within the run, where one has several agents. @default 'agent' */
  nodeId?: string | undefined
  /** The steps of the engine: `dbosSteps(DBOS)`, `restateSteps(ctx)`, or a function of your own. */
  step: Step
}

const durableChecks = {
  model: anything<LanguageModel>(),
  tools: toolSet as Check<ToolSet>,
  journal: checkJournal,
  runId: text,
  nodeId: optional(text, 'agent'),
  step: callable<Step>(),
  onUnknown: optional(oneOf('tell', 'fail', 'approve'), 'tell'),
  approve: optional(callable<NonNullable<UnknownCallOptions['approve']>>()),
} satisfies Checks<DurableOptions<ToolSet>>

/** What a step of a tool leaves: an engine would repeat a step that throws. */
type Kept = { output: unknown } | { error: string; ends: boolean }

/**
 * The model and the tools of an agent, for a durable engine: each answer of the model and each call of a tool is a step, and a call
 * is made once, though the engine executes its step again after a crash. An abort is kept too, and ends the run in every execution.
 *
 * @example
 * ```ts
 * const agent = new ToolLoopAgent(durable({ model, tools, journal, runId: DBOS.workflowID, step: dbosSteps(DBOS) }))
 * ```
 * @throws {ToolError} INVALID_INPUT
 */
export function durable<TOOLS extends ToolSet>(options: DurableOptions<TOOLS>): { model: LanguageModel; tools: TOOLS } {
  const { model, tools, journal, runId, nodeId, step, onUnknown, approve } = parseOptions('durable', options, durableChecks)
  if (onUnknown === 'approve' && approve === undefined) throw checked('durable', () => invalid("onUnknown: 'approve' needs approve."))
  let ending: unknown
  const run = {
    step,
    answers: 0,
    callIds: new Set<string>(),
    check: (): void => {
      // The AI SDK gives every error of a tool to the model. The run ends where the model is asked next.
      if (ending !== undefined) throw ending
    },
  }
  const ends = (error: unknown): boolean =>
    ToolError.isInstance(error) && (error.code === 'REPLAY_DIFFERS' || (error.code === 'OUTCOME_UNKNOWN' && onUnknown === 'fail'))

  const durableTool = (name: string, tool: ToolSet[string]): ToolSet[string] => {
    if (typeof tool.execute !== 'function') return tool
    const toolName = getDefinedToolMetadata(tool)?.name ?? name
    const execute = async (
      input: unknown,
      { toolCallId, abortSignal }: { toolCallId: string; abortSignal?: AbortSignal },
    ): Promise<unknown> => {
      let kept: Kept
      try {
        kept = await step(`tool ${toolName} ${toolCallId}`, async (): Promise<Kept> => {
          const call = { runId, nodeId, callId: toolCallId, tool, toolName, input, signal: abortSignal, onUnknown, approve }
          try {
            return { output: toPlain(await callOnce(journal, call)) }
          } catch (error) {
            if (isOfJournal(error)) throw error
            // An engine would repeat an abort, some of them for ever: it is kept, and the run ends with it.
            return { error: errorAsJson(error), ends: abortSignal?.aborted === true || ends(error) }
          }
        })
      } catch (error) {
        // Not the tool's error but the engine's, or the journal's.
        ending = error
        throw error
      }
      if ('output' in kept) return fromPlain(kept.output)
      const error = recordedError(kept.error) ?? new Error('The tool failed')
      if (kept.ends) ending = error
      throw error
    }
    return { ...tool, execute } as ToolSet[string]
  }

  const wrapped = Object.entries(tools as ToolSet).map(([name, tool]) => [name, durableTool(name, tool)] as const)
  return { model: checked('durable', () => durableModel(model, run)), tools: Object.fromEntries(wrapped) as TOOLS }
}

/** The call was not made: the engine tries the step again. */
const isOfJournal = (error: unknown): boolean => ToolError.isInstance(error) && error.code.startsWith('JOURNAL_')
