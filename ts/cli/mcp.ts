import { realpathSync, statSync } from 'node:fs'
import type { Fork } from '../fork/fork.js'
import { openFork } from '../fork/open-fork.js'
import type { Journal } from '../journal/journal.js'
import { type UnseenChanges, unseenChanges } from '../journal/seen-files.js'
import { capabilityNames } from '../contract/registry/tool-ids.js'
import type { Rule } from '../contract/permissions/rule.js'
import { loadSdk, loadStdio, PackageMissing } from '../mcp-server/sdk.js'
import { interrupted } from '../mcp-server/transport.js'
import { defaultTools, offeredTools, readOnlyTools, runsCommands, type ServerSettings } from '../mcp-server/tool-sessions.js'
import { ToolError } from '../core/errors.js'
import { writableHostPath } from '../core/host-program.js'
import { keepCompiledCode } from './compiled-code.js'
import { print, shown, shownJson, tell } from '../core/terminal.js'
import { bytesOf } from './checkpoints/texts.js'
import { meant, parseCommandLine, portNumber, UsageError, version } from './program.js'

const HELP = shown`Usage: toolwright mcp [options]

Serves tools to a client of the Model Context Protocol over stdin and stdout: read, grep, glob, write,
edit and bash, in the directories of --root. Reading files needs no answer; the server asks the client's
user about everything else. If the client cannot ask, only calls that --allow allows run. bash runs in the
sandbox.

  --root <directory>   a directory that the tools reach; may be repeated (default: the current one)
  --tools <names>      the tools, separated by commas (default: ${offeredTools.slice(0, 6).join(', ')});
                       further tools: ${offeredTools.slice(6, 11).join(', ')},
                       ${offeredTools.slice(11).join(', ')}
  --read-only          offer only tools that change nothing
  --allow <rule>       run these calls without asking, as tool:pattern; may be repeated
  --deny <rule>        refuse these calls, even if --allow allows them; may be repeated
  --allow-network      let commands reach the network
  --max-output <size>  the most bytes of one result: 50KB (default), 200KB; longer ones have head, tail and a file
  --unseen-changes <choice>
                       changes by others that a write would undo and that the client has not been shown: refuse
                       (default), tell, allow
  --mask <choice>      secrets that are masked in outputs of commands: known (default: values of variables that
                       commands do not get), tokens (formats of tokens too), off
  --language-servers   add new problems to results of changes, and the tool lsp: by the language servers that
                       are installed, in the sandbox
  --format-on-edit     format files after a change, by the formatter that the project has, in the sandbox
  --documents          read shows notebooks as cells, the text of PDF documents (with the package unpdf) and images
                       (with sharp those that are larger than models take), which are taken apart in the sandbox
  --fork               work in a fork of --root: what the tools and commands change stays there, until
                       'toolwright forks apply <id>' applies it; the id is printed on stderr when the server ends
  --fork-store <path>  keep the fork in this directory (default: the user's own)
  --journal <journal>  record the calls: file:runs.db, or a path
  --http [port]        serve streamable HTTP on this machine instead (default: any free port), and print
                       the address and a token; TOOLWRIGHT_MCP_TOKEN sets the token
  --json               with --http: print address and token to stdout as JSON when the server listens
  --help               print this text

Rules: 'bash:npm *' (commands that begin with npm), 'write:src/**', 'edit:docs/*.md', bash (every command).

The exit code is 0 when the client has gone, and 1 if the server cannot start: a directory or journal
cannot be opened, the port is taken, or the package @modelcontextprotocol/server is not installed.
`

const options = {
  root: { type: 'string', multiple: true },
  tools: { type: 'string' },
  'read-only': { type: 'boolean' },
  allow: { type: 'string', multiple: true },
  deny: { type: 'string', multiple: true },
  'allow-network': { type: 'boolean' },
  'max-output': { type: 'string' },
  'unseen-changes': { type: 'string' },
  mask: { type: 'string' },
  'language-servers': { type: 'boolean' },
  documents: { type: 'boolean' },
  'format-on-edit': { type: 'boolean' },
  fork: { type: 'boolean' },
  'fork-store': { type: 'string' },
  journal: { type: 'string' },
  http: { type: 'string' },
  json: { type: 'boolean' },
} as const

/** The shortest token that is taken from the environment. */
const MIN_TOKEN = 16

/** `toolwright mcp`. */
export async function mcp(args: string[]): Promise<number> {
  const line = parseCommandLine(HELP, { args: withPort(args), options })
  if (line === undefined) return 0
  const { values } = line
  const port = values.http === undefined ? undefined : portNumber('mcp: --http', values.http)
  const token = port === undefined ? undefined : tokenOf(process.env['TOOLWRIGHT_MCP_TOKEN'])
  const isJson = values.json === true
  if (isJson && port === undefined)
    throw new UsageError('mcp: --json belongs to --http; without it, stdout has the messages of the protocol')
  const isReadOnly = values['read-only'] === true
  const allowNetwork = values['allow-network'] === true
  const hasServers = values['language-servers'] === true
  const roots = (values.root ?? [currentDirectory()]).map(directory)
  const uniqueRoots = [...new Set(roots)]
  if (values['fork-store'] !== undefined && values.fork !== true) throw new UsageError('mcp: --fork-store belongs to --fork')
  if (values.fork === true && uniqueRoots.length > 1) throw new UsageError('mcp: --fork takes one --root; name a directory around them')
  const chosen = {
    roots: uniqueRoots,
    tools: [...toolsOf(values.tools, isReadOnly, allowNetwork), ...(hasServers ? ['lsp'] : [])],
    hasLanguageServers: hasServers,
    hasDocuments: values.documents === true,
    formats: values['format-on-edit'] === true,
    isReadOnly,
    allow: (values.allow ?? []).map((rule) => ruleOf('--allow', rule, 'allow')),
    deny: (values.deny ?? []).map((rule) => ruleOf('--deny', rule, 'deny')),
    allowNetwork,
    ...(values['max-output'] !== undefined && { maxOutputBytes: outputLimit(values['max-output']) }),
    unseenChanges: unseenChangesOf(values['unseen-changes']),
    mask: maskOf(values.mask),
    version: version(),
  }
  const journal = values.journal === undefined ? undefined : await journalAt(values.journal)
  let fork: Fork | undefined
  try {
    if (values.fork === true) fork = await openFork({ rootDir: uniqueRoots[0], store: values['fork-store'], label: 'mcp', journal })
    // Stored code is run as it is, also late: not where a command may write it.
    if (roots.every((path) => writableHostPath(path, {}) === undefined)) keepCompiledCode()
    const settings = complete({ ...chosen, fork }, journal)
    // Loading takes longest, so it runs while the sandbox is tested.
    const transport = port === undefined ? import('../mcp-server/serve-stdio.js') : import('../mcp-server/serve-http.js')
    const sdk = port === undefined ? [loadSdk(), loadStdio()] : [loadSdk()]
    await Promise.all([settings, transport, import('../contract/session/open-session.js'), ...sdk])
    if (port !== undefined) await serveUntilInterrupted(await settings, { port, token, isJson })
    else await (await import('../mcp-server/serve-stdio.js')).serveStdio(await settings)
  } catch (error) {
    if (error instanceof PackageMissing) throw new UsageError(`mcp: ${error.message}`, 1)
    throw error
  } finally {
    try {
      if (fork !== undefined) await leave(fork)
    } finally {
      await journal?.close()
    }
  }
  // Work of a preloaded module must not keep a server alive that has no client.
  process.exit(0)
}

/** Adds the report of the sandbox and the journal. */
async function complete(chosen: Omit<ServerSettings, 'sandbox' | 'journal'>, journal: Journal | undefined): Promise<ServerSettings> {
  const { roots, allowNetwork, tools } = chosen
  if (!tools.some(runsCommands)) return { ...chosen, sandbox: '', journal }
  const { sandboxReport } = await import('../toolkit/sandbox-report.js')
  const { summary: sandbox } = await sandboxReport({ rootDir: roots[0] as string, allowNetwork })
  return { ...chosen, sandbox, journal }
}

/** Leaves the fork of the server: one without changes is thrown away. */
async function leave(fork: Fork): Promise<void> {
  const { id } = fork
  const { changes, leftOut } = await fork.status()
  if (changes.length === 0 && leftOut.length === 0) return fork.discard()
  // A command that does not end keeps it in use until this process has gone.
  await fork.close().catch((error: unknown) => {
    if (!ToolError.isInstance(error) || error.code !== 'FORK_BUSY') throw error
  })
  const files = `${changes.length} changed ${changes.length === 1 ? 'path' : 'paths'}`
  tell(shown`The fork stays, with ${files}: 'toolwright forks diff ${id}' shows it, 'toolwright forks apply ${id}' applies it.\n`)
}

async function journalAt(location: string): Promise<Journal> {
  const { openJournal } = await import('../postgres/open-journal.js')
  return openJournal(location)
}

interface Address {
  port: number
  token: string | undefined
  isJson: boolean
}

async function serveUntilInterrupted(settings: ServerSettings, { port, token, isJson }: Address): Promise<void> {
  const { serveHttp } = await import('../mcp-server/serve-http.js')
  const end = interrupted()
  const server = await serveHttp(settings, { port, token }).catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException
    throw code === 'EADDRINUSE' || code === 'EACCES' ? new UsageError(`mcp: ${message}`, 1) : error
  })
  for (const warning of server.warnings) tell(shown`toolwright: ${warning}\n`)
  if (isJson) print(shown`${shownJson({ url: server.url, token: server.token })}\n`)
  else tell(shown`${server.url}\nAuthorization: Bearer ${server.token}\n`)
  await end
  await server.close()
}

/** Gives `--http` without a port the port 0, because `parseArgs` has no optional values. */
function withPort(args: readonly string[]): string[] {
  const rules = args.flatMap((argument, index) => {
    if (argument === '--http') return [/^\d+$/u.test(args[index + 1] ?? '') ? `--http=${args[index + 1]}` : '--http=0']
    return args[index - 1] === '--http' && /^\d+$/u.test(argument) ? [] : [argument]
  })
  return rules
}

function tokenOf(token: string | undefined): string | undefined {
  if (token === undefined) return undefined
  if (!/^[\w.~+/-]+=*$/u.test(token)) throw new UsageError('mcp: TOOLWRIGHT_MCP_TOKEN has characters that a bearer token cannot have')
  if (token.length < MIN_TOKEN) throw new UsageError(`mcp: TOOLWRIGHT_MCP_TOKEN needs at least ${MIN_TOKEN} characters`)
  return token
}

/** The least and the most bytes of one result. */
const OUTPUT = { least: 1_000, most: 10_000_000 }

function outputLimit(text: string): number {
  const bytes = bytesOf('mcp: --max-output', text)
  if (bytes < OUTPUT.least || bytes > OUTPUT.most) throw new UsageError('mcp: --max-output is a size from 1KB to 10MB')
  return bytes
}

/** Refuses the root of the file system, in which some clients start their servers. */
function currentDirectory(): string {
  const current = process.cwd()
  if (current === '/') throw new UsageError('mcp: the current directory is /; name a directory with --root')
  return current
}

function directory(path: string): string {
  try {
    const real = realpathSync(path)
    if (statSync(real).isDirectory()) return real
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const reason = code === 'ENOENT' ? 'there is no such directory' : message
    throw new UsageError(`mcp: --root ${path}: ${reason}; create it, or name another`, 1)
  }
  throw new UsageError(`mcp: --root ${path} is not a directory; name the one it is in`, 1)
}

function maskOf(choice = 'known'): 'known' | 'tokens' | false {
  if (choice === 'known' || choice === 'tokens') return choice
  if (choice === 'off') return false
  throw new UsageError(`mcp: --mask must be known, tokens or off, not ${JSON.stringify(choice)}`)
}

function unseenChangesOf(choice: string | undefined): UnseenChanges {
  try {
    return choice === undefined ? 'refuse' : unseenChanges(choice, '--unseen-changes')
  } catch {
    throw new UsageError('mcp: --unseen-changes is refuse, tell or allow')
  }
}

function toolsOf(requested: string | undefined, isReadOnly: boolean, allowNetwork: boolean): string[] {
  if (requested === undefined) return defaultTools.filter((id) => !isReadOnly || readOnlyTools.includes(id))
  const ids = [...new Set(requested.split(',').map((id) => id.trim()))].filter((id) => id !== '')
  if (ids.length === 0) throw new UsageError('mcp: --tools names no tool')
  for (const id of ids) {
    if (!(offeredTools as readonly string[]).includes(id)) {
      throw new UsageError(`mcp: --tools: there is no tool ${JSON.stringify(id)}; there are ${offeredTools.join(', ')}`)
    }
    if (isReadOnly && !readOnlyTools.includes(id)) throw new UsageError(`mcp: --read-only leaves no ${id}`)
    if (id === 'web_fetch' && !allowNetwork) throw new UsageError('mcp: web_fetch needs --allow-network')
  }
  return ids
}

/** What a rule can be about. */
const permissions: readonly string[] = ['*', ...offeredTools, ...capabilityNames]

function ruleOf(option: string, text: string, action: 'allow' | 'deny'): Rule {
  const [permission = '', ...rest] = text.split(':')
  const pattern = rest.join(':')
  if (permission.trim() === '' || (rest.length > 0 && pattern === '')) {
    throw new UsageError(`mcp: ${option} is tool:pattern, such as 'bash:npm *', not ${JSON.stringify(text)}`)
  }
  if (!permissions.includes(permission)) {
    // A command line alone is a pattern.
    const whole = permission.includes(' ') || rest.length > 0 ? text : undefined
    const move =
      whole === undefined ? meant(permission, permissions) : shown`; a rule is tool:pattern, such as ${shownJson(`bash:${whole}`)}`
    throw new UsageError(shown`mcp: ${option}: no tool and no capability is called ${shownJson(permission)}${move}`)
  }
  return { permission, pattern: rest.length === 0 ? '**' : pattern, action }
}
