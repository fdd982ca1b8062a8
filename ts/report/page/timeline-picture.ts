/** The picture of the timeline: bars on a canvas, and what is under the pointer. */
import { formatTime } from '../format.js'
import type { ReportCall } from '../report-data.js'
import type { Bar, Lane } from './lanes.js'
import { multiples, timeStep } from './scale.js'
import { colour } from './theme.jsx'
import { endings, isFailure } from './words.js'

/** What part of the time is seen, in milliseconds since 1970. */
export interface Span {
  from: number
  to: number
}

const LEVEL = 14
const GAP = 8
/** The least height of a lane: a button stands beside it. */
const LEAST = 26
export const RULER = 18
const MIN_BAR = 3
/** The least width of a call that failed: as wide as a finger. */
export const MIN_FAILED = 24

/** A lane with its place in the picture. */
export interface LaneRow {
  lane: Lane
  top: number
  height: number
}

export function layOut(lanes: readonly Lane[]): LaneRow[] {
  let top = RULER
  return lanes.map((lane) => {
    const height = Math.max(LEAST, lane.levels * LEVEL + GAP)
    top += height
    return { lane, top: top - height, height }
  })
}

export function wholeSpan(lanes: readonly Lane[]): Span {
  const bars = lanes.flatMap((lane) => lane.bars)
  const from = bars.reduce((least, { start }) => Math.min(least, start), Number.POSITIVE_INFINITY)
  const to = bars.reduce((last, { end }) => Math.max(last, end), from + 1)
  return Number.isFinite(from) ? { from, to } : { from: 0, to: 1 }
}

export function within(whole: Span, { from, to }: Span): Span {
  const shift = Math.max(0, whole.from - from) - Math.max(0, to - whole.to)
  return { from: from + shift, to: to + shift }
}

export interface Picture {
  rows: readonly LaneRow[]
  span: Span
  width: number
  height: number
  open: number | null
}

export function paint(canvas: HTMLCanvasElement, { rows, span, width, height, open }: Picture): void {
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
  const x = (ms: number): number => ((ms - span.from) / (span.to - span.from)) * width
  paintRuler(context, span, width, height, x, colours)
  for (const { lane, top, height: own } of rows) {
    context.save()
    context.beginPath()
    context.rect(0, top, width, own)
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
    // Failures come last, so that nothing lies over them.
    for (const bar of inOrder(lane.bars)) paintBar(context, bar, top, { x, width, isOpen: bar.call.row === open, colours })
    context.restore()
    context.strokeStyle = colours.line
    context.beginPath()
    context.moveTo(0, top + own - 0.5)
    context.lineTo(width, top + own - 0.5)
    context.stroke()
  }
}

type Colours = Record<'text' | 'quiet' | 'line' | 'page' | 'wait', string>

interface Place {
  x(ms: number): number
  width: number
  isOpen: boolean
  colours: Colours
}

const inOrder = (bars: readonly Bar[]): Bar[] => [
  ...bars.filter(({ call }) => !isFailure(call)),
  ...bars.filter(({ call }) => isFailure(call)),
]

/** The left and the right end of a bar. */
function endsOf(call: ReportCall, from: number, to: number, width: number): [left: number, right: number] {
  const least = isFailure(call) ? MIN_FAILED : MIN_BAR
  // A mark at the end of the picture must not be cut.
  const left = from > width || to < 0 ? from : Math.min(from, Math.max(0, width - least))
  return [left, Math.max(left + least, to)]
}

function paintBar(context: CanvasRenderingContext2D, bar: Bar, laneTop: number, { x, width, isOpen, colours }: Place): void {
  const { call, start, end, level } = bar
  const [left, right] = endsOf(call, x(start), x(end), width)
  const own = right - left
  const top = laneTop + 2 + level * LEVEL
  const height = LEVEL - 3
  context.fillStyle = colour(call.ending)
  context.fillRect(left, top, own, height)
  if (call.waitedMs !== null && call.waitedMs > 0) {
    context.fillStyle = colours.wait
    context.fillRect(left, top, Math.min(own, x(start + call.waitedMs) - x(start)), height)
  }
  if (isFailure(call)) {
    context.strokeStyle = colours.page
    context.strokeRect(left - 0.5, top - 0.5, own + 1, height + 1)
  }
  if (call.ending !== 'success' && own > 9) {
    context.fillStyle = colours.page
    context.fillText(endings[call.ending].sign, left + 2, top + height / 2 + 1)
  }
  if (isOpen) {
    context.strokeStyle = colours.text
    context.lineWidth = 2
    context.strokeRect(left - 2, top - 1, own + 4, height + 2)
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
  const target = (span.to - span.from) / Math.max(1, width / 110)
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

/** The call at a place. Of failures that lie over each other, the last one is on top. */
export function findBar(rows: readonly LaneRow[], span: Span, width: number, x: number, y: number): Bar | null {
  const row = rows.find(({ top, height }) => y >= top && y < top + height)
  if (row === undefined) return null
  const level = Math.min(row.lane.levels - 1, Math.floor((y - row.top - 2) / LEVEL))
  const place = (ms: number): number => ((ms - span.from) / (span.to - span.from)) * width
  let nearest: Bar | null = null
  let least = 6
  for (const bar of inOrder(row.lane.bars)) {
    if (bar.level !== level) continue
    const [left, right] = endsOf(bar.call, place(bar.start), place(bar.end), width)
    const distance = x < left ? left - x : x > right ? x - right : 0
    if (distance < least || (distance === 0 && isFailure(bar.call))) [nearest, least] = [bar, distance]
  }
  return nearest
}
