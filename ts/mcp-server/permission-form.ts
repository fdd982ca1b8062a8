import type { ElicitRequestFormParams } from '@modelcontextprotocol/server'
import type { PromptRequest } from '../contract/permissions/prompt.js'
import { beginningOf } from '../core/text.js'

/** The call in a question. */
type Question = Pick<PromptRequest, 'tool' | 'args' | 'subjects' | 'rules' | 'reason'>

/** The most characters of one line, and of one argument, in a question. */
const MAX_LINE = 2_000
/** Arguments that a question shows besides the targets of the call. */
const SHOWN = ['content', 'old_string', 'new_string', 'old', 'new', 'patch', 'description', 'workdir', 'url']

/** The form of a question: the targets of the call, and the answers allow once, allow always and reject. */
export function formOf(question: Question): ElicitRequestFormParams {
  const { rules } = question
  const decisions: [string, string][] = [
    ['allow_once', 'Allow once'],
    // If no rule is safe to record, the answer can hold only for this call.
    ...(rules.length === 0
      ? []
      : [['allow_always', `Always allow in this session: ${shown(rules.map(ruleText).join(', '))}`] as [string, string]]),
    ['reject', 'Reject'],
  ]
  return {
    mode: 'form',
    message: messageOf(question),
    requestedSchema: {
      type: 'object',
      properties: {
        decision: {
          type: 'string',
          title: 'Decision',
          description: 'Whether the call may be made',
          enum: decisions.map(([decision]) => decision),
          enumNames: decisions.map(([, title]) => title),
        },
      },
      required: ['decision'],
    },
  }
}

function messageOf({ tool, args, subjects, reason }: Question): string {
  const touched = subjects.map(({ capability, resource, why }) => {
    const note = why === undefined ? '' : ` (it ${why})`
    return `  ${shown(resource === '' ? capability : `${capability}: ${resource}`)}${note}`
  })
  const texts = Object.entries((args ?? {}) as Record<string, unknown>).flatMap(([name, value]) =>
    SHOWN.includes(name) && typeof value === 'string' ? [`  ${name}: ${shown(value)}`] : [],
  )
  return [`Allow ${shown(tool)}?`, ...touched, ...texts, ...(reason === undefined ? [] : [`Reason: ${shown(reason)}`])].join('\n')
}

/** The refusal of a call when the client cannot ask its user. */
export function refusalWithoutForm({ tool, subjects, rules }: Question, why = 'this client cannot ask its user'): string {
  // Reading needs no agreement: what is named is what the call would change.
  const first = subjects.find(({ capability }) => capability !== 'fs.read') ?? subjects[0]
  const what = first === undefined || first.resource === '' ? tool : `${first.capability} of \`${first.resource}\``
  const flags = rules.map((rule) => `--allow ${quoted(ruleText(rule))}`).join(' ')
  const next =
    flags === ''
      ? `The person who set up the server can allow every call of ${tool} with --allow ${tool}.`
      : `The person who set up the server can allow it with ${flags}.`
  return `Permission denied: ${what} needs the agreement of a user, and ${why}. Nothing was done. ${next} Do what is allowed, and say what was not.`
}

const ruleText = ({ permission, pattern }: { permission: string; pattern: string }): string => `${permission}:${pattern}`

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** A text on one line, without characters that could change the display of a terminal or a form. */
function shown(text: string): string {
  const cut = text.length > MAX_LINE ? `${beginningOf(text, MAX_LINE)} … (${text.length} characters)` : text
  return cut.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => JSON_ESCAPES[character] ?? `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}

const JSON_ESCAPES: Record<string, string> = { '\n': String.raw`\n`, '\r': String.raw`\r`, '\t': String.raw`\t` }
