import { useMemo } from 'preact/hooks'
import { formatBytes, formatDuration } from '../format.js'
import type { ReportCall } from '../report-data.js'
import { Plot } from './plot.jsx'
import { durationMs } from './words.js'

interface ToolTotal {
  tool: string
  calls: number
  succeeded: number
  failed: number
  refused: number
  ms: number
  /** How long each call took. */
  times: number[]
  inputBytes: number
  outputBytes: number
}

/** Totals by tool, and a plot of time and bytes. */
export function Overview({ calls }: { calls: readonly ReportCall[] }) {
  const totals = useMemo(() => totalsOf(calls), [calls])
  if (calls.length === 0) return null
  return (
    <section aria-labelledby="totals-title" class="totals">
      <h2 id="totals-title">Totals</h2>
      <Plot calls={calls} />
      <div class="table" tabIndex={0} role="region" aria-label="Totals by tool">
        <table>
          <thead>
            <tr>
              {['Tool', 'Calls', 'Succeeded', 'Failed', 'Refused', 'Time', 'Median', 'Given', 'Returned'].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {totals.map(({ tool, calls: count, succeeded, failed, refused, ms, times, inputBytes, outputBytes }) => (
              <tr key={tool}>
                <th scope="row">{tool}</th>
                <td>{count.toLocaleString()}</td>
                <td>{succeeded.toLocaleString()}</td>
                <td>{failed.toLocaleString()}</td>
                <td>{refused.toLocaleString()}</td>
                <td>{formatDuration(ms)}</td>
                <td>{formatDuration(median(times))}</td>
                <td>{formatBytes(inputBytes)}</td>
                <td>{formatBytes(outputBytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

function totalsOf(calls: readonly ReportCall[]): ToolTotal[] {
  const totals = new Map<string, ToolTotal>()
  for (const call of calls) {
    if (call.isTask) continue
    let total = totals.get(call.tool)
    if (total === undefined) {
      total = { tool: call.tool, calls: 0, succeeded: 0, failed: 0, refused: 0, ms: 0, times: [], inputBytes: 0, outputBytes: 0 }
      totals.set(call.tool, total)
    }
    total.calls += 1
    total.succeeded += call.ending === 'success' ? 1 : 0
    total.failed += call.ending === 'error' || call.ending === 'unknown' ? 1 : 0
    total.refused += call.ending === 'refused' ? 1 : 0
    total.ms += durationMs(call) ?? 0
    total.times.push(...(call.finishedAtMs === null ? [] : [durationMs(call) ?? 0]))
    total.inputBytes += call.inputBytes ?? 0
    total.outputBytes += call.outputBytes ?? 0
  }
  return [...totals.values()].sort((one, other) => other.ms - one.ms)
}

function median(times: readonly number[]): number | null {
  const sorted = [...times].sort((one, other) => one - other)
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null
}
