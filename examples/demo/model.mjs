import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { createGateway } from 'ai'
import { UsageError } from './options.mjs'
import { createScriptedModel } from './scripted-model.mjs'

/**
 * @typedef {object} ChosenModel
 * @property {import('ai').LanguageModel} model
 * @property {string} title for the header
 * @property {boolean} scripted
 */

/**
 * @param {import('./options.mjs').Options} options
 * @returns {ChosenModel}
 */
export function chooseModel({ model, baseUrl, apiKeyEnv }) {
  if (model === undefined) {
    return {
      model: createScriptedModel(),
      title: 'scripted: its answers were written in advance; the tools and their effects are real',
      scripted: true,
    }
  }
  if (baseUrl === undefined) {
    const apiKey = takeKey('AI_GATEWAY_API_KEY', '--model PROVIDER/MODEL needs an AI Gateway key in AI_GATEWAY_API_KEY')
    return { model: createGateway({ apiKey })(model), title: `${model} through the AI Gateway`, scripted: false }
  }
  const provider = createOpenAICompatible({
    name: 'openai-compatible',
    baseURL: baseUrl,
    ...(apiKeyEnv === undefined ? {} : { apiKey: takeKey(apiKeyEnv, `--api-key-env names ${apiKeyEnv}`) }),
  })
  const { host, pathname } = new URL(baseUrl)
  return { model: provider(model), title: `${model} at ${host}${pathname}`, scripted: false }
}

/**
 * Reads a key and takes it out of the environment, which the commands of the agent inherit: the
 * key is no business of theirs. Under Bun this reaches processes that JavaScript starts, but not
 * native code, which keeps the environment that Bun was started with.
 *
 * @param {string} name
 * @param {string} need
 */
function takeKey(name, need) {
  const key = process.env[name]
  if (!key) throw new UsageError(`${need}, but that environment variable is not set`)
  delete process.env[name]
  return key
}
