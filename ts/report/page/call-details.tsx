import { useEffect, useMemo, useState } from 'preact/hooks'
import { formatBytes, formatDate, formatDuration } from '../format.js'
import type { CallTexts, ReportCall } from '../report-data.js'
import { DiffView, replacementDiff } from './diff-view.jsx'
import type { PageSource } from './page-source.js'
import { TextView } from './text-view.jsx'
import { durationMs, endings, remarks, taskName, whatItDid } from './words.js'

interface Props {
  call: ReportCall | undefined
  calls: readonly ReportCall[]
  source: PageSource
  close(): void
}

/** Everything about one call. */
export function CallDetails({ call, calls, source, close }: Props) {
  if (call === undefined) {
    return (
      <section class="details empty" aria-label="The open call">
        <p>Choose a call in the list or in the timeline to see what it was given and what it returned.</p>
      </section>
    )
  }
  return (
    <section class="details" aria-labelledby="details-title" onKeyDown={(event) => event.key === 'Escape' && close()}>
      <h2 id="details-title">
        {whatItDid(call)} <code>{call.target}</code>
      </h2>
      <p class={`ending ${call.ending}`}>
        <span aria-hidden="true">{endings[call.ending].sign}</span> {endings[call.ending].label}
      </p>
      <ul class="remarks">
        {remarks(call, calls).map((remark) => (
          <li key={remark}>{remark}</li>
        ))}
      </ul>
      <Facts call={call} />
      <Texts call={call} source={source} />
    </section>
  )
}

const Facts = ({ call }: { call: ReportCall }) => {
  const facts: [string, string][] = [
    ['Tool', call.tool],
    ['Task', taskName(call)],
    ['Run', call.runId],
    ['Began', formatDate(call.startedAtMs)],
    ['Took', formatDuration(durationMs(call))],
    ['Was given', formatBytes(call.inputBytes)],
    ['Returned', formatBytes(call.outputBytes)],
    ...(call.exit === '' ? [] : [['Ended with', call.exit] as [string, string]]),
    ['Call', call.callToken ?? `number ${call.seq}`],
  ]
  return (
    <dl>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function Texts({ call, source }: { call: ReportCall; source: PageSource }) {
  const [texts, setTexts] = useState<CallTexts | undefined>()
  const [problem, setProblem] = useState('')
  useEffect(() => {
    let isCurrent = true
    setTexts(undefined)
    setProblem('')
    source.texts(call.row).then(
      (read) => isCurrent && setTexts(read),
      (error: unknown) => isCurrent && setProblem(String(error)),
    )
    return () => {
      isCurrent = false
    }
  }, [call.row, call.ending, source])
  const change = useMemo(() => (texts?.replacement ? replacementDiff(texts.replacement) : null), [texts])
  if (problem !== '') return <p role="alert">{problem}</p>
  if (texts === undefined) return <p>Reading…</p>
  const { input, output, error, notes, diff } = texts
  return (
    <>
      {error !== null && <TextView title="Why it failed" text={error} />}
      {change !== null && <DiffView title="Change" diff={change} />}
      {diff !== null && <DiffView title="Change" diff={diff.text} />}
      {notes.length > 0 && (
        <ul class="notes" aria-label="Notes of the tool">
          {notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      {output === null ? (
        error === null && <p class="quiet">Nothing is recorded of what it returned.</p>
      ) : (
        <TextView title="What it returned" text={output} />
      )}
      {input !== null && <TextView title="What it was given" text={input} />}
    </>
  )
}
