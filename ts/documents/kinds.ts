/** Which files are documents, by their names and first bytes. */

/** What `read` shows of a file besides text. */
export type DocumentKind = 'notebook' | 'pdf' | 'image'

const names: readonly [RegExp, DocumentKind][] = [
  [/\.ipynb$/iu, 'notebook'],
  [/\.pdf$/iu, 'pdf'],
  [/\.(?:png|jpe?g|gif|webp|tiff?|avif)$/iu, 'image'],
]

/** The kind of a document by its name. */
export const kindOfName = (path: string): DocumentKind | undefined => names.find(([name]) => name.test(path))?.[1]

/** Whether bytes are a PDF document. Some begin with a few other bytes. */
export const isPdf = (bytes: Buffer): boolean => bytes.subarray(0, 1_024).includes('%PDF-')
