import { useEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks'
import type { ReportCall } from '../report-data.js'
import { formatDate } from '../format.js'
import { CallDetails } from './call-details.jsx'
import { CallList } from './call-list.jsx'
import { Filters } from './filters.jsx'
import { Overview } from './overview.jsx'
import type { PageSource } from './page-source.js'
import { readSelection, selectCalls, type Selection, selectionHash } from './selection.js'
import { ThemeButton } from './theme.jsx'
import { Timeline } from './timeline.jsx'
import { summary } from './words.js'

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

export function App({ source }: { source: PageSource }) {
  const { calls, problem, isRead } = useCalls(source)
  const [selection, change] = useSelection()
  const { run, tool, ending, text } = selection
  const shown = useMemo(() => selectCalls(calls, selection), [calls, run, tool, ending, text])
  const open = useMemo(() => calls.find(({ row }) => row === selection.call), [calls, selection.call])
  const choose = (row: number | null): void => change({ call: row })

  return (
    <>
      <header>
        <h1>{source.name}</h1>
        <p class="when">{source.madeAtMs === null ? <Live problem={problem} /> : `Made ${formatDate(source.madeAtMs)}`}</p>
        <ThemeButton />
      </header>
      <main>
        {problem !== null && <p role="alert">{problem}</p>}
        <p class="summary">{isRead ? summary(shown) : 'No calls yet.'}</p>
        <Filters calls={calls} shown={shown} selection={selection} change={change} />
        {shown.length > 0 && <Timeline calls={shown} open={open} choose={choose} isLive={source.madeAtMs === null} />}
        <div class="panes">
          <CallList calls={shown} open={open} choose={choose} />
          <CallDetails call={open} calls={calls} source={source} close={() => choose(null)} />
        </div>
        <Overview calls={shown} />
      </main>
    </>
  )
}

const Live = ({ problem }: { problem: string | null }) => (
  <span class={problem === null ? 'live' : 'live stopped'}>{problem === null ? 'Live' : 'Not connected'}</span>
)
