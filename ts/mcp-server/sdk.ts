import type * as McpServerSdk from '@modelcontextprotocol/server'
import type * as McpNode from '@modelcontextprotocol/node'
import type * as McpStdio from '@modelcontextprotocol/server/stdio'

/** Loads the official SDK for servers, whose packages are optional peer dependencies. */
export type Sdk = typeof McpServerSdk

const SERVER = '@modelcontextprotocol/server'
const STDIO = '@modelcontextprotocol/server/stdio'
const NODE = '@modelcontextprotocol/node'

/** The error of a missing package that the server needs. */
export class PackageMissing extends Error {
  override readonly name = 'PackageMissing'

  constructor(name: string, cause: unknown) {
    super(
      `the package ${name} is not installed: npm install ${name}, or npx -p toolwright -p ${SERVER}${name === NODE ? ` -p ${NODE}` : ''} toolwright mcp`,
      { cause },
    )
  }
}

/** @throws {PackageMissing} */
export const loadSdk = (): Promise<Sdk> =>
  installed(SERVER, () => import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ SERVER))

/** The transport over stdin and stdout. @throws {PackageMissing} */
export const loadStdio = (): Promise<typeof McpStdio> =>
  installed(SERVER, () => import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ STDIO))

/** The adapter for Node's HTTP server. @throws {PackageMissing} */
export const loadNodeAdapter = (): Promise<typeof McpNode> =>
  installed(NODE, () => import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ NODE))

/** Imports by a variable specifier, so that bundlers ignore the optional package. */
async function installed<T>(name: string, load: () => Promise<unknown>): Promise<T> {
  try {
    return (await load()) as T
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    // A missing dependency of the package is a different error.
    const isMissing = code?.endsWith('MODULE_NOT_FOUND') === true && message.includes(name)
    throw isMissing ? new PackageMissing(name, error) : error
  }
}
