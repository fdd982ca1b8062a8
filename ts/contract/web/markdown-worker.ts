/** The thread of `to-markdown.ts`: receives a page, and sends its text back. */
import { parentPort, workerData } from 'node:worker_threads'
import { htmlToMarkdown } from '@mdream/js'

const { html, url } = workerData as { html: string; url: string }
try {
  const clean = { blankLines: true, emptyImages: true, emptyLinks: true, emptyLinkText: true }
  const text = htmlToMarkdown(html, { origin: url, clean })
  // The data of an embedded image is useless as text.
  parentPort?.postMessage({ text: text.replace(/\]\(data:[^)\]\s]*\)/gu, '](data:)') }, [])
} catch (error) {
  parentPort?.postMessage({ problem: error instanceof Error ? error.message : 'it cannot be read' }, [])
}
