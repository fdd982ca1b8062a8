import { useMemo, useState } from 'preact/hooks'
import type { ForkWork, ReportCall } from '../report-data.js'
import { forkColumns, forkPaths } from './fork-columns.js'

/** How many paths are shown before all are asked for. */
const FIRST = 20
const SIGNS = { created: 'A', modified: 'M', deleted: 'D' } as const
const KINDS = { created: 'added', modified: 'changed', deleted: 'deleted' } as const
const STATES: Record<ForkWork['what'], string> = {
  opened: 'not applied',
  changed: 'not applied',
  applied: 'applied',
  conflict: 'conflict: not applied',
  undone: 'applied and taken back',
  discarded: 'thrown away',
}

/** Forks side by side: one column for each, one row for each path that one of them has changed. */
export function Forks({ calls, choose }: { calls: readonly ReportCall[]; choose(row: number): void }) {
  const columns = useMemo(() => forkColumns(calls), [calls])
  const paths = useMemo(() => forkPaths(columns), [columns])
  const [isWhole, setWhole] = useState(false)
  if (columns.length === 0) return null
  const shown = isWhole ? paths : paths.slice(0, FIRST)
  const hasMore = columns.some(({ more }) => more > 0)
  return (
    <section aria-labelledby="forks-title" class="totals forks">
      <h2 id="forks-title">Forks</h2>
      <div class="table" tabIndex={0} role="region" aria-label="What each fork has changed">
        <table>
          <thead>
            <tr>
              <th scope="col">Path</th>
              {columns.map(({ id, name, state, last }) => (
                <th key={id} scope="col" class={state}>
                  <button type="button" onClick={() => choose(last.row)} title={id}>
                    {name}
                  </button>
                  <small>{STATES[state]}</small>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((path) => (
              <tr key={path}>
                <th scope="row">
                  <code>{path}</code>
                </th>
                {columns.map(({ id, changes }) => (
                  <Cell key={id} kind={changes.get(path)} />
                ))}
              </tr>
            ))}
            {hasMore && (
              <tr>
                <th scope="row">further paths</th>
                {columns.map(({ id, more }) => (
                  <td key={id}>{more > 0 && more.toLocaleString()}</td>
                ))}
              </tr>
            )}
          </tbody>
        </table>
      </div>
      {shown.length < paths.length && (
        <button type="button" onClick={() => setWhole(true)}>
          and {(paths.length - shown.length).toLocaleString()} more paths
        </button>
      )}
    </section>
  )
}

const Cell = ({ kind }: { kind: keyof typeof SIGNS | undefined }) => (
  <td class={kind}>
    {kind !== undefined && (
      <>
        <span aria-hidden="true">{SIGNS[kind]}</span>
        <span class="hidden">{KINDS[kind]}</span>
      </>
    )}
  </td>
)
