import { gitRemoteRefusal, networkRefusal } from './refusal.js'

const networkFragments = ['curl', 'wget', 'http://', 'https://', 'npm', 'bun', 'pip']
const gitFragments = ['git push', 'git pull', 'git fetch', 'git clone', 'git remote']

/**
 * The rule of document 002: the command line as one string, searched for fragments.
 *
 * @throws {ToolError} TOOL_NETWORK_DISABLED or TOOL_GIT_REMOTE_DISABLED
 */
export function refuseFragments(cmd: string, args: readonly string[]): void {
  const line = [cmd, ...args].join(' ')
  const network = networkFragments.find((fragment) => line.includes(fragment))
  if (network !== undefined) throw networkRefusal(network)
  const git = gitFragments.find((fragment) => line.includes(fragment))
  if (git !== undefined) throw gitRemoteRefusal(git)
}
