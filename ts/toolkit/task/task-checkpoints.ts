/** Attempts of a task that begin from the state before the one that died. */
import { ToolError } from '../../core/errors.js'
import type { ToolContext } from '../../journal/calls/context.js'
import type { Checkpoints } from '../../journal/checkpoints/checkpoints.js'
import type { ToolCallRow } from '../../journal/journal-store.js'

/** The turn that the calls of an attempt belong to; nothing outside of a task. */
export function turnOfTask({ runId, nodeId, iteration, attempt }: Partial<ToolContext> = {}): string | undefined {
  if (runId === undefined || nodeId === undefined) return undefined
  return [runId, nodeId, iteration ?? 0, attempt ?? 1].map((part) => encodeURIComponent(String(part))).join('/')
}

const doneTurn = (turn: string): string => `${turn}/done`

/** Tools whose effects are those on files, which a restoration takes back. */
const FILE_TOOLS = ['write', 'edit', 'apply_patch', 'checkpoint_restore']

/** Whether an effect is one on files alone. */
export const isOfFiles = ({ toolName }: ToolCallRow): boolean => FILE_TOOLS.includes(toolName)

/** The effects that a restoration leaves. */
export const effectsBesidesFiles = (effects: readonly ToolCallRow[]): ToolCallRow[] => effects.filter((effect) => !isOfFiles(effect))

/**
 * Takes back what an attempt has changed, unless it came to its end or nothing is known of it.
 *
 * @returns whether the files are as before it.
 * @throws {ToolError} CHECKPOINT_CONFLICT when somebody else has changed them since.
 */
export async function undoAttempt(checkpoints: Checkpoints, context: ToolContext, signal: AbortSignal): Promise<boolean> {
  const turn = turnOfTask(context)
  if (turn === undefined || (await isKnown(checkpoints, doneTurn(turn)))) return false
  try {
    await checkpoints.undo({ turn }, { signal })
    return true
  } catch (error) {
    if (ToolError.isInstance(error) && error.code === 'CHECKPOINT_CALL_UNKNOWN') return false
    throw error
  }
}

async function isKnown(checkpoints: Checkpoints, turn: string): Promise<boolean> {
  try {
    await checkpoints.undo({ turn }, { dryRun: true })
    return true
  } catch (error) {
    if (ToolError.isInstance(error) && error.code === 'CHECKPOINT_CALL_UNKNOWN') return false
    throw error
  }
}

/** An attempt has come to its end: a later one does not take it back. */
export async function noteDone(checkpoints: Checkpoints, context: ToolContext): Promise<void> {
  const turn = turnOfTask(context)
  if (turn !== undefined) await checkpoints.beginTurn(doneTurn(turn))
}
