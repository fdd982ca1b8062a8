import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { runsIn } from '../contract/mcp/connect-error.js'
import { mcpServers } from '../contract/mcp/server-config.js'
import { ToolError } from '../core/errors.js'
import { skipHostNotice, writableHostPath } from '../core/host-program.js'
import { openFork } from '../fork/open-fork.js'
import { type SandboxHold, sandboxKinds, sandboxReport, type SandboxReport } from '../toolkit/sandbox-report.js'
import { fitted, joined, print, shown, shownJson, type TerminalText } from '../core/terminal.js'
import { installedServer, knownServers } from '../language-servers/known-servers.js'
import { closedSecrets, renderSecrets } from './closed-secrets.js'
import { parseCommandLine, UsageError, versions } from './program.js'

const HELP = shown`Usage: toolwright doctor [options]

Runs a command in the sandbox with the default options. Shows how well each protection holds on this
system (kernel, best-effort or none), by which mechanism, and after an arrow how to improve it. The first
line has the versions for a bug report.

  --root <directory>   the root directory (default: the current one)
  --allow-network      test with allowNetwork: true
  --forks              also try whether a fork of the root directory can be made, and throw it away
  --secrets            also list the credential stores and variables of this machine that are closed to commands,
                       and by which rule: never a value
  --mcp <file>         also show how each server in mcpServers of a JSON file would run, without starting it
  --json               print the report as JSON
  --help               print this text

The exit code is 1 if the network cannot be blocked on this system: bash then refuses every command, unless
allowNetwork is true.
`

const options = {
  root: { type: 'string' },
  'allow-network': { type: 'boolean' },
  forks: { type: 'boolean' },
  secrets: { type: 'boolean' },
  mcp: { type: 'string' },
  json: { type: 'boolean' },
} as const

export async function doctor(args: string[]): Promise<number> {
  const line = parseCommandLine(HELP, { args, options })
  if (line === undefined) return 0
  const { root, json, mcp, forks, secrets, ...rest } = line.values
  const allowNetwork = rest['allow-network'] === true
  const servers = mcp === undefined ? undefined : howServersRun(mcp)
  skipHostNotice()
  const report = await sandboxReport({ rootDir: root ?? process.cwd(), allowNetwork })
  const fork = forks === true ? await tryFork(root ?? process.cwd()) : undefined
  const closed = secrets === true ? await closedSecrets(allowNetwork) : undefined
  const hostProgram = hostRow(root ?? process.cwd())
  const all = {
    versions: versions(),
    ...report,
    ...(hostProgram === undefined ? {} : { hostProgram }),
    languageServers: languageServersOf(root ?? process.cwd()),
    ...(fork === undefined ? {} : { forks: fork }),
    ...(closed === undefined ? {} : { secrets: closed }),
    ...(servers === undefined ? {} : { mcpServers: servers }),
  }
  if (json === true) print(shown`${shownJson(all, { indented: true })}\n`)
  else
    print(
      fitted(
        shown`${render(report, hostProgram)}${renderFork(fork)}${renderLanguages(all.languageServers)}${renderSecrets(closed)}${renderServers(servers)}`,
        process.stdout,
      ),
    )
  return allowNetwork || report.network.level === 'kernel' ? 0 : 1
}

/** The language servers that `languageServers: 'installed'` finds, by their names, with their commands. */
function languageServersOf(rootDir: string): Record<string, string> {
  const place = { rootDir: resolve(rootDir), path: process.env['PATH'] }
  return Object.fromEntries(
    knownServers.flatMap((name) => [installedServer(name, place) ?? []].flat().map(({ command }) => [name, command.join(' ')])),
  )
}

function renderLanguages(servers: Record<string, string>): TerminalText {
  const lines = Object.entries(servers).map(([name, command]) => shown`language server ${name}: ${command}\n`)
  return lines.length === 0 ? shown`` : shown`\n${joined(lines)}`
}

/** Whether a fork can be made of a directory, and why not. */
type TriedFork = { available: true } | { available: false; reason: string }

async function tryFork(rootDir: string): Promise<TriedFork> {
  try {
    const fork = await openFork({ rootDir, label: 'doctor' })
    await fork.discard()
    return { available: true }
  } catch (error) {
    if (!ToolError.isInstance(error)) throw error
    const reason = error.details['reason']
    return { available: false, reason: typeof reason === 'string' ? reason : error.summary }
  }
}

function renderFork(fork: TriedFork | undefined): TerminalText {
  if (fork === undefined) return shown``
  return fork.available ? shown`\nA fork of the directory can be made.\n` : shown`\nNo fork of the directory can be made: ${fork.reason}.\n`
}

/** How the servers of a file run, by their names. @throws {UsageError} */
function howServersRun(file: string): Record<string, string> {
  let servers: unknown
  try {
    servers = (JSON.parse(readFileSync(file, 'utf8')) as { mcpServers?: unknown } | null)?.mcpServers
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`, 1)
  }
  try {
    return Object.fromEntries(Object.entries(mcpServers(servers, 'mcpServers')).map(([name, server]) => [name, runsIn(server)]))
  } catch (error) {
    throw new UsageError(`${file}: ${ToolError.isInstance(error) ? error.summary : String(error)}`, 1)
  }
}

function renderServers(servers: Record<string, string> = {}): TerminalText {
  const lines = Object.entries(servers).map(([name, runs]) => shown`mcp server ${name} runs ${runs}\n`)
  return lines.length === 0 ? shown`` : shown`\n${joined(lines)}`
}

/** Says that commands in this root may write the program that runs now: with `npx` in a project that has this package, they may. */
function hostRow(rootDir: string): SandboxHold | undefined {
  const path = writableHostPath(rootDir, {})
  if (path === undefined) return undefined
  return {
    level: 'none',
    mechanism: `commands may write ${path}`,
    advice: `set denyWrite: ['@git', '@editors', '@agents', '@host'], or run the host from a directory outside of the root`,
  }
}

function render(report: SandboxReport, hostProgram: SandboxHold | undefined): TerminalText {
  const rows = Object.entries(sandboxKinds).map(([kind, name]) => [name, report[kind as keyof typeof sandboxKinds]] as const)
  const heading = shown`${'protection'.padEnd(14)} ${'holds'.padEnd(12)} by\n`
  const lines = [...rows, ...(hostProgram === undefined ? [] : [['host program', hostProgram] as const])].map(([name, hold]) => {
    const { level, mechanism, advice } = hold
    const line = shown`${name.padEnd(14)} ${level.padEnd(12)} ${mechanism}\n`
    return advice === '' ? line : shown`${line}${' '.repeat(28)}→ ${advice}\n`
  })
  const { toolwright, runtime, system } = versions()
  return shown`toolwright ${toolwright}, ${runtime}, ${system}\n\n${heading}${joined(lines)}\n${report.summary}\n`
}
