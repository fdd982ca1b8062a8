#!/usr/bin/env node
/** The `toolwright` command. */
import { meant, UsageError, version } from './cli/program.js'
import { ToolError } from './core/errors.js'
import { fitted, print, shown, shownJson, shownLines, tell, type TerminalText } from './core/terminal.js'

const HELP = shown`Usage: toolwright <command> [options]

Commands:
  audit        list changed files that programs of yours run or obey later
  calls        show the recorded calls of a journal
  checkpoints  show the checkpoints of a directory, what changed, and bring it back
  doctor       show how bash commands are confined on this system, and how to confine them better
  forks        show, apply or discard forks of a directory
  journal      make the tables of a journal in PostgreSQL, and remove old runs
  mcp          serve tools to a client of the Model Context Protocol
  report       write a page that shows the recorded calls of a journal, to look at or to send
  try          run a command in a fork, and ask what of its changes to apply
  view         show the same page in a browser, with new calls as they come

'toolwright <command> --help' shows the options of a command, 'toolwright --version' the version.
`

/** Loads a command only when it runs, because a client waits for the start of its server. */
const commands: Record<string, () => Promise<(args: string[]) => Promise<number>>> = {
  audit: async () => (await import('./cli/audit.js')).audit,
  calls: async () => (await import('./cli/calls.js')).calls,
  checkpoints: async () => (await import('./cli/checkpoints.js')).checkpoints,
  doctor: async () => (await import('./cli/doctor.js')).doctor,
  forks: async () => (await import('./cli/forks.js')).forks,
  journal: async () => (await import('./cli/journal.js')).journal,
  mcp: async () => (await import('./cli/mcp.js')).mcp,
  report: async () => (await import('./cli/report.js')).report,
  try: async () => (await import('./cli/try.js')).tryCommand,
  view: async () => (await import('./cli/view.js')).view,
}

async function main([name = '', ...rest]: string[]): Promise<number> {
  if (name === 'help' && rest[0] !== undefined) return main([rest[0], '--help'])
  if (['', 'help', '--help', '-h'].includes(name)) {
    print(fitted(HELP, process.stdout))
    return name === '' ? 2 : 0
  }
  if (name === '--version' || name === '-v') {
    print(shown`${version()}\n`)
    return 0
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined) {
    const isOption = name.startsWith('-')
    const names = isOption ? ['--help', '--version'] : Object.keys(commands)
    throw new UsageError(shown`unknown ${isOption ? 'option' : 'command'} ${shownJson(name)}${meant(name, names)}`)
  }
  return (await command())(rest)
}

/** A reader that has seen enough, such as `head`, closes its end of the pipe. What is left to write is for nobody then. */
function dropUnread(stream: NodeJS.WriteStream): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}

const tellError = (text: TerminalText): void => tell(fitted(text, process.stderr))

dropUnread(process.stdout)
dropUnread(process.stderr)
const args = process.argv.slice(2)
try {
  process.exitCode = await main(args)
} catch (error) {
  if (error instanceof UsageError) {
    const [name = ''] = args
    const command = Object.hasOwn(commands, name) ? `toolwright ${name}` : 'toolwright'
    const hint = error.exitCode === 2 ? `; see ${command} --help` : ''
    tellError(shown`toolwright: ${error.text}${hint}\n`)
    process.exitCode = error.exitCode
  } else if (ToolError.isInstance(error)) {
    tellError(shown`toolwright: ${error.message}\n`)
    process.exitCode = 1
  } else {
    // A defect of this program, whose stack a report needs. Its lines may hold what a file or a server has made up.
    const { message, stack = message } = error instanceof Error ? error : new Error(String(error))
    tellError(shown`toolwright: unexpected failure: ${message}\n`)
    if (process.env['TOOLWRIGHT_STACK'] === '1') tell(shown`${shownLines(stack)}\n`)
    else tell(shown`Please report it, with the stack that TOOLWRIGHT_STACK=1 prints.\n`)
    process.exitCode = 1
  }
}
