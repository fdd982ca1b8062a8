import { useState } from 'preact/hooks'
import type { ReportText } from '../report-data.js'
import { DiffView } from './diff-view.jsx'
import { TextHeading, visible } from './text-heading.jsx'

/** What is shown at first of a long text. */
const FIRST_LENGTH = 20_000

/** A text with a title and a button that copies it. */
export function TextView({ title, text: { text, form } }: { title: string; text: ReportText }) {
  const [isWhole, setWhole] = useState(false)
  if (form === 'diff') return <DiffView title={title} diff={text} />
  const shown = isWhole ? text : text.slice(0, FIRST_LENGTH)
  return (
    <section class="text">
      <TextHeading title={title} text={text} />
      {text === '' ? <p class="quiet">It is empty.</p> : <pre tabIndex={0}>{visible(shown)}</pre>}
      {shown.length < text.length && (
        <button type="button" onClick={() => setWhole(true)}>
          Show all {text.length.toLocaleString()} characters
        </button>
      )}
    </section>
  )
}
