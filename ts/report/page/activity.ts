import type { ReportCall } from '../report-data.js'

/** What calls did over time, in equal parts of the whole time. */
export interface Activity {
  /** The first start, in milliseconds since 1970. */
  from: number
  /** The length of a part, in milliseconds. */
  partMs: number
  /** The time at work in each part, in milliseconds: two calls at once count twice. */
  workMs: number[]
  /** The bytes that calls returned in each part. */
  bytes: number[]
}

/** A task is at work by its calls. */
export function activityOf(calls: readonly ReportCall[], parts: number): Activity {
  const from = calls.reduce((least, call) => Math.min(least, call.startedAtMs), Number.POSITIVE_INFINITY)
  const to = calls.reduce((latest, call) => Math.max(latest, call.finishedAtMs ?? call.startedAtMs), from + 1)
  const partMs = (to - from) / parts
  const zeros = (): number[] => Array.from({ length: parts }, () => 0)
  const [workMs, bytes] = [zeros(), zeros()]
  const partOf = (ms: number): number => Math.min(parts - 1, Math.floor((ms - from) / partMs))
  for (const call of calls) {
    if (call.isTask) continue
    const last = Math.max(call.startedAtMs, call.finishedAtMs ?? call.startedAtMs)
    for (let part = partOf(call.startedAtMs); part <= partOf(last); part += 1) {
      const [start, end] = [Math.max(call.startedAtMs, from + part * partMs), Math.min(last, from + (part + 1) * partMs)]
      workMs[part] = (workMs[part] as number) + Math.max(0, end - start)
    }
    bytes[partOf(last)] = (bytes[partOf(last)] as number) + (call.outputBytes ?? 0)
  }
  return { from, partMs, workMs, bytes }
}
