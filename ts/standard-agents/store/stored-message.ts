/** A message to append. */
export interface NewMessage {
  /** Unique within its thread. @default a UUID */
  id?: string | undefined
  /** Who speaks: `user`, `assistant`, `tool`, … */
  role: string
  /** The whole message, as JSON text; kept as given. Attachments are linked from within. */
  bodyJson: string
  /** The call that it is about. */
  callId?: string | undefined
}

/** A message in the store. */
export interface StoredMessage {
  id: string
  /** Its place: 1 for the first of the thread, and never given twice. */
  seq: number
  role: string
  bodyJson: string
  callId: string | null
  /** In milliseconds since 1970. */
  createdAtMs: number
}
