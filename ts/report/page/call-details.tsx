import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { formatBytes, formatDate, formatDuration } from '../format.js'
import type { CallTexts, ReportCall } from '../report-data.js'
import { DiffView, replacementDiff } from './diff-view.jsx'
import type { PageSource } from './page-source.js'
import { visible } from './text-heading.jsx'
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
  const section = useRef<HTMLElement>(null)
  useEffect(() => {
    if (section.current !== null) section.current.scrollTop = 0
  }, [call?.row])
  if (call === undefined) return null
  return (
    <section ref={section} class="details" aria-labelledby="details-title" onKeyDown={(event) => event.key === 'Escape' && close()}>
      <button type="button" class="back" onClick={close}>
        ← All calls
      </button>
      <h2 id="details-title">
        {whatItDid(call)} <code>{call.target}</code>
      </h2>
      <p class={`ending ${call.ending}`}>
        <span aria-hidden="true">{endings[call.ending].sign}</span> {endings[call.ending].label}
      </p>
      <Texts call={call} source={source} />
      <ul class="remarks">
        {remarks(call, calls).map((remark) => (
          <li key={remark}>{remark}</li>
        ))}
      </ul>
      <Facts call={call} />
    </section>
  )
}

const Facts = ({ call }: { call: ReportCall }) => {
  const facts: [string, string][] = [
    ['Tool', call.tool],
    ...(call.agent === null ? [] : [['Agent', call.agent] as [string, string]]),
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
      (error: unknown) => isCurrent && setProblem(visible(String(error))),
    )
    return () => {
      isCurrent = false
    }
  }, [call.row, call.ending, source])
  const change = useMemo(() => (texts?.replacement ? replacementDiff(texts.replacement) : null), [texts])
  if (problem !== '') return <p role="alert">{problem}</p>
  if (texts === undefined) return <p>Reading…</p>
  const { input, output, error, notes, changed, diff } = texts
  // What a call changed on disk says more than what it was asked to change.
  const asked = changed === null ? (change ?? diff?.text ?? null) : null
  return (
    <>
      {error !== null && <TextView title="Why it failed" text={error} />}
      {changed !== null && <DiffView title="What changed" diff={changed.text} />}
      {asked !== null && <DiffView title="Change" diff={asked} />}
      {notes.length > 0 && (
        <ul class="notes" aria-label="Notes of the tool">
          {notes.map((note) => (
            <li key={note}>{visible(note)}</li>
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
