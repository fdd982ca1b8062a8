import { ToolError } from './errors.js'
import { programName, shells } from './network-guard/programs.js'

/** What a shell reads as an operator, where an argument is nothing else, or begins with a redirection. */
const operator = /^(?:\|\|?|&&?|;|<|\d?>>?(?:&\d)?|&>>?)$|^(?:\d?>>?|&>>?|<)[\w./-]+$/u

/** What a shell replaces: variables, commands, the home directory. */
const expansion = /^(?:\$\w+|\$\{\w+\}|\$\(.*\)|`.*`|~\/.*|~)$/su

const pattern = /^[\w./@-]*[*?][\w./@*?-]*$/u

/** Programs that take paths: a pattern among their arguments was meant for a shell. */
const pathPrograms: ReadonlySet<string> = new Set(
  'cat chmod chown cp diff du echo file head less ln ls mkdir mv node rm rmdir sort stat tail tar touch wc'.split(' '),
)

/**
 * A note about shell syntax among the arguments of a program that is no shell, which passes it on as text: the model
 * means a pipe, and the program gets a `|`.
 */
export function syntaxNote({ cmd, args }: { cmd: string; args?: readonly string[] | undefined }): string | undefined {
  if (typeof cmd !== 'string' || !Array.isArray(args) || shells.has(programName(cmd))) return undefined
  const takesPaths = pathPrograms.has(programName(cmd))
  const syntax = args.find(
    (arg) => typeof arg === 'string' && (operator.test(arg) || expansion.test(arg) || (takesPaths && pattern.test(arg))),
  )
  if (syntax === undefined) return undefined
  const shown = syntax.length > 80 ? `${syntax.slice(0, 80)}…` : syntax
  return `\`${shown}\` was passed to ${programName(cmd)} as it is: no shell read it. For shell syntax use cmd "sh" with args ["-c", "…"].`
}

/** A failure of a command with shell syntax among its arguments, which is then the likely reason. */
export function withSyntaxNote(error: unknown, input: { cmd: string; args?: readonly string[] | undefined }): unknown {
  const syntax = ToolError.isInstance(error) && error.code === 'TOOL_COMMAND_FAILED' ? syntaxNote(input) : undefined
  if (syntax === undefined || !ToolError.isInstance(error)) return error
  const { code, summary, details, cause } = error
  const message = `${error.message.trimEnd()}\n${syntax}`
  return new ToolError({ code, summary, details, cause, message, hint: error.hint === '' ? syntax : error.hint })
}

/** A note for the model about programs that a command had left in the background. */
export function leftRunningNote(count: number): string | undefined {
  if (count === 0) return undefined
  const what = count === 1 ? '1 program left in the background was stopped' : `${count} programs left in the background were stopped`
  return `${what}: nothing runs on after its call. What another command is to use has to run in the same command line.`
}
