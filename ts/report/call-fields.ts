/** The fields that the command shows for a call, computed from its row. */
import type { ToolCallRow } from '../journal/journal-store.js'
import { parseObject } from '../core/parse-rows.js'
import { shown, shownJson, type TerminalText } from '../core/terminal.js'
import { shownTarget } from './shown-target.js'

/** Why a call failed, in one line; empty if the row does not say. */
export function errorOf({ errorJson }: ToolCallRow): string {
  if (errorJson === null) return ''
  let error: unknown
  try {
    error = JSON.parse(errorJson)
  } catch {
    return errorJson
  }
  if (typeof error === 'string') return error
  const { code, name, summary, message } = (error ?? {}) as Record<string, unknown>
  const what = [code, name].find((word) => typeof word === 'string')
  // The first line of a message says what happened; place and next move may follow.
  const why = [summary, message].find((text) => typeof text === 'string')?.split('\n', 1)[0]
  return [what, why].filter((part) => part !== undefined && part !== '').join(': ')
}

/**
 * The bytes of a call's input: the recorded size of a content or a patch, and the length of the arguments for any other tool.
 */
export function inputBytesOf({ inputJson }: ToolCallRow): number | null {
  if (inputJson === null) return null
  const { contentBytes, patchBytes } = parseObject(inputJson) ?? {}
  const bytes = contentBytes ?? patchBytes
  return typeof bytes === 'number' ? bytes : Buffer.byteLength(inputJson)
}

/** The bytes of a call's output, including the part that was cut. */
export function outputBytesOf({ outputJson, outputBytes }: ToolCallRow): number | null {
  return outputBytes ?? (outputJson === null ? null : Buffer.byteLength(outputJson))
}

/** How a command of a contract session ended: `exit 1`, `SIGKILL`, `timed out`; empty for exit code 0 and other calls. */
export function exitOf({ outputJson }: ToolCallRow): string {
  // Most outputs are long texts that need no parsing.
  if (outputJson === null || !outputJson.includes('"exit_code"')) return ''
  const { data } = parseObject(outputJson) ?? {}
  const { exit_code: code, signal, timed_out } = (data ?? {}) as Record<string, unknown>
  if (timed_out === true) return 'timed out'
  if (typeof signal === 'string') return signal
  return typeof code === 'number' && code !== 0 ? `exit ${code}` : ''
}

/** How a call ended; `refused` is an error before the call had done anything. */
export type Ending = ToolCallRow['status'] | 'refused'

/** How a call ended. */
export function endingOf({ status, acted }: ToolCallRow): Ending {
  return status === 'error' && !acted ? 'refused' : status
}

/** How long a call took; at least 0, because clocks can be set back. */
export function durationOf({ startedAtMs, finishedAtMs }: ToolCallRow): number | null {
  return finishedAtMs === null ? null : Math.max(0, finishedAtMs - startedAtMs)
}

/** A call as one line of JSON: its row, and the fields that the timeline computes from it. */
export function jsonLine(call: ToolCallRow): TerminalText {
  const fields = {
    ...call,
    target: shownTarget(call),
    durationMs: durationOf(call),
    inputBytes: inputBytesOf(call),
    outputBytes: outputBytesOf(call),
    exit: exitOf(call),
  }
  return shown`${shownJson(fields)}\n`
}
