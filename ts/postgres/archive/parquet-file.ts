/** A Parquet file that is there whole, or not at all. */
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import * as zlib from 'node:zlib'
import type * as Parquet from 'hyparquet-writer'
import { ToolError } from '../../core/errors.js'
import { loadLate } from '../../core/late-code.js'
import type { SqlRow } from '../client.js'

/** A column and its type in a file. */
export type FileColumn = readonly [name: string, type: 'INT64' | 'STRING']

/** About the most bytes, and the most rows, of one group. */
const MAX_GROUP_BYTES = 16 << 20
const MAX_GROUP_ROWS = 100_000

/** Compresses by zstd; by gzip in a Node that has no zstd. */
const [CODEC, compress] =
  typeof zlib.zstdCompressSync === 'function' ? (['ZSTD', zlib.zstdCompressSync] as const) : (['GZIP', zlib.gzipSync] as const)

export class ParquetFile {
  readonly path: string
  readonly #partial: string
  readonly #handle: FileHandle
  readonly #columns: readonly FileColumn[]
  readonly #bytes: Parquet.ByteWriter
  readonly #writer: Parquet.ParquetWriter
  #rows: SqlRow[] = []
  #size = 0

  private constructor(
    path: string,
    handle: FileHandle,
    columns: readonly FileColumn[],
    bytes: Parquet.ByteWriter,
    writer: Parquet.ParquetWriter,
  ) {
    this.path = path
    this.#partial = partialOf(path)
    this.#handle = handle
    this.#columns = columns
    this.#bytes = bytes
    this.#writer = writer
  }

  /** Begins a file. Its folder is made. @throws {ToolError} JOURNAL_OPEN_FAILED without `hyparquet-writer`; JOURNAL_IO_FAILED. */
  static async create(path: string, columns: readonly FileColumn[], about: Readonly<Record<string, string>>): Promise<ParquetFile> {
    const parquet = await loadWriter()
    try {
      await mkdir(dirname(path), { recursive: true })
      const handle = await open(partialOf(path), 'wx')
      const bytes = new parquet.ByteWriter()
      const writer = new parquet.ParquetWriter({
        writer: bytes,
        schema: parquet.schemaFromColumnData({ columnData: columns.map(([name, type]) => ({ name, type, data: [] })) }),
        codec: CODEC,
        compressors: { [CODEC]: (data: Uint8Array) => compress(data) },
        kvMetadata: Object.entries(about).map(([key, value]) => ({ key, value })),
        createdBy: 'toolwright',
      })
      return new ParquetFile(path, handle, columns, bytes, writer)
    } catch (error) {
      throw fileFailure(error, path)
    }
  }

  /** @param size about the bytes of the rows */
  async add(rows: readonly SqlRow[], size: number): Promise<void> {
    for (const row of rows) this.#rows.push(row)
    this.#size += size
    if (this.#size >= MAX_GROUP_BYTES || this.#rows.length >= MAX_GROUP_ROWS) await this.#writeGroup()
  }

  /** Ends the file: when this returns, a loss of power does not take it away. */
  async finish(): Promise<void> {
    try {
      if (this.#rows.length > 0) await this.#writeGroup()
      await this.#writer.finish()
      await this.#flush()
      await this.#handle.sync()
      await this.#handle.close()
      await rename(this.#partial, this.path)
      const folder = await open(dirname(this.path))
      await folder.sync().finally(() => folder.close())
    } catch (error) {
      throw fileFailure(error, this.path)
    }
  }

  /** Gives the file up. */
  async discard(): Promise<void> {
    await this.#handle.close().catch(() => undefined)
    await rm(this.#partial, { force: true }).catch(() => undefined)
  }

  async #writeGroup(): Promise<void> {
    const [rows, rowGroupSize] = [this.#rows, this.#rows.length]
    this.#rows = []
    this.#size = 0
    const columnData = this.#columns.map(([name, type]) => ({ name, type, data: rows.map((row) => valueOf(row[name], type)) }))
    try {
      await this.#writer.write({ columnData, rowGroupSize })
      await this.#flush()
    } catch (error) {
      throw fileFailure(error, this.path)
    }
  }

  async #flush(): Promise<void> {
    const bytes = this.#bytes.getBytes()
    for (let at = 0; at < bytes.length;) at += (await this.#handle.write(bytes, at)).bytesWritten
    this.#bytes.index = 0
  }
}

/** Beside the file, under a name that no pattern for Parquet files matches. */
const partialOf = (path: string): string => `${path}.partial`

const valueOf = (value: unknown, type: FileColumn[1]): bigint | string | undefined => {
  if (value === null || value === undefined) return undefined
  return type === 'INT64' ? BigInt(String(value)) : String(value)
}

/** A name in a constant and comments, so that bundlers leave a package alone that may be missing. */
const WRITER: string = 'hyparquet-writer'

const loadParquet = loadLate(
  async () => (await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ WRITER)) as typeof Parquet,
)

async function loadWriter(): Promise<typeof Parquet> {
  try {
    return await loadParquet()
  } catch (error) {
    const summary = 'An archive of a journal needs the package hyparquet-writer'
    throw new ToolError({
      code: 'JOURNAL_OPEN_FAILED',
      summary,
      hint: 'Install it: npm install hyparquet-writer',
      details: {},
      cause: error,
    })
  }
}

function fileFailure(error: unknown, path: string): unknown {
  const code = String((error as NodeJS.ErrnoException).code ?? '')
  if (code === '' || ToolError.isInstance(error)) return error
  const isFull = code === 'ENOSPC' || code === 'EDQUOT'
  const summary = isFull ? 'The disk of the archive is full' : 'The archive cannot be written'
  return new ToolError({
    code: isFull ? 'JOURNAL_DISK_FULL' : 'JOURNAL_IO_FAILED',
    summary,
    place: `${summary}: \`${path}\` (${code})`,
    hint: isFull
      ? 'Free space there, or archive to another folder; nothing was removed.'
      : 'Archive to a folder that can be written; nothing was removed.',
    details: { path, osCode: code },
    cause: error,
  })
}
