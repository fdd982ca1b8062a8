import type { ContractTool } from './contract-tool.js'
import { type JsonSchema, schemaAt } from './json-schema.js'
import { contractCodes } from './envelope.js'

type KeysOf<T> = T extends unknown ? keyof T & string : never

/**
 * The schema of a tool's data. The type of the data has the same fields, which the compiler checks.
 *
 * @param properties the schema of each field.
 * @param forms the fields that are always there; of data with several forms, those of each.
 */
export function dataSchemaOf<DATA extends object>(
  properties: Record<KeysOf<DATA>, JsonSchema>,
  ...forms: readonly (readonly KeysOf<DATA>[])[]
): JsonSchema {
  const [only, ...others] = forms.map((required) => ({ required: [...required] }))
  return { type: 'object', properties, ...(others.length === 0 ? only : { anyOf: [only, ...others] }), additionalProperties: false }
}

/** Schemas of fields. */
export const aText: JsonSchema = { type: 'string' }
export const aCount: JsonSchema = { type: 'integer', minimum: 0 }
export const aFlag: JsonSchema = { type: 'boolean' }
export const listOfTexts: JsonSchema = { type: 'array', items: aText }

/** What stands in the place of a result that is longer than the limit of the host. */
const cut = (notes: JsonSchema | undefined): JsonSchema => ({
  type: 'object',
  properties: { head: aText, ...(notes && { notes }) },
  required: ['head'],
  additionalProperties: false,
})

/**
 * The schema of the data of a tool's successes: that of its results, or of the beginning of a result that is too long.
 *
 * @param notes the schema of notes beside the beginning of a long result, where they are given with the data.
 * @returns `undefined` for a tool that declares none.
 */
export function successSchema({ outputSchema }: Pick<ContractTool, 'outputSchema'>, notes?: JsonSchema): JsonSchema | undefined {
  if (outputSchema === undefined) return undefined
  const { $schema } = outputSchema
  const isObject = outputSchema['type'] === 'object'
  const dialect = $schema === undefined ? {} : { $schema }
  return { ...dialect, ...(isObject ? { type: 'object' } : {}), anyOf: [schemaAt('#/anyOf/0', outputSchema), cut(notes)] }
}

const metadata = (code: JsonSchema): JsonSchema => ({
  type: 'object',
  properties: {
    duration_ms: aCount,
    code,
    truncated: aFlag,
    output_path: aText,
    notes: listOfTexts,
    changed_files: listOfTexts,
    changed: {
      type: 'array',
      items: {
        type: 'object',
        properties: { path: aText, kind: { type: 'string', enum: ['created', 'modified', 'deleted'] } },
        required: ['path', 'kind'],
        additionalProperties: false,
      },
    },
    connections: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          host: aText,
          port: aCount,
          verdict: { type: 'string', enum: ['opened', 'refused', 'failed'] },
          count: aCount,
          sent_bytes: aCount,
          received_bytes: aCount,
          requests: {
            type: 'array',
            items: {
              type: 'object',
              properties: {
                credential: aText,
                method: aText,
                path: aText,
                status: aCount,
                refused: { type: 'string', enum: ['rule', 'rejected', 'no value', 'not understood', 'HTTP/2 only'] },
                count: aCount,
                sent_bytes: aCount,
                received_bytes: aCount,
              },
              required: ['credential', 'method', 'path', 'count', 'sent_bytes', 'received_bytes'],
              additionalProperties: false,
            },
          },
        },
        required: ['host', 'verdict', 'count'],
        additionalProperties: false,
      },
    },
    denials: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          layer: { type: 'string', enum: ['network', 'files', 'limits'] },
          subject: aText,
          option: { type: ['string', 'null'] },
        },
        required: ['layer', 'subject', 'option'],
        additionalProperties: false,
      },
    },
    masked: {
      type: 'array',
      items: { type: 'object', properties: { name: aText, count: aCount }, required: ['name', 'count'], additionalProperties: false },
    },
  },
  required: ['duration_ms', 'code'],
  additionalProperties: false,
})

const failureCodes = Object.keys(contractCodes).filter((code) => code !== 'ok')

const failed: JsonSchema = {
  type: 'object',
  properties: { type: { const: 'error' }, error_text: aText, metadata: metadata({ type: 'string', enum: failureCodes }) },
  required: ['type', 'error_text', 'metadata'],
  additionalProperties: false,
}

/** The schema of the envelopes of a tool: of its successes and its failures. */
export function envelopeSchema(tool: Pick<ContractTool, 'outputSchema'>): JsonSchema {
  const { $schema, ...data } = successSchema(tool) ?? {}
  const output: JsonSchema = {
    type: 'object',
    properties: { type: { const: 'output' }, data: schemaAt('#/anyOf/0/properties/data', data), metadata: metadata({ const: 'ok' }) },
    required: ['type', 'data', 'metadata'],
    additionalProperties: false,
  }
  return { ...($schema === undefined ? {} : { $schema }), type: 'object', anyOf: [output, failed] }
}
