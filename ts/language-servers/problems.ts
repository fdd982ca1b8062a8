/** Problems that a language server reports, and what is new among them. */

/** A problem in a file. */
export interface Problem {
  /** From 1. */
  line: number
  severity: 'error' | 'warning'
  /** The code of the server, such as `TS2322`; empty without one. */
  code: string
  message: string
}

/** The most problems of one file. A server may send any number. */
const MAX_PROBLEMS = 1_000
/** The most characters of one message. */
const MAX_MESSAGE = 300

/** The problems of the protocol's diagnostics: errors and warnings, by line. Hints are no problems. */
export function problemsOf(diagnostics: unknown): Problem[] {
  if (!Array.isArray(diagnostics)) return []
  const problems = diagnostics.slice(0, MAX_PROBLEMS).flatMap((diagnostic) => problemOf(diagnostic as Record<string, unknown> | null) ?? [])
  return problems.toSorted((a, b) => a.line - b.line)
}

function problemOf(diagnostic: Record<string, unknown> | null): Problem | undefined {
  const { range, severity = 1, code, source, message } = diagnostic ?? {}
  if ((severity !== 1 && severity !== 2) || typeof message !== 'string') return undefined
  const line = (range as { start?: { line?: unknown } } | undefined)?.start?.line
  if (typeof line !== 'number') return undefined
  return {
    line: line + 1,
    severity: severity === 1 ? 'error' : 'warning',
    code: codeOf(code, source),
    message: shortened(message),
  }
}

/** TypeScript's servers number their diagnostics, and people know them as `TS2322`. */
function codeOf(code: unknown, source: unknown): string {
  if (typeof code === 'number') return source === 'ts' || source === 'typescript' || source === 'tsc' ? `TS${code}` : String(code)
  return typeof code === 'string' && code.length < 80 ? code : ''
}

function shortened(message: string): string {
  const line = message.replaceAll(/\s+/gu, ' ').trim()
  return line.length <= MAX_MESSAGE ? line : `${line.slice(0, MAX_MESSAGE)}…`
}

/**
 * Problems without those that were there before. An edit moves lines, so a problem on another line is the same one; how often it is
 * there counts. Those that have stayed on their line are matched first, so that a new one beside equal old ones is shown where it is.
 */
export function newProblems(now: readonly Problem[], before: readonly Problem[]): Problem[] {
  const left = [...before]
  const without = (problems: readonly Problem[], keyOf: (problem: Problem) => string): Problem[] =>
    problems.filter((problem) => {
      const key = keyOf(problem)
      const at = left.findIndex((old) => keyOf(old) === key)
      if (at === -1) return true
      left.splice(at, 1)
      return false
    })
  return without(without(now, placedKey), keyOfProblem)
}

const keyOfProblem = ({ severity, code, message }: Problem): string => JSON.stringify([severity, code, message])
const placedKey = (problem: Problem): string => `${problem.line} ${keyOfProblem(problem)}`

/** A problem as compilers print it. */
export const problemLine = (path: string, { line, severity, code, message }: Problem): string =>
  `${path}:${line}: ${severity}${code === '' ? '' : ` ${code}`}: ${message}`
