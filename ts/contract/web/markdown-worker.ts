/** What runs on the thread of `to-markdown.ts`: a page in, its text out. */
import { parentPort, workerData } from 'node:worker_threads'
import { htmlToMarkdown } from '@mdream/js'

const { html, url } = workerData as { html: string; url: string }
try {
  const clean = { blankLines: true, emptyImages: true, emptyLinks: true, emptyLinkText: true }
  const text = htmlToMarkdown(html, { origin: url, clean })
  // A picture within the page says nothing as text.
  parentPort?.postMessage({ text: text.replace(/\]\(data:[^)\]\s]*\)/gu, '](data:)') }, [])
} catch (error) {
  parentPort?.postMessage({ problem: error instanceof Error ? error.message : 'it cannot be read' }, [])
}
