import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, stampDir } from './paths.mjs'
import { checkToolchain } from './requirements.mjs'
import { run } from './run-command.mjs'
import { SetupError } from './setup-error.mjs'
import { clearStamp, hashInputs, readStamp, writeStamp } from './stamp.mjs'

const STAMP = 'codes'
const SOURCES = ['crates/core/src/code.rs', 'crates/core/src/contract_code.rs', 'scripts/setup/list-codes.rs']
const MODULE = 'ts/core/codes.ts'
const DOCUMENT = 'docs/errors.md'
const INDEX = /(?<=<!-- index: written by the build -->\n)[^]*?(?=<!-- end of the index -->)/
const hash = () => hashInputs([...SOURCES, MODULE, DOCUMENT])

async function write() {
  checkToolchain()
  clearStamp(STAMP)
  mkdirSync(stampDir, { recursive: true })
  const program = join(stampDir, 'codes')
  const built = await run('rustc', ['--edition', '2024', '-A', 'warnings', '-o', program, SOURCES.at(-1)], {
    cwd: root,
    stdio: ['ignore', 'pipe', 2],
  })
  if (built.code !== 0) throw new SetupError('the list of codes did not compile; the reason is above')
  const listed = await run(program, [], { stdio: ['ignore', 'pipe', 2] })
  const codes = JSON.parse(listed.stdout)
  update(MODULE, () => moduleOf(codes))
  update(DOCUMENT, (text) => text.replace(INDEX, () => indexOf(codes)))
  writeStamp(STAMP, hash())
}

/** A file that is as it should be keeps its time. */
function update(path, change) {
  const file = join(root, path)
  const before = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const after = change(before)
  if (after !== before) writeFileSync(file, after)
}

const list = (items) => items.map((item) => `  '${item}',\n`).join('')

function moduleOf({ errors, contract }) {
  const acted = errors.filter(({ refusal }) => !refusal)
  return `// Written by the build from crates/core/src/code.rs and contract_code.rs: change those.

/** The codes that a built-in tool can also fail with after it has done something. */
export const actedCodes: readonly ToolErrorCode[] = [
${list(acted.map(({ code }) => code))}]

/** Which side a failure comes from, and so what the model can do about it. */
export type CodeClass = ${[...new Set(contract.map((code) => code.class))].map((name) => `'${name}'`).join(' | ')}

/**
 * Every \`metadata.code\` of an envelope, with its class:
 *
 * - \`input\`: the arguments are wrong; other arguments may work;
 * - \`refused\`: a rule, a user or the host does not want the call to be made;
 * - \`unavailable\`: what the call needs is absent, whatever its arguments are;
 * - \`backend\`: the call was made and went wrong;
 * - \`stopped\`: the call was stopped from outside.
 */
export const contractCodes = {
${contract.map((code) => `  /** ${code.meaning} */\n  ${code.code}: '${code.class}',\n`).join('')}} as const satisfies Record<string, CodeClass>

/** The \`metadata.code\` of an envelope. */
export type ContractCode = keyof typeof contractCodes

/** Every code of a {@link ToolError}, with that of the envelope it becomes. */
export const contractCodeOf = {
${errors.map((error) => `  ${error.code}: '${error.contract}',\n`).join('')}} as const satisfies Record<string, ContractCode>

/** A stable name for a kind of failure, for programs to decide by. */
export type ToolErrorCode = keyof typeof contractCodeOf

/**
 * Every code a {@link ToolError} can have. Each is described, with its cause and the next move, in
 * \`docs/errors.md\`.
 */
export const toolErrorCodes = Object.keys(contractCodeOf) as readonly ToolErrorCode[]
`
}

function indexOf({ errors }) {
  const rows = errors.map(({ code, meaning }) => `| [${code}](#${code.toLowerCase()}) | ${meaning} |\n`)
  return `\n| code | what it says |\n| --- | --- |\n${rows.join('')}\n`
}

export const codes = {
  name: 'error codes (rustc)',
  forcible: true,
  isCurrent: () => readStamp(STAMP) === hash(),
  run: write,
}
