// The patches that a model could write for a change, right ones and others.

/** @typedef {import('./history.mjs').FileChange} FileChange */

const counted = (hunk, sign) => hunk.lines.filter((line) => line.sign === ' ' || line.sign === sign).length
const bodyOf = (hunk) =>
  hunk.lines.map(({ sign, text, hasEnd }) => `${sign}${text}\n${hasEnd ? '' : '\\ No newline at end of file\n'}`).join('')

/** The envelope of a commit. An anchor is what git shows after `@@`. */
export function envelopeOf({ files }, anchors) {
  const sections = files.map(({ path, before, after, hunks }) => {
    if (before === undefined) {
      const added = hunks.flatMap(({ lines }) => lines.map(({ text }) => `+${text}\n`))
      return `*** Add File: ${path}\n${added.join('')}`
    }
    if (after === undefined) return `*** Delete File: ${path}\n`
    const bodies = hunks.map(({ heading, lines }) => {
      const header = anchors && heading !== '' ? `@@ ${heading}` : '@@'
      return `${header}\n${lines.map(({ sign, text }) => `${sign}${text}\n`).join('')}`
    })
    return `*** Update File: ${path}\n${bodies.join('')}`
  })
  return `*** Begin Patch\n${sections.join('')}*** End Patch\n`
}

/** An envelope cannot say that a file ends without a line end, or gets one. */
export const fitsEnvelope = ({ files }) =>
  files.every(({ before, after, hunks }) => {
    const ends = (bytes) => bytes === undefined || bytes.length === 0 || bytes.at(-1) === 10
    return (
      ends(before) === ends(after) &&
      (before !== undefined || ends(after)) &&
      (ends(after) || hunks.every((hunk) => hunk.lines.every((line) => line.hasEnd)))
    )
  })

const rewritten = (file, header, change = (text) => text) =>
  file.hunks.map((hunk, index) => `${header(hunk, index)}\n${change(bodyOf(hunk))}`).join('')
const numbers = (hunk, start, old, added) => `@@ -${Math.max(0, start)},${old} +${Math.max(0, start)},${added} @@ ${hunk.heading}`
const right = (hunk) => hunk.header

/**
 * Other forms of the diff of one file, each with what it may become: `meant` has to be right where it is not refused.
 *
 * @type {Record<string, (file: FileChange, random: () => number) => string>}
 */
export const forms = {
  'as git writes it': ({ diff }) => diff,
  'hunks alone': (file) => rewritten(file, right),
  'in a fence, with prose': ({ diff }) => `Here is the change:\n\n\`\`\`diff\n${diff}\`\`\`\n\nIt does what you asked for.\n`,
  'other line numbers': (file, random) =>
    rewritten(file, (hunk) => numbers(hunk, hunk.oldStart + Math.floor(random() * 21) - 10, counted(hunk, '-'), counted(hunk, '+'))),
  'other counts': (file, random) =>
    rewritten(file, (hunk) =>
      numbers(
        hunk,
        hunk.oldStart,
        Math.max(0, counted(hunk, '-') + Math.floor(random() * 5) - 2),
        Math.max(0, counted(hunk, '+') + Math.floor(random() * 5) - 2),
      ),
    ),
  'no line numbers': (file) => rewritten(file, () => '@@'),
  'a heading alone': (file) => rewritten(file, ({ heading }) => `@@ ... @@ ${heading}`.trimEnd()),
  'blank context without its space': (file) => rewritten(file, right, (body) => body.replaceAll(/^ (\r?)$/gmu, '$1')),
  'spaces at line ends removed': (file) => rewritten(file, right, (body) => body.replaceAll(/(?<=\S)[ \t]+(\r?)$/gmu, '$1')),
  'less indentation': (file) => rewritten(file, right, (body) => body.replaceAll(/^([-+ ])(?: {2}|\t)/gmu, '$1')),
  'tabs for spaces': (file) => rewritten(file, right, (body) => body.replaceAll(/^([-+ ]) {4}/gmu, '$1\t')),
  'context lines without their space': (file) => rewritten(file, right, (body) => body.replaceAll(/^ (?=\S)/gmu, '')),
  'as entities': (file) => rewritten(file, right, (body) => body.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')),
  'LF for CRLF': ({ diff }) => diff.replaceAll('\r\n', '\n'),
  'CRLF for LF': ({ diff }) => diff.replaceAll(/(?<!\r)\n/gu, '\r\n'),
  'cut off': (file, random) => {
    const whole = rewritten(file, right)
    return whole.slice(0, Math.floor(whole.length * random()))
  },
}

/** A replacement of each hunk, as the tool of sessions takes it. */
export const replacementsOf = ({ hunks }) =>
  hunks.map(({ lines }) => {
    const text = (other) =>
      lines
        .filter(({ sign }) => sign !== other)
        .map(({ text: line, hasEnd }) => line + (hasEnd ? '\n' : ''))
        .join('')
    return { old: text('+'), by: text('-') }
  })
