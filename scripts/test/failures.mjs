// What failed, said once more at the end of a run: the middle of a long log is often cut.

/** In front of each line, so that `check` finds them in the output of a suite. */
export const FAILURE = 'fail  '

/** A panic says what it saw on its first lines. */
const MAX_LINES = 30

// oxlint-disable-next-line no-control-regex -- the colours of a terminal
const withoutColours = (text) => text.replaceAll(/\u001b\[[\d;]*m/g, '')

/** The tests of a Rust program that failed, with what they printed. */
export function rustFailures(name, output) {
  const plain = withoutColours(output)
  const begin = plain.indexOf('\nfailures:\n')
  // A program that was killed, or did not start, says nothing of the kind.
  const text = begin === -1 ? plain.trimEnd().split('\n').slice(-5) : sections(plain.slice(begin))
  return [name, ...text.map((line) => `  ${line}`)]
}

/** Each `---- test stdout ----` and the lines after it. */
function sections(text) {
  const lines = []
  let left = 0
  for (const line of text.split('\n')) {
    if (line.startsWith('---- ')) left = MAX_LINES
    if (line === 'failures:' || line.startsWith('stack backtrace:')) left = 0
    if (left-- > 0 && line !== '') lines.push(line)
  }
  return lines
}

/** The tests of a report of vitest that failed, with their first message. */
export function vitestFailures(report) {
  return report.testResults.flatMap(({ name, status, message, assertionResults }) => {
    const failed = assertionResults.filter((test) => test.status === 'failed')
    if (failed.length === 0) return status === 'failed' ? [name, ...indented(message)] : []
    return failed.flatMap(({ fullName, failureMessages }) => [`${name}: ${fullName}`, ...indented(failureMessages?.[0])])
  })
}

const indented = (message = '') =>
  withoutColours(message)
    .split('\n')
    .filter((line) => line !== '')
    .slice(0, MAX_LINES)
    .map((line) => `  ${line}`)
