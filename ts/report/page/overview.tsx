import { useEffect, useMemo, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { formatBytes, formatDuration, formatTime } from '../format.js'
import type { ReportCall } from '../report-data.js'
import { colour, onThemeChange } from './theme.jsx'
import { durationMs } from './words.js'

interface ToolTotal {
  tool: string
  calls: number
  succeeded: number
  ms: number
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
              {['Tool', 'Calls', 'Succeeded', 'Time', 'Given', 'Returned'].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {totals.map(({ tool, calls: count, succeeded, ms, inputBytes, outputBytes }) => (
              <tr key={tool}>
                <th scope="row">{tool}</th>
                <td>{count.toLocaleString()}</td>
                <td>{succeeded.toLocaleString()}</td>
                <td>{formatDuration(ms)}</td>
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
      total = { tool: call.tool, calls: 0, succeeded: 0, ms: 0, inputBytes: 0, outputBytes: 0 }
      totals.set(call.tool, total)
    }
    total.calls += 1
    total.succeeded += call.ending === 'success' ? 1 : 0
    total.ms += durationMs(call) ?? 0
    total.inputBytes += call.inputBytes ?? 0
    total.outputBytes += call.outputBytes ?? 0
  }
  return [...totals.values()].sort((one, other) => other.ms - one.ms)
}

/** Into how many parts the plot divides the time. */
const PARTS = 80
const HEIGHT = 160

/** Time at work and bytes returned, in equal parts of the whole time. */
function plotData(calls: readonly ReportCall[]): [number[], number[], number[]] {
  const start = calls.reduce((least, call) => Math.min(least, call.startedAtMs), Number.POSITIVE_INFINITY)
  const end = calls.reduce((latest, call) => Math.max(latest, call.finishedAtMs ?? call.startedAtMs), start + 1)
  const width = (end - start) / PARTS
  const zeros = (): number[] => Array.from({ length: PARTS }, () => 0)
  const [seconds, bytes] = [zeros(), zeros()]
  const partOf = (ms: number): number => Math.min(PARTS - 1, Math.floor((ms - start) / width))
  for (const call of calls) {
    if (call.isTask) continue
    const last = call.finishedAtMs ?? call.startedAtMs
    for (let part = partOf(call.startedAtMs); part <= partOf(Math.max(last, call.startedAtMs)); part += 1) {
      const [from, to] = [Math.max(call.startedAtMs, start + part * width), Math.min(last, start + (part + 1) * width)]
      seconds[part] = (seconds[part] as number) + Math.max(0, to - from) / 1_000
    }
    const part = partOf(last)
    bytes[part] = (bytes[part] as number) + (call.outputBytes ?? 0)
  }
  return [seconds.map((_, part) => (start + (part + 0.5) * width) / 1_000), seconds, bytes]
}

function Plot({ calls }: { calls: readonly ReportCall[] }) {
  const panel = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = panel.current as HTMLDivElement
    let plot: uPlot | undefined
    const draw = (): void => {
      plot?.destroy()
      plot = new uPlot(plotOptions(element.clientWidth), plotData(calls), element)
    }
    draw()
    const observer = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height: HEIGHT }))
    observer.observe(element)
    const forget = onThemeChange(draw)
    return () => {
      observer.disconnect()
      forget()
      plot?.destroy()
    }
  }, [calls])
  return <div ref={panel} class="plot" role="img" aria-label="Time at work and bytes returned over time; the table below has the totals" />
}

function plotOptions(width: number): uPlot.Options {
  const axis = { stroke: colour('quiet'), grid: { stroke: colour('line'), width: 1 }, ticks: { stroke: colour('line'), width: 1 } }
  const bars = uPlot.paths.bars?.({ size: [0.8, 40] }) as uPlot.Series.PathBuilder
  return {
    width: Math.max(200, width),
    height: HEIGHT,
    cursor: { drag: { x: false, y: false } },
    scales: {
      bytes: { range: (_, __, latest) => [0, Math.max(1, latest)] },
      seconds: { range: (_, __, latest) => [0, Math.max(0.001, latest)] },
    },
    axes: [
      // As in the timeline: the hour, the minute and the second.
      { ...axis, space: 90, values: (_, ticks) => ticks.map((tick) => formatTime(tick * 1_000).slice(0, 8)) },
      { ...axis, scale: 'seconds', size: 70, values: (_, ticks) => ticks.map((tick) => formatDuration(tick * 1_000)) },
      { ...axis, scale: 'bytes', side: 1, size: 70, grid: { show: false }, values: (_, ticks) => ticks.map(formatBytes) },
    ],
    series: [
      {},
      {
        label: 'Time at work',
        scale: 'seconds',
        stroke: colour('accent'),
        fill: colour('accent'),
        paths: bars,
        points: { show: false },
        // Nothing where nobody points at.
        value: (_, seconds) => (seconds === null ? '' : formatDuration(seconds * 1_000)),
      },
      {
        label: 'Bytes returned',
        scale: 'bytes',
        stroke: colour('second'),
        width: 2,
        points: { show: false },
        value: (_, bytes) => (bytes === null ? '' : formatBytes(bytes)),
      },
    ],
  }
}
