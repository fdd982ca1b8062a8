/** What language servers need of the tools: files of the root, and programs in the sandbox. */
import { extname, resolve } from 'node:path'
import { grantedRoot } from '../../core/grants.js'
import { startProcess } from '../../core/kept-process.js'
import { call as callAddon, fileText } from '../../core/native.js'
import { noVariables } from '../../core/network-guard/guard-network.js'
import type { LanguageServers, ServerHost } from '../../language-servers/language-servers.js'
import type { BoundToolOptions } from '../settings.js'
import { callPlan, type CallSettings, commandOf, commandSettings, confined } from './call-plan.js'

/** The largest source file that a server is shown, in bytes. */
const MAX_SOURCE_BYTES = 2_000_000
/** The most bytes of a list of files, or of the lines that import something. */
const MAX_LIST_BYTES = 20_000_000
const LIST_MS = 10_000
/** What others have written is not checked, even where no rule leaves it out of searches. */
const PACKAGES = /(?:^|\/)(?:node_modules|\.venv|venv)\//u
/** How long the start of a server may take, in milliseconds. */
const START_MS = 30_000
/** What language servers need of the tools, in the sandbox of commands but without a network. */
export function serverHost(servers: LanguageServers, bound: BoundToolOptions, call: CallSettings): ServerHost {
  const plan = callPlan(call)
  const { rootDir } = plan
  const absolute = (path: string): string => resolve(rootDir, path)
  const list = async (extensions: readonly string[]): Promise<string[]> => {
    const names = extensions.map((extension) => extension.slice(1))
    const pattern = names.length === 1 ? `*.${names[0]}` : `*.{${names.join(',')}}`
    const request = { pattern, path: '.', limitBytes: MAX_LIST_BYTES, timeoutMs: LIST_MS }
    const { text } = await callAddon(plan.limits('list sources'), (addon, cancel) => addon.glob(grantedRoot(addon, plan), request, cancel))
    return text
      .split('\n')
      .filter((line) => line !== '' && !PACKAGES.test(line))
      .map(absolute)
  }
  return {
    rootDir,
    path: (plan.env === 'inherit' ? undefined : plan.env.set?.['PATH']) ?? process.env['PATH'],
    absolute,
    list,
    read: async (path) => {
      const read = callAddon(plan.limits(`read ${path}`), (addon, cancel) =>
        addon.read(grantedRoot(addon, plan), path, MAX_SOURCE_BYTES, true, cancel),
      )
      return read.then(fileText, () => undefined)
    },
    grep: async (pattern, extensions) => {
      const request = { pattern, path: '.', limitBytes: MAX_LIST_BYTES, timeoutMs: LIST_MS }
      const { text } = await callAddon(plan.limits('search imports'), (addon, cancel) =>
        addon.grep(grantedRoot(addon, plan), request, undefined, cancel),
      )
      return text
        .split('\n')
        .filter((line) => !PACKAGES.test(line) && extensions.includes(extname(line.slice(0, line.indexOf(':')))))
        .join('\n')
    },
    start: (server, signal) => {
      const { command } = server
      const [cmd = '', ...args] = command
      const own = confined(plan, servers.memoryBytes)
      return startProcess(
        { signal, timeoutMs: START_MS, what: `language server ${server.name}` },
        (addon, keep, cancel) =>
          addon.startProcess(commandSettings(own, { ...bound })(addon), commandOf({ cmd, args, cwd: '.' }, noVariables), keep, cancel),
        // Its output waits in its pipe until it is read here.
        { input: 'pipe', stderrApart: true, holds: true, headBytes: 0 },
      )
    },
  }
}
