import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node'

const exporter = new InMemorySpanExporter()
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register()

/** The spans that ended since the last time. */
export function takeSpans(): ReadableSpan[] {
  const spans = [...exporter.getFinishedSpans()]
  exporter.reset()
  return spans
}

/** The names of spans, each below its parent, by when they began. */
export function treeOf(spans: readonly ReadableSpan[]): string[] {
  const ids = new Set(spans.map((span) => span.spanContext().spanId))
  const began = ({ startTime: [s, ns] }: ReadableSpan): number => s * 1e9 + ns
  const below = (parent: string | undefined, depth: number): string[] =>
    spans
      .filter(({ parentSpanContext: at }) => (at !== undefined && ids.has(at.spanId) ? at.spanId : undefined) === parent)
      .sort((a, b) => began(a) - began(b))
      .flatMap((span) => [`${'  '.repeat(depth)}${span.name}`, ...below(span.spanContext().spanId, depth + 1)])
  return below(undefined, 0)
}

/** The one span with this name. */
export function spanOf(spans: readonly ReadableSpan[], name: string): ReadableSpan {
  const [span, ...others] = spans.filter((one) => one.name === name)
  if (span === undefined || others.length > 0)
    throw new Error(`${others.length + (span ? 1 : 0)} spans ${name}: ${treeOf(spans).join('\n')}`)
  return span
}
