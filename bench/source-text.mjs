import { numbersFrom } from './random.mjs'

const NOUNS = [
  'account',
  'buffer',
  'cache',
  'channel',
  'cursor',
  'device',
  'entry',
  'event',
  'frame',
  'handle',
  'header',
  'index',
  'job',
  'layer',
  'ledger',
  'message',
  'node',
  'packet',
  'page',
  'parser',
  'queue',
  'record',
  'region',
  'request',
  'route',
  'segment',
  'session',
  'shard',
  'socket',
  'stream',
  'table',
  'task',
  'ticket',
  'timer',
  'token',
  'vector',
  'view',
  'window',
  'worker',
  'zone',
]
const VERBS = [
  'append',
  'apply',
  'build',
  'check',
  'clear',
  'close',
  'collect',
  'compare',
  'decode',
  'drain',
  'emit',
  'encode',
  'expand',
  'fetch',
  'find',
  'flush',
  'load',
  'map',
  'merge',
  'open',
  'parse',
  'poll',
  'push',
  'read',
  'reset',
  'resolve',
  'send',
  'sort',
  'split',
  'store',
  'trim',
  'update',
  'verify',
  'walk',
  'write',
]

/** What is searched for: in one line of about 2,200. */
export const RARE = 'recoverStaleLease'
/** In one line of about 125. */
export const FREQUENT = 'FIXME'
/** The same lines, by a pattern whose class has all of Unicode in it: costly to compile. */
export const WORDS = 'FIXME\\(\\w+\\)'

const RARE_ONE_IN = 2_200
const FREQUENT_ONE_IN = 125

const capital = (word) => word[0].toUpperCase() + word.slice(1)

/** Forms of a line, in the manner of a language with braces. */
const forms = [
  ({ verb, noun, other }) => `  const ${noun} = ${verb}${capital(other)}(${other}, options)`,
  ({ verb, noun, number }) => `  if (${noun}.length > ${number}) return ${verb}(${noun})`,
  ({ verb, noun, other }) => `export function ${verb}${capital(noun)}(${other}, limit = 0) {`,
  ({ noun, other, number }) => `    ${noun}.${other}[${number}] = next(${noun}.${other}, ${number})`,
  ({ verb, noun, other }) => `  // The ${noun} has to ${verb} before its ${other} does: see the notes on order.`,
  ({ verb, noun }) => `import { ${verb}${capital(noun)} } from './${noun}/${verb}.js'`,
  ({ noun, other }) => `    for (const ${noun} of this.#${other}s.values()) {`,
  ({ verb, noun, other }) => `      throw new Error(\`cannot ${verb} \${${noun}}: no ${other}\`)`,
  ({ noun, number }) => `  ${noun}: { size: ${number}, ready: false, owner: undefined },`,
  ({ verb, noun }) => `    await ${noun}.${verb}({ signal, retries: 3 })`,
  () => '    }',
  () => '  }',
  () => '}',
  () => '',
]

/**
 * Lines that look like a program, the same ones for the same seed.
 * @param {number} seed
 * @param {number} count
 * @returns {string[]}
 */
export function sourceLines(seed, count) {
  const random = numbersFrom(seed)
  const lines = []
  for (let index = 0; index < count; index += 1) {
    const words = {
      verb: random.pick(VERBS),
      noun: random.pick(NOUNS),
      other: random.pick(NOUNS),
      number: random.below(4096),
    }
    if (random.below(RARE_ONE_IN) === 0) lines.push(`  ${RARE}(${words.noun}, ${words.number})`)
    else if (random.below(FREQUENT_ONE_IN) === 0) lines.push(`  // FIXME(${words.noun}): ${words.verb} it once`)
    else lines.push(random.pick(forms)(words))
  }
  return lines
}

/**
 * ASCII text of exactly `bytes` bytes.
 * @param {number} seed
 * @param {number} bytes
 */
export function sourceText(seed, bytes) {
  let text = ''
  for (let part = 0; text.length < bytes; part += 1) text += `${sourceLines(seed + part, 1_000).join('\n')}\n`
  return bytes === 0 ? '' : `${text.slice(0, bytes - 1)}\n`
}

export { NOUNS, VERBS }
