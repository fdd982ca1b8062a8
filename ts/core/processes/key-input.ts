/** The bytes of keys for a terminal, and for a pipe as far as it has them. */
import type { KeptProcess } from '../kept-process.js'
import { invalid } from '../options.js'
import type { ProcessKey } from './process-report.js'

const control = (letter: string): string => String.fromCharCode(letter.charCodeAt(0) & 0x1f)

const terminalKeys: Readonly<Record<ProcessKey, string>> = {
  enter: '\r',
  tab: '\t',
  escape: '\u001b',
  backspace: '\u007f',
  delete: '\u001b[3~',
  up: '\u001b[A',
  down: '\u001b[B',
  right: '\u001b[C',
  left: '\u001b[D',
  home: '\u001b[H',
  end: '\u001b[F',
  page_up: '\u001b[5~',
  page_down: '\u001b[6~',
  'ctrl+a': control('a'),
  'ctrl+c': control('c'),
  'ctrl+d': control('d'),
  'ctrl+e': control('e'),
  'ctrl+l': control('l'),
  'ctrl+r': control('r'),
  'ctrl+u': control('u'),
  'ctrl+w': control('w'),
  'ctrl+x': control('x'),
  'ctrl+z': control('z'),
  'ctrl+backslash': '\u001c',
}

/** Keys with characters that a pipe takes too. */
const pipeKeys: Readonly<Partial<Record<ProcessKey, string>>> = { enter: '\n', tab: '\t' }
/** Keys that a terminal turns into signals or the end of input. */
const signalKeys: Readonly<Partial<Record<ProcessKey, string>>> = { 'ctrl+c': 'SIGINT', 'ctrl+backslash': 'SIGQUIT' }

/** The input of a process: bytes, signals and the end of input. */
export interface KeyInput {
  text: string
  signals: string[]
  closes: boolean
}

/**
 * Converts text and keys into input for the process.
 *
 * @throws {ToolError} INVALID_INPUT for a key that needs a terminal.
 */
export function keyInput({ hasTerminal }: Pick<KeptProcess, 'hasTerminal'>, text: string, keys: readonly ProcessKey[]): KeyInput {
  if (hasTerminal) return { text: text + keys.map((key) => terminalKeys[key]).join(''), signals: [], closes: false }
  const input: KeyInput = { text, signals: [], closes: false }
  for (const key of keys) {
    const character = pipeKeys[key]
    const signal = signalKeys[key]
    if (character !== undefined) input.text += character
    else if (signal !== undefined) input.signals.push(signal)
    else if (key === 'ctrl+d') input.closes = true
    else throw invalid(`A process without a terminal has no key ${key}. Start it with terminal: true, or send text.`)
  }
  return input
}
