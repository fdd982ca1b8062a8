import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { formatDuration, formatTime } from '../format.js'
import type { ReportCall } from '../report-data.js'
import { useNow, useWheel, useWidth } from './hooks.js'
import { type Bar, makeLanes } from './lanes.js'
import type { Selection } from './selection.js'
import { onThemeChange } from './theme.jsx'
import { findBar, type LaneRow, layOut, paint, RULER, type Span, wholeSpan, within } from './timeline-picture.js'
import { durationMs, endings } from './words.js'

interface Props {
  calls: readonly ReportCall[]
  open: ReportCall | undefined
  choose(row: number): void
  selection: Selection
  change(part: Partial<Selection>): void
  isLive: boolean
}

/** As in the style sheet: a picture that is higher has to be scrolled. */
const SEEN = 420

/** The calls over time, a lane for each task. It is a picture: the list has the same calls for keyboards and screen readers. */
export function Timeline({ calls, open, choose, selection, change, isLive }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const now = useNow(isLive && calls.some(({ ending }) => ending === 'started'))
  const lanes = useMemo(() => makeLanes(calls, now), [calls, now])
  const whole = useMemo(() => wholeSpan(lanes), [lanes])
  const [zoomed, setZoomed] = useState<Span | null>(null)
  const [hovered, setHovered] = useState<{ bar: Bar; x: number; y: number } | null>(null)
  const width = useWidth(canvas)
  const span = zoomed ?? whole
  const rows = useMemo(() => layOut(lanes), [lanes])
  const height = RULER + rows.reduce((sum, { height: own }) => sum + own, 0)

  useEffect(() => {
    const draw = (): void => paint(canvas.current as HTMLCanvasElement, { rows, span, width, height, open: open?.row ?? null })
    draw()
    return onThemeChange(draw)
  }, [rows, span, width, height, open])

  const zoom = (factor: number, centre = (span.from + span.to) / 2): void => {
    const from = centre - (centre - span.from) * factor
    const to = centre + (span.to - centre) * factor
    if (to - from >= whole.to - whole.from) setZoomed(null)
    else if (to - from >= 2) setZoomed(within(whole, { from, to }))
  }
  const pan = (share: number): void => {
    const step = (span.to - span.from) * share
    if (zoomed !== null) setZoomed(within(whole, { from: span.from + step, to: span.to + step }))
  }
  const barAt = (event: MouseEvent): Bar | null => {
    const { left, top } = (canvas.current as HTMLCanvasElement).getBoundingClientRect()
    return findBar(rows, span, width, event.clientX - left, event.clientY - top)
  }
  const timeAt = (event: MouseEvent): number => {
    const { left } = (canvas.current as HTMLCanvasElement).getBoundingClientRect()
    return span.from + ((event.clientX - left) / Math.max(1, width)) * (span.to - span.from)
  }
  useWheel(canvas, (event) => {
    if (event.ctrlKey || event.metaKey) zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event))
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX / width)
    else return
    event.preventDefault()
  })
  return (
    <section aria-labelledby="timeline-title" class="timeline">
      <h2 id="timeline-title">Timeline</h2>
      <div class="zoom" role="group" aria-label="Zoom of the timeline">
        <button type="button" onClick={() => zoom(0.5)} aria-label="Zoom in">
          +
        </button>
        <button type="button" onClick={() => zoom(2)} disabled={zoomed === null} aria-label="Zoom out">
          −
        </button>
        <button type="button" onClick={() => pan(-0.5)} disabled={zoomed === null} aria-label="Earlier">
          ←
        </button>
        <button type="button" onClick={() => pan(0.5)} disabled={zoomed === null} aria-label="Later">
          →
        </button>
        <button type="button" onClick={() => setZoomed(null)} disabled={zoomed === null}>
          All
        </button>
      </div>
      {height > SEEN && <p class="quiet">{rows.length} agents and tasks: scroll to see all.</p>}
      <div class="canvas" tabIndex={0} role="region" aria-label="Agents and their calls over time">
        <Agents rows={rows} selection={selection} change={change} />
        <canvas
          ref={canvas}
          role="img"
          aria-label={`${lanes.length} agents or tasks over ${formatDuration(whole.to - whole.from)}; the list below has every call`}
          style={{ height: `${height}px` }}
          onMouseMove={(event) => {
            const bar = barAt(event)
            setHovered(bar === null ? null : { bar, x: event.clientX, y: event.clientY })
          }}
          onMouseLeave={() => setHovered(null)}
          onClick={(event) => {
            const bar = barAt(event)
            if (bar !== null) choose(bar.call.row)
          }}
        />
      </div>
      {hovered !== null && <Tooltip {...hovered} />}
      <p class="legend">
        <span class="wait" aria-hidden="true" /> nothing of the task ran: the model, a person or another task was at work
      </p>
    </section>
  )
}

const Tooltip = ({ bar: { call }, x, y }: { bar: Bar; x: number; y: number }) => (
  <div class="tooltip" role="tooltip" style={{ left: `${Math.min(x + 12, innerWidth - 320)}px`, top: `${y + 14}px` }}>
    <strong>{call.tool}</strong> {call.target}
    <br />
    {endings[call.ending].label}, {formatTime(call.startedAtMs)}, {formatDuration(durationMs(call))}
    {call.waitedMs !== null && call.waitedMs > 0 && `, waited ${formatDuration(call.waitedMs)}`}
  </div>
)

/** The agents as a tree, each beside its lane. Choosing one shows its calls alone. */
const Agents = ({
  rows,
  selection,
  change,
}: {
  rows: readonly LaneRow[]
  selection: Selection
  change(part: Partial<Selection>): void
}) => (
  <ul class="agents" style={{ paddingTop: `${RULER}px` }}>
    {rows.map(({ lane: { agent }, height }) => {
      const isChosen = selection.node === agent.nodeId && (selection.run === null || selection.run === agent.runId)
      return (
        <li key={agent.key} style={{ height: `${height}px`, paddingLeft: `${agent.depth * 14}px` }}>
          <button
            type="button"
            aria-pressed={isChosen}
            title={`${agent.name}: ${agent.calls.length} calls, ${formatDuration(agent.workMs)} of tools in ${formatDuration(agent.spanMs)}`}
            onClick={() => change(isChosen ? { node: null, run: null } : { node: agent.nodeId, run: agent.runId })}
          >
            <span class="name">
              {agent.depth > 0 && <span aria-hidden="true">└ </span>}
              {agent.name}
            </span>
            <span class="numbers">
              {agent.failed > 0 && (
                <strong>
                  ✗{agent.failed}
                  <span class="hidden"> failed,</span>
                </strong>
              )}{' '}
              {formatDuration(agent.spanMs)}
            </span>
          </button>
        </li>
      )
    })}
  </ul>
)
