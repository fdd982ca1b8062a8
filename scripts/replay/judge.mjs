// Whether a result is one that its patch can mean.

/** Each byte as a character, so that any file is a text. */
const raw = (bytes) => Buffer.from(bytes).toString('latin1')
/** A line of such a text as a reader sees it. */
const seen = (line) => Buffer.from(line, 'latin1').toString()

/**
 * What a patch says literally, with its hunks at the places of those that it was made from. `undefined` if its old lines are not
 * there, so that it does not fit.
 *
 * @param {Buffer} before @param {import('./history.mjs').Hunk[]} places @param {string} patch
 */
function literal(before, places, patch) {
  const bodies = patch.split(/^@@.*\n/mu).slice(1)
  const old = raw(before).split('\n')
  const lines = []
  let at = 0
  for (const [index, body] of bodies.entries()) {
    const hunk = places[index]
    if (hunk === undefined) return undefined
    // An insertion names the line before it.
    const isInsertion = hunk.lines.every(({ sign }) => sign === '+')
    const start = hunk.oldStart - (isInsertion ? 0 : 1)
    lines.push(...old.slice(at, start))
    at = start
    for (const line of body.replace(/\n$/u, '').split('\n')) {
      if (line.startsWith('\\')) continue
      const text = line.slice(1)
      if (line.startsWith('+')) lines.push(raw(text))
      else if (line !== '' && !line.startsWith(' ') && !line.startsWith('-')) return undefined
      else if (at >= old.length || withoutCr(seen(old[at])) !== withoutCr(text)) return undefined
      else if (line.startsWith('-')) at += 1
      else {
        lines.push(old[at])
        at += 1
      }
    }
  }
  return [...lines, ...old.slice(at)].join('\n')
}

const withoutCr = (text) => text.replaceAll('\r', '')
const withoutEnds = (text) => text.replaceAll(/[ \t\r]+$/gmu, '')
/** The kinds of line endings in a text. */
const endsOf = (text) => `${/\r\n/u.test(text)} ${/(?<!\r)\n|\r\r\n/u.test(text)}`
const MIXED = 'true true'

/**
 * @param {{ before: Buffer, after: Buffer, hunks: import('./history.mjs').Hunk[] }} file
 * @param {{ form: string, patch: string, result: Buffer }} done
 */
export function isMeant({ before, after, hunks }, { form, patch, result }) {
  if (result.equals(after)) return true
  const [text, meant] = [result.toString(), after.toString()]
  // The author of the patch has not seen the ends of lines.
  if (form === 'spaces at line ends removed') return withoutEnds(text) === withoutEnds(meant)
  // A patch in other line endings cannot say that it changes those.
  if (form === 'LF for CRLF' || form === 'CRLF for LF') {
    const [old, now] = [endsOf(before.toString()), endsOf(meant)]
    return (old !== now || now === MIXED) && withoutEnds(text) === withoutEnds(meant)
  }
  const said = literal(before, hunks, patch)
  return said !== undefined && withoutCr(said).replace(/\n$/u, '') === withoutCr(raw(result)).replace(/\n$/u, '')
}
