/** Credentials that commands use and never see: the option, and the values that the native addon asks for. */
import { randomUUID } from 'node:crypto'
import type * as Addon from '../../index.js'
import { nativeAddon } from './native.js'
import { type Check, type Checks, group, invalid, listOf, must, optional, text } from './options.js'
import { type SandboxSshKey, sshKeyRequest } from './sandbox-ssh-keys.js'

/**
 * A token that commands use and never see. They have a placeholder of the same form in a variable. Where a request to one of the
 * hosts has exactly that placeholder in its header, the host process puts the value there, and the placeholder back into
 * what the host repeats of it.
 */
export interface SandboxCredential {
  /** The variable that has the placeholder, such as `GITHUB_TOKEN`. Credentials of one variable share it. */
  variable: string
  /**
   * The hosts that get the value: `api.github.com`, `*.example.com`, at port 443 or at another one (`git.example.com:8443`). TLS
   * ends in the host process at these, and at no others. It does not allow them: `allow` or `ask` has to.
   */
  hosts: readonly string[]
  /**
   * The value, or a function that gives it when the first request needs it, and again after the host has answered 401. 8 to 8,192
   * characters of ASCII, without spaces.
   */
  value: string | (() => string | PromiseLike<string>)
  /**
   * Where requests have it. `bearer`: `Authorization` with a scheme of one word, such as `Bearer` and `token`. `basic`:
   * `Authorization: Basic`, as the name or the password, as `git` sends it. Or a header of this name.
   */
  send: 'bearer' | 'basic' | { readonly header: string }
  /** The requests that may have it; others are answered with 403. @default all */
  only?: readonly CredentialRule[] | undefined
}

/** Requests that may have a credential. */
export interface CredentialRule {
  /** `GET`, or several methods. @default all */
  method?: string | readonly string[] | undefined
  /** `/repos/acme/*`: `*` stands for a part of one name, `**` for any number of names. @default all */
  path?: string | undefined
}

/** Headers that requests get whatever they have, in the form of the addon. */
export type RequestTransform = Addon.RequestTransform

type Send = SandboxCredential['send']

const isMethod = (value: unknown): boolean => typeof value === 'string' && /^[A-Za-z-]+$/u.test(value)
const isPath = (value: unknown): boolean => typeof value === 'string' && value.startsWith('/')
const isSend = (value: unknown): boolean =>
  value === 'bearer' ||
  value === 'basic' ||
  (typeof value === 'object' && value !== null && isHeader((value as { header?: unknown }).header))
const isHeader = (value: unknown): boolean => typeof value === 'string' && /^[\w!#$%&'*+.^`|~-]+$/u.test(value)
const isValue = (value: unknown): boolean =>
  typeof value === 'function' || (typeof value === 'string' && value.length <= 8192 && /^[\x21-\x7e]{8,}$/u.test(value))

const method: Check<string | string[]> = (value, name) =>
  Array.isArray(value)
    ? listOf(must<string>(isMethod, 'a method such as GET'))(value, name)
    : must<string>(isMethod, 'a method such as GET')(value, name)

const rule = group({
  method: optional(method),
  path: optional(must<string>(isPath, 'a path such as /repos/acme/*')),
} satisfies Checks<CredentialRule>)

const checks = {
  variable: must<string>((value) => typeof value === 'string' && /^[A-Za-z_]\w*$/u.test(value), 'the name of a variable'),
  hosts: listOf(text, 'an array of hosts'),
  // The message of a wrong value does not have it.
  value: must<SandboxCredential['value']>(isValue, 'a function, or 8 to 8192 characters of ASCII without spaces'),
  send: must<Send>(isSend, "'bearer', 'basic' or { header: 'x-api-key' }"),
  only: optional(listOf(rule, 'an array of rules')),
} satisfies Checks<SandboxCredential>

const list = listOf(group(checks), 'an array of credentials')

/** A copy of the option. @throws {ToolError} INVALID_INPUT */
export const sandboxCredentials: Check<SandboxCredential[]> = (value, name) => {
  const all = list(value, name)
  const keyOf = ({ variable, hosts, send }: (typeof all)[number]): string => JSON.stringify([variable, [...hosts].sort(), send])
  const seen = new Set<string>()
  for (const [index, one] of all.entries()) {
    if (seen.has(keyOf(one))) throw invalid(`${name}[${index}] is there twice: its variable, hosts and send are those of another one.`)
    seen.add(keyOf(one))
  }
  return all
}

/** Stand for lists that are not there. */
export const NO_CREDENTIALS: readonly SandboxCredential[] = []
export const NO_SSH_KEYS: readonly SandboxSshKey[] = []

/** The sessions of lists of credentials and keys. Copies of options have the same lists. */
const sessions = new WeakMap<readonly SandboxCredential[], WeakMap<readonly SandboxSshKey[], string>>()

const closing = new FinalizationRegistry<string>((session) => {
  void nativeAddon().then((addon) => addon.closeCredentials(session))
})

function sessionOf(credentials: readonly SandboxCredential[], keys: readonly SandboxSshKey[]): string {
  const byKeys = sessions.get(credentials) ?? new WeakMap<readonly SandboxSshKey[], string>()
  sessions.set(credentials, byKeys)
  const known = byKeys.get(keys)
  if (known !== undefined) return known
  const session = randomUUID()
  byKeys.set(keys, session)
  closing.register(credentials === NO_CREDENTIALS ? keys : credentials, session)
  return session
}

/** The option for the addon. */
export function credentialsRequest(
  credentials: readonly SandboxCredential[],
  transforms: readonly RequestTransform[],
  sshKeys: readonly SandboxSshKey[],
  authorities: readonly string[],
): Addon.SandboxCredentials {
  const session = sessionOf(credentials, sshKeys)
  const sources = [...credentials.map(sourceOfToken), ...sshKeys.map(sourceOfKey)]
  return {
    session,
    credentials: credentials.map(({ variable, hosts, value, send, only }) => ({
      variable,
      hosts: [...hosts],
      ...(typeof value === 'string' && { value }),
      send: typeof send === 'string' ? send : `header:${send.header}`,
      ...(only && { only: only.map(ruleRequest) }),
    })),
    transforms: [...transforms],
    sshKeys: sshKeys.map(sshKeyRequest),
    authorities: [...authorities],
    onQuestion: ({ question, credential }) => void answer(question, sources[credential]),
  }
}

const ruleRequest = ({ method: methods, path }: CredentialRule): Addon.CredentialRule => ({
  methods: methods === undefined ? [] : typeof methods === 'string' ? [methods] : [...methods],
  ...(path !== undefined && { path }),
})

/** Gives a value that is asked for. */
interface Source {
  /** What it is, for a reader. */
  readonly what: string
  readonly value: string | (() => string | PromiseLike<string>)
  readonly isValue: (value: unknown) => boolean
  /** What a value is. */
  readonly form: string
}

const sourceOfToken = ({ variable, value }: SandboxCredential): Source => {
  const form = 'text of 8 to 8192 characters of ASCII without spaces'
  return { what: `The value of the credential ${variable}`, value, isValue, form }
}

const sourceOfKey = ({ hosts, privateKey: value }: SandboxSshKey): Source => {
  const isKey = (key: unknown): boolean => typeof key === 'string' && key.startsWith('-----BEGIN OPENSSH PRIVATE KEY-----')
  return { what: `The SSH key for ${hosts.join(', ')}`, value, isValue: isKey, form: 'private key in the form of OpenSSH' }
}

async function answer(question: number, source: Source | undefined): Promise<void> {
  const addon = await nativeAddon()
  addon.answerCredential(question, await valueOf(source))
}

/** The value. What is none is told to the host, and not to the command. */
async function valueOf(source: Source | undefined): Promise<string | undefined> {
  if (source === undefined) return undefined
  const { what, value, isValue: fits, form } = source
  const warn = (why: string): void => process.emitWarning(`${what} ${why}.`, { code: 'TOOLWRIGHT_CREDENTIAL_VALUE' })
  try {
    const given: unknown = typeof value === 'string' ? value : await value()
    if (typeof given === 'string' && fits(given)) return given
    warn(`is no ${form}`)
  } catch (error) {
    // A message may have anything in it.
    warn(`could not be had: its function failed${error instanceof Error ? ` with ${error.name}` : ''}`)
  }
  return undefined
}
