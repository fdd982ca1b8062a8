/** Words after which the commands that run are unknown. */
const branches: ReadonlySet<string> = new Set(['if', 'while', 'until', 'for', 'case', 'select', 'function', '!', '||'])

/** Programs that run the command that follows them. */
const wrappers: ReadonlySet<string> = new Set(['env', 'exec', 'command', 'nohup', 'time'])

/**
 * The commands of a shell script that runs them one after the other, each as its words. For a script that branches,
 * substitutes or continues after a failure there are none, because its commands are unknown before it runs.
 */
export function scriptCommands(script: string): string[][] {
  const words = scriptWords(script)
  if (words === undefined || words.some((word) => !word.quoted && branches.has(word.text))) return []
  const commands: string[][] = [[]]
  for (const { text, quoted } of words) {
    if (!quoted && separators.has(text)) commands.push([])
    else commands.at(-1)?.push(text)
  }
  return commands.map(withoutPrefix).filter((command) => command.length > 0)
}

/** Drops leading `NAME=value` and programs such as `env`. */
export function withoutPrefix(words: readonly string[]): string[] {
  const start = words.findIndex((word) => !/^[A-Za-z_]\w*=/u.test(word) && !wrappers.has(word))
  return start === -1 ? [] : words.slice(start)
}

interface Word {
  text: string
  /** Whether a part of the word was quoted. Such a word is neither operator nor keyword. */
  quoted: boolean
}

const separators: ReadonlySet<string> = new Set([';', '&&', '|', '&', '\n', '(', ')', '{', '}'])
const operators = /^(?:&&|\|\||[;|&\n(){}])/u

/** The words and operators of a script; `undefined` if it substitutes commands or has a here-document. */
function scriptWords(script: string): Word[] | undefined {
  const words: Word[] = []
  let word: Word | undefined
  const end = (): void => {
    if (word !== undefined) words.push(word)
    word = undefined
  }
  for (let at = 0; at < script.length;) {
    const rest = script.slice(at, at + 2)
    const [char = ''] = rest
    if (rest === '$(' || rest === '<<' || char === '`') return undefined
    if (char === "'" || char === '"') {
      const quoted = quotedText(script, at)
      if (quoted === undefined) return undefined
      word = { text: (word?.text ?? '') + quoted.text, quoted: true }
      at = quoted.end
    } else if (char === '\\') {
      word = { text: (word?.text ?? '') + (rest[1] ?? ''), quoted: true }
      at += 2
    } else if (char === '#' && word === undefined) {
      const line = script.indexOf('\n', at)
      at = line === -1 ? script.length : line
    } else if (char === ' ' || char === '\t' || operators.test(rest)) {
      // A brace within a word is part of it.
      if ((char === '{' || char === '}') && word !== undefined) word.text += char
      else end()
      const operator = operators.exec(rest)?.[0]
      if (operator !== undefined && word === undefined) words.push({ text: operator, quoted: false })
      at += operator?.length ?? 1
    } else {
      word = { text: (word?.text ?? '') + char, quoted: word?.quoted ?? false }
      at += 1
    }
  }
  end()
  return words
}

/** The quoted text from `at` on; `undefined` if the quotes do not end, or if commands are substituted. */
function quotedText(script: string, at: number): { text: string; end: number } | undefined {
  const quote = script[at]
  let text = ''
  for (let next = at + 1; next < script.length; next += 1) {
    const char = script[next] ?? ''
    if (char === quote) return { text, end: next + 1 }
    if (quote === '"' && (char === '`' || script.startsWith('$(', next))) return undefined
    if (quote === '"' && char === '\\') next += 1
    text += script[next] ?? ''
  }
  return undefined
}
