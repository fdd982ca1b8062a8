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

/** What a line of a patch or of a file begins with, of white space. */
const indentOf = (text) => /^[ \t]*/u.exec(text)?.[0] ?? ''

/** The one text that lines of a hunk have lost at their beginnings, or `undefined` if it is not one for all of them. */
function lostIndent(hunk, body) {
  const lost = new Set()
  const lines = body
    .replace(/\n$/u, '')
    .split('\n')
    .filter((line) => !line.startsWith('\\'))
  for (const [index, { sign, text }] of hunk.lines.entries()) {
    if (sign === '+' || text.trim() === '') continue
    const [own, now] = [indentOf(text), indentOf(lines[index].slice(1))]
    lost.add(own.endsWith(now) ? own.slice(0, own.length - now.length) : `${now} for ${own}`)
  }
  const [one] = lost
  // Tabs and spaces are never mixed.
  if (one !== '' && new Set(lines.flatMap((line) => [...indentOf(line.slice(1))])).size > 1) return undefined
  return lost.size < 2 && /^(?: *|\t*)$/u.test(one ?? '') ? (one ?? '') : undefined
}

/**
 * What a patch says whose lines have lost one indentation: its added lines get it again. A line that had none is at the level that
 * other lines show.
 *
 * @param {Buffer} before @param {import('./history.mjs').Hunk[]} hunks @param {string} patch
 */
function shifted(before, hunks, patch) {
  const bodies = patch.split(/^@@.*\n/mu).slice(1)
  const old = raw(before).split('\n')
  const lines = []
  let at = 0
  for (const [index, hunk] of hunks.entries()) {
    const lost = lostIndent(hunk, bodies[index])
    if (lost === undefined) return undefined
    const isInsertion = hunk.lines.every(({ sign }) => sign === '+')
    const start = hunk.oldStart - (isInsertion ? 0 : 1)
    lines.push(...old.slice(at, start))
    at = start
    for (const line of bodies[index].replace(/\n$/u, '').split('\n')) {
      if (line.startsWith('\\')) continue
      const text = line.slice(1)
      if (line.startsWith('+')) lines.push(/^\r?$/u.test(text) ? raw(text) : lost + raw(text))
      else {
        if (!line.startsWith('-')) lines.push(old[at])
        at += 1
      }
    }
  }
  return [...lines, ...old.slice(at)].join('\n')
}

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
  if (form === 'less indentation' && result.equals(Buffer.from(shifted(before, hunks, patch) ?? '', 'latin1'))) return true
  const said = literal(before, hunks, patch)
  return said !== undefined && withoutCr(said).replace(/\n$/u, '') === withoutCr(raw(result)).replace(/\n$/u, '')
}

/** Whether a hunk may differ in the width of a level instead: its old lines have one level, and an added line has another. */
function isOfWidth(hunk, body) {
  const lines = body
    .replace(/\n$/u, '')
    .split('\n')
    .filter((line) => line.slice(1).trim() !== '')
  const levels = (isAdded) => new Set(lines.filter((line) => line.startsWith('+') === isAdded).map((line) => indentOf(line.slice(1))))
  const shown = levels(false)
  return lostIndent(hunk, body) !== '' && shown.size === 1 && [...levels(true)].some((level) => !shown.has(level))
}

/** Whether the old lines of a hunk are in a file twice, or it has none. */
function hasNoPlace(before, { lines }) {
  const [own, old] = [withoutCr(seen(raw(before))).split('\n'), lines.filter(({ sign }) => sign !== '+').map(({ text }) => withoutCr(text))]
  const fits = own.filter((_, at) => old.every((text, index) => own[at + index] === text))
  return old.length === 0 || fits.length > 1
}

/**
 * Whether a patch that was refused has a single reading, by which it should have been applied.
 *
 * @param {{ before: Buffer, hunks: import('./history.mjs').Hunk[] }} file @param {{ form: string, patch: string }} done
 */
export function hasOneReading({ before, hunks }, { form, patch }) {
  const bodies = patch.split(/^@@.*\n/mu).slice(1)
  const lines = hunks.flatMap((hunk) => hunk.lines)
  // A reader sees U+FFFD for a byte that is no letter of UTF-8, and a patch that adds it cannot say which byte it means.
  if (lines.some(({ sign, text }) => sign === '+' && text.includes('\uFFFD'))) return false
  switch (form) {
    // Lines alone show where a hunk belongs.
    case 'no line numbers':
    case 'a heading alone':
    case 'other counts':
      return !hunks.some((hunk) => hasNoPlace(before, hunk))
    // The rest may be what matters.
    case 'cut off':
      return false
    case 'less indentation':
    case 'tabs for spaces':
      return hunks.every((hunk, index) => lostIndent(hunk, bodies[index]) !== undefined && !isOfWidth(hunk, bodies[index]))
    // An added line may end as the removed one did, or not.
    case 'spaces at line ends removed':
      return lines.every(({ sign, text }) => sign === ' ' || !/[ \t]\r?$/u.test(text))
    // What begins with a sign may be a line with that sign.
    case 'context lines without their space':
      return lines.every(({ sign, text }) => sign !== ' ' || !/^(?:[-+\\]|@@|\*\*\* |```|~~~|diff --git )/u.test(text))
    default:
      return true
  }
}
