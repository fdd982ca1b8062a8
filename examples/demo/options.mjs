import { parseArgs } from 'node:util'

export const HELP = `Usage: npm run demo -- [options]

An agent finds and fixes the defect of a small project with the tools of toolwright.
It works on a copy; without options a scripted model plays the agent, so no key and no
network are needed. The tools, the project and its tests are real either way.

Model:
  --model PROVIDER/MODEL  a model of the AI Gateway; needs AI_GATEWAY_API_KEY
  --base-url URL          an OpenAI-compatible server, with --model NAME
  --api-key-env NAME      the environment variable that holds that server's key
  --max-steps N           the most answers the model may give (default 20)
  --timeout-ms N          give the run up after N milliseconds (default 600000)

Task (with --model only):
  --task TEXT             what the agent is to do
  --project DIR           another project, worked on as a copy
  --in-place              work in DIR itself

  --allow-network         let the commands of the agent reach the network
  --keep                  keep the working copy and print its path
  --journal FILE          record the calls there (default: a new file, which stays)
  --help                  show this text

Exit code: 0 when the project's tests are green at the end, 1 when they are not or the run
failed, 2 when it could not start, 130 when it was interrupted.
`

/** The run cannot start as it was asked for; the message is one sentence for the user. */
export class UsageError extends Error {}

/**
 * @typedef {object} Options
 * @property {boolean} help
 * @property {string | undefined} model
 * @property {string | undefined} baseUrl
 * @property {string | undefined} apiKeyEnv
 * @property {number} maxSteps
 * @property {number} timeoutMs
 * @property {string | undefined} task
 * @property {string | undefined} project
 * @property {boolean} inPlace
 * @property {boolean} allowNetwork
 * @property {boolean} keep
 * @property {string | undefined} journal
 */

/**
 * @param {string[]} args
 * @returns {Options}
 */
export function readOptions(args) {
  const values = parse(args)
  const { model, task, project } = values
  const baseUrl = values['base-url']
  const apiKeyEnv = values['api-key-env']
  const inPlace = values['in-place'] ?? false

  if (baseUrl !== undefined) {
    if (!/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? '')) {
      throw new UsageError(`--base-url must be an http(s) address, such as http://127.0.0.1:8080/v1; got ${baseUrl}`)
    }
    if (!model) throw new UsageError('--base-url needs --model NAME, the name that server gives to its model')
  } else {
    if (apiKeyEnv !== undefined) throw new UsageError('--api-key-env belongs to --base-url')
    if (model !== undefined && !/^[^/\s]+\/\S+$/.test(model)) {
      throw new UsageError(`--model must be PROVIDER/MODEL for the AI Gateway, or be joined by --base-url; got ${model}`)
    }
  }
  if (model === undefined && (task !== undefined || project !== undefined)) {
    throw new UsageError('--task and --project need --model: the scripted model can do one task only')
  }
  if (inPlace && project === undefined) throw new UsageError('--in-place belongs to --project')

  return {
    help: values.help ?? false,
    model,
    baseUrl,
    apiKeyEnv,
    maxSteps: wholeNumber('--max-steps', values['max-steps'], 20, 1000),
    // Node clamps a longer timer to one millisecond.
    timeoutMs: wholeNumber('--timeout-ms', values['timeout-ms'], 600_000, 2 ** 31 - 1),
    task,
    project,
    inPlace,
    allowNetwork: values['allow-network'] ?? false,
    keep: values.keep ?? false,
    journal: values.journal,
  }
}

/** @param {string[]} args */
function parse(args) {
  try {
    return parseArgs({
      args,
      options: {
        help: { type: 'boolean', short: 'h' },
        model: { type: 'string' },
        'base-url': { type: 'string' },
        'api-key-env': { type: 'string' },
        'max-steps': { type: 'string' },
        'timeout-ms': { type: 'string' },
        task: { type: 'string' },
        project: { type: 'string' },
        'in-place': { type: 'boolean' },
        'allow-network': { type: 'boolean' },
        keep: { type: 'boolean' },
        journal: { type: 'string' },
      },
    }).values
  } catch (error) {
    // Its first sentence names the option; the rest explains positional arguments, of which there are none.
    const [sentence] = /** @type {Error} */ (error).message.split(/\.(?:\s|$)/)
    throw new UsageError(sentence)
  }
}

/**
 * @param {string} name
 * @param {string | undefined} text
 * @param {number} byDefault
 * @param {number} most
 */
function wholeNumber(name, text, byDefault, most) {
  if (text === undefined) return byDefault
  const number = Number(text)
  if (/^\d+$/.test(text) && number >= 1 && number <= most) return number
  throw new UsageError(`${name} must be a whole number from 1 to ${most}; got ${text}`)
}
