import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'

const entry = createRequire(import.meta.url).resolve('@agentclientprotocol/sdk')
const folder = entry.slice(0, entry.lastIndexOf(join('sdk', 'dist')))
const schema = JSON.parse(readFileSync(join(folder, 'sdk', 'schema', 'v1', 'schema.json'), 'utf8')) as object
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
ajv.addSchema(schema, 'acp')

/** What is wrong with a value by the protocol's own schema; `null` when it fits. */
export function acpProblems(definition: string, value: unknown): unknown {
  const validate = ajv.getSchema(`acp#/$defs/${definition}`)
  if (validate === undefined) throw new Error(`the protocol has no ${definition}`)
  return validate(JSON.parse(JSON.stringify(value))) === true ? null : validate.errors
}
