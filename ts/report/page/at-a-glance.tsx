import { useMemo, useState } from 'preact/hooks'
import { formatDuration } from '../format.js'
import type { ReportCall } from '../report-data.js'
import { attempts, changedFiles, facts, refusals } from './findings.js'
import type { Selection } from './selection.js'

interface Props {
  calls: readonly ReportCall[]
  selection: Selection
  change(part: Partial<Selection>): void
}

/** How many files and refusals are shown before all are asked for. */
const FIRST = 12
const SIGNS = { created: 'A', modified: 'M', deleted: 'D' } as const
const KINDS = { created: 'added', modified: 'changed', deleted: 'deleted' } as const
const LAYERS = { network: 'host', files: 'path', limits: 'limit', permission: 'not allowed' } as const

/** What changed, what was refused, and how attempts ended: each leads to its calls. */
export function AtAGlance({ calls, selection, change }: Props) {
  const files = useMemo(() => changedFiles(calls), [calls])
  const refused = useMemo(() => refusals(calls), [calls])
  const tried = useMemo(() => attempts(calls), [calls])
  const known = useMemo(() => facts(calls), [calls])
  return (
    <section class="glance" aria-label="At a glance">
      <p class="facts">{known.join(' · ')}</p>
      <Chips name="Changed" all={files}>
        {({ path, kind, added, removed }) => (
          <Chip
            key={path}
            isChosen={selection.file === path}
            choose={() => change({ file: selection.file === path ? null : path })}
            sign={SIGNS[kind]}
            hint={KINDS[kind]}
            text={path}
          >
            {added !== null && removed !== null && (
              <span class="lines">
                <span class="plus">+{added}</span> <span class="minus">−{removed}</span>
              </span>
            )}
          </Chip>
        )}
      </Chips>
      <Chips name="Refused" all={refused}>
        {({ layer, subject, calls: times }) => (
          <Chip
            key={`${layer} ${subject}`}
            isChosen={selection.refused === subject}
            choose={() => change({ refused: selection.refused === subject ? null : subject })}
            sign="⊘"
            hint={LAYERS[layer]}
            text={subject}
          >
            <span class="lines">
              {LAYERS[layer]}
              {times > 1 && ` ×${times.toLocaleString()}`}
            </span>
          </Chip>
        )}
      </Chips>
      {tried.length > 0 && (
        <ul class="attempts" aria-label="Attempts">
          {tried.map(({ name, calls: count, spanMs, ended, last }) => (
            <li key={`${last.runId} ${name}`}>
              <button type="button" onClick={() => change({ call: last.row })}>
                {name}
              </button>{' '}
              {count.toLocaleString()} {count === 1 ? 'call' : 'calls'}, {formatDuration(spanMs)}; {ended}
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function Chips<T>({ name, all, children }: { name: string; all: readonly T[]; children(one: T): preact.JSX.Element }) {
  const [isWhole, setWhole] = useState(false)
  if (all.length === 0) return null
  const shown = isWhole ? all : all.slice(0, FIRST)
  return (
    <div class="chips" role="group" aria-label={name}>
      <span class="name" aria-hidden="true">
        {name}
      </span>
      {shown.map(children)}
      {shown.length < all.length && (
        <button type="button" onClick={() => setWhole(true)}>
          and {(all.length - shown.length).toLocaleString()} more
        </button>
      )}
    </div>
  )
}

interface ChipProps {
  isChosen: boolean
  choose(): void
  sign: string
  hint: string
  text: string
  children: preact.ComponentChildren
}

const Chip = ({ isChosen, choose, sign, hint, text, children }: ChipProps) => (
  <button type="button" class="chip" aria-pressed={isChosen} onClick={choose}>
    <span aria-hidden="true">{sign}</span>
    <span class="hidden">{hint}</span> <code>{text}</code> {children}
  </button>
)
