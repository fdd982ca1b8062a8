import { basename } from 'node:path'
import type { ContractBashOutcome, ContractGrants, ParsedCommand } from '../../index.js'
import { leftRunningNote } from '../left-running.js'

/** A command that has ended, and what it was held by. */
export interface EndedCommand {
  ended: Pick<ContractBashOutcome, 'exitCode' | 'hint' | 'leftRunning' | 'timedOut'>
  grants: ContractGrants
  /** Which of the host's services it reaches. */
  loopback: 'private' | 'none' | 'host' | undefined
  /** What its line ran, looked at only where it matters. */
  commands: () => readonly ParsedCommand[]
}

/** What a model is to know of a command besides what it printed. */
export function commandNotes(command: EndedCommand): string[] {
  const left = leftRunningNote(command.ended.leftRunning)
  return [...refusalNotes(command), ...(left === undefined ? [] : [left])]
}

/** Why a command that failed may have failed, where it is the session that holds it. */
function refusalNotes(command: EndedCommand): string[] {
  const { ended, grants } = command
  const { notGranted = [], readable, writable, readsAll } = grants
  if (ended.exitCode === 0) return []
  const hint = ended.hint ?? networkNote(command)
  const nowhere = !readsAll && readable.length === 0 && writable.length === 0
  const notes = [...(hint === undefined ? [] : [hint]), ...(nowhere ? ['No directory is granted to commands here, so this one ran in /.'] : [])]
  if (notGranted.length === 0) return notes
  return [...notes, `A process cannot be granted ${notGranted.join(', ')}: only whole directories, and the network as a whole.`]
}

/** For commands that wait for the network, or fail by it, without a word. */
function networkNote({ ended, grants, loopback, commands }: EndedCommand): string | undefined {
  if (grants.network) return undefined
  for (const command of commands()) {
    const [program = '', ...args] = command.argv ?? command.text.split(' ')
    const name = basename(program)
    if (ended.timedOut && waitsForNetwork(name, args)) {
      return `This may be the sandbox: \`${name}\` may be waiting for the network, which is blocked; ${instead}.`
    }
    const failure = ended.exitCode === undefined ? undefined : failures.get(name)?.get(ended.exitCode)
    if (failure === undefined) continue
    if (!args.some((arg) => ownHost.test(arg))) return `This may be the sandbox: \`${name}\` ${failure}, and the network is blocked; ${instead}.`
    if (loopback === 'host') continue
    return `This may be the sandbox: \`${name}\` ${failure}, and commands do not reach services of this machine; start the service in the same command line, or have the host set sandbox.loopback to 'host'.`
  }
  return undefined
}

const instead = "work with what is installed, or have the host grant net.hosts ['*']"
const ownHost = /^(?:[a-z]+:\/\/)?(?:localhost|127\.|\[::1\]|0\.0\.0\.0)/iu

/** Exit codes that say it where nothing is printed. */
const failures: ReadonlyMap<string, ReadonlyMap<number, string>> = new Map([
  ['curl', new Map([[6, 'could not find the host (exit code 6)'], [7, 'could not connect (exit code 7)']])],
  ['wget', new Map([[4, 'could not connect (exit code 4)']])],
])

function waitsForNetwork(name: string, args: readonly string[]): boolean {
  if (always.has(name)) return true
  const subcommands = bySubcommand.get(name)
  if (subcommands === undefined) return false
  const sub = args.find((arg) => !arg.startsWith('-'))
  // Without one, `yarn` installs.
  return sub === undefined ? name === 'yarn' : subcommands.has(sub)
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '))

/** They fetch what they need, or do nothing else. */
const always = words('npx bunx uvx pipx curl wget ssh scp sftp rsync ping nc apt apt-get apk dnf yum pacman brew pip pip3 uv poetry bundle gem composer cargo go mvn gradle docker podman gh')
const packages = words('install i ci add update upgrade up outdated audit publish view info search create init exec x dlx link global')
const bySubcommand: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ...['npm', 'pnpm', 'yarn', 'bun'].map((name) => [name, packages] as const),
  ['deno', words('install add cache update')],
  ['git', words('fetch pull push clone ls-remote submodule remote lfs')],
])
