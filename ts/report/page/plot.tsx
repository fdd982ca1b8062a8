import { useMemo, useRef, useState } from 'preact/hooks'
import { formatBytes, formatDuration, formatTime } from '../format.js'
import type { ReportCall } from '../report-data.js'
import { activityOf } from './activity.js'
import { useWidth } from './hooks.js'
import { amountStep, multiples, timeStep } from './scale.js'

const PARTS = 80
const HEIGHT = 160
const TOP = 8
/** Of the axes of amounts, on both sides, and of the axis of time. */
const SIDE = 70
const RULER = 22
/** About how far the marks of an axis are apart, in pixels. */
const APART = { times: 90, amounts: 30 }

/** Time at work as bars, and bytes returned as a line. A colour comes from the style sheet, and so follows the theme. */
export function Plot({ calls }: { calls: readonly ReportCall[] }) {
  const panel = useRef<HTMLDivElement>(null)
  const width = useWidth(panel)
  const { from, partMs, workMs, bytes } = useMemo(() => activityOf(calls, PARTS), [calls])
  const [pointed, setPointed] = useState<number | null>(null)
  const inner = Math.max(1, width - 2 * SIDE)
  const bottom = HEIGHT - RULER
  const apart = inner / PARTS
  const x = (part: number): number => SIDE + part * apart
  const most = { ms: Math.max(1, ...workMs), bytes: Math.max(1, ...bytes) }
  const y = (amount: number, whole: number): number => bottom - (amount / whole) * (bottom - TOP)
  const rows = (bottom - TOP) / APART.amounts
  const step = timeStep((PARTS * partMs * APART.times) / inner)
  const times = multiples(step, from, from + PARTS * partMs)
  const amountOf = (amount: string): string => (pointed === null ? '' : ` ${amount}`)
  return (
    <div ref={panel} class="plot">
      <svg
        width={width}
        height={HEIGHT}
        role="img"
        aria-label="Time at work and bytes returned over time; the table below has the totals"
        onMouseMove={({ currentTarget, clientX }) => {
          const at = clientX - currentTarget.getBoundingClientRect().left - SIDE
          setPointed(Math.min(PARTS - 1, Math.max(0, Math.floor(at / apart))))
        }}
        onMouseLeave={() => setPointed(null)}
      >
        {times.map((ms) => (
          <g key={ms} transform={`translate(${Math.round(SIDE + ((ms - from) / partMs) * apart)}.5)`}>
            <path class="grid" d={`M0 ${TOP}V${bottom + 5}`} />
            <text y={HEIGHT - 4} text-anchor="middle">
              {step < 1_000 ? formatTime(ms) : formatTime(ms).slice(0, 8)}
            </text>
          </g>
        ))}
        {multiples(timeStep(most.ms / rows), 0, most.ms).map((ms) => (
          <g key={ms} transform={`translate(0 ${Math.round(y(ms, most.ms))}.5)`}>
            <path class="grid" d={`M${SIDE - 5} 0H${SIDE + inner}`} />
            <text x={SIDE - 8} y={4} text-anchor="end">
              {formatDuration(ms)}
            </text>
          </g>
        ))}
        {multiples(amountStep(most.bytes / rows), 0, most.bytes).map((amount) => (
          <text key={amount} x={SIDE + inner + 8} y={y(amount, most.bytes) + 4}>
            {formatBytes(amount)}
          </text>
        ))}
        <path
          class="work"
          d={workMs
            .map(
              (ms, part) =>
                `M${x(part + 0.1).toFixed(1)} ${bottom}h${(apart * 0.8).toFixed(1)}V${y(ms, most.ms).toFixed(1)}H${x(part + 0.1).toFixed(1)}z`,
            )
            .join('')}
        />
        <polyline
          class="bytes"
          points={bytes.map((amount, part) => `${x(part + 0.5).toFixed(1)},${y(amount, most.bytes).toFixed(1)}`).join(' ')}
        />
        {pointed !== null && <path class="pointed" d={`M${x(pointed + 0.5)} ${TOP}V${bottom}`} />}
      </svg>
      <p class="legend">
        <span class="work">■</span> Time at work{amountOf(formatDuration(workMs[pointed ?? 0] ?? null))}
        <span class="bytes">■</span> Bytes returned{amountOf(formatBytes(bytes[pointed ?? 0] ?? null))}
      </p>
    </div>
  )
}
