/** The types of calls that hooks of `createTools` see, by the tool. */
import type { Awaitable } from '../core/abort.js'
import type { AfterDecision, BeforeDecision } from '../core/call-hooks.js'
import type { ProcessArguments } from '../core/processes/process-arguments.js'
import type { ProcessReport } from '../core/processes/process-report.js'
import type { ApplyPatchInput } from './tools/apply-patch.js'
import type { BashInput } from './tools/call-plan.js'
import type { EditInput } from './tools/edit.js'
import type { GrepInput } from './tools/grep.js'
import type { ToolkitReadInput } from './tools/read.js'
import type { WriteInput } from './tools/write.js'

/** The arguments of each tool of a set. */
export interface ToolArguments extends ProcessArguments {
  read: ToolkitReadInput
  write: WriteInput
  edit: EditInput
  grep: GrepInput
  bash: BashInput
  apply_patch: ApplyPatchInput
}

/** The result of each tool of a set. */
export type ToolResults = { [TOOL in keyof ToolArguments]: TOOL extends keyof ProcessArguments ? ProcessReport : string }

/** A call by the name of its tool, which says what its arguments are. */
export type HookedCall = {
  [TOOL in keyof ToolArguments]: {
    tool: TOOL
    args: ToolArguments[TOOL]
    toolCallId: string | undefined
    signal: AbortSignal | undefined
  }
}[keyof ToolArguments]

/** The same with its result, or with what it has failed with. */
export type EndedCall = {
  [TOOL in keyof ToolArguments]: Extract<HookedCall, { tool: TOOL }> &
    ({ result: ToolResults[TOOL]; error?: undefined } | { error: unknown; result?: undefined })
}[keyof ToolArguments]

/** Sees a call before it is made, and may refuse it or give it other arguments. */
export type BeforeCall = (call: HookedCall) => Awaitable<BeforeDecision<ToolArguments[keyof ToolArguments]>>

/** Sees a call that was made, and may give it another result. */
export type AfterCall = (call: EndedCall) => Awaitable<AfterDecision<ToolResults[keyof ToolArguments]>>
