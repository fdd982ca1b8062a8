import { useEffect, useRef, useState } from 'preact/hooks'
import { formatBytes, formatDuration, formatTime } from '../format.js'
import type { ReportCall } from '../report-data.js'
import { durationMs, endings, taskName } from './words.js'

interface Props {
  calls: readonly ReportCall[]
  open: ReportCall | undefined
  choose(row: number): void
}

/** As in the style sheet. */
const ROW_HEIGHT = 44
/** Rows that are made above and below what is seen. */
const MARGIN = 8

/** The calls as a list. Only the rows that can be seen are made. */
export function CallList({ calls, open, choose }: Props) {
  const list = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(600)
  const index = open === undefined ? -1 : calls.indexOf(open)

  useEffect(() => {
    const element = list.current as HTMLDivElement
    const observer = new ResizeObserver(() => setHeight(element.clientHeight))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])

  useEffect(() => {
    const element = list.current
    if (element === null || index === -1) return
    const [from, to] = [index * ROW_HEIGHT, (index + 1) * ROW_HEIGHT]
    if (from < element.scrollTop) element.scrollTop = from
    else if (to > element.scrollTop + element.clientHeight) element.scrollTop = to - element.clientHeight
  }, [index])

  const move = (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor(height / ROW_HEIGHT) - 1)
    const steps: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -calls.length,
      End: calls.length,
    }
    const step = steps[event.key]
    if (step === undefined || calls.length === 0 || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    // Nothing is open before the first call, or after the last one for a key that leads upwards.
    const from = index === -1 ? (step > 0 ? -1 : calls.length) : index
    const next = Math.min(calls.length - 1, Math.max(0, from + step))
    choose((calls[next] as ReportCall).row)
  }

  const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - MARGIN)
  const last = Math.min(calls.length, Math.ceil((top + height) / ROW_HEIGHT) + MARGIN)
  const isOpenMade = index >= first && index < last
  return (
    <section aria-labelledby="calls-title" class="calls">
      <h2 id="calls-title">Calls</h2>
      {open === undefined && calls.length > 0 && (
        <p class="quiet">Choose a call to see what it was given, what it changed and what it returned.</p>
      )}
      <div
        ref={list}
        class="scroll"
        role="listbox"
        tabIndex={0}
        aria-labelledby="calls-title"
        aria-activedescendant={isOpenMade ? `call-${open?.row}` : undefined}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
        onKeyDown={move}
      >
        <div role="presentation" style={{ height: `${calls.length * ROW_HEIGHT}px` }}>
          {calls.slice(first, last).map((call, offset) => (
            <Row key={call.row} call={call} position={first + offset} count={calls.length} isOpen={call === open} choose={choose} />
          ))}
        </div>
      </div>
    </section>
  )
}

interface RowProps {
  call: ReportCall
  position: number
  count: number
  isOpen: boolean
  choose(row: number): void
}

const Row = ({ call, position, count, isOpen, choose }: RowProps) => (
  <div
    id={`call-${call.row}`}
    class={`row ${call.ending}`}
    role="option"
    aria-selected={isOpen}
    aria-posinset={position + 1}
    aria-setsize={count}
    style={{ transform: `translateY(${position * ROW_HEIGHT}px)` }}
    onClick={() => choose(call.row)}
  >
    <span class="sign" aria-hidden="true">
      {endings[call.ending].sign}
    </span>
    <span class="hidden">{endings[call.ending].label}:</span>
    <span class="tool">{call.isTask ? 'task' : call.tool}</span>
    <span class="target">
      {call.exit !== '' && <strong class="exit">{call.exit}</strong>}
      {[call.target, call.reason].filter(Boolean).join(' — ')}
    </span>
    <span class="task">{call.agent ?? taskName(call)}</span>
    <span class="numbers">
      {formatTime(call.startedAtMs)} · {formatDuration(durationMs(call))} · {formatBytes(call.outputBytes)}
    </span>
  </div>
)
