import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { formatDuration, formatTime } from '../format.js'
import type { ReportCall } from '../report-data.js'
import { useNow, useWheel, useWidth } from './hooks.js'
import { type Bar, type Lane, makeLanes } from './lanes.js'
import { multiples, timeStep } from './scale.js'
import { colour, onThemeChange } from './theme.jsx'
import { durationMs, endings } from './words.js'

interface Props {
  calls: readonly ReportCall[]
  open: ReportCall | undefined
  choose(row: number): void
  isLive: boolean
}

/** What part of the time is seen, in milliseconds since 1970. */
interface Span {
  from: number
  to: number
}

const LEVEL = 14
const GAP = 8
const LABEL = 150
const RULER = 18
const MIN_BAR = 3

/** The calls over time, a lane for each task. It is a picture: the list has the same calls for keyboards and screen readers. */
export function Timeline({ calls, open, choose, isLive }: Props) {
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
    return span.from + ((event.clientX - left - LABEL) / Math.max(1, width - LABEL)) * (span.to - span.from)
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
      <div class="canvas" tabIndex={0} role="region" aria-label="Timeline, as a picture">
        <canvas
          ref={canvas}
          role="img"
          aria-label={`${lanes.length} tasks over ${formatDuration(whole.to - whole.from)}; the list below has every call`}
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

/** A lane with its place in the picture. */
interface LaneRow {
  lane: Lane
  top: number
  height: number
}

function layOut(lanes: readonly Lane[]): LaneRow[] {
  let top = RULER
  return lanes.map((lane) => {
    const height = lane.levels * LEVEL + GAP
    top += height
    return { lane, top: top - height, height }
  })
}

function wholeSpan(lanes: readonly Lane[]): Span {
  const bars = lanes.flatMap((lane) => lane.bars)
  const from = bars.reduce((least, { start }) => Math.min(least, start), Number.POSITIVE_INFINITY)
  const to = bars.reduce((last, { end }) => Math.max(last, end), from + 1)
  return Number.isFinite(from) ? { from, to } : { from: 0, to: 1 }
}

function within(whole: Span, { from, to }: Span): Span {
  const shift = Math.max(0, whole.from - from) - Math.max(0, to - whole.to)
  return { from: from + shift, to: to + shift }
}

interface Picture {
  rows: readonly LaneRow[]
  span: Span
  width: number
  height: number
  open: number | null
}

function paint(canvas: HTMLCanvasElement, { rows, span, width, height, open }: Picture): void {
  const context = canvas.getContext('2d')
  if (context === null || width === 0) return
  const ratio = devicePixelRatio || 1
  canvas.width = Math.round(width * ratio)
  // No browser draws a canvas of any height; a very long picture is drawn coarser.
  const scale = Math.min(ratio, 16_000 / height)
  canvas.height = Math.round(height * scale)
  context.setTransform(ratio, 0, 0, scale, 0, 0)
  context.clearRect(0, 0, width, height)
  context.font = '12px system-ui, sans-serif'
  context.textBaseline = 'middle'
  const colours = { text: colour('text'), quiet: colour('quiet'), line: colour('line'), page: colour('page'), wait: colour('wait') }
  const x = (ms: number): number => LABEL + ((ms - span.from) / (span.to - span.from)) * (width - LABEL)
  paintRuler(context, span, width, height, x, colours)
  for (const { lane, top, height: own } of rows) {
    context.save()
    context.beginPath()
    context.rect(LABEL, top, width - LABEL, own)
    context.clip()
    const middle = top + LEVEL / 2 + 2
    context.strokeStyle = colours.wait
    context.setLineDash([2, 3])
    context.beginPath()
    for (const { start, end } of lane.gaps) {
      context.moveTo(x(start), middle)
      context.lineTo(x(end), middle)
    }
    context.stroke()
    context.setLineDash([])
    for (const bar of lane.bars) paintBar(context, bar, top, x, bar.call.row === open, colours)
    context.restore()
    context.fillStyle = colours.text
    context.fillText(fitText(context, lane.name, LABEL - 12), 4, middle)
    context.strokeStyle = colours.line
    context.beginPath()
    context.moveTo(0, top + own - 0.5)
    context.lineTo(width, top + own - 0.5)
    context.stroke()
  }
}

type Colours = Record<'text' | 'quiet' | 'line' | 'page' | 'wait', string>

function paintBar(
  context: CanvasRenderingContext2D,
  bar: Bar,
  laneTop: number,
  x: (ms: number) => number,
  isOpen: boolean,
  colours: Colours,
): void {
  const { call, start, end, level } = bar
  const left = x(start)
  const width = Math.max(MIN_BAR, x(end) - left)
  const top = laneTop + 2 + level * LEVEL
  const height = LEVEL - 3
  context.fillStyle = colour(call.ending)
  context.fillRect(left, top, width, height)
  if (call.waitedMs !== null && call.waitedMs > 0) {
    context.fillStyle = colours.wait
    context.fillRect(left, top, Math.min(width, x(start + call.waitedMs) - left), height)
  }
  if (call.ending !== 'success' && width > 9) {
    context.fillStyle = colours.page
    context.fillText(endings[call.ending].sign, left + 2, top + height / 2 + 1)
  }
  if (isOpen) {
    context.strokeStyle = colours.text
    context.lineWidth = 2
    context.strokeRect(left - 2, top - 1, width + 4, height + 2)
    context.lineWidth = 1
  }
}

function paintRuler(
  context: CanvasRenderingContext2D,
  span: Span,
  width: number,
  height: number,
  x: (ms: number) => number,
  colours: Colours,
): void {
  const target = (span.to - span.from) / Math.max(1, (width - LABEL) / 110)
  const step = timeStep(target)
  context.strokeStyle = colours.line
  context.fillStyle = colours.quiet
  for (const ms of multiples(step, span.from, span.to)) {
    const at = Math.round(x(ms)) + 0.5
    context.beginPath()
    context.moveTo(at, RULER - 4)
    context.lineTo(at, height)
    context.stroke()
    const label = step < 1_000 ? formatTime(ms) : formatTime(ms).slice(0, 8)
    if (at + 60 < width) context.fillText(label, at + 3, RULER / 2)
  }
}

function fitText(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text
  let length = Math.min(text.length, 40)
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > width) length -= 1
  return `${text.slice(0, length)}…`
}

function findBar(rows: readonly LaneRow[], span: Span, width: number, x: number, y: number): Bar | null {
  const row = rows.find(({ top, height }) => y >= top && y < top + height)
  if (row === undefined || x < LABEL) return null
  const level = Math.floor((y - row.top - 2) / LEVEL)
  const place = (ms: number): number => LABEL + ((ms - span.from) / (span.to - span.from)) * (width - LABEL)
  let nearest: Bar | null = null
  let least = 6
  for (const bar of row.lane.bars) {
    if (bar.level !== level) continue
    const [left, right] = [place(bar.start), Math.max(place(bar.start) + MIN_BAR, place(bar.end))]
    const distance = x < left ? left - x : x > right ? x - right : 0
    if (distance < least) [nearest, least] = [bar, distance]
  }
  return nearest
}
