/** Which stores and variables of this machine are closed to commands, for `toolwright doctor --secrets`. */
import { homedir } from 'node:os'
import { hostVariables } from '../core/environment.js'
import { nativeAddon } from '../core/native.js'
import { joined, shown, type TerminalText } from '../core/terminal.js'

/** A store that is there, or a variable that is set; never its value. */
interface ClosedSecret {
  /** The path, or the name. */
  subject: string
  /** By which rule it is closed. */
  rule: string
  /** Whether its value is masked in outputs. */
  isMasked: boolean
}

export interface ClosedSecrets {
  stores: ClosedSecret[]
  variables: ClosedSecret[]
}

/** What commands with the default options do not get. */
export async function closedSecrets(allowNetwork: boolean): Promise<ClosedSecrets> {
  const addon = await nativeAddon()
  return addon.closedSecrets(allowNetwork, hostVariables())
}

export function renderSecrets(secrets: ClosedSecrets | undefined): TerminalText {
  if (secrets === undefined) return shown``
  const { stores, variables } = secrets
  return shown`\n${list('Stores that commands cannot read', stores, inHome)}\n${list('Variables that commands do not get', variables, (name) => name)}`
}

function list(title: string, secrets: readonly ClosedSecret[], subject: (text: string) => string): TerminalText {
  if (secrets.length === 0) return shown`${title}: none here\n`
  const width = Math.max(...secrets.map((secret) => subject(secret.subject).length))
  const lines = secrets.map(({ subject: named, rule, isMasked }) => {
    const masked = isMasked ? '; masked in outputs' : ''
    return shown`  ${subject(named).padEnd(width)}  ${rule}${masked}\n`
  })
  return shown`${title}:\n${joined(lines)}`
}

/** A path as people write it. */
function inHome(path: string): string {
  const home = homedir()
  return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
