/** `openai.tools.applyPatch`: one file created, changed or deleted by a diff without line numbers. */
import { ToolError, withHint } from '../../core/errors.js'
import { grantedRoot } from '../../core/grants.js'
import { callLimited } from '../../core/native.js'
import { meantInside, nearPath, realRoot } from '../../core/near-paths.js'
import { invalid, oneOf, string } from '../../core/options.js'
import { boundedPath } from '../../core/text.js'
import type { ToolCallOptions } from '../../journal/calls/call-record.js'
import { recordedChange } from '../../journal/calls/recorded-values.js'
import { recordedFunction } from '../../toolkit/built-in-call.js'
import type { BuiltInContext } from '../../toolkit/define-tool.js'
import { describedExecutor } from '../../toolkit/described-executor.js'
import { callPlan } from '../../toolkit/tools/call-plan.js'
import { changeAndFollow } from '../../toolkit/tools/followed-change.js'
import { failureText } from '../../toolkit/tools/model-errors.js'
import type { ProviderSettings } from '../settings.js'

/** The operation of a model on a file. */
export type ApplyPatchOperation =
  /** Every line of the diff begins with `+`. */
  | { type: 'create_file'; path: string; diff: string }
  /** Only the Agents SDK sends `moveTo`. */
  | { type: 'update_file'; path: string; diff: string; moveTo?: string | undefined }
  | { type: 'delete_file'; path: string }

/** Whether the operation was carried out, and the text for the model. */
export type ApplyPatchOutput = { status: 'completed' | 'failed'; output: string }

/** Carries out the operation. It never throws. */
export type ApplyPatchFunction = (
  input: { callId: string; operation: ApplyPatchOperation },
  options?: ToolCallOptions,
) => Promise<ApplyPatchOutput>

export function createApplyPatch({ bound, followers }: ProviderSettings): ApplyPatchFunction {
  const run = recordedFunction(
    {
      name: 'apply_patch',
      sideEffect: true,
      kind: 'write',
      execute: async ({ operation }: { callId: string; operation: ApplyPatchOperation }, call) => {
        const paths = changedPaths(operation)
        const { result, note } = await changeAndFollow(followers, bound, paths, call, () => applyOperation(operation, call))
        return note === undefined ? result : `${result.trimEnd()}\n${note}`
      },
      recordedInput: ({ callId, operation }) => recordedOperation(callId, operation),
    },
    bound,
  )
  return describedExecutor('apply_patch', async (input, options) => {
    try {
      return { status: 'completed', output: await run(input, options) }
    } catch (error) {
      return { status: 'failed', output: failureText(error) }
    }
  })
}

/** The failure with a move that a model has here: it has no tool that writes a file. */
async function guided(failure: unknown, isRemoval: boolean, rootDir: string): Promise<unknown> {
  if (!ToolError.isInstance(failure)) return failure
  if (failure.code === 'TOOL_PATH_ESCAPE') return withHint(failure, `${failure.hint}${await meantInside(rootDir, failure.details['path'])}`)
  if (failure.code === 'TOOL_FILE_EXISTS')
    return withHint(failure, 'No file was changed. Change it with update_file, or name another path.')
  if (failure.code !== 'TOOL_FILE_NOT_FOUND') return failure
  const near = await nearPath(await realRoot(rootDir), String(failure.details['path']), 'file')
  const meant = near === undefined ? '' : ` Did you mean \`${near}\`?`
  return withHint(
    failure,
    `No file was changed.${meant} ${isRemoval ? 'There is nothing to delete.' : 'To make a new file, use create_file.'}`,
  )
}

/** The input with size and hash in place of the diff, which a record must not hold. */
async function recordedOperation(callId: unknown, operation: Partial<Record<string, unknown>> | undefined): Promise<unknown> {
  const { type, path, diff, moveTo } = operation ?? {}
  const rest = { callId, type, ...(moveTo !== undefined && { moveTo }) }
  return diff === undefined ? { ...rest, path } : { ...rest, ...(await recordedChange(path, 'patch', diff)) }
}

/** The files that an operation changes. What is no path is refused later. */
function changedPaths(operation: Partial<Record<string, unknown>> | null | undefined): string[] {
  const { type, path, moveTo } = operation ?? {}
  return type === 'delete_file' ? [] : [path, moveTo].filter((one) => typeof one === 'string')
}

const changes = { create_file: 'create', update_file: 'update', delete_file: 'delete' } as const

async function applyOperation(operation: ApplyPatchOperation, call: BuiltInContext): Promise<string> {
  if (typeof operation !== 'object' || operation === null) throw invalid('operation must be an object.')
  const { type } = operation
  oneOf('create_file', 'update_file', 'delete_file')(type, 'operation.type')
  const plan = callPlan(call)
  const path = boundedPath(string(operation.path, 'operation.path'))
  const given = 'diff' in operation ? operation.diff : undefined
  if (given === undefined && (type === 'create_file' || (type === 'update_file' && operation.moveTo === undefined)))
    throw invalid(`operation.diff is missing: ${type} takes it as a text.`)
  const diff = given === undefined ? '' : string(given, 'operation.diff')
  const moveTo = type === 'update_file' && operation.moveTo !== undefined ? string(operation.moveTo, 'operation.moveTo') : undefined
  const { summary } = await callLimited(plan.changeLimits(`apply_patch ${path}`), (addon, cancel) => {
    const root = grantedRoot(addon, plan)
    if (moveTo !== undefined)
      return addon.applyPatch(root, moving(path, moveTo, diff), plan.maxOutputBytes, plan.publishSeen(addon), cancel)
    return addon.changeFile(root, path, { change: changes[type], diff }, plan.maxOutputBytes, plan.publishSeen(addon), cancel)
  }).catch(async (error: unknown) => {
    throw await guided(error, type === 'delete_file', call.settings.rootDir)
  })
  return summary
}

/** Makes one patch of a change and a move, so that both happen or neither. */
function moving(path: string, to: string, diff: string): string {
  if (/[\r\n]/u.test(path + to)) throw invalid('The paths of a move must not contain line breaks.')
  return `*** Begin Patch\n*** Update File: ${path}\n*** Move to: ${to}\n${diff}${diff === '' || diff.endsWith('\n') ? '' : '\n'}*** End Patch\n`
}
