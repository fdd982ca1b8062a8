import type { LanguageModel, ToolSet } from 'ai'
import { ToolError } from '../core/errors.js'
import {
  anything,
  callable,
  type Check,
  checked,
  type Checks,
  invalid,
  oneOf,
  optional,
  parseOptions,
  positive,
  text,
} from '../core/options.js'
import { fromPlain, toPlain } from '../journal/calls/kept-values.js'
import { sameInEveryExecution } from '../journal/calls/recorded-values.js'
import { checkJournal } from '../journal/checks.js'
import type { Journal } from '../journal/journal.js'
import { toolSet } from '../toolkit/task/task.js'
import { getDefinedToolMetadata } from '../toolkit/define-tool.js'
import { isStreaming } from '../toolkit/streaming-tools.js'
import { isFinal, makeOnce, type OnceCall } from './call-once.js'
import { durableModel, type ModelRun, numberByItself } from './durable-model.js'
import { streamed } from './live-values.js'
import { pinnedError, pinnedErrorAsJson } from './pinned-errors.js'
import { RunObject } from './run-objects.js'
import type { Step } from './steps.js'
import { STALE_AFTER_MS, type UnknownCallOptions } from './unknown-calls.js'

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
  /**
   * The task within the run. A name for each agent tells their calls apart in the journal; in the same task they are kept apart as well.
   * @default 'agent'
   */
  nodeId?: string | undefined
  /** The steps of the engine: `dbosSteps(DBOS)`, `restateSteps(ctx)`, or a function of your own. */
  step: Step
  /**
   * Makes the engine's own error of one with which the run ends in every execution, so that the engine does not try again:
   * `(error) => new TerminalError(error.message)`. @default the error itself
   */
  finalError?: OnceCall['finalError']
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
  staleAfterMs: optional(positive(), STALE_AFTER_MS),
  finalError: optional(callable<NonNullable<OnceCall['finalError']>>()),
} satisfies Checks<DurableOptions<ToolSet>>

/** What a step of a tool leaves: an engine would repeat a step that throws. Of a tool that returns nothing, JSON keeps no `output`. */
type Kept = { output?: unknown } | { error: string; ends: boolean }

/**
 * The model and the tools of an agent, for a durable engine: each answer of the model and each call of a tool is a step, and a call
 * is made once, though the engine executes its step again after a crash. An abort is kept too, and ends the run in every execution.
 *
 * Make one object for each agent, and for each turn of a chat: calls of different objects are different calls, whatever ids the
 * model gives them.
 *
 * @example
 * ```ts
 * const agent = new ToolLoopAgent(durable({ model, tools, journal, runId: DBOS.workflowID, step: dbosSteps(DBOS) }))
 * ```
 * @throws {ToolError} INVALID_INPUT
 */
export function durable<TOOLS extends ToolSet>(given: DurableOptions<TOOLS>): { model: LanguageModel; tools: TOOLS } {
  const parsed = parseOptions('durable', given, durableChecks)
  const { model, tools, journal, runId, nodeId, step, finalError, ...policy } = parsed
  const { onUnknown, approve } = policy
  if (onUnknown === 'approve' && approve === undefined) throw checked('durable', () => invalid("onUnknown: 'approve' needs approve."))
  const object = new RunObject(journal, runId, nodeId)
  let ending: { error: unknown } | undefined
  let numbering: Promise<void> | undefined
  /** What the engine gets in place of an error with which every execution ends. */
  const ended = (error: unknown): unknown => (finalError !== undefined && error instanceof Error ? finalError(error) : error)
  const endWith = (error: unknown): void => {
    ending ??= { error }
    object.is('failed')
  }
  const run: ModelRun = {
    step,
    object,
    answers: 0,
    callIds: new Set<string>(),
    ended,
    check: (): void => {
      // The AI SDK gives every error of a tool to the model. The run ends where the model is asked next.
      if (ending !== undefined) throw ending.error
    },
  }
  const ends = (error: unknown): boolean =>
    ToolError.isInstance(error) &&
    (error.code === 'REPLAY_DIFFERS' || (onUnknown === 'fail' && /^(?:OUTCOME_UNKNOWN|REPLAY_UNSAFE)$/u.test(error.code)))

  const durableTool = (name: string, tool: ToolSet[string]): ToolSet[string] => {
    if (typeof tool.execute !== 'function') return tool
    const toolName = getDefinedToolMetadata(tool)?.name ?? name

    /** The kept result of a call, which is made if there is none. */
    const keptCall = async (input: unknown, options: SdkOptions, onProgress?: (value: unknown) => void): Promise<unknown> => {
      const { toolCallId, abortSignal } = options
      let kept: Kept
      try {
        if (object.number === undefined && run.answers === 0) await (numbering ??= numberByItself(run))
        kept = await step(`tool ${toolName} ${toolCallId}`, async (): Promise<Kept> => {
          const call = { runId, nodeId, callId: toolCallId, tool, toolName, input, signal: abortSignal, options, onProgress, ...policy }
          try {
            return { output: await makeOnce(journal, call, object, (output) => toPlain(sameInEveryExecution(output))) }
          } catch (error) {
            if (isOfJournal(error)) throw error
            // An engine would repeat an abort, some of them for ever: it is kept, and the run ends with it.
            return { error: pinnedErrorAsJson(error), ends: abortSignal?.aborted === true || ends(error) }
          }
        })
      } catch (error) {
        // Not the tool's error but the engine's, or the journal's.
        endWith(isFinal(error) ? ended(error) : error)
        throw error
      }
      if (!('error' in (kept ?? {}))) return fromPlain((kept as { output?: unknown } | undefined)?.output)
      const { error: json, ends: isEnd } = kept as { error: string; ends: boolean }
      const error = pinnedError(json) ?? new Error('The tool failed')
      if (isEnd) endWith(ended(error))
      throw error
    }
    const execute = isStreaming(tool.execute)
      ? (input: unknown, options: SdkOptions) => streamed((onProgress) => keptCall(input, options, onProgress))
      : (input: unknown, options: SdkOptions) => keptCall(input, options)
    return { ...tool, execute } as unknown as ToolSet[string]
  }

  const wrapped = Object.entries(tools as ToolSet).map(([name, tool]) => [name, durableTool(name, tool)] as const)
  return { model: checked('durable', () => durableModel(model, run)), tools: Object.fromEntries(wrapped) as TOOLS }
}

type SdkOptions = Readonly<Record<string, unknown>> & { toolCallId: string; abortSignal?: AbortSignal }

/** The call was not made: the engine tries the step again. A call that no row can hold never will be. */
const isOfJournal = (error: unknown): boolean =>
  ToolError.isInstance(error) && error.code.startsWith('JOURNAL_') && error.code !== 'JOURNAL_ROW_TOO_LARGE'
