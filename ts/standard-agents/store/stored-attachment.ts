/**
 * The bytes of an attachment: base64 (strict: the standard alphabet, padded, without line breaks),
 * bytes, or bytes that come in parts (a stream, an async generator), of which a few are in memory at a
 * time.
 */
export type AttachmentBytes = string | Uint8Array | AsyncIterable<Uint8Array>

/** An attachment to store. */
export interface NewAttachment {
  /** What a reader calls it: data, and never a path. Its ending names the kind of file. */
  name: string
  /** For instance `image/png`. `text/*`, JSON and the like are stored as text, in one piece. */
  mimeType: string
  data: AttachmentBytes
  /** In pixels. @default read from the bytes, for PNG, JPEG, GIF and WebP */
  width?: number | undefined
  /** In pixels. @default read from the bytes, for PNG, JPEG, GIF and WebP */
  height?: number | undefined
}

/** A file that is stored in the thread already. */
export interface AttachmentRef {
  /** A UUID. */
  id: string
  type: 'file'
  /** Where it is in the thread: `/attachments/MILLISECONDS-FIRST8OFID.EXTENSION`. */
  path: string
  name: string
  mimeType: string
  /** In bytes. */
  size: number
  /** In pixels. */
  width?: number
  /** In pixels. */
  height?: number
}

/** A range of bytes. */
export interface ReadRange {
  /** The first byte. @default 0 */
  start?: number | undefined
  /** The byte after the last one. @default the end */
  end?: number | undefined
}
