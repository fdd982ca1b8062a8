import { useEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks'
import type { ReportCall } from '../report-data.js'
import { formatDate } from '../format.js'
import { AtAGlance } from './at-a-glance.jsx'
import { CallDetails } from './call-details.jsx'
import { CallList } from './call-list.jsx'
import { Filters } from './filters.jsx'
import { Forks } from './forks.jsx'
import { Overview } from './overview.jsx'
import type { PageSource } from './page-source.js'
import { readSelection, selectCalls, type Selection, selectionHash } from './selection.js'
import { ThemeButton } from './theme.jsx'
import { Timeline } from './timeline.jsx'
import { isFailure, summary } from './words.js'

/** As in the style sheet. */
const NARROW = 900

/** The calls of a source, by their rows. */
function useCalls(source: PageSource): { calls: ReportCall[]; problem: string | null; isRead: boolean } {
  const byRow = useRef(new Map<number, ReportCall>())
  const [version, changed] = useReducer((count: number) => count + 1, 0)
  const [problem, setProblem] = useState<string | null>(null)
  useEffect(() => {
    source.subscribe((calls) => {
      for (const call of calls) byRow.current.set(call.row, call)
      changed(undefined as never)
    }, setProblem)
  }, [source])
  const calls = useMemo(
    () => [...byRow.current.values()].sort((one, other) => one.startedAtMs - other.startedAtMs || one.row - other.row),
    [version],
  )
  return { calls, problem, isRead: version > 0 }
}

/** The selection of the address. Opening a call adds to the history; typing does not. */
function useSelection(): [Selection, (change: Partial<Selection>) => void] {
  const [selection, set] = useState(() => readSelection(location.hash))
  useEffect(() => {
    const read = (): void => set(readSelection(location.hash))
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
  const change = (part: Partial<Selection>): void => {
    const next = { ...readSelection(location.hash), ...part }
    const isNewCall = part.call !== undefined && part.call !== null
    history[isNewCall ? 'pushState' : 'replaceState'](null, '', selectionHash(next))
    set(next)
  }
  return [selection, change]
}

/** The failure behind the open call, or in front of it; after the last one comes the first. */
function nextFailure(failures: readonly ReportCall[], open: ReportCall | undefined, step: 1 | -1): ReportCall {
  const at = open === undefined ? -1 : failures.indexOf(open)
  const isBehind = (one: ReportCall): boolean => open !== undefined && (one.startedAtMs - open.startedAtMs || one.row - open.row) > 0
  const behind = failures.findIndex(isBehind)
  const from = at !== -1 ? at : (behind === -1 ? failures.length : behind) - (step === 1 ? 1 : 0)
  return failures[(from + step + failures.length) % failures.length] as ReportCall
}

/** `n` opens the next failure, and `N` the one before. */
function useFailureKeys(failures: readonly ReportCall[], open: ReportCall | undefined, choose: (row: number) => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const isTyping = event.target instanceof HTMLElement && event.target.matches('input, select, textarea')
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey || failures.length === 0) return
      if (event.key === 'n') choose(nextFailure(failures, open, 1).row)
      else if (event.key === 'N') choose(nextFailure(failures, open, -1).row)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  })
}

export function App({ source }: { source: PageSource }) {
  const { calls, problem, isRead } = useCalls(source)
  const [selection, change] = useSelection()
  const { run, tool, ending, file, refused, node, text } = selection
  const shown = useMemo(() => selectCalls(calls, selection), [calls, run, tool, ending, file, refused, node, text])
  const glanced = useMemo(() => selectCalls(calls, { ...selection, file: null, refused: null }), [calls, run, tool, ending, node, text])
  const chosen = useMemo(() => calls.find(({ row }) => row === selection.call), [calls, selection.call])
  // A reviewer begins with what went wrong.
  const open = chosen ?? (selection.call === null ? shown.find(isFailure) : undefined)
  const failures = useMemo(() => shown.filter(isFailure), [shown])
  const choose = (row: number): void => change({ call: row })
  const panes = useRef<HTMLDivElement>(null)
  useFailureKeys(failures, open, choose)
  useEffect(() => {
    // On a narrow screen the details are in the place of the list.
    if (chosen !== undefined && panes.current !== null && innerWidth <= NARROW) panes.current.scrollIntoView()
  }, [chosen])

  return (
    <>
      <header>
        <h1>{source.name}</h1>
        <p class="when">{source.madeAtMs === null ? <Live problem={problem} /> : `Made ${formatDate(source.madeAtMs)}`}</p>
        <ThemeButton />
      </header>
      <main>
        {problem !== null && <p role="alert">{problem}</p>}
        {source.leftOut !== null && <p role="note">{source.leftOut}</p>}
        {calls.length > 0 && <AtAGlance calls={glanced} selection={selection} change={change} />}
        <p class="summary">
          {isRead ? summary(shown) : 'No calls yet.'}{' '}
          {failures.length > 0 && (
            <button type="button" class="next" onClick={() => choose(nextFailure(failures, open, 1).row)} aria-keyshortcuts="n">
              Next failure <kbd>n</kbd>
            </button>
          )}
        </p>
        <Filters calls={calls} shown={shown} selection={selection} change={change} />
        {shown.length > 0 && (
          <Timeline calls={shown} open={open} choose={choose} selection={selection} change={change} isLive={source.madeAtMs === null} />
        )}
        <div ref={panes} class={`panes${open === undefined ? ' alone' : ''}${chosen === undefined ? '' : ' chosen'}`}>
          <CallList calls={shown} open={open} choose={choose} />
          <CallDetails call={open} calls={calls} source={source} close={() => choose(0)} />
        </div>
        <Forks calls={shown} choose={choose} />
        <Overview calls={shown} />
      </main>
    </>
  )
}

const Live = ({ problem }: { problem: string | null }) => (
  <span class={problem === null ? 'live' : 'live stopped'}>{problem === null ? 'Live' : 'Not connected'}</span>
)
