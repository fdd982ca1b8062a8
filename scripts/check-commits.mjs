// The form of commits: `area: verb object`, and a body that says why.
import { execFileSync } from 'node:child_process'
import { report } from './checks/tree.mjs'
import { root } from './setup/paths.mjs'

/** The rule holds for what came after this commit. */
const SINCE = 'e28ecc22'
const SUBJECT = /^[\w./@, -]+: \S.+[^.]$/
/** A subject says what the commit does, and does not describe what there is now. */
const NO_VERB = /^(?:the|a|an|what|where|when|who|how|that|this|these|those|one|each|every|some|no|all)\b/i
const MAX_SUBJECT = 72

const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })

/** The commits to look at, or `undefined` where the history is not there: an archive, or a shallow clone. */
function commits() {
  try {
    const log = git('log', '--no-merges', '--format=%h%x00%s%x00%b%x00%x01', `${SINCE}..HEAD`)
    return log
      .split('\u0001')
      .map((entry) => entry.trim().split('\0'))
      .filter((entry) => entry.length > 1)
  } catch {
    return undefined
  }
}

function* problems(list) {
  for (const [hash, subject, body] of list) {
    if (!SUBJECT.test(subject)) yield `${hash} ${subject}: the form is \`area: verb object\`, without a full stop`
    else if (NO_VERB.test(subject.slice(subject.indexOf(': ') + 2))) yield `${hash} ${subject}: begin with a verb after the area`
    if (subject.length > MAX_SUBJECT) yield `${hash} ${subject}: ${subject.length} characters, at most ${MAX_SUBJECT}`
    if (body.trim() === '') yield `${hash} ${subject}: the body says why`
  }
}

const found = commits()
if (found === undefined) console.log('skipped: the history is not here')
else report('commits', [...problems(found)])
