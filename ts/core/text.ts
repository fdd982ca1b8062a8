/** Texts: limits of paths, cuts, the nearest name, and a note for models. */

/** Whether a text has only whole characters, because half a surrogate pair does not survive in UTF-8. */
export const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text)

/** More characters than the paths of any system have. The addon refuses a path of more than 4,096 bytes. */
const MAX_PATH_LENGTH = 5_000

/** The beginning of a path that is too long, so that a path that is refused for its length is not copied whole. */
export const boundedPath = (path: string): string => (path.length > MAX_PATH_LENGTH ? path.slice(0, MAX_PATH_LENGTH) : path)

/** The beginning of a text, without half a character at its end. */
export const beginningOf = (text: string, length: number): string => Buffer.from(text.slice(0, length)).toString()

/** Quotes a text as one word of a shell, if necessary. */
export const shellWord = (word: string): string => (/^[\w@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`)

/** Names longer than this are not compared. */
const MAX_LENGTH = 255

/** The name with the fewest changed letters, if these are few; the first among equals. @param most how many letters may be changed */
export function nearestName(wrong: string, names: Iterable<string>, most = Math.min(3, Math.ceil(wrong.length / 3))): string | undefined {
  if (wrong.length > MAX_LENGTH) return undefined
  let nearest: string | undefined
  let fewest = most + 1
  for (const name of names) {
    if (name.length > MAX_LENGTH || Math.abs(name.length - wrong.length) >= fewest) continue
    const changes = distance(wrong, name)
    if (changes < fewest) {
      fewest = changes
      nearest = name
    }
  }
  return nearest
}

/** What tools of other agents are called, by the tool here that does the same. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  read: ['readfile', 'viewfile', 'view', 'openfile', 'cat', 'readmanyfiles'],
  write: ['writefile', 'createfile', 'savefile', 'create'],
  edit: ['editfile', 'strreplace', 'strreplaceeditor', 'replace', 'replaceinfile', 'multiedit', 'searchreplace'],
  grep: ['search', 'searchfiles', 'searchfilecontent', 'codesearch', 'ripgrep', 'rg', 'grepsearch'],
  glob: ['listfiles', 'listdir', 'listdirectory', 'ls', 'findfiles', 'filesearch', 'find'],
  bash: ['shell', 'exec', 'execcommand', 'executecommand', 'runcommand', 'runshellcommand', 'runterminalcmd', 'terminal', 'run'],
  apply_patch: ['patch', 'applydiff'],
  web_fetch: ['fetch', 'webfetch', 'urlfetch'],
  task: ['agent', 'subagent', 'spawnagent'],
}

/** The tool that is meant by the name of another one, as clients and other agents write names. */
export function meantTool(id: string, tools: readonly string[]): string | undefined {
  const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/gu, '')
  const bare = id.replace(/^mcp__.*__/u, '')
  const same = (name: string): boolean => plain(name) === plain(bare)
  const known = (tool: string): boolean => Object.hasOwn(otherNames, tool) && otherNames[tool]?.includes(plain(bare)) === true
  // Short names of other tools are near to each other.
  return tools.find(same) ?? tools.find(known) ?? (bare.length > 5 ? nearestName(bare, tools) : undefined)
}

/** The answer to a call of a tool that is not there. @param place what has the tools */
export function noSuchTool(id: string, tools: readonly string[], place: string): string {
  const near = meantTool(id, tools)
  const meant = near === undefined ? '' : ` Did you mean \`${near}\`?`
  return `There is no tool ${beginningOf(id, 100)}.${meant} The tools of ${place} are: ${tools.join(', ')}.`
}

/** The Damerau-Levenshtein distance: letters changed, inserted, deleted, or swapped with the next one. */
function distance(from: string, to: string): number {
  let before: number[] = []
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let at = 0; at < from.length; at += 1) {
    const next = [at + 1]
    for (let index = 0; index < to.length; index += 1) {
      const isSame = from[at] === to[index]
      let fewest = Math.min(cell(row, index) + (isSame ? 0 : 1), cell(row, index + 1) + 1, cell(next, index) + 1)
      const isExchanged = at > 0 && index > 0 && from[at] === to[index - 1] && from[at - 1] === to[index]
      if (isExchanged) fewest = Math.min(fewest, cell(before, index - 1) + 1)
      next.push(fewest)
    }
    before = row
    row = next
  }
  return cell(row, to.length)
}

const cell = (row: readonly number[], index: number): number => row[index] ?? 0

/**
 * A note for the model about programs that a command left in the background.
 *
 * @param canStart whether the model has `process_start`.
 */
export function leftRunningNote(count: number, canStart = false): string | undefined {
  if (count === 0) return undefined
  const what = count === 1 ? '1 program left in the background was stopped' : `${count} programs left in the background were stopped`
  if (canStart) return `${what}: of a command nothing runs on. Start with process_start what is to go on.`
  return `${what}: nothing runs on after its call. What another command is to use has to run in the same command line.`
}

/** A limit below this, in milliseconds, was most often meant in seconds: no program of a day's work ends in that time. */
const SECONDS_MEANT = 250

/**
 * A note about a time limit that the model has set and that was too short for a command.
 *
 * @param name the argument.
 */
export const shortTimeNote = (timeoutMs: number, name: string): string | undefined =>
  timeoutMs < SECONDS_MEANT ? `It was stopped after ${timeoutMs} ms: ${name} counts milliseconds.` : undefined

/** What a written file has kept of the form of the file before, in words. */
export const keptForm = ({
  hasMark,
  hasCrlf,
  encoding,
}: {
  hasMark: boolean
  hasCrlf: boolean
  encoding?: string | null | undefined
}): string[] => [
  ...(encoding === null || encoding === undefined ? [] : [`encoding, ${encoding}`]),
  ...(hasMark ? ['byte order mark'] : []),
  ...(hasCrlf ? ['line endings, CRLF'] : []),
]
