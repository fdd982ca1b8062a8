import { createTwoFilesPatch } from 'diff'
import type { Replacement } from '../report-data.js'
import { TextHeading, visible } from './text-heading.jsx'

/** The most lines of a diff that are coloured one by one. */
const MAX_LINES = 3_000

/** The unified diff of a replaced text. */
export function replacementDiff({ path, before, after }: Replacement): string {
  return createTwoFilesPatch(path, path, before, after, '', '').replace(/^(?:Index: [^\n]*\n)?=+\n/u, '')
}

/** A diff with added and removed lines in colours; each line also begins with its sign. */
export function DiffView({ title, diff }: { title: string; diff: string }) {
  const lines = diff.split('\n')
  return (
    <section class="text">
      <TextHeading title={title} text={diff} />
      <pre class="diff" tabIndex={0}>
        {lines.slice(0, MAX_LINES).map((line, number) => (
          <span key={number} class={classOf(line)}>
            {visible(line)}
            {'\n'}
          </span>
        ))}
        {lines.length > MAX_LINES && visible(lines.slice(MAX_LINES).join('\n'))}
      </pre>
    </section>
  )
}

function classOf(line: string): string {
  if (/^(?:\+\+\+|---|diff |index |\*\*\* )/u.test(line)) return 'file'
  if (line.startsWith('@@')) return 'hunk'
  if (line.startsWith('+')) return 'added'
  if (line.startsWith('-')) return 'removed'
  return 'same'
}
